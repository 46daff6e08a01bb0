//! What is found in a folder when it is opened, and what a record that does not read means.
//!
//! A frame that does not read is a *torn tail* if nothing shows that it was ever on the disk: no
//! barrier behind it claims it, no segment follows, and `mark` does not. It is cut. Otherwise it is
//! *damage*: the log is not opened for writing, because whatever is appended after it would hide it.

use herm_schema::{CodecError, Envelope, Position, codec};

use super::barrier::highest_claim;
use super::files::Files;
use super::manifest::{Manifest, Mark};
use super::overlay::{Overlay, Place, Pointer};
use super::scan::{Bad, Walk};
use crate::log::Error;
use crate::log::disk::read_full;

/// The state of a folder.
pub(crate) struct Found {
    pub(crate) manifest: Manifest,
    pub(crate) mark: Mark,
    /// Segments in order, by first position.
    pub(crate) firsts: Vec<Position>,
    pub(crate) overlay: Overlay,
    /// The last position.
    pub(crate) last: Position,
    /// Where the next record is to be written.
    pub(crate) end: Place,
    /// Damage that ends what can be read; only when it was asked for.
    pub(crate) damage: Option<Error>,
}

/// How to look at a folder.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// Start behind what the index covers.
    pub(crate) trust_index: bool,
    /// Come back with what stands before damage, instead of an error.
    pub(crate) up_to_damage: bool,
}

/// Looks at the folder; changes nothing.
pub(crate) fn look(files: &Files, how: Look) -> Result<Found, Error> {
    let manifest = Manifest::read(files.disk.as_ref(), &files.folder)?;
    let mark = Mark::read(files.disk.as_ref(), &files.folder);
    let firsts = files.firsts()?;
    let known = manifest.is_some();
    let manifest = manifest.unwrap_or_default();
    let gone = missing_segment(files, &manifest, &firsts)?;
    if let Some(damage) = gone.filter(|_| !how.up_to_damage) {
        return Err(damage);
    }
    let fits = || files.length(mark.next.segment).is_ok_and(|length| mark.next.offset <= length);
    let indexed = mark.indexed > Position(0) && firsts.contains(&mark.next.segment);
    if how.trust_index && known && indexed && fits() {
        let start = Start { expected: mark.indexed.next(), place: mark.next };
        // A mark that does not fit is not believed; a full look says what is really the matter.
        if let Ok(found) = Looking::new(files, &manifest, mark, &firsts, start, how).run() {
            return Ok(found);
        }
    }
    let start = Start { expected: manifest.past_lost(Position(1)), place: Place::default() };
    let mark = Mark { indexed: Position(0), next: Place::default(), ..mark };
    Looking::new(files, &manifest, mark, &firsts, start, how).run()
}

/// A sealed segment that is not there, or not as long as it was.
fn missing_segment(files: &Files, manifest: &Manifest, firsts: &[Position]) -> Result<Option<Error>, Error> {
    for sealed in &manifest.sealed {
        let found =
            if firsts.binary_search(&sealed.first).is_ok() { files.length(sealed.first)? } else { 0 };
        if found != sealed.bytes {
            let reason = format!(
                "the segment of positions {} to {} has {found} bytes, {} were sealed",
                sealed.first, sealed.last, sealed.bytes
            );
            let path = files.path(sealed.first);
            return Ok(Some(Error::Damaged { position: sealed.first, path, offset: found, reason }));
        }
    }
    Ok(None)
}

struct Start {
    expected: Position,
    place: Place,
}

struct Looking<'a> {
    files: &'a Files,
    manifest: &'a Manifest,
    mark: Mark,
    firsts: &'a [Position],
    how: Look,
    start: Place,
    expected: Position,
    overlay: Overlay,
    /// Records of an append whose end has not been seen.
    open_append: Vec<(Envelope, Pointer)>,
    end: Place,
    /// Where to stop.
    until: Option<Position>,
}

impl<'a> Looking<'a> {
    fn new(
        files: &'a Files,
        manifest: &'a Manifest,
        mark: Mark,
        firsts: &'a [Position],
        start: Start,
        how: Look,
    ) -> Self {
        let first = firsts.first().copied().unwrap_or(Position(1));
        let end = if start.place.segment.0 == 0 { Place { segment: first, offset: 0 } } else { start.place };
        Self {
            files,
            manifest,
            mark,
            firsts,
            how,
            start: start.place,
            expected: start.expected,
            overlay: Overlay::from_base(mark.indexed),
            open_append: Vec::new(),
            end,
            until: None,
        }
    }

    fn run(mut self) -> Result<Found, Error> {
        let damage = match self.walk_all().and_then(|()| self.check_end()) {
            Err(damage @ Error::Damaged { .. }) if self.how.up_to_damage => Some(damage),
            Err(error) => return Err(error),
            Ok(()) => None,
        };
        let next = self.open_append.first().map_or(self.expected, |(envelope, _)| envelope.position);
        Ok(Found {
            manifest: self.manifest.clone(),
            mark: self.mark,
            firsts: self.firsts.to_vec(),
            overlay: self.overlay,
            last: Position(next.0.saturating_sub(1)),
            end: self.end,
            damage,
        })
    }

    fn walk_all(&mut self) -> Result<(), Error> {
        let firsts: Vec<_> =
            self.firsts.iter().copied().filter(|first| *first >= self.start.segment).collect();
        for (number, first) in firsts.iter().enumerate() {
            let last = number + 1 == firsts.len();
            let offset = if *first == self.start.segment { self.start.offset } else { 0 };
            if offset == 0 && self.manifest.past_lost(self.expected) != *first && *first != self.expected {
                let expected = self.expected;
                return Err(self.damage(*first, 0, format!("expected the segment of position {expected}")));
            }
            self.walk(*first, offset, last)?;
        }
        self.expected = self.manifest.past_lost(self.expected);
        Ok(())
    }

    fn walk(&mut self, segment: Position, offset: u64, last: bool) -> Result<(), Error> {
        let length = self.files.length(segment)?;
        let mut walk = Walk::new(self.files.file(segment)?, offset, length);
        self.end = Place { segment, offset };
        loop {
            let offset = walk.offset();
            let (envelope, bytes) = match walk.next() {
                Ok(None) => break,
                Ok(Some(record)) => (record.envelope, record.bytes as u32),
                Err(bad) => return self.judge(segment, offset, length, last, bad),
            };
            // Barriers in front of the record are not part of it.
            let offset = walk.offset().saturating_sub(u64::from(bytes));
            if self.until.is_some_and(|until| envelope.position > until) {
                return Ok(());
            }
            self.take(envelope, Pointer { place: Place { segment, offset }, bytes })?;
        }
        if let (false, Some((envelope, pointer))) = (last, self.open_append.first()) {
            let reason = format!("the append that begins at position {} is not complete", envelope.position);
            return Err(self.damage(segment, pointer.place.offset, reason));
        }
        Ok(())
    }

    fn take(&mut self, envelope: Envelope, pointer: Pointer) -> Result<(), Error> {
        let place = pointer.place;
        let expected = self.manifest.past_lost(self.expected);
        if envelope.position != expected && envelope.position != self.expected {
            let reason = format!("position {} stands where {expected} belongs", envelope.position);
            return Err(self.damage(place.segment, place.offset, reason));
        }
        if envelope.position != self.expected {
            // What was cut out may have been the rest of an append; its beginning stays.
            self.close_append();
        }
        if let Some((before, _)) = self.open_append.last()
            && (before.stream != envelope.stream
                || before.batch_left != envelope.batch_left.saturating_add(1))
        {
            let reason = format!("it does not go on with the append of position {}", before.position);
            return Err(self.damage(place.segment, place.offset, reason));
        }
        self.expected = envelope.position.next();
        let complete = envelope.batch_left == 0;
        self.open_append.push((envelope, pointer));
        if complete {
            self.close_append();
        }
        Ok(())
    }

    fn close_append(&mut self) {
        for (number, (envelope, pointer)) in self.open_append.drain(..).enumerate() {
            let after = pointer.place.offset.saturating_add(u64::from(pointer.bytes));
            self.end = Place { segment: pointer.place.segment, offset: after };
            self.overlay.push(&envelope, pointer, number == 0);
        }
    }

    /// What a record that does not read at `offset` means.
    fn judge(
        &mut self,
        segment: Position,
        offset: u64,
        length: u64,
        last: bool,
        bad: Bad,
    ) -> Result<(), Error> {
        let path = self.files.path(segment);
        let bad = match bad {
            Bad::Io(error) => return Err(Error::io("read", &path, &error)),
            Bad::Record(CodecError::Format { found }) => {
                let known = format!("record {}", codec::FORMAT);
                return Err(Error::Newer { path, found: format!("record {found}"), known });
            }
            Bad::Record(bad) => bad,
        };
        let claim = claim_behind(self.files, segment, offset, length)?;
        if let Some(claim) = claim.filter(|claim| *claim >= self.expected) {
            let reason = format!("{bad}; it was on the disk, says the barrier of position {claim} behind it");
            return Err(self.damage(segment, offset, reason));
        }
        if !last {
            return Err(self.damage(segment, offset, format!("{bad}; more segments follow")));
        }
        Ok(())
    }

    /// Whether everything that was known to be durable is there.
    fn check_end(&self) -> Result<(), Error> {
        let next = self.open_append.first().map_or(self.expected, |(envelope, _)| envelope.position);
        if next > self.mark.durable {
            return Ok(());
        }
        let reason = format!("positions {next} to {} were on the disk and are missing", self.mark.durable);
        Err(self.damage(self.end.segment, self.end.offset, reason))
    }

    fn damage(&self, segment: Position, offset: u64, reason: String) -> Error {
        let position = self.manifest.past_lost(self.expected);
        Error::Damaged { position, path: self.files.path(segment), offset, reason }
    }
}

/// What has been added behind `base`, which ends at `from`; stops at damage.
pub(crate) fn look_from(files: &Files, base: Position, from: Place) -> Result<Found, Error> {
    let manifest = Manifest::read(files.disk.as_ref(), &files.folder)?.unwrap_or_default();
    let mark = Mark { indexed: base, next: from, ..Mark::read(files.disk.as_ref(), &files.folder) };
    let firsts = files.firsts()?;
    let start = Start { expected: base.next(), place: from };
    let how = Look { trust_index: false, up_to_damage: true };
    Looking::new(files, &manifest, mark, &firsts, start, how).run()
}

/// Where every record up to `until` stands.
pub(crate) fn places_up_to(
    files: &Files,
    manifest: &Manifest,
    firsts: &[Position],
    until: Position,
) -> Result<Overlay, Error> {
    let firsts: Vec<_> = firsts.iter().copied().filter(|first| *first <= until).collect();
    let start = Start { expected: manifest.past_lost(Position(1)), place: Place::default() };
    let how = Look { trust_index: false, up_to_damage: false };
    let mut looking = Looking::new(files, manifest, Mark::default(), &firsts, start, how);
    looking.until = Some(until);
    looking.walk_all()?;
    Ok(looking.overlay)
}

/// What barriers behind `offset` claim to have been on the disk.
fn claim_behind(
    files: &Files,
    segment: Position,
    offset: u64,
    length: u64,
) -> Result<Option<Position>, Error> {
    let mut rest = vec![0; usize::try_from(length.saturating_sub(offset)).unwrap_or(0)];
    let file = files.file(segment)?;
    let read = read_full(file.as_ref(), offset, &mut rest)
        .map_err(|error| Error::io("read", &files.path(segment), &error))?;
    rest.truncate(read);
    Ok(highest_claim(&rest))
}
