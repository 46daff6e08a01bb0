//! Telegram, by its Bot API: what it can do, what it is configured with, and the way through its rooms.
//!
//! `wire` is what goes over the wire, `inbound` and `entities` read it, `media` fetches files; `run` polls,
//! `webhook` is posted to; `outbound` and `acts` write, and `refusal` knows what a refusal means. Only
//! `api` touches the network. Start reading at `run`.

mod acts;
mod api;
mod entities;
mod inbound;
mod media;
mod outbound;
mod refusal;
mod run;
mod webhook;
mod wire;

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use self::api::{Api, CALL_MAX, Failed};
use self::webhook::Hook;
use self::wire::{Nothing, User};
use super::table::{Field, Misconfigured, Row, Section};
use super::{Act, Capabilities, Identity, Ingress, IngressAnswer, Inlet, Outgoing, Platform};
use super::{SendFailure, Stopped};
use crate::delivery::{Format, Limit, Markup, Unit};
use crate::providers::BoxFuture;

/// Largest file that a bot may send.
const FILE_BYTES_MAX: u64 = 50_000_000;
/// Where the Bot API is, unless it is said otherwise.
const BASE_URL: &str = "https://api.telegram.org";

const CAPABILITIES: Capabilities = Capabilities {
    format: Format {
        markup: Markup::TelegramMarkdownV2,
        limit: Some(Limit { max: 4096, unit: Unit::Utf16 }),
    },
    // Telegram takes about one message a second in a chat, and counts changes among them.
    edit_every: Some(Duration::from_millis(1500)),
    deletes: true,
    typing: Some(Duration::from_secs(5)),
    buttons: true,
    reactions: true,
    file_bytes_max: Some(FILE_BYTES_MAX),
    ..Capabilities::plain(inbound::NAME)
};

pub(super) const ROW: Row = Row {
    name: inbound::NAME,
    about: "Telegram: chats, groups and their topics, channels; files, reactions, buttons",
    fields: &[
        Field {
            name: "token",
            env: "TELEGRAM_BOT_TOKEN",
            secret: true,
            doc: "The bot's token, as @BotFather tells it.",
        },
        Field {
            name: "base_url",
            env: "TELEGRAM_BASE_URL",
            secret: false,
            doc: "Another server of the Bot API, such as one of your own; without the token.",
        },
        Field {
            name: "webhook_url",
            env: "TELEGRAM_WEBHOOK_URL",
            secret: false,
            doc: "Where Telegram reaches herm over HTTPS; without it, herm asks Telegram.",
        },
        Field {
            name: "webhook_secret",
            env: "TELEGRAM_WEBHOOK_SECRET",
            secret: true,
            doc: "Proves that Telegram posts: 1 to 256 letters, digits, `_` and `-`; needed with a URL.",
        },
        Field {
            name: "link_previews",
            env: "TELEGRAM_LINK_PREVIEWS",
            secret: false,
            doc: "`false`: no previews of linked pages below herm's messages.",
        },
    ],
    needs: &["token"],
    setup: "\
1. In Telegram, open a chat with @BotFather and send `/newbot`.
2. Give it a name, and a user name that ends in `bot`.
3. BotFather answers with a token such as `123456:ABC-DEF`: set it as `TELEGRAM_BOT_TOKEN`.
4. For groups: `/setprivacy`, choose the bot, `Disable`, so that it reads what is not said to it; then add
   the bot to the group. Where it stays enabled, the bot reads commands, mentions and answers only.
5. For reactions, and for topics to be opened, make the bot an administrator of the group.
6. Send your bot a message: herm answers with a code to pair you.",
    make,
};

/// A bot of Telegram's.
struct Telegram {
    api: Api,
    hook: Option<Hook>,
    link_previews: bool,
    me: OnceCell<User>,
    /// The next update to ask for; 0 before the first.
    offset: AtomicI64,
}

fn make(row: &Row, section: &Section) -> Result<Arc<dyn Platform>, Misconfigured> {
    let wrong = |reason: String, fix: &str| Misconfigured { platform: row.name, reason, fix: fix.to_owned() };
    let token = section.needed(row, "token")?.clone();
    // It becomes part of an address.
    let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-');
    if !token.reveal().chars().all(is_token) {
        let reason = "the token has characters that no token has".to_owned();
        return Err(wrong(reason, "copy the token from @BotFather into `TELEGRAM_BOT_TOKEN` once more"));
    }
    let base_url = section.text("base_url").unwrap_or(BASE_URL);
    let api = Api::new(base_url, token).map_err(|error| {
        wrong(format!("`base_url` is no address: {error}"), "set `TELEGRAM_BASE_URL` to `https://HOST`")
    })?;
    let hook = match (section.text("webhook_url"), section.secret("webhook_secret")) {
        (None, _) => None,
        (Some(url), Some(secret)) if webhook::is_secret(secret.reveal()) => {
            Some(Hook { url: url.to_owned(), secret: secret.clone() })
        }
        (Some(_), _) => {
            let reason = "`webhook_url` is set without a `webhook_secret` that Telegram takes".to_owned();
            let fix = "set `TELEGRAM_WEBHOOK_SECRET` to 1 to 256 letters, digits, `_` and `-`";
            return Err(wrong(reason, fix));
        }
    };
    let link_previews = section.text("link_previews") != Some("false");
    Ok(Arc::new(Telegram { api, hook, link_previews, me: OnceCell::new(), offset: AtomicI64::new(0) }))
}

impl Telegram {
    /// Who herm is here; asked once.
    async fn me(&self) -> Result<&User, Failed> {
        self.me.get_or_try_init(|| self.api.call("getMe", &Nothing {}, CALL_MAX)).await
    }
}

impl Platform for Telegram {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn run<'a>(
        &'a self,
        inlet: &'a dyn Inlet,
        stop: CancellationToken,
    ) -> BoxFuture<'a, Result<(), Stopped>> {
        Box::pin(async move {
            match &self.hook {
                Some(hook) => webhook::wait(self, hook, &stop).await,
                None => run::poll(self, inlet, &stop).await,
            }
        })
    }

    fn send<'a>(&'a self, outgoing: &'a Outgoing) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(outbound::send(self, outgoing))
    }

    fn act<'a>(&'a self, act: &'a Act) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(acts::act(self, act))
    }

    fn ingress<'a>(&'a self, request: &'a Ingress, inlet: &'a dyn Inlet) -> BoxFuture<'a, IngressAnswer> {
        Box::pin(webhook::take(self, request, inlet))
    }

    fn probe(&self) -> BoxFuture<'_, Result<Identity, Stopped>> {
        Box::pin(async {
            let me: User =
                self.api.call("getMe", &Nothing {}, CALL_MAX).await.map_err(refusal::of_account)?;
            let name = me.username.map_or(me.first_name, |name| format!("@{name}"));
            Ok(Identity { id: me.id.to_string(), name })
        })
    }
}
