//! What the API server is set to: the section `platforms.api_server`, and its variables.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::config::Secret;
use crate::platforms::table::{Field, Misconfigured, Row, Section};
use crate::platforms::{Capabilities, Identity, Inlet, Outgoing, Platform, SendFailure, Stopped};
use crate::providers::BoxFuture;

/// Its name as a platform, and in `config.yaml`.
pub const NAME: &str = "api_server";
/// Shortest key, in characters.
const KEY_CHARS_MIN: usize = 16;
const PORT: u16 = 8642;
/// Turns that run at a time where nothing else is set; more wait.
const CONCURRENT: usize = 64;

/// The row of the API server among the platforms.
pub const ROW: Row = Row {
    name: NAME,
    about: "HTTP API in the shapes of OpenAI, for programs and front ends",
    fields: &[
        Field {
            name: "key",
            env: "API_SERVER_KEY",
            secret: true,
            doc: "Key that clients show, of 16 characters or more.",
        },
        Field { name: "enabled", env: "API_SERVER_ENABLED", secret: false, doc: "Whether it is served." },
        Field {
            name: "host",
            env: "API_SERVER_HOST",
            secret: false,
            doc: "Address to listen at; 127.0.0.1 unless set.",
        },
        Field {
            name: "port",
            env: "API_SERVER_PORT",
            secret: false,
            doc: "Port to listen at; 8642 unless set.",
        },
        Field {
            name: "cors_origins",
            env: "API_SERVER_CORS_ORIGINS",
            secret: false,
            doc: "Origins of web pages that may call it, separated by commas; none unless set.",
        },
        Field {
            name: "max_concurrent_runs",
            env: "API_SERVER_MAX_CONCURRENT_RUNS",
            secret: false,
            doc: "Turns that run at a time; more wait. 64 unless set.",
        },
    ],
    needs: &["key"],
    setup: "The API server speaks to programs on this machine. Make a key that nobody guesses:\n\n    openssl rand -hex 24",
    make: |row, section| Settings::of(row, section).map(|_| Arc::new(Door) as Arc<dyn Platform>),
};

/// How it is served.
#[derive(Clone, Debug)]
pub struct Settings {
    pub address: SocketAddr,
    pub key: Secret,
    pub origins: Vec<String>,
    pub concurrent: usize,
}

impl Settings {
    /// # Errors
    /// What does not fit.
    pub fn of(row: &Row, section: &Section) -> Result<Self, Misconfigured> {
        let key = section.needed(row, "key")?.clone();
        let wrong = |name: &str, reason: String| Misconfigured {
            platform: NAME,
            reason: format!("`platforms.{NAME}.{name}` {reason}"),
            fix: match row.field(name) {
                Some(field) => format!("set `{}` in .env", field.env),
                None => String::new(),
            },
        };
        if key.reveal().chars().count() < KEY_CHARS_MIN {
            return Err(wrong("key", format!("has fewer than {KEY_CHARS_MIN} characters")));
        }
        let host = section.text("host").unwrap_or("127.0.0.1");
        let host: IpAddr = match host {
            "localhost" => [127, 0, 0, 1].into(),
            host => host.parse().map_err(|_| wrong("host", format!("is no IP address: `{host}`")))?,
        };
        let number = |name: &str, usual: usize| match section.text(name) {
            None => Ok(usual),
            Some(text) => text.parse().map_err(|_| wrong(name, format!("is no number: `{text}`"))),
        };
        let port = u16::try_from(number("port", usize::from(PORT))?)
            .map_err(|_| wrong("port", "is above 65535".to_owned()))?;
        Ok(Self {
            address: SocketAddr::new(host, port),
            key,
            origins: section.list("cors_origins"),
            concurrent: number("max_concurrent_runs", CONCURRENT)?.max(1),
        })
    }
}

/// The platform that the API is to the rest: what is answered is in the log, where clients read it.
struct Door;

/// Every answer is kept under its key, so that a repeat is none.
const CAPABILITIES: Capabilities =
    Capabilities { keyed: true, own_access: true, ..Capabilities::plain(NAME) };

impl Platform for Door {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn run<'a>(&'a self, _: &'a dyn Inlet, stop: CancellationToken) -> BoxFuture<'a, Result<(), Stopped>> {
        Box::pin(async move {
            stop.cancelled().await;
            Ok(())
        })
    }

    fn send<'a>(&'a self, _: &'a Outgoing) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(async { Ok(None) })
    }

    fn probe(&self) -> BoxFuture<'_, Result<Identity, Stopped>> {
        Box::pin(async { Ok(Identity { id: NAME.to_owned(), name: String::new() }) })
    }
}
