//! From an answer to its receipts.
