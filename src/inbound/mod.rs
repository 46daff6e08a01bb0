//! From an outside message to a command for the reducer.
