//! Gets an answer to a question from whoever sits at the terminal. Silence parks it.

use std::time::Duration;

use herm_schema::Micros;
use herm_schema::events::{Decision, GrantScope};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::editor::{Input, Inputs};
use super::view::{ApprovalQuestion, Happening, View};
use crate::effects::Answer;
use crate::runtime::{Clock, SystemClock};

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<T> {
    Given(T),
    /// Nobody answered in time, or there is nobody any more.
    Silence,
    /// Ctrl-C: no, and whatever else was going on shall stop too.
    Interrupted,
    /// The question was taken back.
    Withdrawn,
}

/// Asks whether a tool call may run.
///
/// # Errors
/// When the question cannot be printed.
pub async fn approval(
    question: &ApprovalQuestion,
    view: &mut View,
    inputs: &mut Inputs,
    withdrawn: &CancellationToken,
) -> std::io::Result<Reply<Decision>> {
    view.show(&Happening::ApprovalAsked(question.clone()))?;
    let deadline = Instant::now() + question.timeout;
    loop {
        match line(inputs, deadline, withdrawn).await {
            Reply::Given(line) => match read_decision(&line, SystemClock.now()) {
                Some(decision) => return Ok(Reply::Given(decision)),
                None => view.show(&Happening::Notice(
                    "please answer o, s, a or d, or a time such as 30m, or a count such as 5x".into(),
                ))?,
            },
            Reply::Silence => return Ok(Reply::Silence),
            Reply::Interrupted => return Ok(Reply::Interrupted),
            Reply::Withdrawn => return Ok(Reply::Withdrawn),
        }
    }
}

/// Asks what the model wants to know. An empty line is silence.
///
/// # Errors
/// When the question cannot be printed.
pub async fn clarification(
    question: &str,
    choices: &[String],
    timeout: Duration,
    view: &mut View,
    inputs: &mut Inputs,
    withdrawn: &CancellationToken,
) -> std::io::Result<Reply<String>> {
    view.show(&Happening::Asked { question: question.to_owned(), choices: choices.to_vec() })?;
    Ok(match line(inputs, Instant::now() + timeout, withdrawn).await {
        Reply::Given(line) if line.trim().is_empty() => Reply::Silence,
        Reply::Given(line) => Reply::Given(read_choice(&line, choices)),
        other => other,
    })
}

/// What is recorded of a reply.
pub fn decided(reply: &Reply<Decision>) -> Answer {
    match reply {
        Reply::Given(decision) => Answer::here(*decision),
        Reply::Interrupted => Answer::here(Decision::Denied),
        Reply::Silence | Reply::Withdrawn => Answer::silence(),
    }
}

/// Reads a letter or a word. An empty line is no; `None` is not an answer at all.
pub fn read_decision(line: &str, now: Micros) -> Option<Decision> {
    let line = line.trim().to_lowercase();
    match line.as_str() {
        "" | "d" | "deny" | "n" | "no" => Some(Decision::Denied),
        scope => read_scope(scope, now).map(|scope| Decision::Allowed { scope }),
    }
}

/// How far a yes reaches: `once`, `session`, `always`, a time such as `30m`, a count such as `5x`.
pub fn read_scope(word: &str, now: Micros) -> Option<GrantScope> {
    match word {
        "o" | "once" | "y" | "yes" => return Some(GrantScope::Once),
        "s" | "session" => return Some(GrantScope::Session),
        "a" | "always" => return Some(GrantScope::Always),
        _ => {}
    }
    let unit = word.chars().last()?;
    let number: u32 = word.strip_suffix(unit)?.trim().parse().ok().filter(|number| *number > 0)?;
    let seconds = match unit {
        'x' => return Some(GrantScope::Times { count: number }),
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    Some(GrantScope::Until { at: now.plus(u64::from(number) * seconds * 1_000_000) })
}

/// A number stands for its choice; anything else is an answer of the person's own.
pub fn read_choice(line: &str, choices: &[String]) -> String {
    let line = line.trim();
    let number = line.trim_end_matches('.').parse::<usize>().ok();
    let chosen = number.and_then(|number| choices.get(number.checked_sub(1)?));
    chosen.map_or_else(|| line.to_owned(), Clone::clone)
}

async fn line(inputs: &mut Inputs, deadline: Instant, withdrawn: &CancellationToken) -> Reply<String> {
    tokio::select! {
        biased;
        () = withdrawn.cancelled() => Reply::Withdrawn,
        input = inputs.recv() => match input {
            Some(Input::Line(line)) => Reply::Given(line),
            Some(Input::CtrlC) => Reply::Interrupted,
            Some(Input::Eof) | None => Reply::Silence,
        },
        () = tokio::time::sleep_until(deadline) => Reply::Silence,
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::super::view::{Audience, Shown};
    use super::*;

    fn question(timeout: Duration) -> ApprovalQuestion {
        ApprovalQuestion {
            tool: "terminal".into(),
            subject: "make".into(),
            reason: "r".into(),
            rule: "ask".into(),
            pattern: "make".into(),
            timeout,
        }
    }

    async fn asked(given: Vec<Input>, timeout: Duration, keep_open: bool) -> Reply<Decision> {
        let (sender, receiver) = mpsc::channel(8);
        for input in given {
            sender.send(input).await.unwrap();
        }
        let _open = keep_open.then_some(sender);
        let mut inputs = Inputs::from_channel(receiver);
        let shown = Shown { streaming: true, reasoning: true };
        let mut view = View::new(
            Audience::Person { colour: false, columns: 80 },
            shown,
            std::io::sink(),
            std::io::sink(),
        );
        approval(&question(timeout), &mut view, &mut inputs, &CancellationToken::new()).await.unwrap()
    }

    const MINUTE: Duration = Duration::from_secs(60);

    fn typed(line: &str) -> Input {
        Input::Line(line.into())
    }

    #[tokio::test]
    async fn a_letter_decides_and_nonsense_is_asked_again() {
        let once = Reply::Given(Decision::Allowed { scope: GrantScope::Once });
        assert_eq!(asked(vec![typed("maybe"), typed("o")], MINUTE, true).await, once);
        assert_eq!(asked(vec![typed("d")], MINUTE, true).await, Reply::Given(Decision::Denied));
    }

    #[tokio::test]
    async fn silence_is_no_in_all_its_forms() {
        assert_eq!(asked(vec![typed("")], MINUTE, true).await, Reply::Given(Decision::Denied));
        for reply in [
            asked(vec![Input::Eof], MINUTE, true).await,
            asked(vec![], MINUTE, false).await,
            asked(vec![], Duration::from_millis(1), true).await,
        ] {
            assert_eq!(reply, Reply::Silence);
            assert_eq!(decided(&reply), Answer::silence());
        }
        let stopped = asked(vec![Input::CtrlC], MINUTE, true).await;
        assert_eq!(decided(&stopped), Answer::here(Decision::Denied));
    }

    #[test]
    fn only_the_words_that_say_yes_are_a_yes() {
        for no in ["", "d", "n", "no", "deny", "nope", "ok?", "allow", "oo"] {
            assert!(!matches!(read_decision(no, Micros(0)), Some(Decision::Allowed { .. })), "{no}");
        }
        let always = Some(Decision::Allowed { scope: GrantScope::Always });
        assert_eq!((read_decision(" A ", Micros(0)), read_decision("always", Micros(0))), (always, always));
    }

    #[test]
    fn a_number_is_its_choice() {
        let choices = ["red".to_owned(), "blue".to_owned()];
        assert_eq!(read_choice("2", &choices), "blue");
        assert_eq!(read_choice("3", &choices), "3");
        assert_eq!(read_choice("0", &choices), "0");
        assert_eq!(read_choice(" green ", &choices), "green");
    }

    #[test]
    fn a_yes_may_end_with_a_time_or_a_count() {
        let scope = |word| read_scope(word, Micros(1_000_000));
        assert_eq!(scope("30m"), Some(GrantScope::Until { at: Micros(1_801_000_000) }));
        assert_eq!(scope("2h"), Some(GrantScope::Until { at: Micros(7_201_000_000) }));
        assert_eq!(scope("5x"), Some(GrantScope::Times { count: 5 }));
        for no in ["0x", "x", "m", "-1h", "5", "1.5h", "99999999999d", "ü"] {
            assert_eq!(scope(no), None, "{no}");
        }
    }
}
