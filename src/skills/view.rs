//! A skill as the model reads it.

use std::collections::BTreeMap;

use herm_schema::SessionId;

use super::library::parts;
use super::{FILE, Library, Skill, linked};

/// What is read of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewed {
    pub skill: Skill,
    /// `None` for `SKILL.md` itself.
    pub file: Option<String>,
    pub content: String,
    /// Files beside, by folder.
    pub linked: BTreeMap<String, Vec<String>>,
    pub missing_variables: Vec<(String, Option<String>)>,
    pub missing_commands: Vec<String>,
}

impl Library {
    /// Reads a skill, or a file of it.
    ///
    /// # Errors
    /// There is none, it cannot be read, or it leads out of the skill's folder.
    pub fn view(&self, name: &str, file: Option<&str>, session: Option<SessionId>) -> Result<Viewed, String> {
        let skill = self.skill(name)?;
        let file = file.map(str::trim).filter(|file| !file.is_empty() && *file != FILE);
        let (file, content) = match file {
            None => (None, parts(&skill.folder.join(FILE))?.body),
            Some(file) => {
                let (inside, path) = linked::place(&skill, file)?;
                let bytes =
                    linked::bytes(&path).map_err(|why| format!("`{inside}` cannot be read: {why}"))?;
                let text = String::from_utf8(bytes).map_err(|_| format!("`{inside}` is no text"))?;
                (Some(inside), text)
            }
        };
        let content = if self.config.template_vars { filled(&content, &skill, session) } else { content };
        let frontmatter = &skill.frontmatter;
        let missing = self.surroundings.missing_variables(frontmatter);
        let commands = self.surroundings.missing_commands(frontmatter);
        Ok(Viewed {
            missing_variables: missing.iter().map(|v| (v.name.clone(), v.help.clone())).collect(),
            missing_commands: commands.into_iter().map(str::to_owned).collect(),
            linked: by_folder(linked::files(&skill.folder)),
            skill,
            file,
            content,
        })
    }
}

fn by_folder(files: Vec<String>) -> BTreeMap<String, Vec<String>> {
    let mut folders: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files {
        let folder = file.split_once('/').map_or("other", |(folder, _)| folder).to_owned();
        folders.entry(folder).or_default().push(file);
    }
    folders
}

/// With its variables replaced; one that nobody knows stays, so that a slip is seen.
fn filled(content: &str, skill: &Skill, session: Option<SessionId>) -> String {
    let mut text = content.to_owned();
    let folder = skill.folder.display().to_string();
    for name in ["HERM", "HERMES"] {
        text = text.replace(&format!("${{{name}_SKILL_DIR}}"), &folder);
        if let Some(session) = session {
            text = text.replace(&format!("${{{name}_SESSION_ID}}"), &session.to_string());
        }
    }
    text
}

/// What is put before the model where a person names a skill instead of the model.
pub fn invoked(viewed: &Viewed) -> String {
    let Viewed { skill, content, linked, missing_variables, .. } = viewed;
    let mut text = format!(
        "The user invokes the skill `{}`: follow it. It lies in {}.\n\n{content}\n",
        skill.name,
        skill.folder.display()
    );
    let files: Vec<&str> = linked.values().flatten().map(String::as_str).collect();
    if !files.is_empty() {
        text.push_str(&format!("\nFiles beside it, for skill_view: {}", files.join(", ")));
    }
    if !missing_variables.is_empty() {
        let names: Vec<&str> = missing_variables.iter().map(|(name, _)| name.as_str()).collect();
        text.push_str(&format!("\nNot set up yet, missing in the environment: {}", names.join(", ")));
    }
    text.push_str(&format!("\nEnd of the skill `{}`", skill.name));
    text
}
