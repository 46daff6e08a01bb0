//! Platforms over doubles that speak the real wire protocols: the contract kit over each, and what is
//! special to each. The doubles are in `doubles`, for other tests as well.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail by panicking")]

mod broken;
mod discord;
mod doubles;
mod email;
mod matrix;
mod real_email;
mod real_matrix;
#[cfg(feature = "matrix-encryption")]
mod sealed_matrix;
mod slack;
mod synapse;
mod telegram;
