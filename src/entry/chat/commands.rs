//! Does what can be typed besides messages: the commands that begin with a slash. Which there are says
//! the table that the chats share ([`crate::inbound::slash_table`]).

use herm_replay::reducer::Command;
use herm_schema::events::*;

use super::files;
use super::run::typed;
use super::talk::{Next, Talk};
use super::view::{Happening, View};
use crate::entry::telling::Telling;
use crate::entry::{Exit, Failure, asks, engine};
use crate::inbound::slash::{self, Slash};
use crate::inbound::slash_table::Where;
use crate::runtime::Error;

impl Talk<'_> {
    pub(super) async fn typed(&mut self, line: &str, view: &mut View) -> Result<Next, Failure> {
        self.leaving = false;
        let line = line.trim();
        if line.is_empty() {
            return Ok(Next::Stay);
        }
        let Some(typed) = slash::parse(line, "") else { return self.said(line, None, view).await };
        let command = match slash::find(&typed.name, Where::Terminal) {
            Ok(command) => command,
            Err(unknown) => {
                if let Some(skill) = asks::skill_named(self.engine, &typed).await {
                    let skill = asks::invoked(self.engine, skill, self.handle.id()).await;
                    return self.said(line, skill, view).await;
                }
                view.show(&Happening::Notice(unknown.to_string()))?;
                return Ok(Next::Stay);
            }
        };
        let Slash { args, .. } = typed;
        let result = match command.name {
            "exit" => return Ok(Next::Leave(Exit::Ok)),
            "help" => return self.help(view),
            "session" => {
                let id = self.handle.id();
                view.show(&Happening::Notice(format!("session {id}; herm chat --resume {id}")))?;
                return Ok(Next::Stay);
            }
            "new" => return self.begin_anew(view).await,
            "stop" => self.handle.interrupt(InterruptSource::Person).await.map(drop),
            "steer" => self.steer(&args).await,
            "model" => return self.model(&args, view).await,
            "usage" => return self.usage(view).await,
            "title" => self.title(&args).await,
            "approvals" => return self.approvals(view).await,
            "approve" => return self.approve(&args, view).await,
            "deny" => return self.deny(&args, view).await,
            "rollback" => return self.rollback(&args, view).await,
            "revoke" => return self.revoke(&args, view).await,
            "memory" => return self.memory(&args, view).await,
            "skills" => return self.shown(&asks::skills(self.engine, &args).await, view),
            "reloadskills" => return self.shown(&asks::reloaded(self.engine).await, view),
            "image" => return self.image(&args, view),
            // A row of the table that nothing here does; a test looks for one.
            other => {
                view.show(&Happening::Notice(format!("`/{other}` cannot be done here")))?;
                return Ok(Next::Stay);
            }
        };
        self.told(result, view)
    }

    /// A message, with what was to go with it, and with the skill that it names.
    async fn said(&mut self, line: &str, context: Option<String>, view: &mut View) -> Result<Next, Failure> {
        let attachments = std::mem::take(&mut self.attachments);
        let message = MessageReceived { attachments, context, ..typed(line.to_owned()) };
        let result = self.handle.receive(message).await.map(drop);
        self.told(result, view)
    }

    /// Says why something is not done, where that is no failure.
    fn told(&self, result: Result<(), Error>, view: &mut View) -> Result<Next, Failure> {
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
        for line in slash::help(Where::Terminal, true).lines() {
            view.show(&Happening::Notice(line.to_owned()))?;
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

    async fn usage(&self, view: &mut View) -> Result<Next, Failure> {
        view.show(&Happening::Notice(asks::usage(&self.handle.state().await?)))?;
        Ok(Next::Stay)
    }

    async fn model(&self, text: &str, view: &mut View) -> Result<Next, Failure> {
        let asker = asks::Asker { engine: self.engine, loaded: self.loaded };
        view.show(&Happening::Notice(asks::model(asker, &self.handle, text).await?))?;
        Ok(Next::Stay)
    }

    async fn memory(&self, text: &str, view: &mut View) -> Result<Next, Failure> {
        let said = asks::memory(self.engine, &self.handle, text, None).await?;
        self.shown(&said, view)
    }

    fn shown(&self, text: &str, view: &mut View) -> Result<Next, Failure> {
        for line in text.lines().filter(|line| !line.is_empty()) {
            view.show(&Happening::Notice(line.to_owned()))?;
        }
        Ok(Next::Stay)
    }

    async fn rollback(&self, text: &str, view: &mut View) -> Result<Next, Failure> {
        for said in asks::rolled_back(self.engine, &self.handle, text).await? {
            view.show(&Happening::Notice(said))?;
        }
        Ok(Next::Stay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_terminal_is_done_here() {
        let (_, arms) = include_str!("commands.rs").split_once("match command.name {").unwrap();
        let (arms, _) = arms.split_once("other =>").unwrap();
        for command in slash::offered(Where::Terminal, true) {
            assert!(arms.contains(&format!("\"{}\" =>", command.name)), "/{}", command.name);
        }
    }
}
