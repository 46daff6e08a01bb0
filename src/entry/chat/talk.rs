//! The one task that prints what happens and reads what is typed.

use std::time::Duration;

use herm_schema::events::*;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::editor::{Input, Inputs};
use super::link::Said;
use super::questions::{self, Reply};
use super::run::typed;
use super::view::{self, Happening, View};
use crate::config::Loaded;
use crate::entry::engine::Engine;
use crate::entry::telling::Telling;
use crate::entry::{Exit, Failure};
use crate::runtime::{ApprovalQuestion, SessionHandle};

/// How long a question of the model's waits for an answer.
const CLARIFY_PATIENCE: Duration = Duration::from_secs(3_600);

/// A conversation under way.
pub struct Talk<'a> {
    pub(super) engine: &'a Engine,
    pub(super) loaded: &'a Loaded,
    pub(super) handle: SessionHandle,
    heard: mpsc::Receiver<Said>,
    /// Of the background processes of this session.
    pub(super) news: Telling,
    /// Ctrl-C from outside the editor. One listener for good: between two, a signal would be lost.
    signals: Signal,
    approval_timeout: Duration,
    /// The running turn has had its last word.
    spoken: bool,
    last_exit: Option<ExitReason>,
    /// What goes with the next message.
    pub(super) attachments: Vec<Attachment>,
    /// Ctrl-C was pressed and nothing has happened since.
    pub(super) leaving: bool,
}

/// Whether the conversation goes on.
pub(super) enum Next {
    Stay,
    Leave(Exit),
}

impl<'a> Talk<'a> {
    /// # Errors
    /// When Ctrl-C cannot be listened to.
    pub fn new(
        engine: &'a Engine,
        loaded: &'a Loaded,
        handle: SessionHandle,
        heard: mpsc::Receiver<Said>,
    ) -> Result<Self, Failure> {
        let approval_timeout = loaded.config.approvals.timeout;
        let signals = signal(SignalKind::interrupt())?;
        let news = Telling::begin(&engine.processes, &handle, &loaded.redactor);
        let (spoken, last_exit, leaving) = (false, None, false);
        Ok(Self {
            engine,
            loaded,
            handle,
            heard,
            news,
            signals,
            approval_timeout,
            spoken,
            last_exit,
            attachments: Vec::new(),
            leaving,
        })
    }

    /// Shows files with the next message.
    pub fn attach(&mut self, files: Vec<Attachment>) {
        self.attachments.extend(files);
    }

    /// Who is talking, to a person.
    ///
    /// # Errors
    /// When it cannot be printed.
    pub fn greet(&self, view: &mut View) -> Result<(), Failure> {
        let model = &self.engine.policy.model;
        let who = format!("herm with {} ({}); /help says what can be typed", model.model, self.engine.why);
        view.show(&Happening::Notice(who))?;
        self.warn(view)
    }

    /// What is configured and cannot be had.
    ///
    /// # Errors
    /// When it cannot be printed.
    pub fn warn(&self, view: &mut View) -> Result<(), Failure> {
        for problem in &self.engine.problems {
            view.show(&Happening::Notice(format!("a fallback is left out: {problem}")))?;
        }
        Ok(())
    }

    /// One question, after whatever was left open: the exit status says how its turn ended.
    ///
    /// # Errors
    /// When the message is not taken, or nothing can be printed.
    pub async fn answer_one(
        &mut self,
        question: &str,
        attachments: Vec<Attachment>,
        view: &mut View,
    ) -> Result<Exit, Failure> {
        self.handle.receive(MessageReceived { attachments, ..typed(question.to_owned()) }).await?;
        let handle = self.handle.clone();
        let idle = handle.idle();
        tokio::pin!(idle);
        let mut interrupts = 0;
        loop {
            tokio::select! {
                biased;
                Some(said) = self.heard.recv() => {
                    if let Next::Leave(exit) = self.hear(said, view, None).await? {
                        return Ok(exit);
                    }
                }
                Some(()) = self.signals.recv() => {
                    interrupts += 1;
                    if interrupts > 1 {
                        return Ok(Exit::Interrupted);
                    }
                    let _ = self.handle.interrupt(InterruptSource::Person).await;
                }
                ended = &mut idle => {
                    ended?;
                    break;
                }
            }
        }
        while let Ok(said) = self.heard.try_recv() {
            self.hear(said, view, None).await?;
        }
        Ok(self.last_exit.map_or(Exit::Failed, Exit::of_turn))
    }

    /// A conversation, until the person leaves or there is nothing more to read. Lines of a pipe are
    /// taken one by one, each when the one before has been answered: they are no interruptions.
    ///
    /// # Errors
    /// When nothing can be printed.
    pub async fn converse(
        &mut self,
        mut inputs: Inputs,
        one_by_one: bool,
        view: &mut View,
    ) -> Result<Exit, Failure> {
        let mut reading = true;
        let mut waiting = one_by_one;
        loop {
            let handle = self.handle.clone();
            let next = tokio::select! {
                biased;
                Some(said) = self.heard.recv() => self.hear(said, view, Some(&mut inputs)).await?,
                input = inputs.recv(), if reading && !waiting => match input {
                    Some(Input::Line(line)) => {
                        waiting = one_by_one;
                        self.typed(&line, view).await?
                    }
                    Some(Input::CtrlC) => self.ctrl_c(view).await?,
                    Some(Input::Eof) | None => {
                        reading = false;
                        Next::Stay
                    }
                },
                Some(()) = self.signals.recv() => self.ctrl_c(view).await?,
                ended = handle.idle(), if !reading || waiting => {
                    ended?;
                    while let Ok(said) = self.heard.try_recv() {
                        self.hear(said, view, None).await?;
                    }
                    waiting = false;
                    match reading {
                        true => Next::Stay,
                        false => Next::Leave(self.last_exit.map_or(Exit::Ok, Exit::of_turn)),
                    }
                }
            };
            if let Next::Leave(exit) = next {
                return Ok(exit);
            }
        }
    }

    /// Prints what happens, and gets the answers to questions.
    async fn hear(
        &mut self,
        said: Said,
        view: &mut View,
        inputs: Option<&mut Inputs>,
    ) -> Result<Next, Failure> {
        match said {
            Said::Happening(happening) => view.show(&happening)?,
            Said::Deliver { parcel, reason, sent } => {
                if parcel.possible_repeat {
                    view.show(&Happening::Notice("you may have seen this answer before the restart".into()))?;
                }
                view.show(&Happening::TurnEnded { text: parcel.text().to_owned(), reason })?;
                self.spoken = true;
                let _ = sent.send(());
            }
            Said::Approve { question, answer, withdrawn } => {
                let question = view::ApprovalQuestion {
                    pattern: covers(&question),
                    tool: question.tool,
                    subject: question.subject,
                    reason: question.reason,
                    rule: String::new(),
                    timeout: self.approval_timeout,
                };
                let reply = match inputs {
                    Some(inputs) => questions::approval(&question, view, inputs, &withdrawn).await?,
                    None => Reply::Silence,
                };
                let _ = answer.send(questions::decided(&reply));
                if reply == Reply::Interrupted {
                    return self.ctrl_c(view).await;
                }
            }
            Said::Clarify { question, choices, answer, withdrawn } => {
                let reply = match inputs {
                    Some(inputs) => {
                        let patience = CLARIFY_PATIENCE;
                        questions::clarification(&question, &choices, patience, view, inputs, &withdrawn)
                            .await?
                    }
                    None => Reply::Silence,
                };
                let interrupted = reply == Reply::Interrupted;
                drop(answer.send(match reply {
                    Reply::Given(text) => Some(text),
                    Reply::Silence | Reply::Interrupted | Reply::Withdrawn => None,
                }));
                if interrupted {
                    return self.ctrl_c(view).await;
                }
            }
            Said::TurnEnded(reason) => {
                self.last_exit = Some(reason);
                self.leaving = false;
                if !std::mem::take(&mut self.spoken) {
                    view.show(&Happening::TurnEnded { text: String::new(), reason })?;
                }
            }
            Said::Broken(reason) => {
                return Err(Failure::message(Exit::Failed, reason).hint("herm doctor"));
            }
        }
        Ok(Next::Stay)
    }

    /// Interrupts what runs; a second time leaves.
    async fn ctrl_c(&mut self, view: &mut View) -> Result<Next, Failure> {
        if std::mem::replace(&mut self.leaving, true) {
            return Ok(Next::Leave(Exit::Interrupted));
        }
        let notice = match self.handle.interrupt(InterruptSource::Person).await {
            Ok(_) => "interrupting; Ctrl-C once more leaves",
            Err(_) => "Ctrl-C once more, or /exit, leaves",
        };
        view.show(&Happening::Notice(notice.into()))?;
        Ok(Next::Stay)
    }
}

/// What a lasting yes would cover, in words.
fn covers(question: &ApprovalQuestion) -> String {
    match &question.target {
        Some(target) => format!("{} on {target}", question.pattern),
        None => question.pattern.clone(),
    }
}
