//! PURE: what people are asked, as Markdown: whether a program may run, and what the model wants to know.

/// A command line or a tool call that waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approval<'a> {
    /// Such as `terminal`.
    pub tool: &'a str,
    /// What would run, without secrets.
    pub command: &'a str,
    /// Why it was not simply run; empty if nobody said.
    pub reasons: &'a [String],
    /// Whether buttons are shown below the text.
    pub buttons: bool,
    /// Whether an answer may also hold for the session or for good.
    pub lasting: bool,
}

/// Longest command that is shown, in characters; the rest is counted.
const COMMAND_CHARS_MAX: usize = 2_000;

/// Asks whether something may run.
pub fn approval(asked: &Approval<'_>) -> String {
    let (shown, more) = shortened(asked.command);
    let mut out = format!("**`{}` wants to run**\n\n{}", word(asked.tool), code(shown));
    if more > 0 {
        out.push_str(&format!("\n\n… and {more} more characters."));
    }
    match asked.reasons {
        [] => {}
        [reason] => out.push_str(&format!("\n\nWhy you are asked: {}", line(reason))),
        reasons => {
            out.push_str("\n\nWhy you are asked:\n");
            for reason in reasons {
                out.push_str(&format!("\n- {}", line(reason)));
            }
        }
    }
    out.push_str(match (asked.buttons, asked.lasting) {
        (true, _) => "\n\nPress a button, or answer ",
        (false, _) => "\n\nAnswer ",
    });
    out.push_str(match asked.lasting {
        true => "`/approve` for this once, `/approve session` until the session ends, `/approve always` for good, or `/deny`.",
        false => "`/approve` for this once, or `/deny`.",
    });
    out
}

/// Asks what the model wants to know; the choices are numbered from 1.
pub fn clarify(question: &str, choices: &[String]) -> String {
    let question = question.trim();
    if choices.is_empty() {
        return question.to_owned();
    }
    let mut out = format!("{question}\n");
    for (index, choice) in choices.iter().enumerate() {
        out.push_str(&format!("\n{}. {}", index + 1, line(choice)));
    }
    out.push_str("\n\nAnswer with a number, or in your own words.");
    out
}

fn shortened(command: &str) -> (&str, usize) {
    let end = command.char_indices().nth(COMMAND_CHARS_MAX).map(|(index, _)| index);
    match end.and_then(|end| command.split_at_checked(end)) {
        Some((shown, rest)) => (shown, rest.chars().count()),
        None => (command, 0),
    }
}

/// A block of code with a fence that nothing in it closes.
fn code(text: &str) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// A name that stays inside of its ticks.
fn word(text: &str) -> String {
    text.chars().filter(|char| !char.is_control() && *char != '`').collect()
}

/// On one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
