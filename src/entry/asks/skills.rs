//! `/skills`, `/reload-skills`, and `/NAME` of a skill, which puts it before the model.

use std::sync::Arc;

use herm_schema::SessionId;

use crate::entry::engine::Engine;
use crate::inbound::slash::Slash;
use crate::skills::{self, Found, Skill};

/// What there is; with a name, the skill.
pub async fn skills(engine: &Engine, text: &str) -> String {
    let (workshop, text) = (Arc::clone(&engine.skills), text.to_owned());
    let said = move || match text.trim() {
        "" => listed(&workshop.library.found()),
        name => match workshop.library.view(name, None, None) {
            Ok(viewed) => {
                let description = viewed.skill.frontmatter.description.clone().unwrap_or_default();
                format!("{}: {description}\n\n{}", viewed.skill.name, viewed.content)
            }
            Err(why) => why,
        },
    };
    tokio::task::spawn_blocking(said).await.unwrap_or_else(|error| error.to_string())
}

/// The same, and what a session that runs makes of it: its prompt is the one that it began with.
pub async fn reloaded(engine: &Engine) -> String {
    let listed = skills(engine, "").await;
    format!("{listed}\n\nskill_view finds all of these at once; /new begins a session whose list has them")
}

fn listed(found: &Found) -> String {
    let Found { skills, broken } = found;
    if skills.is_empty() && broken.is_empty() {
        return "there are no skills; they lie in `skills/` in the home".to_owned();
    }
    let line = |skill: &Skill| {
        let category = skill.category.as_ref().map(|category| format!(" ({category})")).unwrap_or_default();
        let slip = skill.slip.as_ref().map(|slip| format!(" [{slip}]")).unwrap_or_default();
        format!(
            "- {}{category}: {}{slip}",
            skill.name,
            skill.frontmatter.description.as_deref().unwrap_or("?")
        )
    };
    let wrong = broken.iter().map(|broken| format!("! {}: {}", broken.path.display(), broken.why));
    skills.iter().map(line).chain(wrong).collect::<Vec<_>>().join("\n")
}

/// The skill that a person types the name of as a command; `None` where none is called so. Dashes and
/// underscores are alike: menus of platforms allow only one of them.
pub async fn skill_named(engine: &Engine, slash: &Slash) -> Option<Skill> {
    let (workshop, name) = (Arc::clone(&engine.skills), slash.name.replace('_', "-"));
    let found = move || {
        let mut known = workshop.library.found().skills.into_iter();
        known.find(|skill| skill.name.replace('_', "-") == name)
    };
    tokio::task::spawn_blocking(found).await.ok().flatten()
}

/// What is put before the model with the message that names a skill; `None` if it cannot be read any more.
pub async fn invoked(engine: &Engine, skill: Skill, session: SessionId) -> Option<String> {
    let workshop = Arc::clone(&engine.skills);
    let view = move || {
        let viewed = workshop.library.view(&skill.name, None, Some(session)).ok()?;
        workshop.note_loaded(&viewed.skill, None, session, None);
        Some(skills::invoked(&viewed))
    };
    tokio::task::spawn_blocking(view).await.ok().flatten()
}
