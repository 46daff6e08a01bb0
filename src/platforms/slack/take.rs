//! Gives to herm what came, whichever way: with its place, its author's name and its files.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

use super::api::Failed;
use super::inbound::{self, Came};
use super::places::{Person, Place, chat};
use super::refusal::{self, Whose};
use super::wire::{Callback, Command, ConversationInfo, File, Interaction, Me, UserInfo};
use super::{Slack, locked};
use crate::platforms::{ChatKind, Content, Inbound, Inlet, Media, NotNow, Stopped, What, link};

/// Pauses before herm is asked again to take what it did not take.
const NOT_NOW_PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(3)];

/// In what form something came.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Delivery {
    Event(Value),
    Interaction(Value),
    Command(Value),
    /// Said while no connection stood.
    Missed(Box<Came>),
}

/// Why something was not taken.
#[derive(Debug)]
pub(super) enum Untaken {
    NotNow(NotNow),
    Stopped(Stopped),
}

/// Takes a delivery. What cannot be read is passed over: it will not be readable the next time either.
pub(super) async fn take(
    slack: &Slack,
    inlet: &dyn Inlet,
    me: &Me,
    delivery: &Delivery,
) -> Result<(), Untaken> {
    let mut team = me.team_id.clone();
    let read = match delivery {
        Delivery::Event(payload) => Callback::deserialize(payload).and_then(|callback| {
            team = callback.team_id.clone().unwrap_or(team.clone());
            inbound::event(&callback, me)
        }),
        Delivery::Interaction(payload) => {
            Interaction::deserialize(payload).map(|pressed| inbound::interaction(pressed, me))
        }
        Delivery::Command(payload) => {
            Command::deserialize(payload).map(|command| Some(inbound::command(command, me)))
        }
        Delivery::Missed(came) => Ok(Some((**came).clone())),
    };
    match read {
        Ok(Some(came)) => take_one(slack, inlet, came, &team).await,
        Ok(None) => Ok(()),
        Err(_) => {
            tracing::warn!("a delivery of Slack's cannot be read and is passed over");
            Ok(())
        }
    }
}

/// As [`take`]; where herm does not take it now, it is asked again: nothing may overtake it meanwhile.
pub(super) async fn take_patiently(
    slack: &Slack,
    inlet: &dyn Inlet,
    me: &Me,
    delivery: &Delivery,
) -> Result<(), Stopped> {
    let mut pauses = NOT_NOW_PAUSES.into_iter();
    loop {
        match (take(slack, inlet, me, delivery).await, pauses.next()) {
            (Ok(()), _) => return Ok(()),
            (Err(Untaken::NotNow(_)), Some(pause)) => sleep(pause).await,
            (Err(Untaken::NotNow(not_now)), None) => {
                return Err(Stopped::Transient { message: not_now.to_string(), retry_after: None });
            }
            (Err(Untaken::Stopped(stopped)), _) => return Err(stopped),
        }
    }
}

async fn take_one(slack: &Slack, inlet: &dyn Inlet, came: Came, team: &str) -> Result<(), Untaken> {
    let place = place(slack, &came).await.map_err(Untaken::Stopped)?;
    let mut author = came.author;
    if author.name.is_none() && !author.id.is_empty() && !author.ours {
        let person = person(slack, &author.id).await.map_err(Untaken::Stopped)?;
        author.name = person.name;
        author.aliases.extend(person.aliases);
        author.bot |= person.bot;
    }
    let chat = chat(&came.channel, came.thread.as_deref(), place, team, &author);
    let mut inbound = Inbound { id: came.id, chat, author, what: came.what, at: came.at };
    if let What::Message(message) = &mut inbound.what {
        for file in came.files.into_iter().filter(|_| !inbound.author.ours) {
            message.media.push(media(slack, file, inlet.media_bytes_max()).await);
        }
    }
    if let Some(press) = came.press {
        slack.remember(press);
    }
    let said = match &inbound.what {
        What::Message(message) => Some(message.message_id.clone()),
        _ => None,
    };
    inlet.take(inbound).await.map_err(Untaken::NotNow)?;
    if let Some(ts) = said {
        locked(&slack.marks).taken(&came.channel, came.thread.as_deref(), &ts);
    }
    Ok(())
}

/// What kind of conversation it is; asked once, and guessed where herm may not know.
async fn place(slack: &Slack, came: &Came) -> Result<Place, Stopped> {
    if let Some(known) = locked(&slack.places).place(&came.channel) {
        return Ok(known);
    }
    let guessed = Place::guessed(&came.channel, came.channel_type.as_deref());
    // There is nothing to ask of a direct chat.
    let told = match guessed.kind {
        ChatKind::Direct => return Ok(guessed),
        _ => slack.api.get::<ConversationInfo>("conversations.info", &[("channel", &came.channel)]).await,
    };
    let place = match told {
        Ok(info) => Place::of(&info.channel),
        Err(failed) => gave_up(failed, guessed)?,
    };
    locked(&slack.places).learn(&came.channel, place.clone());
    Ok(place)
}

async fn person(slack: &Slack, user: &str) -> Result<Person, Stopped> {
    if let Some(known) = locked(&slack.places).person(user) {
        return Ok(known);
    }
    let person = match slack.api.get::<UserInfo>("users.info", &[("user", user)]).await {
        Ok(info) => Person::of(info.user),
        Err(failed) => gave_up(failed, Person::default())?,
    };
    locked(&slack.places).meet(user, person.clone());
    Ok(person)
}

/// What Slack will not tell is done without; what it did not tell now is asked for again.
fn gave_up<T>(failed: Failed, without: T) -> Result<T, Stopped> {
    match refusal::is_for_good(&failed) {
        true => Ok(without),
        false => Err(refusal::of_account(failed, Whose::Bot)),
    }
}

async fn media(slack: &Slack, file: File, bytes_max: u64) -> Media {
    let url = file.url_private_download.as_deref().or(file.url_private.as_deref());
    let content = match url.map(|url| slack.api.place_of_file(url)) {
        Some(Some(place)) => link::content(|| slack.api.file(&place), file.size, bytes_max).await,
        Some(None) => Content::Left("it lies elsewhere than with Slack".to_owned()),
        None => Content::Left("Slack does not say where it lies".to_owned()),
    };
    Media {
        name: file.name.unwrap_or(file.id),
        media_type: file.mimetype.unwrap_or_else(|| "application/octet-stream".to_owned()),
        content,
    }
}
