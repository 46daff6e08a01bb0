//! `skills_list`, `skill_view`, `skill_manage`: what [`crate::skills`] knows and writes, for the model.

mod list;
mod manage;
mod view;

use std::sync::Arc;

use super::{Tool, ToolContext};
use crate::skills::Workshop;

/// The three tools.
pub fn tools() -> [Arc<dyn Tool>; 3] {
    [Arc::new(list::List), Arc::new(view::View), Arc::new(manage::Manage)]
}

fn workshop(context: &ToolContext) -> Result<Arc<Workshop>, String> {
    context.services.skills().ok_or_else(|| "there are no skills here".to_owned())
}

/// Where the session takes place.
fn platform(context: &ToolContext) -> String {
    super::registry::fold::platform(context)
}
