//! Spools of tool calls: kept until their outcomes are recorded, and then only what the model was
//! told it can read.

use std::path::{Path, PathBuf};

use herm_schema::{CallRef, SessionId};

/// The spools of a session, a folder a call.
fn folder(home: &Path, session: SessionId) -> PathBuf {
    home.join("spool").join(session.to_string())
}

/// The spool of one call.
pub fn of_call(home: &Path, session: SessionId, call: CallRef) -> PathBuf {
    folder(home, session).join(call.to_string())
}

/// Removes the spools of a session none of whose calls runs, except those whose whole output is
/// larger than what the model was shown. What cannot be removed now goes with the next turn.
pub fn tidy(home: &Path, session: SessionId, shown_bytes_max: usize) {
    let folder = folder(home, session);
    let Ok(calls) = std::fs::read_dir(&folder) else {
        return;
    };
    for call in calls.flatten().map(|call| call.path()) {
        let output = std::fs::metadata(call.join("output")).map_or(0, |output| output.len());
        // The redacted copy is in the blob store by now.
        drop(std::fs::remove_file(call.join("redacted")));
        if output <= shown_bytes_max as u64 {
            drop(std::fs::remove_dir_all(call));
        }
    }
    // Only goes if it is empty.
    drop(std::fs::remove_dir(folder));
}

#[cfg(test)]
mod tests {
    use super::*;
    use herm_schema::{Micros, StreamPos};

    #[test]
    fn only_an_output_that_was_not_shown_whole_stays() {
        let home = tempfile::tempdir().unwrap();
        let session = SessionId::opened(Micros(0), [1; 10]);
        let call = |index| CallRef { message: StreamPos(3), index };
        for (index, bytes) in [(0, 10), (1, 100)] {
            let spool = of_call(home.path(), session, call(index));
            std::fs::create_dir_all(&spool).unwrap();
            std::fs::write(spool.join("output"), vec![b'x'; bytes]).unwrap();
        }
        tidy(home.path(), session, 50);
        assert!(!of_call(home.path(), session, call(0)).exists());
        assert!(of_call(home.path(), session, call(1)).join("output").exists());
        tidy(home.path(), session, 1_000);
        assert!(!folder(home.path(), session).exists());
    }
}
