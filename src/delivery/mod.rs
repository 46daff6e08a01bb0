//! From an answer to its receipts.

pub mod plan;
