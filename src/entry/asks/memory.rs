//! `/memory`: what this session's people have had remembered, and what waits for their word. Nothing here
//! reaches another space than the session's own.

use std::sync::Arc;

use herm_replay::memory::changed;
use herm_schema::events::{Answerer, MemorySpace, MemoryTarget};

use crate::entry::engine::Engine;
use crate::memory::{Notes, Writes, name, why};
use crate::runtime::{Error, SessionHandle};

/// Writes that `/memory log` shows, the newest.
const WRITES_SHOWN: usize = 10;

/// `` shows, `log` lists writes, `undo [NAME]` takes one back, `pending`, `approve NAME|all`, `reject NAME|all`.
///
/// # Errors
/// Those of the session.
pub async fn memory(
    engine: &Engine,
    handle: &SessionHandle,
    text: &str,
    by: Option<Answerer>,
) -> Result<String, Error> {
    let Some(notes) = engine.memory.clone() else {
        return Ok("nothing is remembered here: memory is switched off".to_owned());
    };
    let Some(opened) = handle.state().await?.opened else { return Ok(String::new()) };
    let (space, text) = ((engine.whose)(&opened.chat, &opened.key), text.to_owned());
    let asked = move || done(&notes, &space, &text, by).unwrap_or_else(|why| why);
    Ok(tokio::task::spawn_blocking(asked).await.unwrap_or_else(|error| error.to_string()))
}

fn done(notes: &Arc<Notes>, space: &MemorySpace, text: &str, by: Option<Answerer>) -> Result<String, String> {
    let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match verb {
        "" | "show" => shown(notes, space),
        "log" => log(notes, space),
        "undo" => Ok(notes.undo(rest, by, |known| known == space)?.in_words()),
        "pending" => {
            let waiting = notes.pending(space)?;
            let line = |(at, asked): &(_, herm_schema::events::MemoryProposed)| {
                format!("{}  {}", name(*at), changed(&asked.space, asked.target, &asked.changes))
            };
            Ok(match waiting.is_empty() {
                true => "nothing waits for your word".to_owned(),
                false => waiting.iter().map(line).collect::<Vec<_>>().join("\n"),
            })
        }
        "approve" | "reject" => Ok(notes.answer(space, rest, verb == "approve", by)?.join("\n")),
        other => Err(format!("`{other}` is none of show, log, undo, pending, approve, reject")),
    }
}

fn shown(notes: &Notes, space: &MemorySpace) -> Result<String, String> {
    let mut lines = vec![whose(space)];
    for (target, title) in [(MemoryTarget::Memory, "Notes"), (MemoryTarget::User, "About you")] {
        let entries = notes.entries(space, target)?;
        lines.push(format!("{title}: {}", notes.usage(target, &entries)));
        lines.extend(entries.iter().map(|entry| format!("- {entry}")));
    }
    // What follows a list is no part of its last point.
    lines.push(String::new());
    lines.push("/memory log says who wrote what; /memory undo takes the last write back".to_owned());
    Ok(lines.join("\n"))
}

/// Whose it is, so that nobody wonders why it is not what they know from elsewhere.
fn whose(space: &MemorySpace) -> String {
    match space {
        MemorySpace::Profile => "The profile's own memory, which its owners share:".to_owned(),
        MemorySpace::Person { platform, .. } => {
            format!("Yours alone; the profile's own is that of its owners (`platforms.{platform}.admins`):")
        }
        MemorySpace::Chat { .. } => "This chat's, shared by all who speak in it:".to_owned(),
    }
}

fn log(notes: &Notes, space: &MemorySpace) -> Result<String, String> {
    let (log, profile) = notes.log();
    let writes = Writes::of(log, profile).map_err(|error| error.to_string())?;
    let own = writes.all.iter().filter(|write| write.written.space == *space).rev();
    let line = |write: &crate::memory::Write| {
        let why = why(log, write).map(|said| format!(" (after “{said}”)")).unwrap_or_default();
        let undone = if write.undone { " (taken back)" } else { "" };
        let changes = changed(space, write.written.target, &write.written.changes);
        format!("{}  {changes}{why}{undone}", name(write.at))
    };
    let lines: Vec<String> = own.take(WRITES_SHOWN).map(line).collect();
    Ok(if lines.is_empty() { "nothing was written yet".to_owned() } else { lines.join("\n") })
}
