//! `/rollback`: the checkpoints of the session's directory, and the way back to one.

use std::path::PathBuf;
use std::sync::Arc;

use herm_replay::reducer::Command;
use herm_replay::reducer::command::Fact;
use herm_schema::events::CheckpointRestored;

use crate::checkpoints::{self, Checkpoint, Checkpoints};
use crate::entry::engine::Engine;
use crate::runtime::{Clock, Error, SessionHandle, SystemClock};

/// Hexadecimal digits of a checkpoint that are shown.
const ID_CHARS: usize = 10;

/// `` lists, `N` puts back, `diff N` says what has changed since.
///
/// # Errors
/// Those of the session.
pub async fn rolled_back(engine: &Engine, handle: &SessionHandle, text: &str) -> Result<Vec<String>, Error> {
    let Some(checkpoints) = engine.checkpoints.clone() else {
        return Ok(vec![
            "no checkpoints are kept; `herm config set checkpoints.enabled true` changes that".into(),
        ]);
    };
    let state = handle.state().await?;
    let directory = PathBuf::from(state.opened.map(|opened| opened.cwd).unwrap_or_default());
    if state.turn.is_some() {
        return Ok(vec!["a turn is running; /stop it first".into()]);
    }
    let at = directory.clone();
    let known = match blocking(&checkpoints, move |kept| kept.list(&at)).await {
        Ok(known) => known,
        Err(error) => return Ok(vec![error.to_string()]),
    };
    let (diff, number) = match text.strip_prefix("diff") {
        Some(rest) => (true, rest.trim()),
        None => (false, text),
    };
    if number.is_empty() {
        return Ok(listed(&known));
    }
    let wanted = number.parse::<usize>().ok().and_then(|number| known.get(number.checked_sub(1)?));
    let Some(wanted) = wanted.map(|wanted| wanted.id.clone()) else {
        return Ok(vec![format!("there is no checkpoint `{number}`; /rollback lists them")]);
    };
    let now = SystemClock.now();
    if diff {
        let stat = blocking(&checkpoints, move |kept| kept.changes(&directory, &wanted, now)).await;
        let stat = stat.unwrap_or_else(|error| error.to_string());
        let lines: Vec<String> = stat.lines().map(str::to_owned).collect();
        return Ok(if lines.is_empty() { vec!["nothing has changed since".into()] } else { lines });
    }
    let id = wanted.clone();
    let at = directory.clone();
    match blocking(&checkpoints, move |kept| kept.restore(&at, &id, now)).await {
        Err(error) => Ok(vec![error.to_string()]),
        Ok((before, files)) => {
            let directory = directory.display().to_string();
            let said = format!("{files} files of {directory} were put back; /rollback 1 undoes that");
            let restored = CheckpointRestored { directory, checkpoint: wanted, before: before.id, files };
            handle.send(Command::Record(Fact::CheckpointRestored(restored)), None).await?;
            Ok(vec![said])
        }
    }
}

async fn blocking<T: Send + 'static>(
    checkpoints: &Arc<Checkpoints>,
    work: impl FnOnce(&Checkpoints) -> Result<T, checkpoints::Error> + Send + 'static,
) -> Result<T, checkpoints::Error> {
    let checkpoints = Arc::clone(checkpoints);
    let failed = |error: tokio::task::JoinError| checkpoints::Error::Git {
        operation: "thread",
        message: error.to_string(),
    };
    tokio::task::spawn_blocking(move || work(&checkpoints)).await.map_err(failed)?
}

fn listed(known: &[Checkpoint]) -> Vec<String> {
    if known.is_empty() {
        return vec!["there is no checkpoint of this directory yet".into()];
    }
    let ago = |at: herm_schema::Micros| SystemClock.now().since(at) / 60_000_000;
    let row = |(index, known): (usize, &Checkpoint)| {
        let id: String = known.id.chars().take(ID_CHARS).collect();
        format!("{}. {} min ago, {} files ({id})", index + 1, ago(known.taken_at), known.files)
    };
    known.iter().enumerate().map(row).collect()
}
