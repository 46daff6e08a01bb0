//! What a call would change, worked out in memory before any file is touched.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::diff::{self, Sides};
use super::envelope::Operation;
use super::hunks;
use super::matching::Grade;
use super::replace::Replacement;
use super::text;
use crate::tools::charset::{self, Format};
use crate::tools::intent::Change;
use crate::tools::{Files, ToolContext, paths};

/// Largest file that is patched, in bytes.
const FILE_BYTES_MAX: usize = 32 << 20;

/// The changes so far.
pub(super) struct Plan<'a> {
    context: &'a ToolContext,
    files: Vec<File>,
    grade: Grade,
    replacements: Option<usize>,
}

/// A file that the call has to do with.
struct File {
    path: PathBuf,
    before: Option<Vec<u8>>,
    now: Option<Vec<u8>>,
    mode_of: Option<PathBuf>,
}

impl<'a> Plan<'a> {
    pub fn new(context: &'a ToolContext) -> Self {
        Self { context, files: Vec::new(), grade: Grade::Exact, replacements: None }
    }

    pub fn replace(&mut self, path: &str, replacement: &Replacement<'_>) -> Result<(), String> {
        let mut count = 0;
        self.edit(path, |text| {
            let replaced = replacement.apply(text)?;
            count = replaced.count;
            Ok((replaced.text, replaced.grade))
        })?;
        self.replacements = Some(count);
        Ok(())
    }

    /// Works out one operation of an envelope.
    pub fn take(&mut self, operation: Operation) -> Result<(), String> {
        match operation {
            Operation::Add { path, content } => {
                let file = self.file(&path)?;
                if file.now.is_some() {
                    return Err(format!("`{path}` exists already; use `*** Update File:`"));
                }
                file.now = Some(content.into_bytes());
                Ok(())
            }
            Operation::Update { path, move_to, hunks } => {
                if !hunks.is_empty() {
                    self.edit(&path, |text| hunks::apply(text, &hunks))?;
                }
                move_to.map_or(Ok(()), |to| self.rename(&path, &to))
            }
            Operation::Delete { path } => {
                self.not_a_link(&path)?;
                self.existing(&path)?.now = None;
                Ok(())
            }
            Operation::Move { from, to } => self.rename(&from, &to),
        }
    }

    /// What shall be changed, and the result to be reported once it is.
    pub fn finished(self) -> Result<(Vec<Change>, Value), String> {
        let changed: Vec<&File> = self.files.iter().filter(|file| file.before != file.now).collect();
        if changed.is_empty() {
            return Err("this changes nothing: the files are already so".to_owned());
        }
        let named = |wanted: fn(&File) -> bool| -> Vec<String> {
            let wanted = changed.iter().filter(|file| wanted(file));
            wanted.map(|file| file.path.display().to_string()).collect()
        };
        let mut shown = json!({
            "success": true,
            "diff": self.diff(&changed),
            "files_modified": named(|file| file.before.is_some() && file.now.is_some()),
            "files_created": named(|file| file.before.is_none()),
            "files_deleted": named(|file| file.now.is_none()),
            "match": self.grade.word(),
        });
        if let Some(object) = shown.as_object_mut() {
            object.extend(self.replacements.map(|count| ("replacements".to_owned(), json!(count))));
            if let [only] = changed.as_slice() {
                object.insert("resolved_path".into(), json!(only.path.display().to_string()));
            }
        }
        let changes = self.files.into_iter().filter(|file| file.before != file.now);
        Ok((changes.map(File::into_change).collect(), shown))
    }

    fn edit(
        &mut self,
        path: &str,
        change: impl FnOnce(&str) -> Result<(String, Grade), String>,
    ) -> Result<(), String> {
        let file = self.existing(path)?;
        let bytes = file.now.as_deref().unwrap_or_default();
        if bytes.len() > FILE_BYTES_MAX {
            return Err(format!("`{path}` has {} bytes; at most {FILE_BYTES_MAX} are patched", bytes.len()));
        }
        let (text, format) =
            charset::decode(bytes).ok_or_else(|| format!("`{path}` is binary, and not patched"))?;
        let (text, grade) = change(&text).map_err(|why| format!("`{path}`: {why}"))?;
        file.now = Some(encoded(path, &text, format)?);
        self.grade = self.grade.max(grade);
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), String> {
        self.not_a_link(from)?;
        if self.file(to)?.now.is_some() {
            return Err(format!("`{from}` cannot move to `{to}`, which exists"));
        }
        let file = self.existing(from)?;
        let (content, source) = (file.now.take(), file.path.clone());
        let target = self.file(to)?;
        target.now = content;
        target.mode_of = Some(source);
        Ok(())
    }

    fn existing(&mut self, path: &str) -> Result<&mut File, String> {
        let context = self.context;
        let file = self.file(path)?;
        if file.now.is_none() {
            let near = context.similar(&file.path);
            let advice =
                if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
            return Err(format!("`{path}` does not exist{advice}"));
        }
        Ok(file)
    }

    /// The file as the operations before this one leave it.
    fn file(&mut self, path: &str) -> Result<&mut File, String> {
        let context = self.context;
        let target = context.target(path)?;
        let index = match self.files.iter().position(|file| file.path == target) {
            Some(index) => index,
            None => {
                let (target, before) = context.to_change(path)?;
                self.files.push(File { path: target, now: before.clone(), before, mode_of: None });
                self.files.len() - 1
            }
        };
        self.files.get_mut(index).ok_or_else(|| format!("herm lost `{path}`"))
    }

    /// Removing the name of a link would remove the file behind it.
    fn not_a_link(&self, path: &str) -> Result<(), String> {
        let resolved = match &self.context.files {
            Files::Here => paths::resolve(path, &self.context.cwd).map_err(|error| error.to_string())?,
            // Over there a link is followed, and stays.
            Files::There(_) => return Ok(()),
        };
        match resolved.is_symlink() {
            true => Err(format!("`{path}` is a link; it is neither moved nor deleted by a patch")),
            false => Ok(()),
        }
    }

    fn diff(&self, changed: &[&File]) -> String {
        let mut all = String::new();
        for file in changed {
            let moved_away = file.now.is_none() && self.heir(&file.path).is_some();
            if !moved_away {
                all.push_str(&self.diff_of(file));
            }
        }
        let bytes_max = self.context.limits.bytes_max;
        match text::head_bytes(&all, bytes_max) {
            shown if shown.len() < all.len() => {
                format!("{shown}\n… [{} more bytes of diff]", all.len() - shown.len())
            }
            _ => all,
        }
    }

    fn diff_of(&self, file: &File) -> String {
        let source = file.mode_of.as_ref().and_then(|path| self.files.iter().find(|file| file.path == *path));
        let source = source.unwrap_or(file);
        let decoded = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(charset::decode);
        let (before, after) = (decoded(&source.before), decoded(&file.now));
        if matches!(before, Some(None)) || matches!(after, Some(None)) {
            return format!("Binary file {} differs\n", paths::shown(&file.path, &self.context.cwd));
        }
        let (before, after) = (before.flatten(), after.flatten());
        let sides = Sides {
            before: before.as_ref().map(|(text, _)| (text.as_str(), source.path.as_path())),
            after: after.as_ref().map(|(text, _)| (text.as_str(), file.path.as_path())),
        };
        diff::unified(&sides, &self.context.cwd)
    }

    /// The file that took over the content of the one at `path`.
    fn heir(&self, path: &Path) -> Option<&File> {
        self.files.iter().find(|file| file.mode_of.as_deref() == Some(path) && file.now.is_some())
    }
}

impl File {
    fn into_change(self) -> Change {
        Change { path: self.path, before: self.before, after: self.now, mode_of: self.mode_of }
    }
}

fn encoded(path: &str, text: &str, format: Format) -> Result<Vec<u8>, String> {
    charset::encode(text, format).map_err(|character| {
        format!("`{path}` is {}, which has no `{character}`; nothing was changed", format.encoding.name())
    })
}
