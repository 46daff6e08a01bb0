//! The switchboard: every delivery of sessions and of the gateway leaves through here.
//!
//! It knows which platforms run, keeps the order of each chat, refuses places that are dead, and puts
//! texts into a platform's markup. It records nothing but that a place died or spoke again.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use herm_replay::gateway::{Command, GatewayState, Place, place};
use herm_schema::events::{ChatKind, ChatRef, DeliveryFailure, TargetDied};

use super::desk::Desk;
use super::previews::Previews;
use crate::delivery::{Content, Format, Outlet, Parcel, Way, render};
use crate::inbound::settings::{LiveSettings, ReplyTo};
use crate::platforms::{Act, Outgoing, Platform, Say, SendFailure, Written};
use crate::providers::BoxFuture;

/// Said before a text that the person may have seen.
const REPEAT_MARK: &str = "(possibly repeated) ";
/// Wait for a platform that does not run here, or not yet.
const ABSENT_RETRY: Duration = Duration::from_secs(30);
/// Wait before a chunk goes out again whose sending has no known outcome, where a repeat is recognised.
const KEYED_RETRY: Duration = Duration::from_secs(5);
/// Longest time for one request of an adapter.
const SEND_TIME_MAX: Duration = Duration::from_secs(120);

/// Where deliveries go out.
pub struct Switchboard {
    platforms: RwLock<BTreeMap<String, Arc<dyn Platform>>>,
    lanes: Mutex<HashMap<Place, Weak<tokio::sync::Mutex<()>>>>,
    desk: Arc<Desk>,
    previews: Arc<Previews>,
    settings: Arc<LiveSettings>,
}

impl Switchboard {
    pub fn new(desk: Arc<Desk>, previews: Arc<Previews>, settings: Arc<LiveSettings>) -> Arc<Self> {
        Arc::new(Self { platforms: RwLock::default(), lanes: Mutex::default(), desk, previews, settings })
    }

    /// A platform takes deliveries from now on.
    pub fn connect(&self, platform: Arc<dyn Platform>) {
        let name = platform.capabilities().name.to_owned();
        self.platforms.write().unwrap_or_else(PoisonError::into_inner).insert(name, platform);
    }

    /// It does not any more.
    pub fn disconnect(&self, name: &str) {
        self.platforms.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    pub fn platform(&self, name: &str) -> Option<Arc<dyn Platform>> {
        self.platforms.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Names of those that are connected.
    pub fn names(&self) -> Vec<String> {
        self.platforms.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Does what is never owed; what cannot be done is not.
    pub async fn act(&self, act: &Act) -> Option<String> {
        let platform = self.platform(&chat_of(act).platform)?;
        let done = tokio::time::timeout(SEND_TIME_MAX, platform.act(act)).await;
        match done {
            Ok(Ok(id)) => id,
            Ok(Err(failure)) => {
                tracing::debug!(platform = platform.capabilities().name, failure.message, "not shown");
                None
            }
            Err(_) => None,
        }
    }

    /// Whether a part of an answer shows there what it answers. Where two speak that is clear without.
    pub fn shows_answered(&self, chat: &ChatRef, first: bool) -> bool {
        let of_several = |state: &GatewayState| {
            state.chats.get(&place(chat)).is_some_and(|seen| seen.kind != ChatKind::Direct)
        };
        match self.settings.now().platform(&chat.platform).reply_to {
            ReplyTo::Off => false,
            ReplyTo::First => first && self.desk.read(of_several),
            ReplyTo::All => true,
        }
    }

    fn lane(&self, target: &ChatRef) -> Arc<tokio::sync::Mutex<()>> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let key = place(target);
        if let Some(lane) = lanes.get(&key).and_then(Weak::upgrade) {
            return lane;
        }
        lanes.retain(|_, lane| lane.strong_count() > 0);
        let lane = Arc::new(tokio::sync::Mutex::new(()));
        lanes.insert(key, Arc::downgrade(&lane));
        lane
    }

    /// Where a target's deliveries really go.
    fn place(&self, target: &ChatRef) -> ChatRef {
        let forwarded = self.platform(&target.platform).and_then(|platform| platform.forward(target));
        forwarded.unwrap_or_else(|| target.clone())
    }

    async fn sent(&self, parcel: &Parcel) -> Result<Option<String>, SendFailure> {
        let target = &self.place(&parcel.target);
        let dead = self.desk.read(|state| state.dead(target).map(|died| died.why.clone()));
        if let Some(why) = dead {
            let message = format!("dead target, nothing is tried until it speaks again: {why}");
            return Err(SendFailure { class: DeliveryFailure::Gone, message, retry_after: None });
        }
        let platform = self.platform(&target.platform).ok_or_else(|| SendFailure {
            class: DeliveryFailure::Unreachable,
            message: format!("the platform `{}` is not connected", target.platform),
            retry_after: Some(ABSENT_RETRY),
        })?;
        let lane = self.lane(target);
        let _in_order = lane.lock().await;
        let replaces = match parcel.session {
            Some(session) => self.previews.taken_over(session).await.or_else(|| parcel.replaces.clone()),
            None => parcel.replaces.clone(),
        };
        let keyed = platform.capabilities().keyed;
        let reply_to = parcel.reply_to.clone().filter(|_| self.shows_answered(target, parcel.first));
        let written = content(parcel, &platform.capabilities().format, keyed);
        let outgoing = Outgoing {
            target: target.clone(),
            content: written,
            key: parcel.key.clone(),
            possible_repeat: parcel.possible_repeat && !keyed,
            reply_to,
            replaces,
            buttons: Vec::new(),
        };
        let sent = tokio::time::timeout(SEND_TIME_MAX, platform.send(&outgoing)).await;
        let sent = sent.unwrap_or_else(|_| {
            let message = format!("no answer within {} s", SEND_TIME_MAX.as_secs());
            Err(SendFailure { class: DeliveryFailure::Unknown, message, retry_after: None })
        });
        match sent {
            Err(failure) if failure.class == DeliveryFailure::Gone => {
                let died = TargetDied { target: target.clone(), why: failure.message.clone() };
                if let Err(error) = self.desk.try_ask(Command::Die(died)).await {
                    tracing::error!(%error, "a dead target cannot be recorded");
                }
                Err(failure)
            }
            Err(failure) if failure.class == DeliveryFailure::Unknown && keyed => {
                Err(SendFailure { retry_after: failure.retry_after.or(Some(KEYED_RETRY)), ..failure })
            }
            other => other,
        }
    }
}

/// What a parcel holds, in the platform's markup; marked, where it may be there already.
fn content(parcel: &Parcel, format: &Format, keyed: bool) -> Say {
    match &parcel.content {
        Content::Text(text) => {
            let mut written = render(text, format);
            if parcel.possible_repeat && !keyed {
                let mark = render(REPEAT_MARK.trim_end(), format);
                written = Written {
                    text: format!("{} {}", mark.text, written.text),
                    plain: format!("{REPEAT_MARK}{}", written.plain),
                };
            }
            Say::Text(written)
        }
        Content::File { name, media_type, bytes } => {
            Say::File { name: name.clone(), media_type: media_type.clone(), bytes: bytes.clone() }
        }
    }
}

impl Outlet for Switchboard {
    fn way(&self, target: &ChatRef) -> Way {
        let target = &self.place(target);
        let Some(platform) = self.platform(&target.platform) else {
            let format = crate::delivery::formats::of(&target.platform).unwrap_or(Format::SOURCE);
            return Way { format, keyed: false };
        };
        let capabilities = platform.capabilities();
        let mut format = capabilities.format;
        if let (false, Some(limit)) = (capabilities.keyed, &mut format.limit) {
            // A chunk that goes out again carries the mark, escaped at worst.
            limit.max = limit.max.saturating_sub(2 * REPEAT_MARK.len()).max(limit.max / 2);
        }
        Way { format, keyed: capabilities.keyed }
    }

    fn send<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(self.sent(parcel))
    }
}

fn chat_of(act: &Act) -> &ChatRef {
    match act {
        Act::Typing { chat }
        | Act::Post { chat, .. }
        | Act::Edit { chat, .. }
        | Act::Delete { chat, .. }
        | Act::React { chat, .. }
        | Act::Answered { chat, .. } => chat,
    }
}
