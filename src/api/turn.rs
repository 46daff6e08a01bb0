//! A turn, followed from the message that began it to its answer: for every shape that the API answers in.
//!
//! What happens comes from the feed; a follower that was too slow reads the log. Nothing is kept here, so
//! that a client that comes back after a restart finds the same.

use std::sync::Arc;

use herm_schema::events::*;
use herm_schema::{CallRef, Event, Recorded, SessionId, StreamPos};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::gateway::feed::Happening;
use crate::gateway::profile::Profile;
use crate::runtime::Redact;

/// What happens in a turn, as clients see it.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// More of the answer; what was said before stands.
    Text(String),
    Reasoning(String),
    ToolStarted {
        call: CallRef,
        name: String,
        arguments: String,
    },
    ToolFinished {
        call: CallRef,
        name: String,
        failed: bool,
    },
    ApprovalAsked {
        request: StreamPos,
        tool: String,
        subject: String,
        reason: String,
    },
    ApprovalAnswered {
        request: StreamPos,
        decision: Decision,
    },
    Ended(Answer),
}

/// How a turn ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub text: String,
    /// `None` for one that still runs.
    pub exit: Option<ExitReason>,
    pub usage: Usage,
    /// Tool calls, in order.
    pub tools: Vec<(String, String)>,
}

impl Answer {
    /// Whether there is no answer but the word that says why.
    pub fn failed(&self) -> bool {
        use ExitReason as E;
        matches!(
            self.exit,
            Some(
                E::RetriesExhausted
                    | E::ModelFailed
                    | E::ModelRefused
                    | E::EmptyAnswer
                    | E::ContextOverflow
                    | E::PersistenceFailed
                    | E::RepeatedFaults
                    | E::ResumesExhausted
                    | E::SpendingLimit
            )
        )
    }
}

/// Follows the turn that takes up one message.
pub struct Following {
    profile: Arc<Profile>,
    pub session: SessionId,
    /// The event that received the message.
    pub message: StreamPos,
    happenings: broadcast::Receiver<Happening>,
    redact: Redact,
    /// The next event that is to be looked at.
    next: StreamPos,
    fold: Fold,
    /// Of the model call that runs: what was passed on, and the end of what came in.
    passed: String,
    heard: Heard,
    /// Nobody wants to see the answer while it is written.
    deaf: bool,
    ready: std::collections::VecDeque<Step>,
    over: bool,
    /// Nobody else will say anything in the session soon.
    one_shot: bool,
}

/// What is known of the turn so far.
#[derive(Default)]
struct Fold {
    mine: bool,
    answer: Answer,
    names: Vec<(CallRef, String)>,
}

impl Following {
    /// From the message at `message` on; `happenings` was taken before it was sent.
    pub fn new(
        profile: &Arc<Profile>,
        session: SessionId,
        message: StreamPos,
        happenings: broadcast::Receiver<Happening>,
    ) -> Self {
        let redactor = profile.loaded.redactor.clone();
        Self {
            profile: Arc::clone(profile),
            session,
            message,
            happenings,
            redact: Arc::new(move |text| redactor.redact(text).into_owned()),
            next: message.next(),
            fold: Fold::default(),
            passed: String::new(),
            heard: Heard::default(),
            deaf: false,
            ready: std::collections::VecDeque::new(),
            over: false,
            one_shot: false,
        }
    }

    /// The session was opened for this one message: it leaves memory when its turn has ended.
    #[must_use]
    pub fn one_shot(mut self) -> Self {
        self.one_shot = true;
        self
    }

    /// The next thing that happens; `None` after the end.
    ///
    /// # Errors
    /// The session cannot go on.
    pub async fn next(&mut self) -> Result<Option<Step>, String> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Ok(Some(step));
            }
            if self.over {
                return Ok(None);
            }
            match self.happenings.recv().await {
                Ok(Happening::Event(recorded)) => self.event(&recorded),
                Ok(Happening::Text(piece)) if self.fold.mine => self.text(&piece),
                Ok(Happening::Reasoning(text)) if self.fold.mine => {
                    self.ready.push_back(Step::Reasoning(text))
                }
                Ok(Happening::Text(_) | Happening::Reasoning(_)) => {}
                Ok(Happening::Broken(why)) => return Err(why),
                Err(RecvError::Lagged(_)) => self.read()?,
                Err(RecvError::Closed) => return Err("the gateway is stopping".to_owned()),
            }
        }
    }

    /// To the end.
    ///
    /// # Errors
    /// As [`Following::next`].
    pub async fn answer(mut self) -> Result<Answer, String> {
        self.deaf = true;
        while let Some(step) = self.next().await? {
            if let Step::Ended(answer) = step {
                return Ok(answer);
            }
        }
        Err("the turn did not end".to_owned())
    }

    /// What the log already has of it.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn read(&mut self) -> Result<(), String> {
        let log = Arc::clone(&self.profile.engine.log);
        for recorded in log.read_stream(self.session.stream(), self.next) {
            self.event(&recorded.map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    /// What is known of it now, without waiting.
    pub fn so_far(&self) -> &Answer {
        &self.fold.answer
    }

    pub fn has_begun(&self) -> bool {
        self.fold.mine
    }

    fn event(&mut self, recorded: &Recorded) {
        let at = recorded.envelope.stream_pos;
        if at < self.next || self.over {
            return;
        }
        self.next = at.next();
        match &recorded.event {
            Event::TurnStarted(started) if started.inbound.contains(&self.message) => self.fold.mine = true,
            _ if !self.fold.mine => {}
            Event::ModelCallStarted(_) | Event::ModelCallFailed(_) | Event::ModelCallAborted(_) => {
                self.heard = Heard::default();
                self.passed.clear();
            }
            Event::ModelCallSucceeded(call) => self.called(call),
            Event::ToolCallStarted(started) => {
                let arguments = (self.redact)(&started.arguments.0);
                self.fold.names.push((started.call, started.name.clone()));
                self.fold.answer.tools.push((started.name.clone(), arguments.clone()));
                let (call, name) = (started.call, started.name.clone());
                self.ready.push_back(Step::ToolStarted { call, name, arguments });
            }
            Event::ToolCallFinished(done) => self.finished(done.call, done.status != ToolStatus::Succeeded),
            Event::ToolCallSkipped(skipped) => self.finished(skipped.call, true),
            Event::ApprovalRequested(asked) => self.ready.push_back(Step::ApprovalAsked {
                request: at,
                tool: asked.tool.clone(),
                subject: asked.subject.clone(),
                reason: asked.reason.clone(),
            }),
            Event::ApprovalDecided(decided) => self
                .ready
                .push_back(Step::ApprovalAnswered { request: decided.request, decision: decided.decision }),
            Event::DeliveryPlanned(planned) => {
                let text = planned.chunks.iter().map(Part::text).collect::<Vec<_>>().join("\n\n");
                self.fold.answer.text = (self.redact)(&text);
            }
            Event::TurnEnded(ended) => self.ended(ended.reason),
            _ => {}
        }
    }

    fn called(&mut self, call: &ModelCallSucceeded) {
        let usage = call.usage.unwrap_or_default();
        let sum = &mut self.fold.answer.usage;
        sum.input += usage.input;
        sum.cached_read += usage.cached_read;
        sum.cached_write += usage.cached_write;
        sum.output += usage.output;
        sum.reasoning += usage.reasoning;
        let whole = (self.redact)(&call.message.text);
        // Where pieces were missed, the rest of it is passed on now.
        match whole.strip_prefix(self.passed.as_str()) {
            Some(rest) if !rest.is_empty() => self.ready.push_back(Step::Text(rest.to_owned())),
            _ => {}
        }
        self.passed = whole;
    }

    fn finished(&mut self, call: CallRef, failed: bool) {
        let name = self.fold.names.iter().find(|(known, _)| *known == call).map(|(_, name)| name.clone());
        if let Some(name) = name {
            self.ready.push_back(Step::ToolFinished { call, name, failed });
        }
    }

    fn ended(&mut self, reason: ExitReason) {
        self.over = true;
        self.fold.answer.exit = Some(reason);
        if self.fold.answer.text.is_empty() {
            self.fold.answer.text = self.passed.clone();
        }
        let answer = self.fold.answer.clone();
        // A word of herm's own, which no model wrote.
        if !self.passed.trim().ends_with(answer.text.trim()) {
            let rest = answer.text.strip_prefix(self.passed.as_str()).unwrap_or(&answer.text);
            self.ready.push_back(Step::Text(rest.to_owned()));
        }
        self.ready.push_back(Step::Ended(answer));
    }

    /// Passes on what is safe of a piece and of what was held back before it.
    fn text(&mut self, piece: &str) {
        if self.deaf {
            return;
        }
        if let Some(safe) = self.heard.push(piece, &self.redact) {
            self.passed.push_str(&safe);
            self.ready.push_back(Step::Text(safe));
        }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        if self.one_shot {
            self.profile.feed.forget(self.session);
            self.profile.engine.sessions.release(self.session);
        }
    }
}

/// The end of an answer that is being written: whole words are passed on, looked through together with those
/// before them, since half a secret looks like none. Only so much is looked through again for every piece.
#[derive(Default)]
struct Heard {
    text: String,
    /// What of `text` was passed on, without secrets.
    passed: String,
}

/// What is looked through again with a new piece, in bytes; at most twice as much.
const AGAIN_BYTES: usize = 1_024;

impl Heard {
    /// Takes a piece; what can be passed on by now.
    fn push(&mut self, piece: &str, redact: &Redact) -> Option<String> {
        self.text.push_str(piece);
        let safe = redact(whole_words(&self.text));
        let rest = safe.strip_prefix(self.passed.as_str()).filter(|rest| !rest.is_empty())?.to_owned();
        self.passed = safe;
        if self.text.len() > 2 * AGAIN_BYTES {
            let from = self.text.len() - AGAIN_BYTES;
            let cut = self.text.char_indices().find(|(at, c)| *at >= from && c.is_whitespace());
            if let Some((at, _)) = cut {
                self.text.drain(..at);
                self.passed = redact(whole_words(&self.text));
            }
        }
        Some(rest)
    }
}

/// Up to the last word, which may still grow.
fn whole_words(text: &str) -> &str {
    text.rfind(char::is_whitespace).and_then(|at| text.get(..at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_is_passed_on_as_it_came_and_a_secret_is_not() {
        let redactor = crate::config::Redactor::new(["wonderland-0451"]);
        let redact: Redact = Arc::new(move |text| redactor.redact(text).into_owned());
        let mut whole = String::new();
        for number in 0..900 {
            whole.push_str(&format!("wörd {number} "));
            if number % 250 == 0 {
                whole.push_str("wonderland-0451 ");
            }
        }
        let mut heard = Heard::default();
        let mut passed = String::new();
        let letters: Vec<char> = whole.chars().collect();
        for piece in letters.chunks(3) {
            passed.extend(heard.push(&piece.iter().collect::<String>(), &redact));
            assert!(heard.text.len() < 3 * AGAIN_BYTES);
        }
        assert_eq!(passed, redact(whole.trim_end()));
    }
}
