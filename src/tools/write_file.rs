//! `write_file`: a file's whole content, replaced in one step.
//!
//! What is given is what is written, byte for byte in UTF-8; where the file that was there ended
//! its lines otherwise or bore a byte order mark, the result says so.

use std::path::{Path, PathBuf};

use herm_schema::events::{Concurrency, EffectClass, ToolFacts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::files::Files;
use super::intent::{self, Change};
use super::{Recovered, ToolContext, ToolResult, Typed, charset, mask, open, outcome};
use crate::providers::BoxFuture;

/// Largest file that is replaced, in bytes; what was there is kept in memory until it is.
pub(crate) const FILE_BYTES_MAX: u64 = 256 << 20;

/// The tool.
pub struct WriteFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    path: String,
    content: String,
}

impl Typed for WriteFile {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        ToolFacts {
            name: "write_file".into(),
            effect: EffectClass::Checkable,
            concurrency: Concurrency::Paths { arguments: vec!["path".into()], writes: true },
            refunds_iteration: false,
            judged: false,
        }
    }

    fn description(&self) -> &'static str {
        "Write a whole file, replacing what it held; parent folders are made. To change a part use patch."
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let context = context.clone();
        Box::pin(outcome::blocking(move || write(args, &context).unwrap_or_else(outcome::failed)))
    }

    fn found_out<'a>(&'a self, _arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        Box::pin(recover(context.spool.clone()))
    }
}

/// What became of a call that changes files, from its spool.
pub(crate) async fn recover(spool: PathBuf) -> Recovered {
    tokio::task::spawn_blocking(move || intent::recover(&spool)).await.unwrap_or(Recovered::Unknown)
}

/// What a path holds before it is written; `None` if there is nothing.
///
/// # Errors
/// A text that says why it is not to be written.
pub(crate) fn before(target: &Path, herm_home: &Path) -> Result<Option<Vec<u8>>, String> {
    use std::io::Read;
    let (file, metadata) = match open::open(target, herm_home) {
        Ok(opened) => opened,
        Err(open::Refusal::Missing { .. }) => return Ok(None),
        Err(refusal) => return Err(refusal.to_string()),
    };
    let named = target.display();
    if metadata.len() > FILE_BYTES_MAX {
        return Err(format!("`{named}` has {} bytes; at most {FILE_BYTES_MAX} are replaced", metadata.len()));
    }
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|source| format!("cannot read `{named}` before writing it: {source}"))?;
    Ok(Some(bytes))
}

fn write(arguments: Arguments, context: &ToolContext) -> Result<ToolResult, String> {
    if arguments.path.ends_with('/') {
        return Err(format!("`{}` names a directory, not a file", arguments.path));
    }
    let (target, before) = context.to_change(&arguments.path)?;
    mask::kept_out(&target, before.as_deref(), arguments.content.as_bytes(), context)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    let mut shown = json!({
        "bytes_written": arguments.content.len(),
        "dirs_created": matches!(context.files, Files::Here) && !folder.exists(),
        "resolved_path": target.display().to_string(),
        "files_modified": [target.display().to_string()],
    });
    if let (Some(note), Some(object)) =
        (differences(before.as_deref(), &arguments.content), shown.as_object_mut())
    {
        object.insert("note".into(), json!(note));
    }
    if context.cancel.is_cancelled() {
        return Ok(outcome::interrupted());
    }
    let change = Change { path: target, before, after: Some(arguments.content.into_bytes()), mode_of: None };
    context
        .carry_out(std::slice::from_ref(&change), &shown.to_string())
        .map_err(|source| format!("cannot write `{}`: {source}; it is as it was", change.path.display()))?;
    Ok(outcome::succeeded(&shown))
}

/// What the file that was there had and the new content has not.
fn differences(before: Option<&[u8]>, content: &str) -> Option<String> {
    let (text, format) = charset::decode(before?)?;
    let mut lost = Vec::new();
    if text.contains("\r\n") && !content.contains("\r\n") && content.contains('\n') {
        lost.push("it had CRLF line ends and now has LF".to_owned());
    }
    if format.bom && !content.starts_with('\u{feff}') {
        lost.push("it had a byte order mark and now has none".to_owned());
    }
    if format.encoding != encoding_rs::UTF_8 {
        lost.push(format!("it was {} and is now UTF-8", format.encoding.name()));
    }
    (!lost.is_empty()).then(|| lost.join("; "))
}

#[cfg(test)]
#[path = "write_file_tests.rs"]
mod tests;
