//! What changed, as a unified diff.

use std::path::Path;
use std::time::Duration;

use similar::TextDiff;

use super::text;

/// How long a diff may be made better before it is taken as it is.
const TIME_MAX: Duration = Duration::from_millis(500);

/// A file before and after; `None` where it does not exist.
pub(super) struct Sides<'a> {
    pub before: Option<(&'a str, &'a Path)>,
    pub after: Option<(&'a str, &'a Path)>,
}

/// The unified diff of a file. Line ends are left out of it: those that change are the tool's own
/// doing, to keep the file's.
pub(super) fn unified(sides: &Sides<'_>, cwd: &Path) -> String {
    let body = |side: Option<(&str, &Path)>| side.map(|(body, _)| text::with_lf(body).into_owned());
    let (before, after) = (body(sides.before).unwrap_or_default(), body(sides.after).unwrap_or_default());
    let old = sides.before.map_or("/dev/null".to_owned(), |(_, path)| name("a", path, cwd));
    let new = sides.after.map_or("/dev/null".to_owned(), |(_, path)| name("b", path, cwd));
    let diff = TextDiff::configure().timeout(TIME_MAX).diff_lines(before.as_str(), after.as_str());
    let unified = diff.unified_diff().header(&old, &new).to_string();
    if unified.is_empty() && old.get(1..) != new.get(1..) {
        format!("--- {old}\n+++ {new}\n")
    } else {
        unified
    }
}

/// `a/` before a path below the working directory, or before an absolute one without its first slash.
fn name(side: &str, path: &Path, cwd: &Path) -> String {
    let below = path.strip_prefix(cwd).or_else(|_| path.strip_prefix("/")).unwrap_or(path);
    format!("{side}/{}", below.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_slash() {
        let cwd = Path::new("/w");
        let path = Path::new("/w/src/a.rs");
        let diff =
            unified(&Sides { before: Some(("x\r\ny\r\n", path)), after: Some(("x\r\nz\r\n", path)) }, cwd);
        assert_eq!(diff, "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n");
        let elsewhere = Path::new("/etc/x");
        let diff = unified(&Sides { before: None, after: Some(("x\n", elsewhere)) }, cwd);
        assert_eq!(diff, "--- /dev/null\n+++ b/etc/x\n@@ -0,0 +1 @@\n+x\n");
    }
}
