//! Prints what happens in a conversation: for people, for a script, or as JSON.
//!
//! What comes from a model or a tool is never sent to the terminal as it is, see [`super::escape`].
//! The texts are taken as redacted already.

use std::io::{self, Write};
use std::time::Duration;

use herm_schema::events::{ApprovalRequested, ExitReason, ToolStatus};
use serde_json::{Value as Json, json};

use super::escape::{escaped, json_line};
use super::lines::{Lines, cut};
use crate::entry::Exit;

/// Cells of a line that a preview may take beside its mark and name.
const PREVIEW_MARGIN: usize = 6;
/// Cells before the text of a notice.
const NOTICE_MARGIN: usize = 4;

/// Something that happens and that somebody may want to see.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// A piece of the answer.
    Text(String),
    /// A piece of the reasoning.
    Reasoning(String),
    /// What was shown of the answer since the last tool or answer does not count: the model is
    /// asked once more.
    Retracted,
    ToolStarted {
        name: String,
        preview: String,
    },
    ToolFinished {
        name: String,
        status: ToolStatus,
        elapsed: Duration,
    },
    ApprovalAsked(ApprovalQuestion),
    /// The model asks the person something.
    Asked {
        question: String,
        choices: Vec<String>,
    },
    /// herm itself has something to say.
    Notice(String),
    /// The turn has ended; `text` is the whole answer, empty if there is none.
    TurnEnded {
        text: String,
        reason: ExitReason,
    },
}

/// What a person is asked before a tool call runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalQuestion {
    pub tool: String,
    /// What would run.
    pub subject: String,
    pub reason: String,
    pub rule: String,
    /// What a lasting yes would cover.
    pub pattern: String,
    /// Time to answer; then the call waits, and its turn goes on without it.
    pub timeout: Duration,
}

impl ApprovalQuestion {
    pub fn of(request: &ApprovalRequested, timeout: Duration) -> Self {
        Self {
            tool: request.tool.clone(),
            subject: request.subject.clone(),
            reason: request.reason.clone(),
            rule: request.rule.clone(),
            pattern: request.pattern.clone(),
            timeout,
        }
    }
}

/// For whom it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A person in a conversation: everything on `out`, as it comes in.
    Person { colour: bool, columns: usize },
    /// A script that asked one question: the answer on `out`, everything else on `err`.
    Script { colour: bool, columns: usize },
    /// A program: everything on `out`, one JSON object a line.
    Program,
}

/// What of it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The answer while it comes in, for a person.
    pub streaming: bool,
    pub reasoning: bool,
}

/// Prints what happens.
pub struct View {
    audience: Audience,
    shown: Shown,
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    /// The text being shown, up to the end of its line.
    lines: Lines,
    /// Which kind of text the lines hold.
    speaking: Speaking,
    /// The pieces of the answer since the last tool; what a script is shown of it is known later.
    answer: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaking {
    Nothing,
    Text,
    Reasoning,
}

/// Select Graphic Rendition, ECMA-48.
const PLAIN: &str = "\u{1b}[0m";
const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const RED: &str = "\u{1b}[31m";
const YELLOW: &str = "\u{1b}[33m";

impl View {
    pub fn new(
        audience: Audience,
        shown: Shown,
        out: impl Write + Send + 'static,
        err: impl Write + Send + 'static,
    ) -> Self {
        let columns = match audience {
            Audience::Person { columns, .. } | Audience::Script { columns, .. } => columns,
            Audience::Program => usize::MAX,
        };
        Self {
            audience,
            shown,
            out: Box::new(out),
            err: Box::new(err),
            lines: Lines::new(columns),
            speaking: Speaking::Nothing,
            answer: String::new(),
        }
    }

    /// Prints it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn show(&mut self, happening: &Happening) -> io::Result<()> {
        match self.audience {
            Audience::Program => {
                let line = json_line(&as_json(happening).to_string());
                writeln!(self.out, "{line}")?;
            }
            Audience::Person { .. } => self.tell(happening)?,
            Audience::Script { .. } => self.report(happening)?,
        }
        self.out.flush()?;
        self.err.flush()
    }

    /// For a person: in the order in which it happens.
    fn tell(&mut self, happening: &Happening) -> io::Result<()> {
        match happening {
            Happening::Text(piece) if self.shown.streaming => {
                self.answer.push_str(piece);
                self.speak(Speaking::Text, piece)
            }
            Happening::Text(piece) => {
                self.answer.push_str(piece);
                Ok(())
            }
            Happening::Reasoning(piece) if self.shown.reasoning => self.speak(Speaking::Reasoning, piece),
            Happening::Reasoning(_) => Ok(()),
            Happening::Retracted => {
                let was = std::mem::take(&mut self.answer);
                self.fall_silent()?;
                if was.is_empty() || !self.shown.streaming {
                    Ok(())
                } else {
                    self.aside(YELLOW, "  ↺ once more")
                }
            }
            Happening::TurnEnded { text, reason } => {
                let streamed = std::mem::take(&mut self.answer);
                if !self.shown.streaming || streamed.trim() != text.trim() {
                    // What was streamed is not what was recorded: the record is what counts.
                    self.fall_silent()?;
                    self.speak(Speaking::Text, text)?;
                }
                self.fall_silent()?;
                self.ended(*reason)
            }
            Happening::Notice(_) | Happening::ToolFinished { .. } => {
                self.fall_silent()?;
                self.event(happening)
            }
            other => {
                self.message_over()?;
                self.event(other)
            }
        }
    }

    /// For a script: nothing but the answer on `out`.
    fn report(&mut self, happening: &Happening) -> io::Result<()> {
        match happening {
            Happening::Text(piece) => {
                self.answer.push_str(piece);
                Ok(())
            }
            Happening::Reasoning(piece) if self.shown.reasoning => self.speak(Speaking::Reasoning, piece),
            Happening::Reasoning(_) => Ok(()),
            Happening::Retracted => {
                self.answer.clear();
                self.fall_silent()
            }
            Happening::TurnEnded { text, reason } => {
                self.answer.clear();
                self.fall_silent()?;
                let text = escaped(text.trim_end_matches('\n'));
                // What herm says instead of an answer is none: `$(herm chat -q …)` stays empty.
                match Exit::of_turn(*reason) {
                    _ if text.is_empty() => {}
                    Exit::Ok | Exit::LimitReached => writeln!(self.out, "{text}")?,
                    // Cut, but the model's own.
                    _ if *reason == ExitReason::OutputTruncated => writeln!(self.out, "{text}")?,
                    _ => writeln!(self.err, "{text}")?,
                }
                self.ended(*reason)
            }
            Happening::Notice(_) | Happening::ToolFinished { .. } => {
                self.fall_silent()?;
                self.event(happening)
            }
            other => {
                self.message_over()?;
                self.event(other)
            }
        }
    }

    /// What the model said before a tool call or a question belongs above it, also where it was held
    /// back. It is no part of the final answer.
    fn message_over(&mut self) -> io::Result<()> {
        let held_back = matches!(self.audience, Audience::Script { .. }) || !self.shown.streaming;
        let said = std::mem::take(&mut self.answer);
        if held_back && !said.trim().is_empty() {
            self.fall_silent()?;
            self.speak(Speaking::Text, said.trim_end())?;
        }
        self.fall_silent()
    }

    /// What is not somebody's text.
    fn event(&mut self, happening: &Happening) -> io::Result<()> {
        match happening {
            Happening::ToolStarted { name, preview } => {
                let name = cut(name, self.columns());
                let room = self.columns().saturating_sub(name.chars().count() + PREVIEW_MARGIN);
                let preview = cut(preview, room);
                self.aside(DIM, format!("  ┊ {name}  {preview}").trim_end())
            }
            Happening::ToolFinished { name, status, elapsed } => {
                let (mark, colour) = match status {
                    ToolStatus::Succeeded => ("✓", DIM),
                    ToolStatus::Failed => ("✗", RED),
                    ToolStatus::Interrupted => ("■", YELLOW),
                };
                self.aside(colour, &format!("  {mark} {}  {}", cut(name, self.columns()), duration(*elapsed)))
            }
            Happening::Notice(text) => self.notice(text),
            Happening::ApprovalAsked(question) => self.approval(question),
            Happening::Asked { question, choices } => self.asked(question, choices),
            Happening::Text(_)
            | Happening::Reasoning(_)
            | Happening::Retracted
            | Happening::TurnEnded { .. } => Ok(()),
        }
    }

    /// Wrapped, so that a long one stays readable beside its mark.
    fn notice(&mut self, text: &str) -> io::Result<()> {
        for line in text.lines() {
            let mut lines = Lines::new(self.columns().saturating_sub(NOTICE_MARGIN));
            let mut wrapped = lines.push(line);
            wrapped.extend(lines.end());
            for (number, part) in wrapped.iter().enumerate() {
                let mark = if number == 0 { "!" } else { " " };
                self.aside(YELLOW, &format!("  {mark} {part}"))?;
            }
        }
        Ok(())
    }

    fn approval(&mut self, question: &ApprovalQuestion) -> io::Result<()> {
        self.aside(BOLD, &format!("  ? {} wants to run", cut(&question.tool, self.columns())))?;
        // Whole, however long: nobody can agree to what they are not shown.
        for line in escaped(&question.subject).lines() {
            self.aside("", &format!("      {line}"))?;
        }
        let rule = match question.rule.as_str() {
            "" => String::new(),
            rule => format!(" ({})", escaped(rule)),
        };
        self.aside(DIM, &format!("    {}{rule}", escaped(&question.reason)))?;
        let choices = format!(
            "    [o]nce  [s]ession  [a]lways (or 30m, 5x): {}  [d]eny   ({}; silence waits)",
            cut(&question.pattern, self.columns()),
            duration(question.timeout)
        );
        self.aside(BOLD, &choices)
    }

    fn asked(&mut self, question: &str, choices: &[String]) -> io::Result<()> {
        for line in escaped(question).lines() {
            self.aside(BOLD, &format!("  ? {line}"))?;
        }
        for (index, choice) in choices.iter().enumerate() {
            self.aside("", &format!("    {}. {}", index + 1, cut(choice, self.columns())))?;
        }
        Ok(())
    }

    fn ended(&mut self, reason: ExitReason) -> io::Result<()> {
        match explanation(reason) {
            None => Ok(()),
            Some(why) => self.aside(YELLOW, &format!("  ! {why}")),
        }
    }

    /// A piece of somebody's text.
    fn speak(&mut self, who: Speaking, piece: &str) -> io::Result<()> {
        if self.speaking != who {
            self.fall_silent()?;
            self.speaking = who;
        }
        let lines = self.lines.push(piece);
        self.lines_out(&lines)
    }

    /// The text that was being shown is over.
    fn fall_silent(&mut self) -> io::Result<()> {
        let lines = self.lines.end();
        self.lines_out(&lines)?;
        self.speaking = Speaking::Nothing;
        Ok(())
    }

    fn lines_out(&mut self, lines: &[String]) -> io::Result<()> {
        for line in lines {
            match self.speaking {
                Speaking::Reasoning => self.aside(DIM, format!("  · {line}").trim_end())?,
                _ => self.aside("", line)?,
            }
        }
        Ok(())
    }

    /// A line that is not the answer to a script: on `out` for a person, else on `err`.
    fn aside(&mut self, style: &str, line: &str) -> io::Result<()> {
        let (to, colour) = match self.audience {
            Audience::Person { colour, .. } => (&mut self.out, colour),
            Audience::Script { colour, .. } => (&mut self.err, colour),
            Audience::Program => (&mut self.err, false),
        };
        if colour && !style.is_empty() {
            writeln!(to, "{style}{line}{PLAIN}")
        } else {
            writeln!(to, "{line}")
        }
    }

    fn columns(&self) -> usize {
        match self.audience {
            Audience::Person { columns, .. } | Audience::Script { columns, .. } => columns,
            Audience::Program => usize::MAX,
        }
    }
}

/// Why there is no ordinary answer; `None` if there is one.
fn explanation(reason: ExitReason) -> Option<&'static str> {
    Some(match reason {
        ExitReason::Answered => return None,
        ExitReason::InterruptedByUser | ExitReason::InterruptedDuringModelCall => "interrupted",
        ExitReason::IterationLimit => "stopped: as many model calls as one turn may take (agent.max_turns)",
        ExitReason::IterationBudgetSpent => "stopped: the budget of model calls is spent (agent.max_turns)",
        ExitReason::RunBudgetSpent => "stopped: the time of one turn is over (agent.run_budget_seconds)",
        ExitReason::ReviewInputBudgetSpent => "stopped: the input allowance of the review is spent",
        ExitReason::RetriesExhausted => "the model could not be reached; every attempt failed",
        ExitReason::ModelFailed => "the model call failed, and another attempt would not help",
        ExitReason::ModelRefused => "the provider refused on grounds of content or policy",
        ExitReason::EmptyAnswer => "the model said nothing, repeatedly",
        ExitReason::OutputTruncated => "the answer hit the output limit again and again (model.max_tokens)",
        ExitReason::InvalidToolCalls => "the model kept asking for tool calls that cannot be read",
        ExitReason::GuardrailStopped => "stopped: the model was going in circles (tool_loop_guardrails)",
        ExitReason::ContextOverflow => {
            "the conversation does not fit the model, and compression does not help"
        }
        ExitReason::PersistenceFailed => "an event could not be recorded; see `herm doctor`",
        ExitReason::RepeatedFaults => "herm's own code failed too often; see HERM_LOG=herm=debug",
        ExitReason::ResumesExhausted => "restarts resumed this turn too often without progress",
        ExitReason::SpendingLimit => "stopped: the spending limit is reached (spending)",
    })
}

/// Such as `0.3 s`, `12 s`, `2 m 05 s`.
fn duration(time: Duration) -> String {
    match time.as_secs() {
        0..10 if time.subsec_millis() > 0 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} m {:02} s", seconds / 60, seconds % 60),
    }
}

fn as_json(happening: &Happening) -> Json {
    match happening {
        Happening::Text(text) => json!({"type": "text", "text": text}),
        Happening::Reasoning(text) => json!({"type": "reasoning", "text": text}),
        Happening::Retracted => json!({"type": "retracted"}),
        Happening::ToolStarted { name, preview } => {
            json!({"type": "tool_started", "name": name, "preview": preview})
        }
        Happening::ToolFinished { name, status, elapsed } => json!({
            "type": "tool_finished", "name": name, "status": status, "elapsed_ms": elapsed.as_millis() as u64,
        }),
        Happening::ApprovalAsked(question) => json!({
            "type": "approval_asked", "tool": question.tool, "subject": question.subject,
            "reason": question.reason, "rule": question.rule, "pattern": question.pattern,
            "timeout_ms": question.timeout.as_millis() as u64,
        }),
        Happening::Asked { question, choices } => {
            json!({"type": "asked", "question": question, "choices": choices})
        }
        Happening::Notice(text) => json!({"type": "notice", "text": text}),
        Happening::TurnEnded { text, reason } => {
            json!({"type": "turn_ended", "text": text, "reason": reason})
        }
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
