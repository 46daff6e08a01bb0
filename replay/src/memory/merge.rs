//! What somebody changed in a file, made to what is remembered now: which may be more than the file held.

use herm_schema::events::MemoryChange;

use super::decide::place;
use super::evolve::apply;

/// The changes that do to `held` what was done to `base` to make it `now`; order counts. Where `held` is
/// `base`, they make it `now`, but for entries that are there twice.
pub fn merged(held: &[String], base: &[String], now: &[String]) -> Vec<MemoryChange> {
    let mut list = held.to_vec();
    let mut changes = Vec::new();
    for mut change in difference(base, now) {
        if change.before.as_ref().is_some_and(|before| !list.contains(before)) {
            change.before = None;
        }
        let known = change.after.as_ref().is_some_and(|after| list.contains(after));
        let nothing = change.before.is_none() && (change.after.is_none() || known);
        if !nothing {
            apply(&mut list, &change);
            changes.push(change);
        }
    }
    while let Some((at, entry)) = twice(&list) {
        let change = MemoryChange { at: place(at), before: Some(entry), after: None };
        apply(&mut list, &change);
        changes.push(change);
    }
    if list == held { Vec::new() } else { changes }
}

/// The first entry that stands before it already.
fn twice(list: &[String]) -> Option<(usize, String)> {
    let mut all = list.iter().enumerate();
    all.find(|(at, entry)| list.iter().take(*at).any(|known| known == *entry))
        .map(|(at, entry)| (at, entry.clone()))
}

/// The changes that make `now` of `base`.
fn difference(base: &[String], now: &[String]) -> Vec<MemoryChange> {
    let same = |pair: &(&String, &String)| pair.0 == pair.1;
    let first = base.iter().zip(now).take_while(same).count();
    let rest = base.len().min(now.len()) - first;
    let last = base.iter().rev().zip(now.iter().rev()).take(rest).take_while(same).count();
    let middle = |list: &[String]| -> Vec<String> {
        list.iter().skip(first).take(list.len() - first - last).cloned().collect()
    };
    let (gone, come) = (middle(base), middle(now));
    let both = gone.len().min(come.len());
    let change = |at: usize, before: Option<&String>, after: Option<&String>| MemoryChange {
        at: place(first + at),
        before: before.cloned(),
        after: after.cloned(),
    };
    let replaced = gone.iter().zip(&come).enumerate();
    let replaced = replaced.map(|(nth, (before, after))| change(nth, Some(before), Some(after)));
    // What stood behind a removed entry has moved up to its place.
    let removed = gone.iter().skip(both).map(|before| change(both, Some(before), None));
    let added = come.iter().enumerate().skip(both).map(|(nth, after)| change(nth, None, Some(after)));
    replaced.chain(removed).chain(added).filter(|change| change.before != change.after).collect()
}
