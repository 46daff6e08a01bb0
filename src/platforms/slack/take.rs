//! Gives to herm what came, whichever way: with its place, its author's name and its files.

use serde::Deserialize;
use serde_json::Value;

use super::api::Failed;
use super::inbound::{self, Came};
use super::places::{Person, Place, chat};
use super::refusal::{self, Whose};
use super::wire::{Callback, Command, ConversationInfo, File, Interaction, Me, UserInfo};
use super::{Slack, locked};
use crate::platforms::{ChatKind, Content, Inbound, Inlet, Media, NotNow, Stopped, What, link};

/// In what form something came.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Delivery {
    Event(Value),
    Interaction(Value),
    Command(Value),
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
    inlet.take(inbound).await.map(|_| ()).map_err(Untaken::NotNow)
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
