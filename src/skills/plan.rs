//! What a change comes to, file by file, or why it is not made. Nothing is written here.

use std::path::PathBuf;

use herm_schema::events::SkillAction;

use super::frontmatter::{self, DESCRIPTION_CHARS_MAX};
use super::{Change, Edit, FILE, LINKED_BYTES_MAX, Skill, TEXT_CHARS_MAX, Workshop, linked, names};
use crate::config::REDACTED;
use crate::threats::{self, Class};

/// A skill that is deleted is kept whole, so it must not be larger than this, in bytes.
const DELETED_BYTES_MAX: usize = 16 << 20;

/// What each file of a skill is and shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub name: String,
    pub category: Option<String>,
    pub action: SkillAction,
    pub folder: PathBuf,
    pub files: Vec<Planned>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Below the skill's folder.
    pub path: String,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
}

/// The plan of a change.
///
/// # Errors
/// Why it is not made.
pub fn plan(workshop: &Workshop, edit: &Edit) -> Result<Plan, String> {
    let Edit { name, change } = edit;
    match change {
        Change::Create { category, content } => create(workshop, name, category.as_deref(), content),
        Change::Edit { content } => {
            let skill = own(workshop, name)?;
            strict(workshop, &skill.name, content)?;
            let before = read(&skill, FILE)?;
            Ok(of(&skill, SkillAction::Edit, vec![planned(FILE, before, Some(content.clone().into_bytes()))]))
        }
        Change::Patch { file, old, new, all } => patch(workshop, name, file.as_deref(), (old, new, *all)),
        Change::Delete => {
            let skill = own(workshop, name)?;
            let mut files = linked::files(&skill.folder);
            files.push(FILE.to_owned());
            let read = |path: String| Ok(planned(&path, read(&skill, &path)?, None));
            let files = files.into_iter().map(read).collect::<Result<Vec<_>, String>>()?;
            let bytes: usize = files.iter().filter_map(|file| file.before.as_ref()).map(Vec::len).sum();
            match bytes > DELETED_BYTES_MAX || files.len() > linked::FILES_MAX {
                true => {
                    Err(format!("`{name}` is too large to be taken back; a person may remove its folder"))
                }
                false => Ok(of(&skill, SkillAction::Delete, files)),
            }
        }
        Change::WriteFile { file, content } => {
            let skill = own(workshop, name)?;
            let path = writable(file)?;
            harmless(workshop, content)?;
            fits(&path, content)?;
            let before = read(&skill, &path)?;
            Ok(of(
                &skill,
                SkillAction::WriteFile,
                vec![planned(&path, before, Some(content.clone().into_bytes()))],
            ))
        }
        Change::RemoveFile { file } => {
            let skill = own(workshop, name)?;
            let path = writable(file)?;
            linked::place(&skill, &path)?;
            let before = read(&skill, &path)?;
            Ok(of(&skill, SkillAction::RemoveFile, vec![planned(&path, before, None)]))
        }
    }
}

fn create(workshop: &Workshop, name: &str, category: Option<&str>, content: &str) -> Result<Plan, String> {
    for word in [Some(name), category].into_iter().flatten() {
        if !names::is_name(word) {
            return Err(format!("`{word}` is no name: {}", names::NAME_RULE));
        }
    }
    strict(workshop, name, content)?;
    let library = &workshop.library;
    if let Some(known) = library.found().skills.into_iter().find(|skill| skill.name == name) {
        return Err(format!(
            "there is a skill `{name}` already, in `{}`; patch or edit it",
            known.folder.display()
        ));
    }
    let category = category.map(str::to_owned);
    let above = category.as_ref().map_or(library.own.clone(), |category| library.own.join(category));
    let folder = above.join(name);
    if folder.exists() {
        return Err(format!("`{}` is there already and is no skill", folder.display()));
    }
    let files = vec![planned(FILE, None, Some(content.to_owned().into_bytes()))];
    Ok(Plan { name: name.to_owned(), category, action: SkillAction::Create, folder, files })
}

fn patch(
    workshop: &Workshop,
    name: &str,
    file: Option<&str>,
    (old, new, all): (&str, &str, bool),
) -> Result<Plan, String> {
    let skill = own(workshop, name)?;
    let path = match file.filter(|file| file.trim() != FILE) {
        None => FILE.to_owned(),
        Some(file) => writable(file)?,
    };
    let before = read(&skill, &path)?.ok_or_else(|| format!("the skill `{name}` has no file `{path}`"))?;
    let text = String::from_utf8(before.clone()).map_err(|_| format!("`{path}` is no text"))?;
    let times = if old.is_empty() { 0 } else { text.matches(old).count() };
    let after = match (times, all) {
        (0, _) => return Err(format!("`old_string` is not in `{path}`; skill_view shows what it holds")),
        (1, _) | (_, true) => text.replace(old, new),
        (times, false) => {
            return Err(format!(
                "`old_string` is {times} times in `{path}`: quote more, or set `replace_all`"
            ));
        }
    };
    match path == FILE {
        true => strict(workshop, &skill.name, &after)?,
        false => {
            harmless(workshop, &after)?;
            fits(&path, &after)?;
        }
    }
    Ok(of(&skill, SkillAction::Patch, vec![planned(&path, Some(before), Some(after.into_bytes()))]))
}

/// A skill that herm may write to.
fn own(workshop: &Workshop, name: &str) -> Result<Skill, String> {
    let skill = workshop.library.skill(name)?;
    match skill.own {
        true => Ok(skill),
        false => Err(format!("`{name}` lies in `{}`, where herm does not write", skill.folder.display())),
    }
}

fn of(skill: &Skill, action: SkillAction, files: Vec<Planned>) -> Plan {
    // By where it lies: the folder may be called otherwise than the skill.
    let folder = skill.folder.clone();
    let name = folder.file_name().map_or(skill.name.clone(), |name| name.to_string_lossy().into_owned());
    Plan { name, category: skill.category.clone(), action, folder, files }
}

fn planned(path: &str, before: Option<Vec<u8>>, after: Option<Vec<u8>>) -> Planned {
    Planned { path: path.to_owned(), before, after }
}

/// What a file of a skill holds; `None` where there is none. A link out of the skill is not followed.
fn read(skill: &Skill, path: &str) -> Result<Option<Vec<u8>>, String> {
    let whole = skill.folder.join(path);
    if whole.symlink_metadata().is_err() {
        // A folder on the way may be a link all the same.
        let above = whole.parent().and_then(|above| above.canonicalize().ok());
        let root = skill.folder.canonicalize().map_err(|error| error.to_string())?;
        return match above.is_none_or(|above| above.starts_with(root)) {
            true => Ok(None),
            false => Err(format!("`{path}` leads out of the skill `{}`", skill.name)),
        };
    }
    let (_, real) = linked::place(skill, path)?;
    linked::bytes(&real).map(Some).map_err(|why| format!("`{path}` cannot be read: {why}"))
}

fn writable(file: &str) -> Result<String, String> {
    names::writable(file).ok_or_else(|| {
        format!(
            "`{file}` is no place for a file: it must lie in one of {}",
            names::FOLDERS.map(|f| format!("{f}/")).join(", ")
        )
    })
}

fn fits(path: &str, content: &str) -> Result<(), String> {
    match content.len() as u64 > LINKED_BYTES_MAX {
        true => Err(format!("`{path}` would have {} bytes; at most {LINKED_BYTES_MAX} fit", content.len())),
        false => Ok(()),
    }
}

/// Whether a `SKILL.md` is one without any leniency.
fn strict(workshop: &Workshop, name: &str, content: &str) -> Result<(), String> {
    let chars = content.chars().count();
    if chars > TEXT_CHARS_MAX {
        return Err(format!("`{FILE}` would have {chars} characters; at most {TEXT_CHARS_MAX} fit"));
    }
    if !content.trim_start_matches('\u{feff}').starts_with("---") {
        return Err(format!("`{FILE}` must begin with frontmatter: `---`, name, description, `---`"));
    }
    let parts = frontmatter::read(content).map_err(|error| error.to_string())?;
    if let Some(slip) = parts.slip {
        return Err(slip);
    }
    let head = parts.frontmatter;
    match head.name.as_deref() {
        None => return Err("the frontmatter has no `name`".to_owned()),
        Some(said) if said != name => {
            return Err(format!("the frontmatter names it `{said}`, and it is to be `{name}`"));
        }
        Some(_) => {}
    }
    let described = head.description.as_deref().unwrap_or_default();
    if described.is_empty() || described.chars().count() >= DESCRIPTION_CHARS_MAX {
        return Err(format!(
            "the frontmatter needs a `description` of 1 to {} characters",
            DESCRIPTION_CHARS_MAX - 1
        ));
    }
    if parts.body.is_empty() {
        return Err("there is nothing after the frontmatter: say what is to be done".to_owned());
    }
    harmless(workshop, content)
}

/// What is written here is read in every later session that loads it.
fn harmless(workshop: &Workshop, content: &str) -> Result<(), String> {
    let classes: &[Class] = if workshop.library.config.guard { threats::ALL } else { &[Class::Steers] };
    if let Some(threat) = threats::find(content, classes) {
        return Err(format!("not written: it matches the threat pattern `{}`", threat.name));
    }
    match content.contains(REDACTED) || (workshop.redact)(content) != *content {
        true => Err("not written: it holds a secret; name the variable that holds it instead".to_owned()),
        false => Ok(()),
    }
}
