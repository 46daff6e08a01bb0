//! `read_file`: a page of a text file, with numbered lines; or a picture, for models that take them.
//!
//! The file goes by in pieces, so that its size does not matter; it is read to the end to count
//! its lines, up to a limit.

mod page;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use herm_schema::events::{Concurrency, EffectClass, ToolFacts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, json};

use self::page::{Found, Window};
use super::charset::Content;
use super::files::Files;
use super::open::{self, Refusal};
use super::{Picture, ToolContext, ToolResult, Typed, outcome, paths};
use crate::providers::BoxFuture;

/// Lines of a page where none are asked for.
const LINES_DEFAULT: u64 = 500;
/// Lines of a page, at most.
const LINES_MAX: u64 = 2_000;

/// Largest picture that is shown, in bytes; a provider that takes less is sent a smaller one.
const PICTURE_BYTES_MAX: u64 = 20 << 20;
/// Kinds of pictures that models are shown.
const PICTURE_KINDS: &[&str] = &["png", "jpeg", "gif", "webp"];

/// The tool.
pub struct ReadFile;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    path: String,
    /// first line, from 1
    offset: Option<i64>,
    /// lines, at most 2000 (default 500)
    limit: Option<i64>,
}

impl Typed for ReadFile {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        ToolFacts {
            name: "read_file".into(),
            effect: EffectClass::Repeatable,
            concurrency: Concurrency::Paths { arguments: vec!["path".into()], writes: false },
            refunds_iteration: false,
            judged: false,
        }
    }

    fn description(&self) -> &'static str {
        "Read a text file, or look at a picture; lines come as `N|text`. Page through long files with offset and limit."
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        let context = context.clone();
        Box::pin(outcome::blocking(move || read(&args, &context)))
    }
}

fn read(arguments: &Arguments, context: &ToolContext) -> ToolResult {
    let (path, mut file, bytes) = match opened(arguments, context) {
        Ok(opened) => opened,
        Err(refused) => return refused,
    };
    match page::read(&mut file, window(arguments), &context.cancel) {
        Ok(Found::Text(page)) => outcome::succeeded(&page.shown(bytes)),
        Ok(Found::NotText(Content::Image(kind))) => match picture(&path, kind, file, bytes) {
            Ok(picture) => shown(picture, kind, bytes),
            Err(why) => not_text(&path, Content::Image(kind), bytes, &why),
        },
        Ok(Found::NotText(content)) => not_text(&path, content, bytes, ""),
        Ok(Found::Cancelled) => outcome::interrupted(),
        Err(source) => outcome::failed(format!("cannot read `{}`: {source}", path.display())),
    }
}

/// The file, wherever it is, and its size in bytes.
fn opened(arguments: &Arguments, context: &ToolContext) -> Result<(PathBuf, File, u64), ToolResult> {
    let found = match &context.files {
        Files::Here => {
            let path = paths::resolve(&arguments.path, &context.cwd).map_err(outcome::failed)?;
            match open::open(&path, &context.home) {
                Ok((file, metadata)) => return Ok((path, file, metadata.len())),
                Err(Refusal::Missing { .. }) => (path, None),
                Err(refusal) => return Err(outcome::failed(refusal)),
            }
        }
        Files::There(there) => {
            let path = there.path(&arguments.path).map_err(outcome::failed)?;
            let copy = there.copy(&path).map_err(outcome::failed)?;
            (path, copy)
        }
    };
    let (path, Some((file, bytes))) = found else {
        let mut more = Map::new();
        more.insert("similar_files".into(), json!(context.similar(&found.0)));
        let refusal = Refusal::Missing { path: found.0.display().to_string() };
        return Err(outcome::failed_with(refusal, more));
    };
    Ok((path, file, bytes))
}

/// The picture itself, where models take its kind.
fn picture(path: &Path, kind: &str, mut file: File, size: u64) -> Result<Picture, String> {
    if !PICTURE_KINDS.contains(&kind) {
        return Err("models are not shown this kind".to_owned());
    }
    if size > PICTURE_BYTES_MAX {
        return Err(format!("it has {size} bytes, and at most {PICTURE_BYTES_MAX} are shown"));
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0)).map_err(|error| format!("it cannot be read: {error}"))?;
    let read = file.take(PICTURE_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Picture { media_type: format!("image/{kind}"), bytes, name })
}

/// The picture goes beside the text; for a model that does not see it, the text says what to do.
fn shown(picture: Picture, kind: &str, file_size: u64) -> ToolResult {
    let shown = json!({
        "content": format!("[a picture ({kind}), shown beside this; if you cannot see it, ask vision_analyze]"),
        "file_size": file_size,
        "is_binary": true,
        "is_image": true,
    });
    ToolResult { images: vec![picture], ..outcome::succeeded(&shown) }
}

fn not_text(path: &Path, content: Content, file_size: u64, why: &str) -> ToolResult {
    let (what, is_image) = match content {
        Content::Image(kind) => (format!("a picture ({kind})"), true),
        _ => ("binary".to_owned(), false),
    };
    let more = json!({"file_size": file_size, "is_binary": true, "is_image": is_image});
    let why = if why.is_empty() { String::new() } else { format!("; {why}") };
    let error = format!("`{}` is {what}, not text{why}", path.display());
    outcome::failed_with(error, more.as_object().cloned().unwrap_or_default())
}

fn window(arguments: &Arguments) -> Window {
    let lines = arguments.limit.map_or(LINES_DEFAULT, |limit| limit.max(1).unsigned_abs());
    Window {
        first: arguments.offset.map_or(1, |offset| offset.max(1).unsigned_abs()),
        lines: lines.min(LINES_MAX),
    }
}

#[cfg(test)]
mod tests;
