//! What skills there are: found on the disk whenever somebody asks, with bounds on everything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::frontmatter::{self, Parts};
use super::{FILE, Frontmatter, SkillsConfig, Surroundings, TEXT_CHARS_MAX, names};

/// Skills, at most; more are not looked for.
const SKILLS_MAX: usize = 1_000;
/// Folders that are looked into, at most.
const FOLDERS_MAX: usize = 10_000;
/// Folders above a skill, at most.
const DEPTH_MAX: usize = 4;

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// The folders that it lies in; `None` at the top.
    pub category: Option<String>,
    pub folder: PathBuf,
    /// It lies in the profile's own folder, where herm may write.
    pub own: bool,
    pub frontmatter: Frontmatter,
    /// What is wrong with it; it can be read all the same.
    pub slip: Option<String>,
}

/// A folder that would be a skill and is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub path: PathBuf,
    pub why: String,
}

/// Everything that was found, in the order of category and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub skills: Vec<Skill>,
    pub broken: Vec<Broken>,
}

/// The skills of a profile.
#[derive(Clone)]
pub struct Library {
    /// The profile's own.
    pub own: PathBuf,
    pub config: SkillsConfig,
    pub surroundings: Surroundings,
}

impl Library {
    /// Everything there is now. Of two with one name the profile's own counts, then the first by path.
    pub fn found(&self) -> Found {
        let mut search = Search::default();
        search.root(&self.own, true);
        self.config.external.iter().for_each(|root| search.root(root, false));
        let mut found = search.found;
        found.skills.sort_by(|a, b| (&a.category, &a.name).cmp(&(&b.category, &b.name)));
        found
    }

    /// The skill of this name, or of `category/name`.
    ///
    /// # Errors
    /// What is wrong with it, or which names come near.
    pub fn skill(&self, name: &str) -> Result<Skill, String> {
        let Found { skills, broken } = self.found();
        let name = name.trim();
        let is = |skill: &&Skill| {
            let long = skill.category.as_ref().map(|category| format!("{category}/{}", skill.name));
            skill.name == name || long.as_deref() == Some(name)
        };
        if let Some(skill) = skills.iter().find(is) {
            return Ok(skill.clone());
        }
        if let Some(broken) = broken.iter().find(|broken| broken.path.ends_with(name)) {
            return Err(format!("the skill `{name}` cannot be read: {}", broken.why));
        }
        let known = skills.iter().map(|skill| skill.name.as_str());
        let nearest = crate::tools::toolsets::nearest(name, known);
        let advice = crate::tools::toolsets::suggestion(nearest.as_deref());
        Err(format!("there is no skill `{name}`{advice}"))
    }
}

#[derive(Default)]
struct Search {
    found: Found,
    names: BTreeSet<String>,
    /// Folders by their real path: links may lead in a circle.
    seen: BTreeSet<PathBuf>,
}

impl Search {
    fn root(&mut self, root: &Path, own: bool) {
        self.folder(root, root, own, 0);
    }

    fn folder(&mut self, root: &Path, folder: &Path, own: bool, depth: usize) {
        let Ok(real) = folder.canonicalize() else { return };
        // What a link leads to elsewhere is read, and nothing is written there.
        let own = own && root.canonicalize().is_ok_and(|root| real.starts_with(root));
        if self.seen.len() >= FOLDERS_MAX || self.found.skills.len() >= SKILLS_MAX || !self.seen.insert(real)
        {
            return;
        }
        if depth > 0 && folder.join(FILE).is_file() {
            return self.skill(root, folder, own);
        }
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let hidden =
            |path: &Path| path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        let mut inner: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        inner.retain(|path| !hidden(path) && path.is_dir());
        inner.sort();
        for path in inner.into_iter().filter(|_| depth < DEPTH_MAX) {
            self.folder(root, &path, own, depth + 1);
        }
    }

    fn skill(&mut self, root: &Path, folder: &Path, own: bool) {
        match read(root, folder, own) {
            Ok(skill) if self.names.contains(&skill.name) => {
                let why = format!("another skill is called `{}`, and counts", skill.name);
                self.found.broken.push(Broken { path: folder.to_owned(), why });
            }
            Ok(skill) => {
                self.names.insert(skill.name.clone());
                self.found.skills.push(skill);
            }
            Err(why) => self.found.broken.push(Broken { path: folder.to_owned(), why }),
        }
    }
}

fn read(root: &Path, folder: &Path, own: bool) -> Result<Skill, String> {
    let Parts { frontmatter, slip, .. } = parts(&folder.join(FILE))?;
    let below = folder.strip_prefix(root).unwrap_or(folder);
    let last = below.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let category = below.parent().map(|parent| parent.to_string_lossy().into_owned());
    let said = frontmatter.name.clone().filter(|name| names::is_name(name));
    let name = said.unwrap_or(last);
    if name.chars().any(char::is_control) {
        return Err("its folder's name holds control characters".to_owned());
    }
    let category = category.filter(|category| !category.is_empty());
    Ok(Skill { name, category, folder: folder.to_owned(), own, frontmatter, slip })
}

/// A `SKILL.md` taken apart.
///
/// # Errors
/// Why it cannot be read.
pub fn parts(path: &Path) -> Result<Parts, String> {
    frontmatter::read(&text(path)?).map_err(|error| error.to_string())
}

/// A `SKILL.md`.
///
/// # Errors
/// Why it cannot be read.
pub fn text(path: &Path) -> Result<String, String> {
    use std::io::Read;
    // Four bytes are a character, at most.
    let bytes_max = TEXT_CHARS_MAX as u64 * 4;
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| format!("`{FILE}` is not UTF-8"))?;
    match text.chars().count() > TEXT_CHARS_MAX {
        true => Err(format!("`{FILE}` has more than {TEXT_CHARS_MAX} characters")),
        false => Ok(text),
    }
}
