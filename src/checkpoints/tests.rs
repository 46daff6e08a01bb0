use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

struct Place {
    _root: tempfile::TempDir,
    work: PathBuf,
    checkpoints: Checkpoints,
}

fn place(limits: Limits) -> Place {
    let root = tempfile::tempdir().unwrap();
    let work = root.path().join("work");
    fs::create_dir(&work).unwrap();
    let checkpoints = Checkpoints::new(root.path().join("store"), limits, None);
    Place { work: work.canonicalize().unwrap(), checkpoints, _root: root }
}

fn at(seconds: i64) -> Micros {
    Micros(1_796_000_000_000_000 + seconds * 1_000_000)
}

#[test]
fn what_was_changed_added_and_removed_is_put_back_and_that_can_be_undone() {
    let Place { work, checkpoints, .. } = &place(Limits::default());
    fs::create_dir_all(work.join("deep/er")).unwrap();
    fs::write(work.join("a.txt"), "one\r\n").unwrap();
    fs::write(work.join("deep/er/ü b.bin"), [0, 159, 146, 150]).unwrap();
    fs::write(work.join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(work.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a.txt", work.join("link")).unwrap();
    let first = checkpoints.take(work, at(1)).unwrap();
    assert_eq!(first.files, 4);

    fs::write(work.join("a.txt"), "two").unwrap();
    fs::write(work.join("new.txt"), "new").unwrap();
    fs::remove_file(work.join("run.sh")).unwrap();
    fs::remove_dir_all(work.join("deep")).unwrap();
    let (before, changed) = checkpoints.restore(work, &first.id, at(2)).unwrap();
    assert_eq!(changed, 4);
    assert_eq!(fs::read(work.join("a.txt")).unwrap(), b"one\r\n");
    assert_eq!(fs::read(work.join("deep/er/ü b.bin")).unwrap(), [0, 159, 146, 150]);
    assert_eq!(fs::metadata(work.join("run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read_link(work.join("link")).unwrap(), Path::new("a.txt"));
    assert!(!work.join("new.txt").exists());

    checkpoints.restore(work, &before.id, at(3)).unwrap();
    assert_eq!(fs::read(work.join("a.txt")).unwrap(), b"two");
    assert!(work.join("new.txt").exists() && !work.join("run.sh").exists());
}

#[test]
fn the_same_is_not_kept_twice_and_only_so_many_are() {
    let limits = Limits { snapshots_max: 3, ..Limits::default() };
    let Place { work, checkpoints, .. } = &place(limits);
    fs::write(work.join("a"), "0").unwrap();
    let first = checkpoints.take(work, at(1)).unwrap();
    assert_eq!(checkpoints.take(work, at(2)).unwrap().id, first.id);
    assert_eq!(checkpoints.list(work).unwrap()[0].files, 1);
    for n in 3..8 {
        fs::write(work.join("a"), n.to_string()).unwrap();
        checkpoints.take(work, at(n)).unwrap();
    }
    let known = checkpoints.list(work).unwrap();
    assert_eq!(known.iter().map(|known| known.taken_at).collect::<Vec<_>>(), [at(7), at(6), at(5)]);
    assert!(matches!(checkpoints.restore(work, &first.id, at(9)), Err(Error::Unknown { .. })));
}

#[test]
fn a_repository_inside_is_not_touched_and_what_a_build_makes_is_left_out() {
    let Place { work, checkpoints, .. } = &place(Limits::default());
    for (path, text) in
        [(".git/HEAD", "ref: x"), ("node_modules/m/i.js", "x"), ("sub/.git/HEAD", "y"), ("sub/f", "f")]
    {
        fs::create_dir_all(work.join(path).parent().unwrap()).unwrap();
        fs::write(work.join(path), text).unwrap();
    }
    let taken = checkpoints.take(work, at(1)).unwrap();
    assert_eq!(taken.files, 1);
    fs::write(work.join("sub/.git/HEAD"), "changed").unwrap();
    fs::write(work.join("sub/f"), "changed").unwrap();
    checkpoints.restore(work, &taken.id, at(2)).unwrap();
    assert_eq!(fs::read_to_string(work.join("sub/.git/HEAD")).unwrap(), "changed");
    assert_eq!(fs::read_to_string(work.join("sub/f")).unwrap(), "f");
}

#[test]
fn what_is_too_much_is_refused_and_a_large_file_is_left_out() {
    let limits = Limits { files_max: 2, file_bytes_max: 10, ..Limits::default() };
    let Place { work, checkpoints, .. } = &place(limits);
    fs::write(work.join("large"), vec![b'x'; 11]).unwrap();
    fs::write(work.join("small"), "x").unwrap();
    assert_eq!(checkpoints.take(work, at(1)).unwrap().files, 1);
    fs::write(work.join("b"), "x").unwrap();
    fs::write(work.join("c"), "x").unwrap();
    assert!(matches!(checkpoints.take(work, at(2)), Err(Error::TooManyFiles { limit: 2, .. })));
}

#[test]
fn a_home_and_what_is_above_it_is_too_broad() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap().join("alice");
    fs::create_dir_all(home.join("project")).unwrap();
    let checkpoints = Checkpoints::new(home.join(".herm/checkpoints"), Limits::default(), Some(&home));
    for broad in [home.as_path(), home.parent().unwrap(), Path::new("/")] {
        assert!(matches!(checkpoints.take(broad, at(1)), Err(Error::TooBroad { .. })), "{}", broad.display());
    }
    assert!(checkpoints.take(&home.join("project"), at(1)).is_ok());
}

#[test]
fn old_ones_go_and_the_store_says_what_it_holds() {
    let Place { work, checkpoints, .. } = &place(Limits::default());
    assert_eq!(checkpoints.status().unwrap(), (Vec::new(), 0));
    for n in 1..4 {
        fs::write(work.join("a"), n.to_string()).unwrap();
        checkpoints.take(work, at(n)).unwrap();
    }
    let (directories, bytes) = checkpoints.status().unwrap();
    assert_eq!(directories, [(work.clone(), 3)]);
    assert!(bytes > 0);
    let kept = Duration::from_secs(7);
    assert_eq!(checkpoints.tidy(kept, at(10)).unwrap(), Some(2));
    assert_eq!(checkpoints.tidy(kept, at(11)).unwrap(), None, "once a day");
    let left = checkpoints.list(work).unwrap();
    assert_eq!(left.len(), 1);
    fs::write(work.join("a"), "later").unwrap();
    checkpoints.restore(work, &left[0].id, at(9)).unwrap();
    assert_eq!(fs::read_to_string(work.join("a")).unwrap(), "3");
    let stat = checkpoints.changes(work, &checkpoints.list(work).unwrap()[0].id, at(10)).unwrap();
    assert!(stat.contains("a |"), "{stat}");
}
