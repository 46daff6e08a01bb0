//! herm's own runtime files on another machine: over before a command line, back at the end.
//!
//! Over: what differs by content from what was brought last is packed into one archive, unpacked
//! beside its place there, and only when all of it has arrived moved into place; what is gone here is
//! removed there. Whatever breaks on the way leaves the old files, and the next command line tries
//! again. Back: skills and caches that changed over there come home, unless they changed here too;
//! nothing is removed here; credentials are never asked for. Back is bounded, so that a full disk
//! over there does not become one here.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::manifest::{Difference, Manifest, hash, is_below};
use super::{Connection, unreachable};
use crate::environments::Error;
use crate::environments::files::unique;

/// Time between two looks at what is to be brought over, at least.
pub const EVERY: Duration = Duration::from_secs(5);
/// Most that is sent or taken back at once, in bytes: 2 GiB.
pub const BYTES_MAX: u64 = 2 << 30;
/// How long one way may take.
const TIME_MAX: Duration = Duration::from_secs(600);
/// Bytes that are read from a connection at once.
const PIECE_BYTES: usize = 64 << 10;
/// Most that is told of why it failed, in characters.
const REASON_CHARS_MAX: usize = 300;

/// What files are for; it says which way they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncKind {
    /// Over, and never back.
    Credentials,
    Skills,
    Cache,
}

/// A file or folder here, and what it is called below herm's home over there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncRoot {
    pub local: PathBuf,
    pub remote: String,
    pub kind: SyncKind,
}

impl SyncRoot {
    /// What is brought over of a home.
    ///
    /// # Errors
    /// A file of credentials that is not below the home.
    pub fn usual(home: &Path, credentials: &[String]) -> Result<Vec<Self>, Error> {
        let mut roots = Vec::new();
        for name in credentials {
            if !is_below(name) {
                return Err(Error::Misconfigured {
                    reason: format!(
                        "`terminal.ssh.credentials` names `{name}`, which is not below herm's home"
                    ),
                    hint: "name files relative to herm's home, without `..`".into(),
                });
            }
            roots.push(Self { local: home.join(name), remote: name.clone(), kind: SyncKind::Credentials });
        }
        for (name, kind) in [("skills", SyncKind::Skills), ("cache", SyncKind::Cache)] {
            roots.push(Self { local: home.join(name), remote: name.into(), kind });
        }
        Ok(roots)
    }
}

/// The files of one connection.
pub struct Sync {
    roots: Vec<SyncRoot>,
    /// What was brought over last, on this machine.
    record: PathBuf,
    looked: Mutex<Option<Instant>>,
}

/// Unpacks beside, and puts in place only what has arrived whole. `$1` is the number of the archive,
/// `$2` the digest of all that is there afterwards. No quotes and no backslashes: the user's own shell
/// over there hands it on, whichever that is.
const PUT: &str = "set -eu; umask 077; d=$HOME/.herm; mkdir -p $d; cd $d; rm -rf .sync-*; mkdir .sync-$1; \
cd .sync-$1; tar -xf -; test -f .end; \
if test -d new; then cd new; find . -type d | while IFS= read -r f; do mkdir -p $d/\"$f\"; done; \
find . -type f | while IFS= read -r f; do mv -f \"$f\" $d/\"$f\"; done; cd ..; fi; \
while IFS= read -r f; do rm -f $d/\"$f\"; done < gone; \
echo $2 > ../.synced.new; mv -f ../.synced.new ../.synced; cd ..; rm -rf .sync-$1";

impl Sync {
    /// `folder` is on this machine, for this connection alone.
    pub fn new(roots: Vec<SyncRoot>, folder: PathBuf) -> Self {
        Self { roots, record: folder.join("synced.json"), looked: Mutex::default() }
    }

    /// Brings over what changed, unless that was looked at a moment ago.
    ///
    /// # Errors
    /// It could not be brought over; the command line is not to run without it.
    pub async fn bring(&self, connection: &Connection) -> Result<(), Error> {
        let mut looked = self.looked.lock().await;
        if looked.is_some_and(|at| at.elapsed() < EVERY) {
            return Ok(());
        }
        let roots = self.roots.clone();
        let read = tokio::task::spawn_blocking(move || Manifest::of(&roots)).await;
        let (now, files) =
            read.map_err(io::Error::other).flatten().map_err(|error| self.unreadable(&error))?;
        let known = self.known(connection, looked.is_none()).await;
        let difference = known.difference(&now);
        if difference != Difference::default() || (looked.is_none() && known != now) {
            self.put(connection, &now, &files, difference).await?;
            self.remember(&now).map_err(|error| self.unreadable(&error))?;
        }
        *looked = Some(Instant::now());
        Ok(())
    }

    /// What is over there, as far as that is certain: what was brought last, if the other side says
    /// the same.
    async fn known(&self, connection: &Connection, ask: bool) -> Manifest {
        let text = fs::read_to_string(&self.record).unwrap_or_default();
        let recorded: Manifest = serde_json::from_str(&text).unwrap_or_default();
        if !ask || recorded.0.is_empty() {
            return recorded;
        }
        let line = format!("test \"$(cat $HOME/.herm/.synced)\" = {}", recorded.digest());
        let line = format!("exec /bin/sh -c '{line}'");
        if connection.status(&line).await == Some(0) { recorded } else { Manifest::default() }
    }

    fn remember(&self, now: &Manifest) -> io::Result<()> {
        let nascent = self.record.with_extension("new");
        if let Some(folder) = self.record.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&nascent, serde_json::to_vec(now)?)?;
        fs::rename(nascent, &self.record)
    }

    async fn put(
        &self,
        connection: &Connection,
        now: &Manifest,
        files: &BTreeMap<String, PathBuf>,
        difference: Difference,
    ) -> Result<(), Error> {
        let archive = self.record.with_extension("tar");
        let (at, files) = (archive.clone(), files.clone());
        let packed = tokio::task::spawn_blocking(move || pack(&at, &files, &difference)).await;
        packed.map_err(io::Error::other).flatten().map_err(|error| self.unreadable(&error))?;
        let line = format!("exec /bin/sh -c '{PUT}' sh {} {}", unique(), now.digest());
        let mut command = connection.command(&line);
        let input = File::open(&archive).map_err(|error| self.unreadable(&error))?;
        command.stdin(input).stdout(Stdio::null()).stderr(Stdio::piped());
        let output = timeout(TIME_MAX, command.output()).await;
        let _ = fs::remove_file(&archive);
        let failed = |reason: String| unreachable(format!("herm's files cannot be brought over: {reason}"));
        match output {
            Ok(Ok(output)) if output.status.success() => Ok(()),
            Ok(Ok(output)) => Err(failed(said(&output.stderr))),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_) => Err(failed(format!("it took more than {} s", TIME_MAX.as_secs()))),
        }
    }

    /// Brings back what changed over there.
    ///
    /// # Errors
    /// It could not be brought back; everything here is as it was.
    pub async fn back(&self, connection: &Connection) -> Result<(), Error> {
        let _looked = self.looked.lock().await;
        let backward: Vec<&SyncRoot> =
            self.roots.iter().filter(|root| root.kind != SyncKind::Credentials).collect();
        let names: Vec<&str> = backward.iter().map(|root| root.remote.as_str()).collect();
        let line = format!(
            "exec /bin/sh -c 'cd $HOME/.herm 2>/dev/null || exit 0; for n in {}; do test ! -d $n || echo $n; done \
             | tar -cf - -T -'",
            names.join(" ")
        );
        let archive = self.record.with_extension("back.tar");
        let failed = |reason: String| unreachable(format!("herm's files cannot be brought back: {reason}"));
        let fetched = timeout(TIME_MAX, fetch(connection, &line, &archive, BYTES_MAX)).await;
        let fetched = fetched.unwrap_or_else(|_| Err(io::Error::other("it took too long")));
        let applied = fetched.and_then(|()| {
            let recorded = fs::read_to_string(&self.record).unwrap_or_default();
            let brought: Manifest = serde_json::from_str(&recorded).unwrap_or_default();
            apply(&archive, &backward, &brought)
        });
        let _ = fs::remove_file(&archive);
        applied.map_err(|error| failed(error.to_string()))
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        Error::Misconfigured {
            reason: format!("herm's own files cannot be brought over: {error}"),
            hint: "look at `skills` and `cache` in herm's home, or set `terminal.ssh.sync: false`".into(),
        }
    }
}

/// The archive: `new/…` with what changed, `gone` with what is to go, and at the very end `.end`.
fn pack(at: &Path, files: &BTreeMap<String, PathBuf>, difference: &Difference) -> io::Result<()> {
    if let Some(folder) = at.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut archive = tar::Builder::new(io::BufWriter::new(File::create(at)?));
    archive.mode(tar::HeaderMode::Deterministic);
    let mut bytes = 0_u64;
    for path in &difference.changed {
        let Some(local) = files.get(path) else { continue };
        bytes = bytes.saturating_add(fs::metadata(local)?.len());
        if bytes > BYTES_MAX {
            return Err(io::Error::other(format!("they are more than {} MiB", BYTES_MAX >> 20)));
        }
        archive.append_path_with_name(local, format!("new/{path}"))?;
    }
    let gone: String = difference.gone.iter().map(|path| format!("{path}\n")).collect();
    for (name, text) in [("gone", gone.as_str()), (".end", "")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(text.len()).unwrap_or(u64::MAX));
        header.set_mode(0o600);
        archive.append_data(&mut header, name, text.as_bytes())?;
    }
    archive.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Takes what a command line over there prints into a file, up to `bytes_max`.
async fn fetch(connection: &Connection, line: &str, into: &Path, bytes_max: u64) -> io::Result<()> {
    let mut command = connection.command(line);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut from = child.stdout.take().ok_or_else(|| io::Error::other("nothing can be read"))?;
    if let Some(folder) = into.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = tokio::fs::File::create(into).await?;
    let (mut piece, mut bytes) = (vec![0; PIECE_BYTES], 0_u64);
    loop {
        let read = from.read(&mut piece).await?;
        if read == 0 {
            break;
        }
        bytes = bytes.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        if bytes > bytes_max {
            let _ = child.kill().await;
            return Err(io::Error::other(format!("they are more than {} MiB", bytes_max >> 20)));
        }
        file.write_all(piece.get(..read).unwrap_or_default()).await?;
    }
    file.flush().await?;
    match child.wait().await?.success() {
        true => Ok(()),
        false => Err(io::Error::other("the other side failed to pack them")),
    }
}

/// Puts in place what changed over there and not here. An entry is a plain file below one of `roots`, or
/// it is nothing.
fn apply(archive: &Path, roots: &[&SyncRoot], brought: &Manifest) -> io::Result<()> {
    let mut archive = tar::Archive::new(io::BufReader::new(File::open(archive)?));
    for entry in archive.entries()? {
        let entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path()?.to_string_lossy().into_owned();
        let path = path.trim_start_matches("./");
        let below =
            |root: &&&SyncRoot| path.strip_prefix(&root.remote).is_some_and(|rest| rest.starts_with('/'));
        let Some(root) = roots.iter().find(below).filter(|_| is_below(path)) else { continue };
        let rest = path.strip_prefix(&root.remote).unwrap_or_default().trim_start_matches('/');
        take(entry, &root.local.join(rest), brought.0.get(path))?;
    }
    Ok(())
}

/// `before` is what was brought over of this file.
fn take(mut entry: impl Read, local: &Path, before: Option<&String>) -> io::Result<()> {
    let parent = local.parent().ok_or(io::ErrorKind::InvalidInput)?;
    fs::create_dir_all(parent)?;
    let nascent = parent.join(format!(".herm-{}", unique()));
    let mut file = File::create(&nascent)?;
    io::copy(&mut entry, &mut file)?;
    drop(file);
    let theirs = hash(&nascent)?;
    let here = hash(local).ok();
    let changed_there = before != Some(&theirs) && here.as_ref() != Some(&theirs);
    let changed_here = here.is_some() && here.as_ref() != before || here.is_none() && before.is_some();
    if changed_there && changed_here {
        tracing::warn!(file = %local.display(), "changed on both machines; the one here stays");
    }
    if changed_there && !changed_here && !local.is_symlink() {
        return fs::rename(&nascent, local);
    }
    fs::remove_file(nascent)
}

fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(REASON_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_back_changes_only_what_did_not_change_here() {
        let scratch = tempfile::tempdir().unwrap();
        let skills = scratch.path().join("skills");
        fs::create_dir_all(&skills).unwrap();
        for (name, text) in
            [("same", "1"), ("theirs", "1"), ("ours", "changed here"), ("both", "changed here")]
        {
            fs::write(skills.join(name), text).unwrap();
        }
        let one = blake3::hash(b"1").to_hex().to_string();
        let known = ["same", "theirs", "ours", "both", "removed"];
        let brought = Manifest(known.iter().map(|name| (format!("skills/{name}"), one.clone())).collect());
        let archive = scratch.path().join("back.tar");
        let mut builder = tar::Builder::new(File::create(&archive).unwrap());
        let over_there = [
            ("skills/same", "1"),
            ("skills/theirs", "changed there"),
            ("skills/ours", "1"),
            ("skills/both", "changed there"),
            ("skills/new/deep", "made there"),
            ("skills/removed", "1"),
            ("auth.json", "a credential"),
        ];
        for (name, text) in over_there {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        builder.append_link(&mut link, "skills/link", "/etc/passwd").unwrap();
        builder.into_inner().unwrap();
        let root = SyncRoot { local: skills.clone(), remote: "skills".into(), kind: SyncKind::Skills };
        apply(&archive, &[&root], &brought).unwrap();
        let text = |name: &str| fs::read_to_string(skills.join(name)).ok();
        assert_eq!(text("same").as_deref(), Some("1"));
        assert_eq!(text("theirs").as_deref(), Some("changed there"));
        assert_eq!(text("ours").as_deref(), Some("changed here"));
        assert_eq!(text("both").as_deref(), Some("changed here"));
        assert_eq!(text("new/deep").as_deref(), Some("made there"));
        assert_eq!(text("removed"), None, "what was removed here does not come back unchanged");
        assert_eq!(text("link"), None);
        assert!(!scratch.path().join("auth.json").exists());
        let left: Vec<_> = fs::read_dir(&skills).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".herm-")), "{left:?}");
    }

    #[test]
    fn an_archive_has_its_end_at_the_end() {
        let scratch = tempfile::tempdir().unwrap();
        fs::write(scratch.path().join("a"), "text").unwrap();
        let files = BTreeMap::from([("skills/a".to_owned(), scratch.path().join("a"))]);
        let difference = Difference { changed: vec!["skills/a".into()], gone: vec!["skills/b c".into()] };
        let at = scratch.path().join("x.tar");
        pack(&at, &files, &difference).unwrap();
        let mut archive = tar::Archive::new(File::open(&at).unwrap());
        let names: Vec<String> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        assert_eq!(names, ["new/skills/a", "gone", ".end"]);
    }

    #[test]
    fn credentials_are_below_the_home() {
        assert!(SyncRoot::usual(Path::new("/h"), &["../x".into()]).is_err());
        let roots = SyncRoot::usual(Path::new("/h"), &["google/token.json".into()]).unwrap();
        assert_eq!(roots[0].local, Path::new("/h/google/token.json"));
        assert_eq!(roots[0].kind, SyncKind::Credentials);
    }

    #[test]
    fn the_script_can_stand_in_quotes_of_every_shell() {
        assert!(!PUT.contains('\'') && !PUT.contains('\\'));
    }
}
