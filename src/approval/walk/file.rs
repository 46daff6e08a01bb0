//! Scripts in files that the line starts: read where they can be had, and visited.

use std::path::PathBuf;
use std::sync::Arc;

use super::Walk;
use crate::approval::paths;
use crate::approval::scripts::{Script, is_for_a_shell};
use crate::approval::word::Field;

/// Characters of the digest of what was read.
const DIGEST_CHARS: usize = 16;
/// Scripts of one line that are read, those that they start in turn included.
const SCRIPTS_MAX: usize = 16;

impl Walk<'_> {
    /// Visits a script file. `by_shell` if a shell is told to read it, whatever it is.
    pub(super) fn file(&mut self, path: &Field, arguments: &[Field], same_shell: bool, by_shell: bool) {
        if path.process {
            // What a process substitution prints is asked about by a rule.
            return;
        }
        let Some(place) = self.place_of(path) else {
            if by_shell {
                self.unread("which script it runs is only known when it runs");
            }
            return;
        };
        if place.starts_with("/dev") || place.starts_with("/proc") {
            return self.unread("which script it runs is only known when it runs");
        }
        if self.scripts_read >= SCRIPTS_MAX {
            return self.unread("it runs more scripts than are read");
        }
        self.scripts_read += 1;
        match self.scripts.read(&place) {
            Script::Missing => {}
            Script::Binary if !by_shell => {}
            Script::Binary => self.unread("a script in it is no text"),
            Script::Unreadable(why) if by_shell => self.unread(&format!("a script in it {why}")),
            // A program that is no script may well be large or no text.
            Script::Unreadable(_) => {}
            Script::Text(text) if by_shell || is_for_a_shell(&text) => {
                self.visit_file(path.text(), &text, arguments, same_shell)
            }
            Script::Text(_) => {}
        }
    }

    fn visit_file(&mut self, name: &str, text: &str, arguments: &[Field], same_shell: bool) {
        let outer = self.script.replace(Arc::from(name));
        let so_far = self.reading.scripts.take().unwrap_or_default();
        let digest = blake3::hash(format!("{so_far}{text}").as_bytes());
        self.reading.scripts = Some(digest.to_hex().chars().take(DIGEST_CHARS).collect());
        let visit = |walk: &mut Self| {
            let before = walk.positional.replace(arguments.to_vec());
            walk.script(text);
            walk.positional = before;
        };
        match same_shell {
            true => self.nested(visit),
            false => self.scoped(visit),
        }
        self.script = outer;
    }

    fn place_of(&self, path: &Field) -> Option<PathBuf> {
        let text = path.fixed().or_else(|| path.value().filter(|_| !path.glob))?;
        paths::target(text, self.cwd.as_deref()).map(|target| target.path.into())
    }
}
