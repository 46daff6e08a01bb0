//! What can be typed besides messages: the words that begin with a slash.

use herm_replay::reducer::Command;
use herm_replay::reducer::notices::dollars;
use herm_schema::events::*;

use super::editor::SlashCommand;
use super::files;
use super::news::Telling;
use super::run::typed;
use super::talk::{Next, Talk};
use super::view::{Happening, View};
use crate::config::Loaded;
use crate::entry::engine::{self, resolved, wanted};
use crate::entry::model_table::streaming;
use crate::entry::{Exit, Failure};
use crate::providers::Wanted;
use crate::runtime::Error;

/// What can be typed besides messages.
pub const COMMANDS: [SlashCommand; 15] = [
    SlashCommand { name: "/help", doc: "what can be typed" },
    SlashCommand { name: "/new", doc: "a new session; the old one stays in the log" },
    SlashCommand { name: "/model", doc: "which model answers; with a name, another one from now on" },
    SlashCommand { name: "/usage", doc: "what this session has spent" },
    SlashCommand { name: "/title", doc: "what this session is called in lists" },
    SlashCommand { name: "/image", doc: "show the model an image with the next message" },
    SlashCommand { name: "/steer", doc: "tell the model something while it works" },
    SlashCommand { name: "/approvals", doc: "what waits for your yes, and what you have allowed for longer" },
    SlashCommand { name: "/approve", doc: "let a waiting call run: its number, and how far the yes reaches" },
    SlashCommand { name: "/deny", doc: "refuse a waiting call, by its number" },
    SlashCommand { name: "/revoke", doc: "take a lasting yes back, by its number" },
    SlashCommand { name: "/rollback", doc: "checkpoints of this directory; with a number, put it back" },
    SlashCommand { name: "/stop", doc: "interrupt the running turn" },
    SlashCommand { name: "/session", doc: "which session this is" },
    SlashCommand { name: "/exit", doc: "leave; unfinished work can be resumed" },
];

impl Talk<'_> {
    pub(super) async fn typed(&mut self, line: &str, view: &mut View) -> Result<Next, Failure> {
        self.leaving = false;
        let line = line.trim();
        if line.is_empty() {
            return Ok(Next::Stay);
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let result = match word {
            "/exit" | "/quit" => return Ok(Next::Leave(Exit::Ok)),
            "/help" => return self.help(view),
            "/session" => {
                let id = self.handle.id();
                view.show(&Happening::Notice(format!("session {id}; herm chat --resume {id}")))?;
                return Ok(Next::Stay);
            }
            "/new" => return self.begin_anew(view).await,
            "/stop" => self.handle.interrupt(InterruptSource::Person).await.map(drop),
            "/steer" => self.steer(rest.trim()).await,
            "/model" => return self.model(rest.trim(), view).await,
            "/usage" => return self.usage(view).await,
            "/title" => self.title(rest.trim()).await,
            "/approvals" => return self.approvals(view).await,
            "/approve" => return self.approve(rest.trim(), view).await,
            "/deny" => return self.deny(rest.trim(), view).await,
            "/rollback" => return self.rollback(rest.trim(), view).await,
            "/revoke" => return self.revoke(rest.trim(), view).await,
            // A path is a message; a word that only looks like a command is a slip.
            slip if slip.starts_with('/') && !slip.chars().skip(1).any(|c| c == '/' || c == '.') => {
                let near = COMMANDS
                    .iter()
                    .map(|command| (strsim::jaro_winkler(command.name, slip), command.name))
                    .max_by(|a, b| a.0.total_cmp(&b.0));
                let near = near.map_or("/help", |(_, name)| name);
                view.show(&Happening::Notice(format!("there is no `{slip}`; did you mean `{near}`?")))?;
                return Ok(Next::Stay);
            }
            "/image" => return self.image(rest.trim(), view),
            _ => {
                let attachments = std::mem::take(&mut self.attachments);
                let message = MessageReceived { attachments, ..typed(line.to_owned()) };
                self.handle.receive(message).await.map(drop)
            }
        };
        match result {
            Ok(()) => {}
            Err(Error::Rejected(why)) => view.show(&Happening::Notice(why.to_string()))?,
            Err(error) => return Err(error.into()),
        }
        Ok(Next::Stay)
    }

    async fn steer(&self, text: &str) -> Result<(), Error> {
        let message = typed(text.to_owned());
        let steer =
            SteerReceived { message_id: message.message_id, sender: message.sender, text: message.text };
        self.handle.send(Command::Steer(steer), None).await.map(drop)
    }

    fn help(&self, view: &mut View) -> Result<Next, Failure> {
        for command in COMMANDS {
            view.show(&Happening::Notice(format!("{:<10} {}", command.name, command.doc)))?;
        }
        Ok(Next::Stay)
    }

    async fn begin_anew(&mut self, view: &mut View) -> Result<Next, Failure> {
        let state = self.handle.state().await?;
        if state.turn.is_some() {
            view.show(&Happening::Notice("a turn is running; /stop it first".into()))?;
            return Ok(Next::Stay);
        }
        self.handle.send(Command::End(EndReason::Replaced), None).await?;
        self.engine.sessions.release(self.handle.id());
        if let Err(error) = self.engine.environments.close(&self.handle.id().to_string()).await {
            view.show(&Happening::Notice(error.to_string()))?;
        }
        let cwd = state.opened.map(|opened| opened.cwd).unwrap_or_default();
        let opened = engine::opened(self.loaded, std::path::Path::new(&cwd));
        self.handle = self.engine.sessions.open(opened, self.engine.policy.clone()).await?;
        self.news = Telling::begin(&self.engine.processes, &self.handle, &self.loaded.redactor);
        view.show(&Happening::Notice(format!("session {}", self.handle.id())))?;
        Ok(Next::Stay)
    }

    /// Shows an image with the next message.
    fn image(&mut self, path: &str, view: &mut View) -> Result<Next, Failure> {
        let said = match files::read(std::path::Path::new(path)) {
            Ok(file) => {
                let said = format!("{} goes with your next message", file.name);
                self.attach(files::keep(&*self.engine.log, &[file])?);
                said
            }
            Err(failure) => failure.error.to_string(),
        };
        view.show(&Happening::Notice(said))?;
        Ok(Next::Stay)
    }

    async fn title(&self, text: &str) -> Result<(), Error> {
        self.handle.send(Command::Title(text.to_owned()), None).await.map(drop)
    }

    /// What this session has spent.
    async fn usage(&self, view: &mut View) -> Result<Next, Failure> {
        let state = self.handle.state().await?;
        let spent = dollars(state.spending.spent);
        let unknown = match state.spending.unpriced_calls {
            0 => String::new(),
            calls => format!(", and {calls} calls whose price is not known"),
        };
        let limit = state.policy.as_ref().and_then(|policy| policy.spending.session_max);
        let limit = limit.map(|limit| format!(" of {}", dollars(limit))).unwrap_or_default();
        let (calls, turns) = (state.model_calls, state.turns);
        let said =
            format!("{turns} turns, {calls} model calls: {spent}{limit}{unknown}; `herm usage` has the rest");
        view.show(&Happening::Notice(said))?;
        Ok(Next::Stay)
    }

    /// Says which model answers, or switches to another from the next model call on.
    async fn model(&self, text: &str, view: &mut View) -> Result<Next, Failure> {
        let state = self.handle.state().await?;
        let Some(policy) = state.policy else {
            return Ok(Next::Stay);
        };
        let asked = match Asked::of(text) {
            Ok(Some(asked)) => asked,
            Ok(None) => {
                let ModelChoice { model, provider, dialect, .. } = &policy.model;
                let said = format!("{model} of {provider} by {dialect}; /model NAME [--provider P] switches");
                view.show(&Happening::Notice(said))?;
                return Ok(Next::Stay);
            }
            Err(slip) => {
                view.show(&Happening::Notice(slip))?;
                return Ok(Next::Stay);
            }
        };
        let wanted = asked.wanted(self.loaded, &policy);
        let said = match resolved(self.loaded, &wanted, Some(&self.engine.log)).await {
            Ok(found) => {
                let choice = streaming(self.loaded, &found);
                let fallbacks = policy.fallbacks.iter().filter(|known| **known != choice).cloned().collect();
                let said = format!(
                    "{} of {} from the next model call on, because {}",
                    choice.model, choice.provider, found.why
                );
                self.engine.models.add(found);
                self.handle.configure(Policy { model: choice, fallbacks, ..policy }).await?;
                said
            }
            Err(failure) => failure.error.to_string(),
        };
        view.show(&Happening::Notice(said))?;
        Ok(Next::Stay)
    }
}

/// What `/model` asks for.
struct Asked {
    model: Option<String>,
    provider: Option<String>,
}

impl Asked {
    /// `NAME`, `--provider P`, or both; `None` for nothing.
    fn of(text: &str) -> Result<Option<Self>, String> {
        let mut asked = Self { model: None, provider: None };
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "--provider" => {
                    let provider = words.next().ok_or("`--provider` wants a name")?;
                    asked.provider = Some(provider.to_owned());
                }
                slip if slip.starts_with('-') => {
                    return Err(format!("`/model` knows no `{slip}`, only `--provider`"));
                }
                name if asked.model.is_none() => asked.model = Some(name.to_owned()),
                more => return Err(format!("`/model` takes one name, and `{more}` is another")),
            }
        }
        Ok(Some(asked).filter(|asked| asked.model.is_some() || asked.provider.is_some()))
    }

    /// A name alone is first looked for where the session's model is.
    fn wanted(self, loaded: &Loaded, policy: &Policy) -> Wanted {
        let configured = wanted(loaded);
        let same = self.provider.is_none() && !policy.model.base_url.is_empty();
        Wanted {
            provider: self.provider.or(same.then(|| policy.model.provider.clone())),
            base_url: if same { configured.base_url } else { None },
            model: self.model,
            effort: configured.effort,
            cache_ttl: configured.cache_ttl,
            ..Wanted::default()
        }
    }
}
