//! Webhooks: other services tell herm what happened, each route with its own signature, its own words for
//! the model, and the place that the answer goes to.
//!
//! What comes in is no person's: it may say anything, and the model has few tools for it (the toolset
//! `hermes-webhook`). Every event is a conversation of its own. `signature` proves who sent it, `template`
//! writes the message, `settings` reads the routes.

mod serve;
mod settings;
mod signature;
mod template;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use herm_schema::events::{ChatKind, ChatRef};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use self::settings::{Route, Settings};
use super::table::{Field, Row};
use super::{
    Author, Capabilities, Chat, Identity, Inbound, Inlet, Message, Outgoing, Platform, SendFailure, Stopped,
    Taken, What,
};
use crate::providers::BoxFuture;
use crate::runtime::{Clock, SystemClock};

pub const NAME: &str = "webhook";

/// Who calls is proved by a signature, and answers that go nowhere are in the log alone.
const CAPABILITIES: Capabilities =
    Capabilities { keyed: true, own_access: true, ..Capabilities::plain(NAME) };

/// The row of webhooks among the platforms.
pub const ROW: Row = Row {
    name: NAME,
    about: "Webhooks: GitHub, GitLab, Stripe, Slack, or anything that signs with HMAC",
    fields: &[
        Field {
            name: "routes",
            env: "WEBHOOK_ROUTES",
            secret: true,
            doc: "Routes by name: `secret`, `scheme` (hmac, github, gitlab, stripe, slack), `prompt`, `events`, `deliver`.",
        },
        Field {
            name: "host",
            env: "WEBHOOK_HOST",
            secret: false,
            doc: "Address to listen at; 127.0.0.1 unless set.",
        },
        Field {
            name: "port",
            env: "WEBHOOK_PORT",
            secret: false,
            doc: "Port to listen at; 8644 unless set.",
        },
    ],
    needs: &["routes"],
    setup: "A webhook is a route in config.yaml:\n\n    platforms:\n      webhook:\n        routes:\n          deploys:\n            \
            scheme: github\n            secret: A_SECRET_OF_YOURS\n            events: [push]\n            prompt: 'Sum up: {head_commit.message}'\n            \
            deliver: telegram:123456789\n\nand `http://HOST:8644/webhooks/deploys` is what the service is told.",
    make: |row, section| {
        Settings::of(row, section).map(|settings| Arc::new(Webhook { settings }) as Arc<dyn Platform>)
    },
};

/// The platform.
struct Webhook {
    settings: Settings,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Received {
    Taken,
    Known,
    /// The route does not want events of this kind.
    Unwanted,
    NoRoute,
    /// Why the signature does not hold.
    Unsigned(&'static str),
    Unreadable,
    NotNow(String),
}

impl Webhook {
    fn route(&self, name: &str) -> Option<&Route> {
        self.settings.routes.iter().find(|route| route.name == name)
    }

    /// A request came in for a route.
    async fn receive(
        &self,
        name: &str,
        headers: &(dyn Fn(&str) -> Option<String> + Sync),
        body: &[u8],
        inlet: &dyn Inlet,
    ) -> Received {
        let Some(route) = self.route(name) else { return Received::NoRoute };
        let now = SystemClock.now().0 / 1_000_000;
        if let Err(why) = signature::check(route, headers, body, now) {
            return Received::Unsigned(why);
        }
        let Ok(payload) = serde_json::from_slice::<Value>(body) else { return Received::Unreadable };
        let event = signature::event(route, headers, &payload);
        if !route.events.is_empty() && !route.events.contains(&event) {
            return Received::Unwanted;
        }
        let id = signature::id(route, headers, &payload, body);
        let taken = inlet.take(inbound(route, &event, id, &payload)).await;
        match taken {
            Ok(Taken::Recorded) => Received::Taken,
            Ok(Taken::Known) => Received::Known,
            Ok(Taken::Ignored) => Received::Unwanted,
            Err(not_now) => Received::NotNow(not_now.why),
        }
    }
}

fn inbound(route: &Route, event: &str, id: String, payload: &Value) -> Inbound {
    let text = template::message(route, event, payload);
    // Every event is a conversation of its own.
    let place = ChatRef { platform: NAME.to_owned(), chat: route.name.clone(), thread: Some(id.clone()) };
    Inbound {
        id: format!("{}/{id}", route.name),
        chat: Chat {
            place,
            kind: ChatKind::Direct,
            title: Some(route.name.clone()),
            guild: None,
            parent: None,
        },
        author: Author { id: route.name.clone(), ..Author::default() },
        what: What::Message(Message { message_id: id, text, mentioned: true, reply: None, media: vec![] }),
        at: None,
    }
}

impl Platform for Webhook {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn run<'a>(
        &'a self,
        inlet: &'a dyn Inlet,
        stop: CancellationToken,
    ) -> BoxFuture<'a, Result<(), Stopped>> {
        Box::pin(serve::run(self, inlet, stop))
    }

    /// Where no other place is set for it, the answer is in the log.
    fn send<'a>(&'a self, _: &'a Outgoing) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(async { Ok(None) })
    }

    fn forward(&self, target: &ChatRef) -> Option<ChatRef> {
        self.route(&target.chat)?.deliver.clone()
    }

    fn probe(&self) -> BoxFuture<'_, Result<Identity, Stopped>> {
        Box::pin(async { Ok(Identity { id: NAME.to_owned(), name: String::new() }) })
    }
}
