//! Matrix, by the client-server API 1.11 of a homeserver: what it can do, what it is configured with, and
//! the way through its rooms. Encrypted rooms need a build with the feature `matrix-encryption`; without
//! it such a room is told so, once.
//!
//! `wire` is what goes over the wire, `inbound` and `mentions` read it, `memory` and `rooms` know what the
//! events are about, `media` fetches files; `run` syncs, `visits` follows invitations; `outbound` and
//! `acts` write, and `refusal` knows what a refusal means. Only `api` touches the network; `encryption`
//! (in a build without it, `plain`) opens and seals. Start reading at `run`.

mod acts;
mod api;
#[cfg_attr(not(feature = "matrix-encryption"), path = "plain.rs")]
mod encryption;
mod inbound;
mod media;
mod memory;
mod mentions;
mod outbound;
mod refusal;
mod rooms;
mod run;
mod visits;
mod wire;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use self::api::{Api, Call, Failed};
use self::encryption::Encryption;
use self::memory::Memory;
use self::mentions::Me;
use self::rooms::Rooms;
use self::visits::Visits;
use self::wire::WhoAmI;
use super::table::{Field, Misconfigured, Row, Section};
use super::{Act, Capabilities, Identity, Inlet, Outgoing, Platform, SendFailure, Stopped};
use crate::delivery::{Format, Limit, Markup, Unit};
use crate::providers::BoxFuture;

/// Largest file that is sent; Synapse takes 50 MiB unless it is configured otherwise.
const FILE_BYTES_MAX: u64 = 50_000_000;
/// How long typing is shown.
const TYPING: Duration = Duration::from_secs(10);

const CAPABILITIES: Capabilities = Capabilities {
    keyed: true,
    // An event has at most 65,536 bytes, and holds the text with markup and without.
    format: Format { markup: Markup::Html, limit: Some(Limit { max: 16_000, unit: Unit::Bytes }) },
    // Synapse takes one message in five seconds on and on, and counts changes among them.
    edit_every: Some(Duration::from_secs(5)),
    deletes: true,
    typing: Some(TYPING),
    reactions: true,
    file_bytes_max: Some(FILE_BYTES_MAX),
    ..Capabilities::plain(inbound::NAME)
};

pub(super) const ROW: Row = Row {
    name: inbound::NAME,
    about: match cfg!(feature = "matrix-encryption") {
        true => "Matrix: rooms and their threads on any homeserver, encrypted ones as well; files, reactions",
        false => "Matrix: rooms and their threads on any homeserver; files, reactions; no encrypted rooms",
    },
    fields: &[
        Field {
            name: "homeserver",
            env: "MATRIX_HOMESERVER",
            secret: false,
            doc: "The address of the account's homeserver, such as `https://matrix.example.org`.",
        },
        Field {
            name: "token",
            env: "MATRIX_ACCESS_TOKEN",
            secret: true,
            doc: "The access token of herm's account, as a login answers it.",
        },
        Field {
            name: "auto_join",
            env: "MATRIX_AUTO_JOIN",
            secret: false,
            doc: "`false`: herm follows no invitations; its account joins rooms by another client.",
        },
    ],
    needs: &["homeserver", "token"],
    setup: "\
1. Register an account for herm at a homeserver, by any client or by its administrator; it should be
   herm's alone.
2. Log in for herm, so that it has a device of its own:
   curl -d '{\"type\":\"m.login.password\",\"identifier\":{\"type\":\"m.id.user\",\"user\":\"NAME\"},
   \"password\":\"PASSWORD\",\"initial_device_display_name\":\"herm\"}' HOMESERVER/_matrix/client/v3/login
3. Set the `access_token` of the answer as `MATRIX_ACCESS_TOKEN`, and the homeserver's address as
   `MATRIX_HOMESERVER`. The address may differ from the end of the user name: the answer of
   https://SERVER/.well-known/matrix/client has it as `base_url`.
4. Do not log this device out; logging out ends the token.
5. Open a room, invite herm and write: herm answers with a code to pair you. Encrypted rooms need a herm
   that was built with `--features matrix-encryption`; without it open a room WITHOUT encryption. Many
   clients encrypt conversations of two unless told otherwise when the room is made.",
    make,
};

/// An account on a homeserver.
struct Matrix {
    api: Api,
    auto_join: bool,
    encryption: Encryption,
    me: OnceCell<Me>,
    rooms: Rooms,
    memory: Memory,
    visits: Visits,
    /// Messages that herm has reacted to, and by which events.
    reactions: Mutex<VecDeque<(String, String)>>,
    /// When the adapter was made, in milliseconds since the epoch.
    begun_ms: i64,
    transactions: AtomicU64,
}

fn make(row: &Row, section: &Section) -> Result<Arc<dyn Platform>, Misconfigured> {
    let token = section.needed(row, "token")?.clone();
    let homeserver = section.text("homeserver").ok_or_else(|| row.missing("homeserver"))?;
    // It becomes part of a header.
    if !token.reveal().chars().all(|c| c.is_ascii_graphic()) {
        return Err(Misconfigured {
            platform: row.name,
            reason: "the token has characters that no token has".to_owned(),
            fix: "copy the access token into `MATRIX_ACCESS_TOKEN` once more".to_owned(),
        });
    }
    let api = Api::new(homeserver, token).map_err(|error| Misconfigured {
        platform: row.name,
        reason: format!("`homeserver` is no address: {error}"),
        fix: "set `MATRIX_HOMESERVER` to `https://HOST`".to_owned(),
    })?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Arc::new(Matrix {
        api,
        auto_join: section.text("auto_join") != Some("false"),
        encryption: Encryption::new(section.folder().map(std::path::Path::to_owned)),
        me: OnceCell::new(),
        rooms: Rooms::default(),
        memory: Memory::default(),
        visits: Visits::default(),
        reactions: Mutex::default(),
        begun_ms: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
        transactions: AtomicU64::new(u64::try_from(now.as_nanos()).unwrap_or_default()),
    }))
}

impl Matrix {
    async fn account(&self) -> Result<WhoAmI, Failed> {
        self.api.call(Call::get(&["client", "v3", "account", "whoami"])).await
    }

    /// Who herm is here; asked once.
    async fn me(&self) -> Result<&Me, Failed> {
        self.me
            .get_or_try_init(|| async {
                let id = self.account().await?.user_id;
                let name = match self.api.call::<Value>(Call::get(&["client", "v3", "profile", &id])).await {
                    Ok(profile) => profile.get("displayname").and_then(Value::as_str).map(str::to_owned),
                    Err(failed) if failed.is_missing() || failed.has_code("M_FORBIDDEN") => None,
                    Err(failed) => return Err(failed),
                };
                Ok(Me { id, name })
            })
            .await
    }

    /// A transaction id for what is shown and never owed; begins at the clock, so that no restart uses
    /// one again.
    fn transaction(&self) -> String {
        format!("herm-{}", self.transactions.fetch_add(1, Ordering::Relaxed))
    }

    fn reaction_given(&self, message_id: &str, event_id: String, count_max: usize) {
        let mut reactions = self.reactions.lock().unwrap_or_else(PoisonError::into_inner);
        reactions.push_back((message_id.to_owned(), event_id));
        if reactions.len() > count_max {
            reactions.pop_front();
        }
    }

    /// The reactions that were given to a message, which are forgotten by that.
    fn reactions_taken(&self, message_id: &str) -> Vec<String> {
        let mut reactions = self.reactions.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, others): (VecDeque<_>, _) = reactions.drain(..).partition(|(of, _)| of == message_id);
        *reactions = others;
        of.into_iter().map(|(_, event_id)| event_id).collect()
    }
}

impl Platform for Matrix {
    fn capabilities(&self) -> &Capabilities {
        &CAPABILITIES
    }

    fn run<'a>(
        &'a self,
        inlet: &'a dyn Inlet,
        stop: CancellationToken,
    ) -> BoxFuture<'a, Result<(), Stopped>> {
        Box::pin(async move { run::read_until(self, inlet, &stop).await })
    }

    fn send<'a>(&'a self, outgoing: &'a Outgoing) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(outbound::send(self, outgoing))
    }

    fn act<'a>(&'a self, act: &'a Act) -> BoxFuture<'a, Result<Option<String>, SendFailure>> {
        Box::pin(acts::act(self, act))
    }

    fn probe(&self) -> BoxFuture<'_, Result<Identity, Stopped>> {
        Box::pin(async {
            let account = self.account().await.map_err(refusal::of_account)?;
            Ok(Identity { name: account.user_id.clone(), id: account.user_id })
        })
    }
}
