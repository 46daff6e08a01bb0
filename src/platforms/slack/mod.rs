//! Slack, by its Web API, Socket Mode and Events API: what it can do, what it is configured with, and the
//! way through its rooms.
//!
//! `wire` is what goes over the wire, `inbound` and `mrkdwn` read it, `places` knows conversations and people;
//! `socket` keeps the web socket, `ingress` is posted to, `signature` proves by whom, `take` gives what came
//! to herm; `marks` remembers how far that is, and `missed` asks for what was said while nobody listened. `outbound`, `upload` and `acts` write, `emoji` knows the names, `refusal` what a refusal means.
//! Only `api` and `socket` touch the network. Start reading at `socket`.

mod acts;
mod api;
mod emoji;
mod inbound;
mod ingress;
mod marks;
mod missed;
mod mrkdwn;
mod outbound;
mod places;
mod refusal;
mod signature;
mod socket;
mod take;
mod upload;
mod wire;

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use self::api::{Api, Failed};
use self::marks::Marks;
use self::places::Places;
use self::refusal::Whose;
use self::wire::Me;
use super::table::{Field, Misconfigured, Row, Section};
use super::{Act, Capabilities, Identity, Ingress, IngressAnswer, Inlet, Outgoing, Platform};
use super::{SendFailure, Stopped};
use crate::config::Secret;
use crate::delivery::{Format, Limit, Markup, Unit};
use crate::providers::BoxFuture;

/// Largest file that Slack takes (docs.slack.dev, "Working with files").
const FILE_BYTES_MAX: u64 = 1_000_000_000;
/// Where the Web API is, unless it is said otherwise.
const BASE_URL: &str = "https://slack.com/api";
/// Pressings that can still be answered with a text.
const PRESSES_MAX: usize = 256;

const CAPABILITIES: Capabilities = Capabilities {
    // `chat.postMessage` documents no argument that makes a repeat known: `client_msg_id` is what Slack's own
    // clients put into a person's message, and nothing promises that a second one is not shown.
    keyed: false,
    format: Format { markup: Markup::SlackMrkdwn, limit: Some(Limit { max: 39_000, unit: Unit::Utf16 }) },
    // `chat.update` is of tier 3, about fifty a minute.
    edit_every: Some(Duration::from_millis(1500)),
    deletes: true,
    // A bot of the Web API cannot show it.
    typing: None,
    buttons: true,
    reactions: true,
    file_bytes_max: Some(FILE_BYTES_MAX),
    ..Capabilities::plain(inbound::NAME)
};

pub(super) const ROW: Row = Row {
    name: inbound::NAME,
    about: "Slack: direct messages, channels and threads, by Socket Mode or web hook; files, reactions, buttons",
    fields: &[
        Field {
            name: "token",
            env: "SLACK_BOT_TOKEN",
            secret: true,
            doc: "The bot's token of the workspace, which begins with `xoxb-`.",
        },
        Field {
            name: "app_token",
            env: "SLACK_APP_TOKEN",
            secret: true,
            doc: "The app's token for Socket Mode, which begins with `xapp-`; without it, Slack posts to herm.",
        },
        Field {
            name: "signing_secret",
            env: "SLACK_SIGNING_SECRET",
            secret: true,
            doc: "Proves that Slack posts; needed where herm is reached over HTTPS instead of Socket Mode.",
        },
        Field {
            name: "base_url",
            env: "SLACK_BASE_URL",
            secret: false,
            doc: "Another server of the Web API, such as a proxy of your own.",
        },
    ],
    needs: &["token"],
    setup: "\
1. At https://api.slack.com/apps choose `Create New App`, `From scratch`, and the workspace.
2. Under `Socket Mode` switch it on; it makes a token with the scope `connections:write`, which begins with
   `xapp-`: set it as `SLACK_APP_TOKEN`.
3. Under `OAuth & Permissions` add the bot scopes `app_mentions:read`, `channels:history`, `channels:read`,
   `chat:write`, `commands`, `files:read`, `files:write`, `groups:history`, `groups:read`, `im:history`, `im:read`,
   `im:write`, `mpim:history`, `mpim:read`, `reactions:read`, `reactions:write`, `users:read`.
4. Under `Event Subscriptions` switch them on and subscribe the bot to `app_mention`, `message.channels`,
   `message.groups`, `message.im`, `message.mpim`, `reaction_added`, `reaction_removed`, `member_left_channel`,
   `channel_archive`, `channel_deleted`, `group_archive`, `group_deleted`.
5. Under `Interactivity & Shortcuts` switch interactivity on. Under `Slash Commands` create `/herm`.
6. Under `App Home` allow messages in the `Messages Tab`, so that people can write to the bot.
7. `Install to Workspace`; the token that begins with `xoxb-` is `SLACK_BOT_TOKEN`.
8. Invite the bot into a channel by `/invite`, or write it a message: it answers with a code to pair you.
Without Socket Mode: set `SLACK_SIGNING_SECRET` from `Basic Information`, and enter the address at which
herm is reached as the request URL of events, of interactivity and of the slash command.",
    make,
};

/// What a call says that has nothing to say.
const NOTHING: std::collections::BTreeMap<&str, &str> = std::collections::BTreeMap::new();

/// A bot of Slack's, in one workspace.
struct Slack {
    api: Api,
    /// For Socket Mode.
    app_token: Option<Secret>,
    signing_secret: Option<Secret>,
    me: OnceCell<Me>,
    places: Mutex<Places>,
    /// Who pressed what, for the answer; the oldest first.
    presses: Mutex<VecDeque<Press>>,
    marks: Mutex<Marks>,
    /// Something may have been said that nobody delivered.
    gap: AtomicBool,
}

/// A pressing that was not answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Press {
    id: String,
    user: String,
    /// What the message said, in Slack's markup.
    text: String,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn make(row: &Row, section: &Section) -> Result<Arc<dyn Platform>, Misconfigured> {
    let wrong = |reason: String, fix: &str| Misconfigured { platform: row.name, reason, fix: fix.to_owned() };
    let token = section.needed(row, "token")?.clone();
    let app_token = section.secret("app_token").cloned();
    let signing_secret = section.secret("signing_secret").cloned();
    if app_token.is_none() && signing_secret.is_none() {
        let reason = "neither `app_token` nor `signing_secret` is set, so nothing would come in".to_owned();
        return Err(wrong(
            reason,
            "set `SLACK_APP_TOKEN` in .env for Socket Mode, or `SLACK_SIGNING_SECRET`",
        ));
    }
    for (name, secret, prefix) in
        [("SLACK_BOT_TOKEN", Some(&token), "xoxb-"), ("SLACK_APP_TOKEN", app_token.as_ref(), "xapp-")]
    {
        // It becomes part of a header; and the two are easily taken for each other.
        let is_right = |secret: &Secret| {
            secret.reveal().starts_with(prefix) && secret.reveal().chars().all(|c| c.is_ascii_graphic())
        };
        if secret.is_some_and(|secret| !is_right(secret)) {
            let fix = format!("set `{name}` in .env to the token that begins with `{prefix}`");
            return Err(wrong(format!("`{name}` is no token that begins with `{prefix}`"), &fix));
        }
    }
    let base_url = section.text("base_url").unwrap_or(BASE_URL);
    let api = Api::new(base_url, token).map_err(|error| {
        wrong(format!("`base_url` is no address: {error}"), "set `SLACK_BASE_URL` to `https://HOST/api`")
    })?;
    Ok(Arc::new(Slack {
        api,
        app_token,
        signing_secret,
        me: OnceCell::new(),
        places: Mutex::default(),
        presses: Mutex::default(),
        marks: Mutex::default(),
        gap: AtomicBool::new(true),
    }))
}

impl Slack {
    /// Who herm is here; asked once.
    async fn me(&self) -> Result<&Me, Failed> {
        self.me.get_or_try_init(async || self.api.post("auth.test", &NOTHING).await).await
    }

    fn remember(&self, press: Press) {
        let mut presses = locked(&self.presses);
        presses.push_back(press);
        while presses.len() > PRESSES_MAX {
            presses.pop_front();
        }
    }
}

impl Platform for Slack {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn run<'a>(
        &'a self,
        inlet: &'a dyn Inlet,
        stop: CancellationToken,
    ) -> BoxFuture<'a, Result<(), Stopped>> {
        Box::pin(missed::marking(self, inlet, async move {
            match &self.app_token {
                Some(app_token) => socket::run(self, app_token, inlet, &stop).await,
                None => ingress::wait(self, inlet, &stop).await,
            }
        }))
    }

    fn send<'a>(&'a self, outgoing: &'a Outgoing) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(outbound::send(self, outgoing))
    }

    fn act<'a>(&'a self, act: &'a Act) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(acts::act(self, act))
    }

    fn ingress<'a>(&'a self, request: &'a Ingress, inlet: &'a dyn Inlet) -> BoxFuture<'a, IngressAnswer> {
        Box::pin(ingress::take(self, request, inlet))
    }

    fn probe(&self) -> BoxFuture<'_, Result<Identity, Stopped>> {
        Box::pin(async {
            let me: Me = self
                .api
                .post("auth.test", &NOTHING)
                .await
                .map_err(|failed| refusal::of_account(failed, Whose::Bot))?;
            Ok(Identity { name: format!("{} in {}", me.user, me.team), id: me.user_id })
        })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_format_is_the_one_of_the_table() {
        assert_eq!(crate::delivery::formats::of("slack"), Some(super::CAPABILITIES.format));
    }
}
