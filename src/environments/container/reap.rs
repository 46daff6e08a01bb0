//! Removing what a herm that was killed left behind.
//!
//! The process that owns a home is the only one that makes containers for it, so every container of
//! this home that is there when it starts is an orphan. One in which a command still runs is left: its
//! session finds the outcome again, and takes the container over.

use std::path::Path;

use super::engine::{Engine, EngineError};

/// Removes the orphans of a home. How many there were.
pub async fn orphans(engine: &Engine, home: &Path) -> Result<usize, EngineError> {
    let mut removed = 0;
    for id in engine.of_home(home).await? {
        let Some(found) = engine.inspect(&id).await? else { continue };
        if found.running && engine.is_busy(&found).await {
            continue;
        }
        engine.remove(&id).await?;
        removed += 1;
    }
    Ok(removed)
}
