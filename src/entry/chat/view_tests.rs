//! What a conversation looks like, as whole texts.

use std::sync::{Arc, Mutex};

use super::*;

/// A place to write that can be read afterwards.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn question() -> ApprovalQuestion {
    ApprovalQuestion {
        tool: "terminal".into(),
        subject: "rm -r build\n# \u{1b}[2Jhidden".into(),
        reason: "it deletes files".into(),
        rule: "ask".into(),
        pattern: "rm -r build".into(),
        timeout: Duration::from_secs(60),
    }
}

fn conversation() -> Vec<Happening> {
    let text = |text: &str| Happening::Text(text.into());
    vec![
        Happening::Reasoning("I should ".into()),
        Happening::Reasoning("look.\n".into()),
        text("Let me "),
        text("look."),
        Happening::ToolStarted {
            name: "terminal".into(),
            preview: "cat notes.md\n| head --lines 200".into(),
        },
        Happening::ApprovalAsked(question()),
        Happening::ToolFinished {
            name: "terminal".into(),
            status: ToolStatus::Failed,
            elapsed: Duration::from_millis(1_250),
        },
        text("The file says:"),
        Happening::Notice("compressed the context".into()),
        Happening::Retracted,
        text("It says \u{1b}]0;pwned\u{7}hello.\nAnd that is all there is to it."),
        Happening::TurnEnded {
            text: "It says \u{1b}]0;pwned\u{7}hello.\nAnd that is all there is to it.".into(),
            reason: ExitReason::Answered,
        },
    ]
}

const EVERYTHING: Shown = Shown { streaming: true, reasoning: true };

fn seen(audience: Audience, shown: Shown, happenings: &[Happening]) -> (String, String) {
    let (out, err) = (Paper::default(), Paper::default());
    let mut view = View::new(audience, shown, out.clone(), err.clone());
    for happening in happenings {
        view.show(happening).unwrap();
    }
    (out.text(), err.text())
}

const PERSON: Audience = Audience::Person { colour: false, columns: 40 };
const SCRIPT: Audience = Audience::Script { colour: false, columns: 40 };

#[test]
fn a_person_sees_everything_in_order() {
    let (out, err) = seen(PERSON, EVERYTHING, &conversation());
    assert_eq!(err, "");
    assert_eq!(
        out,
        "  · I should look.
Let me look.
  ┊ terminal  cat notes.md | head --lin…
  ? terminal wants to run
      rm -r build
      # ^[[2Jhidden
    it deletes files (ask)
    [o]nce  [s]ession  [a]lways (or 30m, 5x): rm -r build  [d]eny   (1 m 00 s; silence waits)
  ✗ terminal  1.2 s
The file says:
  ! compressed the context
  ↺ once more
It says ^[]0;pwned^Ghello.
And that is all there is to it.
"
    );
}

#[test]
fn without_streaming_a_person_sees_the_same_texts_when_they_are_whole() {
    let shown = Shown { streaming: false, reasoning: false };
    let (out, _) = seen(PERSON, shown, &conversation());
    assert!(out.starts_with("Let me look.\n  ┊ terminal"), "{out}");
    assert!(out.ends_with("It says ^[]0;pwned^Ghello.\nAnd that is all there is to it.\n"), "{out}");
    assert_eq!(out.matches("It says").count(), 1);
}

#[test]
fn a_script_gets_nothing_but_the_answer() {
    let (out, err) = seen(SCRIPT, EVERYTHING, &conversation());
    assert_eq!(out, "It says ^[]0;pwned^Ghello.\nAnd that is all there is to it.\n");
    assert!(err.starts_with("  · I should look.\nLet me look.\n  ┊ terminal"), "{err}");
    assert!(!err.contains("It says"), "{err}");
}

#[test]
fn a_program_gets_one_object_a_line() {
    let (out, err) = seen(Audience::Program, EVERYTHING, &conversation());
    assert_eq!(err, "");
    let rows: Vec<Json> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), conversation().len());
    assert_eq!(rows[2], json!({"type": "text", "text": "Let me "}));
    assert_eq!(rows[6]["status"], "Failed");
    assert_eq!(rows[6]["elapsed_ms"], 1_250);
    assert_eq!(rows[11]["reason"], "Answered");
    assert!(out.chars().all(|c| !c.is_control() || c == '\n'));
}

#[test]
fn an_answer_that_was_recorded_otherwise_than_it_was_streamed_is_shown_as_recorded() {
    let happenings = [
        Happening::Text("half an ans".into()),
        Happening::TurnEnded { text: "the whole answer".into(), reason: ExitReason::IterationLimit },
    ];
    let (out, _) = seen(PERSON, EVERYTHING, &happenings);
    assert_eq!(
        out,
        "half an ans\nthe whole answer\n  ! stopped: as many model calls as one turn may take (agent.max_turns)\n"
    );
}

#[test]
fn a_notice_in_the_middle_of_an_answer_does_not_make_it_come_twice() {
    let happenings = [
        Happening::Text("one ".into()),
        Happening::Notice("slow".into()),
        Happening::Text("two".into()),
        Happening::TurnEnded { text: "one two".into(), reason: ExitReason::Answered },
    ];
    assert_eq!(seen(PERSON, EVERYTHING, &happenings).0, "one \n  ! slow\ntwo\n");
    let held_back = Shown { streaming: false, reasoning: false };
    assert_eq!(seen(PERSON, held_back, &happenings).0, "  ! slow\none two\n");
}

#[test]
fn a_retracted_answer_is_marked() {
    let happenings =
        [Happening::Text("oops".into()), Happening::Retracted, Happening::Text("right\n".into())];
    assert_eq!(seen(PERSON, EVERYTHING, &happenings).0, "oops\n  ↺ once more\nright\n");
}

#[test]
fn colour_is_only_there_when_asked_for() {
    let happenings = [Happening::Notice("careful".into())];
    let coloured = Audience::Person { colour: true, columns: 40 };
    assert_eq!(seen(coloured, EVERYTHING, &happenings).0, "\u{1b}[33m  ! careful\u{1b}[0m\n");
    assert_eq!(seen(PERSON, EVERYTHING, &happenings).0, "  ! careful\n");
}

#[test]
fn a_question_of_the_model_has_numbered_choices() {
    let happenings =
        [Happening::Asked { question: "Which one?".into(), choices: vec!["red".into(), "blue".into()] }];
    assert_eq!(seen(PERSON, EVERYTHING, &happenings).0, "  ? Which one?\n    1. red\n    2. blue\n");
}

#[test]
fn times_are_short() {
    let told = |millis| duration(Duration::from_millis(millis));
    assert_eq!([told(40), told(0), told(12_900), told(125_000)], ["0.0 s", "0 s", "12 s", "2 m 05 s"]);
}

#[test]
fn every_reason_but_the_good_one_is_explained() {
    assert_eq!(explanation(ExitReason::Answered), None);
    assert!(explanation(ExitReason::ResumesExhausted).is_some());
}

#[test]
fn what_the_model_said_before_it_was_cut_is_an_answer_and_what_herm_says_instead_is_none() {
    let ended = |text: &str, reason| [Happening::TurnEnded { text: text.into(), reason }];
    assert_eq!(seen(SCRIPT, EVERYTHING, &ended("half", ExitReason::OutputTruncated)).0, "half\n");
    assert_eq!(seen(SCRIPT, EVERYTHING, &ended("sorry", ExitReason::ModelFailed)).0, "");
}
