//! Discord, by its API v10: what it can do, what it is configured with, and the way through its rooms.
//!
//! `wire` is what goes over the wire, `inbound` reads it, `places` knows the channels; `gateway` keeps the
//! web socket, `run` takes what comes over it, `marks` is how far herm has come and `missed` fetches what was
//! said meanwhile. `outbound`, `acts` and `commands` write, `refusal` knows what a refusal means, `limits` how
//! often one may ask. Only `api` and `gateway` touch the network. Start reading at `run`.

mod acts;
mod api;
mod commands;
mod gateway;
mod inbound;
mod limits;
mod marks;
mod missed;
mod outbound;
mod places;
mod refusal;
mod run;
mod wire;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use self::api::{Api, Failed};
use self::marks::Marks;
use self::places::Places;
use self::wire::User;
use super::table::{Field, Misconfigured, Row, Section};
use super::{Act, Capabilities, Identity, Inlet, Outgoing, Platform, SendFailure, Stopped};
use crate::delivery::{Format, Limit, Markup, Unit};
use crate::providers::BoxFuture;

/// Largest file that a bot may send to a server that nobody boosts (API v10, "Uploading Files").
const FILE_BYTES_MAX: u64 = 10 << 20;
/// Where the API is, unless it is said otherwise.
const BASE_URL: &str = "https://discord.com/api/v10";
/// Pressings that can still be answered with a text.
const PRESSES_MAX: usize = 256;
/// Direct chats that are remembered by the person.
const DIRECT_MAX: usize = 1000;

const CAPABILITIES: Capabilities = Capabilities {
    // `enforce_nonce` recognises a repeat "in the past few minutes" only (API v10, "Create Message"), and
    // what herm owes after a crash may go out hours later. So the key goes along, and shows a quick repeat
    // once; but to promise that it always does would let a late one stand there twice, unmarked.
    keyed: false,
    format: Format { markup: Markup::Discord, limit: Some(Limit { max: 2_000, unit: Unit::Chars }) },
    // Five changes in five seconds are let through in a channel, sendings among them.
    edit_every: Some(Duration::from_millis(1200)),
    deletes: true,
    typing: Some(Duration::from_secs(10)),
    buttons: true,
    reactions: true,
    file_bytes_max: Some(FILE_BYTES_MAX),
    ..Capabilities::plain(inbound::NAME)
};

pub(super) const ROW: Row = Row {
    name: inbound::NAME,
    about: "Discord: direct messages, channels, threads and forums; files, reactions, buttons, slash commands",
    fields: &[
        Field {
            name: "token",
            env: "DISCORD_BOT_TOKEN",
            secret: true,
            doc: "The bot's token, as the developer portal tells it.",
        },
        Field {
            name: "base_url",
            env: "DISCORD_BASE_URL",
            secret: false,
            doc: "Another server of the API, with its version, such as a proxy of your own.",
        },
        Field {
            name: "gateway_url",
            env: "DISCORD_GATEWAY_URL",
            secret: false,
            doc: "Another gateway than the one that the API names: `ws://` or `wss://`.",
        },
    ],
    needs: &["token"],
    setup: "\
1. At https://discord.com/developers/applications choose `New Application` and give it a name.
2. Under `Bot`: `Reset Token`, copy the token and set it as `DISCORD_BOT_TOKEN`.
3. On the same page, under `Privileged Gateway Intents`, switch on `Message Content Intent`; without it herm
   cannot read what is said in channels.
4. Under `OAuth2`, `URL Generator`: the scopes `bot` and `applications.commands`; the permissions `View
   Channels`, `Send Messages`, `Send Messages in Threads`, `Read Message History`, `Attach Files`, `Add
   Reactions`.
5. Open the address that it makes, and choose the server that herm shall join.
6. Send your bot a direct message: herm answers with a code to pair you.",
    make,
};

/// A bot of Discord's.
struct Discord {
    api: Arc<Api>,
    gateway_url: Option<String>,
    me: OnceCell<User>,
    marks: Mutex<Marks>,
    places: Mutex<Places>,
    /// Tokens that answer pressings, by the pressing; the oldest first.
    presses: Mutex<VecDeque<Press>>,
    /// Direct chats that were opened, by the person.
    direct: Mutex<HashMap<String, String>>,
    /// The slash commands were told.
    registered: AtomicBool,
}

/// What answers an interaction, for a quarter of an hour.
struct Press {
    id: String,
    application: String,
    token: crate::config::Secret,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn make(row: &Row, section: &Section) -> Result<Arc<dyn Platform>, Misconfigured> {
    let wrong = |reason: String, fix: &str| Misconfigured { platform: row.name, reason, fix: fix.to_owned() };
    let token = section.needed(row, "token")?.clone();
    // It becomes part of a header.
    if token.reveal().is_empty() || !token.reveal().chars().all(|c| c.is_ascii_graphic()) {
        let reason = "the token has characters that no token has".to_owned();
        return Err(wrong(
            reason,
            "copy the token from the developer portal into `DISCORD_BOT_TOKEN` once more",
        ));
    }
    let base_url = section.text("base_url").unwrap_or(BASE_URL);
    let api = Api::new(base_url, token).map_err(|error| {
        let fix = "set `DISCORD_BASE_URL` to `https://HOST/api/v10`";
        wrong(format!("`base_url` is no address: {error}"), fix)
    })?;
    let gateway_url = section.text("gateway_url").map(str::to_owned);
    if gateway_url.as_deref().is_some_and(|url| !url.starts_with("ws://") && !url.starts_with("wss://")) {
        let reason = "`gateway_url` is no address of a web socket".to_owned();
        return Err(wrong(reason, "set `DISCORD_GATEWAY_URL` to `wss://HOST`, or do not set it"));
    }
    Ok(Arc::new(Discord {
        api: Arc::new(api),
        gateway_url,
        me: OnceCell::new(),
        marks: Mutex::default(),
        places: Mutex::default(),
        presses: Mutex::default(),
        direct: Mutex::default(),
        registered: AtomicBool::new(false),
    }))
}

impl Discord {
    /// Who herm is here; asked once.
    async fn me(&self) -> Result<&User, Failed> {
        self.me.get_or_try_init(|| self.api.get(&["users", "@me"], &[])).await
    }

    fn remember(&self, press: Press) {
        let mut presses = locked(&self.presses);
        presses.push_back(press);
        while presses.len() > PRESSES_MAX {
            presses.pop_front();
        }
    }

    /// The channel of a chat: its own id, or the direct chat with a person, written `@ID`.
    async fn channel(&self, chat: &str) -> Result<String, Failed> {
        let Some(person) = chat.strip_prefix('@') else { return Ok(chat.to_owned()) };
        if let Some(known) = locked(&self.direct).get(person) {
            return Ok(known.clone());
        }
        let body = serde_json::json!({"recipient_id": person});
        let opened: wire::Channel = self.api.post(&["users", "@me", "channels"], &body).await?;
        let mut direct = locked(&self.direct);
        if direct.len() >= DIRECT_MAX {
            direct.clear();
        }
        direct.insert(person.to_owned(), opened.id.clone());
        Ok(opened.id)
    }
}

impl Platform for Discord {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn run<'a>(
        &'a self,
        inlet: &'a dyn Inlet,
        stop: CancellationToken,
    ) -> BoxFuture<'a, Result<(), Stopped>> {
        Box::pin(async move { run::run(self, inlet, &stop).await })
    }

    fn send<'a>(&'a self, outgoing: &'a Outgoing) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(outbound::send(self, outgoing))
    }

    fn act<'a>(&'a self, act: &'a Act) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(acts::act(self, act))
    }

    fn probe(&self) -> BoxFuture<'_, Result<Identity, Stopped>> {
        Box::pin(async {
            let me: User = self.api.get(&["users", "@me"], &[]).await.map_err(refusal::of_account)?;
            Ok(Identity { name: me.global_name.unwrap_or(me.username), id: me.id })
        })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_format_is_the_one_of_the_table() {
        assert_eq!(crate::delivery::formats::of("discord"), Some(super::CAPABILITIES.format));
    }
}
