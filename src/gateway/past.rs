//! What was said in a session, as the beginning of another. PURE.

use herm_replay::reducer::SessionState;
use herm_replay::reducer::state::Body;
use herm_schema::events::{Attachment, GivenBy, GivenMessage, HistoryGiven};

/// All of it. What tools did is not said again; what the model said about it is.
pub fn whole(state: &SessionState) -> HistoryGiven {
    up_to(state, state.view.len())
}

/// Without the last `count` things that people said, and what followed; `None` if there are none.
pub fn without_last(state: &SessionState, count: usize) -> Option<HistoryGiven> {
    let said: Vec<usize> = said(state).collect();
    let at = said.len().checked_sub(count.min(said.len())).and_then(|index| said.get(index))?;
    Some(up_to(state, *at))
}

/// What was before the last thing that a person said, and that thing.
pub fn before_last(state: &SessionState) -> Option<(HistoryGiven, String, Vec<Attachment>)> {
    let at = said(state).last()?;
    let Body::User { text, attachments } = &state.view.get(at)?.body else {
        return None;
    };
    Some((up_to(state, at), text.clone(), attachments.clone()))
}

fn said(state: &SessionState) -> impl Iterator<Item = usize> {
    let entries = state.view.iter().enumerate();
    entries.filter(|(_, entry)| matches!(entry.body, Body::User { .. })).map(|(index, _)| index)
}

fn up_to(state: &SessionState, end: usize) -> HistoryGiven {
    let given = |by, text: &str, attachments: &[Attachment]| GivenMessage {
        by,
        text: text.to_owned(),
        attachments: attachments.to_vec(),
    };
    let messages = state.view.iter().take(end).filter_map(|entry| match &entry.body {
        Body::User { text, attachments } => Some(given(GivenBy::Person, text, attachments)),
        Body::Assistant { message, .. } if !message.text.trim().is_empty() => {
            Some(given(GivenBy::Model, &message.text, &[]))
        }
        Body::Summary { text } => Some(given(GivenBy::Person, text, &[])),
        Body::Assistant { .. } | Body::Result { .. } | Body::Late { .. } => None,
    });
    HistoryGiven { system: state.client_system.clone(), messages: messages.collect() }
}
