//! Files whose names match.

use serde_json::{Value, json};

use super::walk::{NameGlob, Place};
use super::{Arguments, Limits, OutputMode, Stop};
use crate::tools::{ToolContext, paths};

/// Characters that make a pattern a glob; without any it is a part of the name.
const GLOB_CHARACTERS: &[char] = &['*', '?', '[', '{'];

pub(super) fn search(arguments: &Arguments, context: &ToolContext) -> Result<Value, Stop> {
    let place = Place::new(arguments, context)?;
    let pattern = arguments.pattern.as_str();
    if pattern.trim().is_empty() {
        return Err(Stop::Wrong("the pattern is empty; `*` finds every file".to_owned()));
    }
    let glob = match pattern.contains(GLOB_CHARACTERS) {
        true => NameGlob::new(pattern)?,
        false => NameGlob::new(&part_of_name(pattern))?,
    };
    let limits = Limits::of(arguments, context);
    let (mut total, mut bytes, mut cut) = (0_u64, 0, None);
    let mut files = Vec::new();
    let whole = place.each(context, |path| {
        if !glob.is_match(&place.root, path) {
            return Ok(());
        }
        let shown = paths::shown(path, &context.cwd);
        if limits.covers(total) && cut.is_none() {
            bytes += shown.len();
            if bytes > limits.bytes_max {
                cut = Some("output_bytes");
            } else {
                files.push(shown);
            }
        }
        total += 1;
        Ok(())
    })?;
    let more = !whole || limits.skip.saturating_add(files.len() as u64) < total;
    if more && cut.is_none() {
        cut = Some(if whole { "limit" } else { "time" });
    }
    let mut shown = json!({"total_count": total});
    if arguments.output_mode != OutputMode::Count {
        super::content::set(&mut shown, "files", json!(files));
    }
    super::content::close(&mut shown, cut.filter(|_| more), limits.skip.saturating_add(files.len() as u64));
    Ok(shown)
}

/// Plain words are looked for anywhere in the name; with a slash, at the end of the path.
fn part_of_name(pattern: &str) -> String {
    match pattern.contains('/') {
        true => format!("{{{pattern},**/{pattern}}}"),
        false => format!("*{pattern}*"),
    }
}
