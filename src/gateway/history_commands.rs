//! Commands about what was said: again, not at all, in a copy, in an earlier session. The old session stays in
//! the log as it is; another one begins with its words.

use herm_replay::projections::sessions::SessionRow;
use herm_replay::reducer::{Command, SessionState};
use herm_schema::events::*;

use super::past;
use super::pipeline::Admitted;
use crate::runtime::{Error, SessionHandle};

/// Sessions that `/sessions` shows.
const SESSIONS_SHOWN: usize = 10;

impl Admitted<'_> {
    pub(super) async fn retry(&self, state: &SessionState, asked: &CommandReceived) -> Result<String, Error> {
        let Some((history, text, attachments)) = past::before_last(state) else {
            return Ok("there is nothing to ask again".to_owned());
        };
        // As it was typed: where several speak, the model read a name before it, and who asks again is another.
        let text = self.typed(state, &text).unwrap_or(text);
        let handle = self.renewed(history).await?;
        self.said_anew(&handle, asked, &text, attachments).await
    }

    /// What a person typed that the model read as `text`, if it was the last that anybody did.
    fn typed(&self, state: &SessionState, text: &str) -> Option<String> {
        let stream = state.session?.stream();
        let records = self.profile.engine.log.read_stream(stream, herm_schema::StreamPos(0));
        let said = records.filter_map(|recorded| match recorded.ok()?.event {
            herm_schema::Event::MessageReceived(message) => Some(message.text),
            _ => None,
        });
        said.last().filter(|typed| text.ends_with(typed.as_str()))
    }

    pub(super) async fn undo(&self, state: &SessionState, text: &str) -> Result<String, Error> {
        let count = if text.is_empty() { Some(1) } else { text.parse::<usize>().ok() };
        let Some(count) = count.filter(|count| *count > 0) else {
            return Ok(format!("`{text}` is no number of exchanges"));
        };
        let Some(history) = past::without_last(state, count) else {
            return Ok("there is nothing to take back".to_owned());
        };
        self.renewed(history).await?;
        Ok(format!("the last {count} exchanges are not part of the conversation any more"))
    }

    pub(super) async fn branch(&self, state: &SessionState, text: &str) -> Result<String, Error> {
        let handle = self.renewed(past::whole(state)).await?;
        if !text.is_empty() {
            handle.send(Command::Title(text.to_owned()), None).await?;
        }
        Ok(format!("going on in a copy, session `{}`; /resume finds the original", handle.id()))
    }

    /// A new session of this door that knows what was said.
    async fn renewed(&self, history: HistoryGiven) -> Result<SessionHandle, Error> {
        if let Some(id) = self.profile.rooms.find(&self.door.key).await {
            self.profile.news.forget(id);
        }
        let handle = self.profile.rooms.renew(&self.door).await?;
        if !history.messages.is_empty() {
            handle.send(Command::GiveHistory(history), None).await?;
        }
        self.profile.news.tell(&handle);
        Ok(handle)
    }

    fn earlier(&self, state: &SessionState) -> Vec<SessionRow> {
        let rows = self.profile.engine.views.sessions().unwrap_or_default();
        let mine = rows.into_iter().filter(|row| row.key == self.door.key && Some(row.id) != state.session);
        mine.filter(|row| row.messages > 0).take(SESSIONS_SHOWN).collect()
    }

    pub(super) fn sessions(&self, state: &SessionState) -> String {
        let rows = self.earlier(state);
        let line = |(index, row): (usize, &SessionRow)| {
            format!("{}. {} ({} messages, `{}`)", index + 1, row.title, row.messages, row.id)
        };
        match rows.is_empty() {
            true => "there are no earlier sessions of this place".to_owned(),
            false => {
                let lines: Vec<String> = rows.iter().enumerate().map(line).collect();
                format!("{}\n\n/resume N goes on with one", lines.join("\n"))
            }
        }
    }

    pub(super) async fn resume(&self, state: &SessionState, text: &str) -> Result<String, Error> {
        let rows = self.earlier(state);
        let wanted = text.to_lowercase();
        let by_number = text.parse::<usize>().ok().and_then(|number| rows.get(number.checked_sub(1)?));
        let found = match wanted.as_str() {
            "" => rows.first(),
            _ => by_number.or_else(|| {
                rows.iter()
                    .find(|row| row.id.to_string() == text || row.title.to_lowercase().contains(&wanted))
            }),
        };
        let Some(row) = found else {
            return Ok(format!("there is no earlier session `{text}`; /sessions lists them"));
        };
        let old = (self.profile.engine.sessions.ports().load)(row.id)?;
        let handle = self.renewed(past::whole(&old)).await?;
        handle.send(Command::Title(row.title.clone()), None).await?;
        Ok(format!("going on with “{}”", row.title))
    }
}
