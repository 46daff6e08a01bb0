//! An answer on its way out: cut into what a platform takes, and rendered in its markup.
//!
//! Start at [`plan::parts`], which cuts, and [`render`], which writes one part; both are pure, as is
//! all else here but the [`Outlet`]. Nothing here sends, and nothing knows a platform but the table
//! in [`formats`].

mod cut;
mod document;
mod format;
pub mod formats;
mod markup;
mod measure;
mod outlet;
mod pack;
pub mod plan;
pub mod prompt;
mod read;
mod render;
mod size;
#[cfg(test)]
mod tests;

pub use format::{Format, Limit, Markup, Unit};
pub use measure::measure;
pub use outlet::{Content, Outlet, Parcel, Way};
pub use render::render;
