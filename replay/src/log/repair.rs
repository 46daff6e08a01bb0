//! Making a damaged log one that opens again: a plan, shown first, and its execution.
//!
//! Nothing is deleted. What does not read is cut out of its segment; the segment as it was, the old
//! manifest and the index go to `repair-<n>/` inside the log's folder, with the plan. Records
//! that read keep their positions; what is gone is listed in the manifest as lost, so that readers pass
//! over the hole and `verify` calls it known.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use herm_schema::Position;
use serde::{Deserialize, Serialize};

use super::Error;
use super::disk::{RealDisk, read_all, replace};
use super::lock::Lock;
use super::segments::files::segment_path;
use super::segments::manifest::{Manifest, Mark, Range, Sealed};
use super::segments::overlay::Place;
use super::verify::{Finding, Kind, verify};

/// Bytes that are taken out of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    pub segment: Position,
    pub offset: u64,
    pub bytes: u64,
}

/// What a repair would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub folder: PathBuf,
    pub findings: Vec<Finding>,
    pub cuts: Vec<Cut>,
    /// Positions that are given up.
    pub lost: Vec<Range>,
    /// Where the old state goes.
    pub kept_in: PathBuf,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.cuts.is_empty() && self.lost.is_empty()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "found: {finding}")?;
        }
        for Cut { segment, offset, bytes } in &self.cuts {
            writeln!(f, "cut {bytes} bytes out of {:020}.seg at byte {offset}", segment.0)?;
        }
        for range in &self.lost {
            writeln!(f, "give up positions {} to {}", range.first, range.last)?;
        }
        match self.is_empty() {
            true => writeln!(f, "nothing to do"),
            false => writeln!(f, "keep everything as it is now in {}", self.kept_in.display()),
        }
    }
}

/// What would have to be done so that the log in `folder` opens; changes nothing.
///
/// # Errors
/// Those of [`verify`].
pub fn plan(folder: &Path) -> Result<Plan, Error> {
    let report = verify(folder)?;
    let (mut cuts, mut lost) = (Vec::new(), Vec::new());
    for finding in &report.findings {
        let Finding { kind, position, segment, offset, bytes, last, .. } = finding;
        let gone = Range { first: *position, last: *last };
        match kind {
            Kind::Broken | Kind::Reordered | Kind::TornTail if *bytes > 0 => {
                cuts.push(Cut { segment: *segment, offset: *offset, bytes: *bytes });
                let holds = report.readable.iter().any(|range| range.holds(*position));
                if *kind == Kind::Broken && !holds {
                    lost.push(gone);
                }
            }
            Kind::Missing | Kind::Truncated => lost.push(gone),
            // Its beginning is cut when the log is opened, and what was on the disk must be given up.
            Kind::Incomplete if *last > *position || is_last(&report.readable, *position) => {
                cuts.push(Cut { segment: *segment, offset: *offset, bytes: u64::MAX });
                lost.push(gone);
            }
            _ => {}
        }
    }
    let kept_in =
        (1..).map(|number: u32| folder.join(format!("repair-{number}"))).find(|path| !path.exists());
    let kept_in = kept_in.unwrap_or_else(|| folder.join("repair"));
    Ok(Plan { folder: folder.to_owned(), findings: report.findings, cuts, lost, kept_in })
}

fn is_last(readable: &[Range], position: Position) -> bool {
    readable.last().is_some_and(|range| range.last == position)
}

/// Does what `plan` says, if it is still what has to be done.
///
/// # Errors
/// `Locked` while a process owns the log; `Io` when the log has changed since the plan was made,
/// or something cannot be written. A repair that was interrupted is planned and applied again.
pub fn apply(plan: &Plan) -> Result<(), Error> {
    let folder = &plan.folder;
    let _lock = Lock::take(folder)?;
    if self::plan(folder)? != *plan {
        let changed = std::io::Error::other("the log has changed since the plan was made");
        return Err(Error::io("repair", folder, &changed));
    }
    if plan.is_empty() {
        return Ok(());
    }
    fs::create_dir(&plan.kept_in).map_err(|error| Error::io("make", &plan.kept_in, &error))?;
    keep(plan).map_err(|error| Error::io("keep aside in", &plan.kept_in, &error))?;
    let mut by_segment = BTreeMap::<Position, Vec<Cut>>::new();
    for cut in &plan.cuts {
        by_segment.entry(cut.segment).or_default().push(*cut);
    }
    for (segment, cuts) in by_segment {
        let path = segment_path(folder, segment);
        cut_out(&path, &cuts).map_err(|error| Error::io("cut", &path, &error))?;
    }
    write_manifest(plan)
}

/// Copies what will be changed, and moves the index away.
fn keep(plan: &Plan) -> std::io::Result<()> {
    let text = serde_json::to_vec_pretty(plan).map_err(std::io::Error::other)?;
    replace(&RealDisk, &plan.kept_in.join("plan.json"), &text)?;
    let mut names: Vec<_> = plan.cuts.iter().map(|cut| format!("{:020}.seg", cut.segment.0)).collect();
    names.extend(["MANIFEST".to_owned(), "mark".to_owned()]);
    names.sort();
    names.dedup();
    for name in names {
        let from = plan.folder.join(&name);
        if from.exists() {
            fs::copy(&from, plan.kept_in.join(&name))?;
            fs::File::open(plan.kept_in.join(&name))?.sync_all()?;
        }
    }
    let index = plan.folder.join("index");
    if index.exists() {
        fs::rename(index, plan.kept_in.join("index"))?;
    }
    fs::File::open(&plan.kept_in)?.sync_all()
}

fn cut_out(path: &Path, cuts: &[Cut]) -> std::io::Result<()> {
    let bytes = read_all(&RealDisk, path)?;
    let mut kept = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for cut in cuts {
        let to = usize::try_from(cut.offset).unwrap_or(usize::MAX).clamp(from, bytes.len());
        kept.extend_from_slice(bytes.get(from..to).unwrap_or_default());
        from = usize::try_from(cut.offset.saturating_add(cut.bytes)).unwrap_or(usize::MAX).min(bytes.len());
    }
    kept.extend_from_slice(bytes.get(from..).unwrap_or_default());
    replace(&RealDisk, path, &kept)
}

fn write_manifest(plan: &Plan) -> Result<(), Error> {
    let folder = &plan.folder;
    let old = match Manifest::read(&RealDisk, folder) {
        Err(Error::Damaged { .. }) => None,
        read => read?,
    };
    let mut lost = old.map(|manifest| manifest.lost).unwrap_or_default();
    lost.extend(&plan.lost);
    lost.sort();
    let files = super::segments::files::Files::new(std::sync::Arc::new(RealDisk), folder.clone());
    let firsts = files.firsts()?;
    let mut sealed = Vec::new();
    for (first, next) in firsts.iter().zip(firsts.iter().skip(1)) {
        let last = Position(next.0.saturating_sub(1));
        sealed.push(Sealed { first: *first, last, bytes: files.length(*first)? });
    }
    Manifest { sealed, lost }.write(&RealDisk, folder)?;
    let mark = Mark { indexed: Position(0), next: Place::default(), ..Mark::read(&RealDisk, folder) };
    mark.write(&RealDisk, folder)
}
