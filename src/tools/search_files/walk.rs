//! The files that a search looks at, in the order of their paths.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;

use super::{Arguments, Stop, TIME_MAX};
use crate::tools::{ToolContext, open, paths};

/// The place that is searched.
pub(super) struct Place {
    pub root: PathBuf,
    /// The one file that is searched, if the path names a file.
    is_file: bool,
    /// Whether the path leads into something hidden, so that hidden files are meant.
    hidden: bool,
    only: Option<NameGlob>,
    /// The way to it leads through a link, so that what lies below is not what it is called.
    linked: bool,
    pub deadline: Instant,
}

impl Place {
    pub fn new(arguments: &Arguments, context: &ToolContext) -> Result<Self, Stop> {
        let wrong = |error: &dyn std::fmt::Display| Stop::Wrong(error.to_string());
        let argument = arguments.path.as_deref().unwrap_or(".");
        let path = paths::resolve(argument, &context.cwd).map_err(|error| wrong(&error))?;
        let root = paths::lexical(&path);
        open::guard(&root, &context.home).map_err(|error| wrong(&error))?;
        let Ok(metadata) = std::fs::metadata(&root) else {
            return Err(Stop::Wrong(missing(&root)));
        };
        if !metadata.is_dir() {
            open::ordinary(&root, &metadata).map_err(|error| wrong(&error))?;
        }
        let only = arguments.file_glob.as_deref().map(NameGlob::new).transpose()?;
        let hidden = is_hidden(root.strip_prefix(&context.cwd).unwrap_or(&root));
        let linked = paths::real(&root).map_err(|error| wrong(&error))? != root;
        let deadline = Instant::now() + TIME_MAX;
        Ok(Self { root, is_file: !metadata.is_dir(), hidden, only, linked, deadline })
    }

    /// Opens a file that the walk came by. Links are not followed on the way, so that only those
    /// above the place, and what is the kernel's, need a closer look.
    pub fn open(&self, path: &Path, context: &ToolContext) -> Result<File, open::Refusal> {
        let opened = match self.linked || open::is_kernels(path) {
            true => open::open(path, &context.home),
            false => open::open_unguarded(path),
        };
        opened.map(|(file, _)| file)
    }

    /// Calls `each` with every file, until it says stop; whether the time was enough for all.
    pub fn each(
        &self,
        context: &ToolContext,
        mut each: impl FnMut(&Path) -> Result<(), Stop>,
    ) -> Result<bool, Stop> {
        let home = paths::real(&context.home).unwrap_or_default();
        let secrets = home.join(".env");
        let walk = WalkBuilder::new(&self.root)
            .hidden(!self.hidden)
            .require_git(false)
            .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git")
            .sort_by_file_path(Path::cmp)
            .build();
        for entry in walk {
            if context.cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            if Instant::now() > self.deadline {
                return Ok(false);
            }
            // What cannot be listed is passed over, as ripgrep does.
            let Ok(entry) = entry else { continue };
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            if !(is_file || (self.is_file && entry.depth() == 0))
                || entry.path() == secrets
                || open::is_remembered(entry.path(), &home)
            {
                continue;
            }
            if self.only.as_ref().is_none_or(|glob| glob.is_match(&self.root, entry.path())) {
                each(entry.path())?;
            }
        }
        Ok(true)
    }
}

fn missing(path: &Path) -> String {
    let near = open::similar_files(path);
    let advice = if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
    format!("`{}` does not exist{advice}", path.display())
}

fn is_hidden(path: &Path) -> bool {
    path.iter().any(|part| part.as_encoded_bytes().first() == Some(&b'.') && part != "." && part != "..")
}

/// A glob on a file's name, or, if it holds a slash, on its path below the searched folder.
pub(super) struct NameGlob {
    glob: GlobMatcher,
    whole_path: bool,
}

impl NameGlob {
    pub fn new(pattern: &str) -> Result<Self, Stop> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let glob = GlobBuilder::new(pattern).literal_separator(true).build();
        let glob =
            glob.map_err(|source| Stop::Wrong(format!("`{pattern}` is not a valid glob: {source}")))?;
        Ok(Self { glob: glob.compile_matcher(), whole_path: pattern.contains('/') })
    }

    pub fn is_match(&self, root: &Path, path: &Path) -> bool {
        if self.whole_path {
            let below = path.strip_prefix(root).unwrap_or(path);
            return self.glob.is_match(below) || self.glob.is_match(path);
        }
        path.file_name().is_some_and(|name| self.glob.is_match(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::place;
    use std::time::Duration;

    #[test]
    fn the_walk_ends_with_its_time() {
        let files = place();
        files.write("a", "x");
        let arguments = serde_json::from_str(r#"{"pattern": "x"}"#).unwrap();
        let mut place = Place::new(&arguments, &files.context).unwrap();
        let mut seen = 0;
        let mut walk = |place: &Place| {
            let whole = place.each(&files.context, |_| {
                seen += 1;
                Ok(())
            });
            (whole.unwrap(), seen)
        };
        assert_eq!(walk(&place), (true, 1));
        place.deadline -= TIME_MAX + Duration::from_millis(1);
        assert_eq!(walk(&place), (false, 1));
    }
}
