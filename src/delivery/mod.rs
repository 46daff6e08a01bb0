//! An answer on its way out: cut into what a platform takes, and rendered in its markup.

mod format;
mod outlet;
pub mod plan;

pub use format::{Format, Limit, Markup, Unit};
pub use outlet::{Outlet, Parcel, Way};
