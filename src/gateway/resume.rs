//! What a process before left open: gone on with, or said to be too old.

use std::sync::Arc;
use std::time::Duration;

use herm_replay::projections::open_work::OpenWork;
use herm_schema::SessionId;
use herm_schema::events::{CommandReceived, InterruptSource, Sender};
use tokio_util::sync::CancellationToken;

use super::daemon::age;
use super::hub::Hub;
use super::pipeline::Admitted;
use super::profile::Profile;
use super::rooms::Door;
use crate::inbound::session_key::SessionKey;
use crate::runtime::SessionHandle;

/// How long a start has to last before it goes on with what may have ended the ones before it.
const CALM: Duration = Duration::from_secs(15);
/// Age of a turn from which on its person is told that it goes on after a restart.
const NOTED_AFTER: Duration = Duration::from_secs(15);

/// A session with work open.
pub struct Left {
    profile: String,
    session: SessionId,
    work: OpenWork,
}

/// Everything that was left open in sessions.
pub fn open_work(hub: &Hub) -> Vec<Left> {
    let of = |profile: &Arc<Profile>| {
        let open = profile.engine.views.open_work().unwrap_or_else(|error| {
            tracing::error!(profile = profile.name, %error, "what was left open cannot be read");
            Vec::new()
        });
        let name = profile.name.clone();
        open.into_iter().map(move |(session, work)| Left { profile: name.clone(), session, work })
    };
    // A question that is parked waits for a person, not for us.
    hub.profiles.values().flat_map(of).filter(|left| left.is_ours()).collect()
}

impl Left {
    fn is_ours(&self) -> bool {
        let OpenWork { turn, queued, deliveries, .. } = &self.work;
        turn.is_some() || !queued.is_empty() || !deliveries.is_empty()
    }

    /// An answer is on its way: that is brought, whatever a turn may do to the process.
    fn is_owed(&self) -> bool {
        !self.work.deliveries.is_empty()
    }
}

/// Goes on with what was left open. Where the guard against loops says no, turns wait until this start has
/// proved that it lasts; answers that are owed are brought in any case, and commands are done.
pub async fn go_on(hub: &Arc<Hub>, left: Vec<Left>, resumes: bool, stop: &CancellationToken) {
    let (now, later): (Vec<_>, Vec<_>) = left.into_iter().partition(|left| resumes || left.is_owed());
    for left in now {
        take_up(hub, left).await;
    }
    if !later.is_empty() {
        let sessions: Vec<_> = later.iter().map(|left| left.session.to_string()).collect();
        tracing::warn!(?sessions, wait = ?CALM, "several starts in a row left work open: it waits");
        let (hub, stop) = (Arc::clone(hub), stop.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(CALM) => {}
            }
            for left in later {
                take_up(&hub, left).await;
            }
        });
    }
    let commands: Vec<_> =
        hub.desk.read(|state| state.commands.iter().map(|(at, asked)| (*at, asked.clone())).collect());
    for (at, asked) in commands {
        let Some(admitted) = admitted(hub, &asked) else {
            tracing::error!(
                command = asked.name,
                profile = asked.profile,
                "its profile is not served any more"
            );
            continue;
        };
        // What restarted herm has been done by that.
        let asked = match asked.name.as_str() {
            "restart" => CommandReceived { name: "version".to_owned(), ..asked.clone() },
            _ => asked.clone(),
        };
        if let Err(error) = admitted.execute(at, &asked).await {
            tracing::error!(%error, command = asked.name, "cannot be done");
        }
    }
}

async fn take_up(hub: &Hub, Left { profile, session, work }: Left) {
    let Some(profile) = hub.profile(&profile) else { return };
    let fresh = hub.loaded.config.gateway.resume_within;
    let stale = work.turn.as_ref().is_some_and(|turn| age(turn.started_at) > fresh);
    match profile.rooms.take_up(session).await {
        Ok(handle) => {
            profile.news.tell(&handle);
            if stale {
                // Refused if it has ended in between.
                drop(handle.interrupt(InterruptSource::Shutdown).await);
            }
            note(hub, &handle, work.turn.as_ref().map(|turn| age(turn.started_at)), stale).await;
        }
        Err(error) => tracing::error!(%session, %error, "cannot be gone on with"),
    }
}

/// The person is told, where they have waited long enough to wonder.
async fn note(hub: &Hub, handle: &SessionHandle, waited: Option<Duration>, stale: bool) {
    let Some(waited) = waited.filter(|waited| stale || *waited >= NOTED_AFTER) else { return };
    let chat = handle.state().await.ok().and_then(|state| state.opened).map(|opened| opened.chat);
    let Some(chat) = chat.filter(|chat| chat.platform != crate::api::settings::NAME) else { return };
    let said = match stale {
        true => {
            let minutes = waited.as_secs() / 60;
            format!(
                "I was away: what you asked {minutes} minutes ago was not finished. /retry asks it again."
            )
        }
        false => "I was restarted, and go on with what you asked.".to_owned(),
    };
    if let Err(error) = hub.say(&chat, &said).await {
        tracing::warn!(%error, "a note was not said");
    }
}

fn admitted<'a>(hub: &'a Arc<Hub>, asked: &'a CommandReceived) -> Option<Admitted<'a>> {
    let key = SessionKey::parse(&asked.session_key)?;
    Some(Admitted {
        hub,
        profile: hub.profile(&asked.profile)?,
        door: Door { key: asked.session_key.clone(), chat: asked.chat.clone(), shared: key.shared() },
        chat: &asked.chat,
        sender: Sender { id: asked.sender.id.clone(), name: asked.sender.name.clone() },
        owner: asked.owner,
        direct: key.kind == herm_schema::events::ChatKind::Direct,
    })
}
