//! `/approvals`, `/approve`, `/deny`, `/revoke`: what waits for a yes, and the yeses that last.

use herm_replay::reducer::Command;
use herm_replay::reducer::state::Parked;
use herm_schema::events::{DecidedBy, Decision, GrantScope};

use super::questions::read_scope;
use super::talk::{Next, Talk};
use super::view::{Happening, View};
use crate::entry::{Failure, approvals};
use crate::runtime::{ApprovalQuestion, Clock, Error, SystemClock};

/// Longest excerpt of a command line in the list, in characters.
const EXCERPT_CHARS_MAX: usize = 100;

impl Talk<'_> {
    pub(super) async fn approvals(&self, view: &mut View) -> Result<Next, Failure> {
        let parked = self.handle.state().await?.parked;
        for (index, parked) in parked.iter().enumerate() {
            let subject: String = parked.question.subject.chars().take(EXCERPT_CHARS_MAX).collect();
            let said = format!(
                "{}. waits: {}: {subject} ({})",
                index + 1,
                parked.question.tool,
                parked.question.reason
            );
            view.show(&Happening::Notice(said))?;
        }
        let now = SystemClock.now();
        let fold = self.engine.grants.list().await?;
        let lasting: Vec<String> = fold
            .all()
            .filter(|(_, lasting)| lasting.holds(now))
            .map(|(at, lasting)| approvals::in_words(at, lasting, now))
            .collect();
        for said in &lasting {
            view.show(&Happening::Notice(said.clone()))?;
        }
        if parked.is_empty() && lasting.is_empty() {
            view.show(&Happening::Notice("nothing waits for your yes, and no yes lasts".into()))?;
        }
        Ok(Next::Stay)
    }

    /// `[NUMBER] [once | session | always | 30m | 5x]`
    pub(super) async fn approve(&self, text: &str, view: &mut View) -> Result<Next, Failure> {
        let (mut number, mut scope) = (1, GrantScope::Once);
        for word in text.split_whitespace() {
            match (word.parse::<usize>(), read_scope(word, SystemClock.now())) {
                (Ok(given), _) => number = given,
                (Err(_), Some(given)) => scope = given,
                (Err(_), None) => {
                    let said =
                        format!("`{word}` is neither a number nor once, session, always, a time or a count");
                    view.show(&Happening::Notice(said))?;
                    return Ok(Next::Stay);
                }
            }
        }
        self.decide(number, Decision::Allowed { scope }, view).await
    }

    pub(super) async fn deny(&self, text: &str, view: &mut View) -> Result<Next, Failure> {
        let number = if text.is_empty() { Some(1) } else { text.parse().ok() };
        match number {
            Some(number) => self.decide(number, Decision::Denied, view).await,
            None => {
                view.show(&Happening::Notice(format!("`{text}` is no number; /approvals lists them")))?;
                Ok(Next::Stay)
            }
        }
    }

    pub(super) async fn revoke(&self, text: &str, view: &mut View) -> Result<Next, Failure> {
        let number = text.trim_start_matches('g').parse().map(herm_schema::StreamPos);
        let said = match number {
            Ok(grant) if self.engine.grants.revoke(grant, SystemClock.now()).await? => {
                "taken back; it asks again from now on".to_owned()
            }
            Ok(_) | Err(_) => format!("there is no lasting yes `{text}`; /approvals lists them"),
        };
        view.show(&Happening::Notice(said))?;
        Ok(Next::Stay)
    }

    async fn decide(&self, number: usize, decision: Decision, view: &mut View) -> Result<Next, Failure> {
        let parked = self.handle.state().await?.parked;
        let Some(parked) = number.checked_sub(1).and_then(|index| parked.get(index)) else {
            let said = format!("nothing with number {number} waits; /approvals lists what does");
            view.show(&Happening::Notice(said))?;
            return Ok(Next::Stay);
        };
        if let Err(error) = self.answer(parked, decision).await {
            match error {
                Error::Rejected(why) => view.show(&Happening::Notice(why.to_string()))?,
                error => return Err(error.into()),
            }
        }
        Ok(Next::Stay)
    }

    async fn answer(&self, parked: &Parked, decision: Decision) -> Result<(), Error> {
        let request = parked.request;
        if let Decision::Allowed { scope } = decision {
            let question = ApprovalQuestion::of(self.handle.id(), request, parked.question.clone());
            if let Some(granted) = question.granted(scope) {
                self.engine.grants.grant(granted, SystemClock.now()).await?;
            }
        }
        let by = DecidedBy::Person;
        let answered = Command::ApprovalAnswered { request, decision, by, answerer: None };
        self.handle.send(answered, None).await.map(drop)
    }
}
