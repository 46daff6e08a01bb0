//! What is asked of herm itself in a chat: recorded first, then done, then answered. A command that was
//! recorded and not answered before a restart is done after it.

use std::time::Duration;

use herm_replay::gateway::Command;
use herm_replay::reducer::SessionState;
use herm_schema::events::*;
use herm_schema::{IdempotencyKey, StreamPos};

use super::desk;
use super::hooks::Hook;
use super::hub::Wish;
use super::pipeline::{Admitted, not_taken};
use super::questions::Word;
use crate::entry::asks;
use crate::inbound::slash::{self, Slash};
use crate::inbound::slash_table::Where;
use crate::platforms::{Act, Message, NotNow, Taken};
use crate::runtime::{Error, SessionHandle};

/// What is recorded for an answer to a question of the model; nobody can type it as a command.
const ANSWER: &str = "(answer)";
/// How long `/new` waits for the turn that it stops.
const STOP_TIME_MAX: Duration = Duration::from_secs(15);

impl Admitted<'_> {
    /// A command came in: it is recorded, done, and answered.
    pub(super) async fn command(&self, message: &Message, slash: Slash) -> Result<Taken, NotNow> {
        let Some((at, received)) = self.record(message, slash).await? else {
            return Ok(Taken::Known);
        };
        self.execute(at, &received).await.map_err(not_taken)?;
        Ok(Taken::Recorded)
    }

    /// A message is what the model waits for: recorded, so that it is recognised when it comes again.
    pub(super) async fn answer_question(
        &self,
        session: herm_schema::SessionId,
        message: &Message,
    ) -> Result<Taken, NotNow> {
        let slash = Slash { name: ANSWER.to_owned(), args: message.text.clone() };
        let Some((command, _)) = self.record(message, slash).await? else {
            return Ok(Taken::Known);
        };
        // Somebody else may have been faster; then it is too late, and nothing is lost but an answer.
        self.profile.questions.clarify(session, &message.text);
        let answered = self.hub.desk.try_ask(Command::Answer { command, answer: None }).await;
        answered.map_err(not_taken)?;
        Ok(Taken::Recorded)
    }

    /// `None` if it was recorded before.
    async fn record(
        &self,
        message: &Message,
        slash: Slash,
    ) -> Result<Option<(StreamPos, CommandReceived)>, NotNow> {
        let received = CommandReceived {
            message_id: message.message_id.clone(),
            profile: self.profile.name.clone(),
            chat: self.chat.clone(),
            session_key: self.door.key.clone(),
            sender: self.sender.clone(),
            name: slash.name,
            arguments: slash.args,
            owner: self.owner,
        };
        let key = IdempotencyKey::of(&["command", &self.chat.platform, &self.chat.chat, &message.message_id]);
        match self.hub.desk.ask(Command::Receive(received.clone()), Some(key)).await {
            Ok(recorded) => {
                let at = recorded.first().map(|recorded| recorded.envelope.stream_pos).unwrap_or_default();
                Ok(Some((at, received)))
            }
            Err(desk::Error::Duplicate { .. }) => Ok(None),
            Err(error) => Err(not_taken(error)),
        }
    }

    /// Does a recorded command and answers it.
    ///
    /// # Errors
    /// Those of the log.
    pub(super) async fn execute(&self, at: StreamPos, asked: &CommandReceived) -> Result<(), desk::Error> {
        let data = serde_json::json!({
            "profile": asked.profile, "platform": asked.chat.platform, "chat": asked.chat.chat,
            "sender": asked.sender.id, "arguments": asked.arguments,
        });
        self.hub.hooks.call(&Hook { event: format!("command:{}", asked.name), data });
        let said = match slash::find(&asked.name, Where::Chat) {
            // The question that it answered is asked anew after a restart.
            _ if asked.name == ANSWER => String::new(),
            Err(unknown) => unknown.to_string(),
            Ok(row) if !slash::allowed(row, asked.owner) => format!("`/{}` is for owners only", row.name),
            Ok(row) => match self.done(row.name, row.while_busy, asked).await {
                Ok(said) => said,
                Err(Error::Rejected(why)) => why.to_string(),
                Err(error) => format!("that did not work: {error}"),
            },
        };
        let answer = (!said.is_empty()).then(|| {
            let reply_to = (!self.direct).then(|| asked.message_id.clone());
            self.hub.notice(self.chat, &said, reply_to)
        });
        let fleeting = slash::find(&asked.name, Where::Chat).is_ok_and(|row| row.ephemeral);
        match self.hub.desk.ask(Command::Answer { command: at, answer }, None).await {
            Ok(events) => {
                if let Some(time) = self.hub.loaded.config.gateway.ephemeral.filter(|_| fleeting) {
                    self.fade(&events, time);
                }
                Ok(())
            }
            Err(desk::Error::Rejected(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes an answer back after a while. Not owed: after a restart it stays.
    fn fade(&self, events: &[herm_schema::Recorded], time: Duration) {
        use herm_schema::Event;
        let planned = events.iter().find(|recorded| matches!(recorded.event, Event::DeliveryPlanned(_)));
        let Some(at) = planned.map(|recorded| recorded.envelope.stream_pos) else { return };
        let (desk, switchboard) = (self.hub.desk.clone(), self.hub.switchboard.clone());
        let chat = self.chat.clone();
        tokio::spawn(async move {
            desk.gone(at).await;
            tokio::time::sleep(time).await;
            for event in desk.stream_from(at) {
                if let Event::DeliveryConfirmed(confirmed) = event
                    && confirmed.delivery == at
                    && let Some(message_id) = confirmed.platform_message_id
                {
                    switchboard.act(&Act::Delete { chat: chat.clone(), message_id }).await;
                }
            }
        });
    }

    async fn done(&self, name: &str, while_busy: bool, asked: &CommandReceived) -> Result<String, Error> {
        let text = asked.arguments.as_str();
        if let Some(said) = self.beside(name, text, asked) {
            return Ok(said);
        }
        if name == "new" {
            return self.new_session(text).await;
        }
        let handle = self.enter().await?;
        let state = handle.state().await?;
        if !while_busy && state.turn.is_some() {
            return Ok("a turn is running; /stop it first".to_owned());
        }
        match name {
            "stop" => self.stop(&handle).await,
            "steer" if text.is_empty() => Ok("say what: /steer TEXT".to_owned()),
            "steer" => {
                let (message_id, sender) = (asked.message_id.clone(), self.sender.clone());
                let steer = SteerReceived { message_id, sender, text: text.to_owned() };
                match handle.send(herm_replay::reducer::Command::Steer(steer), None).await {
                    Ok(_) => Ok("noted: it is seen beside the next tool result".to_owned()),
                    Err(Error::Rejected(_)) => self.said_anew(&handle, asked, text, vec![]).await,
                    Err(error) => Err(error),
                }
            }
            "queue" if text.is_empty() => Ok("say what: /queue TEXT".to_owned()),
            "queue" => self.queue(&handle, &state, asked).await,
            "busy" => self.busy(&handle, state, text).await,
            "title" if text.is_empty() => {
                Ok(format!("title: {}", state.title.as_deref().unwrap_or("none yet")))
            }
            "title" => {
                handle.send(herm_replay::reducer::Command::Title(text.to_owned()), None).await?;
                Ok(format!("this session is called “{text}” now"))
            }
            "approve" | "deny" => self.approve_or_deny(name, text, &handle, &state).await,
            "yolo" => self.yolo(&handle, state).await,
            "reasoning" => self.reasoning(&handle, state, text).await,
            "status" => Ok(self.status(&handle, &state)),
            "usage" => Ok(asks::usage(&state)),
            "debug" => Ok(self.debug(&state)),
            "model" => {
                let asked = asks::Asker { engine: &self.profile.engine, loaded: &self.profile.loaded };
                asks::model(asked, &handle, text).await
            }
            "rollback" => {
                let lines = asks::rolled_back(&self.profile.engine, &handle, text).await?;
                Ok(lines.join("\n"))
            }
            "memory" => {
                let by = Some(Answerer { chat: self.chat.clone(), sender: self.sender.clone() });
                asks::memory(&self.profile.engine, &handle, text, by).await
            }
            "skills" => Ok(asks::skills(&self.profile.engine, text).await),
            "reloadskills" => Ok(asks::reloaded(&self.profile.engine).await),
            "retry" => self.retry(&state, asked).await,
            "undo" => self.undo(&state, text).await,
            "branch" => self.branch(&state, text).await,
            "resume" => self.resume(&state, text).await,
            "sessions" => Ok(self.sessions(&state)),
            other => Ok(format!("`/{other}` cannot be done here")),
        }
    }

    /// What no session is needed for.
    fn beside(&self, name: &str, text: &str, asked: &CommandReceived) -> Option<String> {
        Some(match name {
            "help" => slash::help(Where::Chat, asked.owner),
            "commands" => slash::page(Where::Chat, asked.owner, text.parse().unwrap_or(1)),
            "start" => "I am herm. Say what you want done; /help shows what else can be typed.".to_owned(),
            "version" => format!("herm {}", env!("CARGO_PKG_VERSION")),
            "profile" => format!("profile `{}` answers here", self.profile.name),
            "whoami" => {
                let may = if asked.owner { "owner" } else { "allowed" };
                let name = self.sender.name.as_deref().unwrap_or("no name");
                format!("{name}: `{}` on {}, {may}", self.sender.id, self.chat.platform)
            }
            "platforms" => self.platforms(),
            "platform" => self.platform(text),
            "restart" => {
                // Full means that somebody wishes something already.
                let _ = self.hub.wishes.try_send(Wish::Restart);
                "finishing what runs, then starting again".to_owned()
            }
            "sethome" => {
                let (desk, chat) = (self.hub.desk.clone(), self.chat.clone());
                tokio::spawn(async move { desk.try_ask(Command::ChooseHome { chat }).await });
                format!("this chat is the home of {} now", self.chat.platform)
            }
            _ => return None,
        })
    }

    fn platforms(&self) -> String {
        let health = self.hub.health();
        let line = |(name, health): (&String, &super::hub::Health)| {
            format!("- {name}: {}", super::status::in_words(health))
        };
        match health.is_empty() {
            true => "no platform is configured".to_owned(),
            false => health.iter().map(line).collect::<Vec<_>>().join("\n"),
        }
    }

    fn platform(&self, text: &str) -> String {
        let (verb, name) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let known = self.hub.health().contains_key(name.trim());
        match (verb, known) {
            ("list" | "", _) => self.platforms(),
            ("pause", true) => {
                self.hub.pause(name.trim(), true);
                format!("{} is paused", name.trim())
            }
            ("resume", true) => {
                self.hub.pause(name.trim(), false);
                format!("{} starts again", name.trim())
            }
            ("pause" | "resume", false) => format!("there is no platform `{}` here", name.trim()),
            _ => "say pause, resume or list, and which platform".to_owned(),
        }
    }

    async fn stop(&self, handle: &SessionHandle) -> Result<String, Error> {
        match handle.interrupt(InterruptSource::Person).await {
            Ok(_) => Ok("stopping".to_owned()),
            Err(Error::Rejected(_)) => Ok("nothing runs".to_owned()),
            Err(error) => Err(error),
        }
    }

    async fn new_session(&self, title: &str) -> Result<String, Error> {
        if let Some(id) = self.profile.rooms.find(&self.door.key).await {
            let handle = self.profile.rooms.take_up(id).await?;
            // Nothing to stop is as good.
            drop(handle.interrupt(InterruptSource::Person).await);
            drop(tokio::time::timeout(STOP_TIME_MAX, handle.idle()).await);
            self.profile.news.forget(id);
            if let Err(error) = self.profile.engine.environments.close(&id.to_string()).await {
                tracing::warn!(%error, "an environment did not close");
            }
        }
        let handle = self.profile.rooms.renew(&self.door).await?;
        self.profile.news.tell(&handle);
        if !title.is_empty() {
            handle.send(herm_replay::reducer::Command::Title(title.to_owned()), None).await?;
        }
        let data = serde_json::json!({ "profile": self.profile.name, "session": handle.id().to_string() });
        self.hub.hooks.call(&Hook { event: "session:reset".to_owned(), data });
        Ok("a new session; the old one stays in the log, /resume goes on with it".to_owned())
    }

    async fn queue(
        &self,
        handle: &SessionHandle,
        state: &SessionState,
        asked: &CommandReceived,
    ) -> Result<String, Error> {
        let busy = state.policy.as_ref().map(|policy| policy.busy);
        let waits = state.turn.is_some() && busy != Some(BusyPolicy::Queue);
        if !waits {
            return self.said_anew(handle, asked, &asked.arguments, vec![]).await;
        }
        // For this one message the session queues.
        let policy = state.policy.clone().ok_or(Error::NoSession { session: handle.id() })?;
        handle.configure(Policy { busy: BusyPolicy::Queue, ..policy.clone() }).await?;
        let said = self.said_anew(handle, asked, &asked.arguments, vec![]).await;
        handle.configure(policy).await?;
        said.map(|_| "queued: its turn comes after this one".to_owned())
    }

    /// A text of the command's sender, as a message of its own.
    pub(super) async fn said_anew(
        &self,
        handle: &SessionHandle,
        asked: &CommandReceived,
        text: &str,
        attachments: Vec<Attachment>,
    ) -> Result<String, Error> {
        let message = MessageReceived {
            message_id: format!("{}/said", asked.message_id),
            chat: self.chat.clone(),
            sender: self.sender.clone(),
            text: text.to_owned(),
            attachments,
            context: None,
        };
        match handle.receive(message).await {
            // The answer is the answer.
            Ok(_) | Err(Error::Duplicate { .. }) => Ok(String::new()),
            Err(error) => Err(error),
        }
    }

    async fn busy(&self, handle: &SessionHandle, state: SessionState, text: &str) -> Result<String, Error> {
        let Some(policy) = state.policy else { return Ok(String::new()) };
        let busy = match text {
            "queue" => BusyPolicy::Queue,
            "steer" => BusyPolicy::Steer,
            "interrupt" => BusyPolicy::Interrupt,
            "" | "status" => return Ok(format!("during a turn a message does: {}", busy_word(policy.busy))),
            other => return Ok(format!("`{other}` is none of queue, steer, interrupt")),
        };
        handle.configure(Policy { busy, ..policy }.choosing(Chosen::Busy)).await?;
        Ok(format!("during a turn a message does: {}", busy_word(busy)))
    }

    async fn yolo(&self, handle: &SessionHandle, state: SessionState) -> Result<String, Error> {
        let Some(policy) = state.policy else { return Ok(String::new()) };
        let off = policy.approvals == ApprovalMode::Off;
        let approvals = if off { self.profile.rooms.policy().approvals } else { ApprovalMode::Off };
        let approvals = if off && approvals == ApprovalMode::Off { ApprovalMode::Manual } else { approvals };
        handle.configure(Policy { approvals, ..policy }.choosing(Chosen::Approvals)).await?;
        Ok(match approvals {
            ApprovalMode::Off => {
                "nobody is asked in this session any more; what is forbidden stays forbidden"
            }
            ApprovalMode::Manual | ApprovalMode::Smart => {
                "dangerous calls of this session are asked about again"
            }
        }
        .to_owned())
    }

    async fn reasoning(
        &self,
        handle: &SessionHandle,
        state: SessionState,
        text: &str,
    ) -> Result<String, Error> {
        let Some(policy) = state.policy else { return Ok(String::new()) };
        let effort = match text {
            "" => return Ok(format!("reasoning effort: {}", effort_word(policy.model.effort))),
            "auto" => None,
            "none" => Some(ReasoningEffort::None),
            "minimal" => Some(ReasoningEffort::Minimal),
            "low" => Some(ReasoningEffort::Low),
            "medium" => Some(ReasoningEffort::Medium),
            "high" => Some(ReasoningEffort::High),
            "xhigh" => Some(ReasoningEffort::XHigh),
            other => {
                let said = "is none of auto, none, minimal, low, medium, high, xhigh";
                return Ok(format!("`{other}` {said}"));
            }
        };
        let model = ModelChoice { effort, ..policy.model.clone() };
        handle.configure(Policy { model, ..policy }.choosing(Chosen::Model)).await?;
        Ok(format!("reasoning effort: {}", effort_word(effort)))
    }

    async fn approve_or_deny(
        &self,
        name: &str,
        text: &str,
        handle: &SessionHandle,
        state: &SessionState,
    ) -> Result<String, Error> {
        let mut number = None;
        let mut word = if name == "deny" { Word::Deny } else { Word::Once };
        for part in text.split_whitespace() {
            match (part.parse::<usize>(), name) {
                (Ok(given), _) => number = Some(given),
                (Err(_), "deny") => break,
                (Err(_), _) => match Word::named(part) {
                    Some(named) => word = named,
                    None => return Ok(format!("`{part}` is neither a number nor once, session or always")),
                },
            }
        }
        let waiting = self.profile.questions.waiting(handle.id());
        let parked = state.parked.iter().map(|parked| parked.request);
        let open: Vec<StreamPos> = waiting.into_iter().chain(parked).collect();
        if text.split_whitespace().next() == Some("all") {
            for request in &open {
                self.decide(handle.id(), *request, word).await?;
            }
            return Ok(format!("{} of them: {}", open.len(), word.said()));
        }
        let index = number.unwrap_or(1).saturating_sub(1);
        match open.get(index) {
            Some(request) => self.decide(handle.id(), *request, word).await,
            None if open.is_empty() => Ok("nothing waits for a yes here".to_owned()),
            None => Ok(format!("there are {} that wait", open.len())),
        }
    }

    fn status(&self, handle: &SessionHandle, state: &SessionState) -> String {
        let doing = match &state.turn {
            Some(_) => "a turn is running",
            None => "idle",
        };
        let model = state.policy.as_ref().map_or("no model", |policy| policy.model.model.as_str());
        let waiting = state.queue.len();
        let questions = self.profile.questions.waiting(handle.id()).len() + state.parked.len();
        let title = state.title.as_deref().unwrap_or("untitled");
        format!(
            "**{title}**\n- {doing}, {waiting} messages wait, {questions} questions open\n- model `{model}`, {} turns\n\
             - profile `{}`, session `{}`",
            state.turns,
            self.profile.name,
            handle.id()
        )
    }

    fn debug(&self, state: &SessionState) -> String {
        let id = state.session.map(|id| id.to_string()).unwrap_or_default();
        format!(
            "- herm {}\n- session `{id}`, event {} of its stream, position {}\n- key `{}`\n- `herm replay timeline {id}` \
             shows what happened",
            env!("CARGO_PKG_VERSION"),
            state.head.stream_pos,
            state.head.position,
            self.door.key
        )
    }
}

fn busy_word(busy: BusyPolicy) -> &'static str {
    match busy {
        BusyPolicy::Queue => "queue (it waits for its own turn)",
        BusyPolicy::Steer => "steer (it joins the newest tool result)",
        BusyPolicy::Interrupt => "interrupt (it corrects the answer being written)",
    }
}

fn effort_word(effort: Option<ReasoningEffort>) -> String {
    effort.map_or_else(|| "auto".to_owned(), |effort| format!("{effort:?}").to_lowercase())
}
