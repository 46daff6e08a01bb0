//! Which models are asked for a task besides the conversation.

use std::time::Duration;

use herm_schema::events::{AuxiliaryTask, ModelChoice, Policy, ReasoningEffort};

use crate::effects::AuxiliaryModel;

/// What is configured for one task.
#[derive(Clone, Debug)]
pub struct AuxiliarySettings {
    pub task: AuxiliaryTask,
    /// Asked first; `None` is the session's own model.
    pub choice: Option<ModelChoice>,
    pub effort: Option<ReasoningEffort>,
    pub time_max: Duration,
}

/// The configured model if there is one, then the session's own, then its fallbacks: one that is
/// not there is no reason to go without an answer. A vendor is not asked only because a key for it is
/// set, since a conversation goes where its person sends it: `anyone` is empty unless they say so.
pub(super) fn models(
    all: &[AuxiliarySettings],
    anyone: &[ModelChoice],
    task: AuxiliaryTask,
    policy: &Policy,
) -> Vec<AuxiliaryModel> {
    let settings = all.iter().find(|settings| settings.task == task);
    let own = settings.and_then(|settings| settings.choice.as_ref());
    let time_max = settings.map_or(super::super::ports::AUXILIARY_TIME_MAX, |settings| settings.time_max);
    let effort = settings.and_then(|settings| settings.effort);
    // Images are only shown to those who can see.
    let can = |choice: &&ModelChoice| task != AuxiliaryTask::Vision || choice.images;
    let models = own.into_iter().chain([&policy.model]).chain(&policy.fallbacks).chain(anyone).filter(can);
    models
        .map(|choice| {
            let choice = ModelChoice { effort: effort.or(choice.effort), ..choice.clone() };
            AuxiliaryModel { choice, time_max }
        })
        .collect()
}
