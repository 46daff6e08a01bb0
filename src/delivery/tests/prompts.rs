//! What people are asked, and the table of formats.

use super::*;
use crate::delivery::formats;
use crate::delivery::prompt::{Approval, approval, clarify};

#[test]
fn an_approval_shows_the_command_as_code_and_how_to_answer() {
    let reasons = vec!["it deletes files outside of the project".to_owned()];
    let command = "rm -rf build\necho '```'";
    let asked = Approval { tool: "terminal", command, reasons: &reasons, buttons: false, lasting: true };
    let text = approval(&asked);
    assert_eq!(
        text,
        "**`terminal` wants to run**\n\n````\nrm -rf build\necho '```'\n````\n\nWhy you are asked: it deletes files outside of the project\n\nAnswer `/approve` for this once, `/approve session` until the session ends, `/approve always` for good, or `/deny`."
    );
    assert!(parse(&text).iter().any(|block| matches!(block, Block::Code { text, .. } if text == command)));
    let once = approval(&Approval { lasting: false, buttons: true, ..asked });
    assert!(once.ends_with("Press a button, or answer `/approve` for this once, or `/deny`."));
}

#[test]
fn a_long_command_is_counted_and_not_shown_in_full() {
    let command = "é".repeat(5_000);
    let asked = Approval { tool: "terminal", command: &command, reasons: &[], buttons: false, lasting: true };
    assert!(approval(&asked).contains("… and 3000 more characters."));
}

#[test]
fn choices_are_numbered() {
    let choices = ["red".to_owned(), "dark\nblue".to_owned()];
    assert_eq!(
        clarify("Which colour?", &choices),
        "Which colour?\n\n1. red\n2. dark blue\n\nAnswer with a number, or in your own words."
    );
    assert_eq!(clarify("Which colour?", &[]), "Which colour?");
}

#[test]
fn every_platform_has_its_format_once() {
    let mut names: Vec<&str> = formats::FORMATS.iter().map(|(name, _)| *name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    let telegram = formats::of("telegram").unwrap();
    assert_eq!(telegram.limit, Some(Limit { max: 4_096, unit: Unit::Utf16 }));
    assert_eq!(formats::of("nowhere"), None);
}
