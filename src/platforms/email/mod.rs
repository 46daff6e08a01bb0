//! E-mail, by IMAP and SMTP: what it can do, what it is configured with, and the way through its rooms.
//!
//! `headers`, `proof`, `quote` and `inbound` read a mail (PURE), `ids` are those of herm's mails; `mailbox`
//! speaks IMAP and `run` reads by it; `outbound` writes mails, `smtp` hands them over, `threads` knows
//! what they answer. Start reading at `run`.
//!
//! The address in `From` is no proof of who wrote. Unless `trust_from` is set, a mail counts only if the
//! own mail server says that it passed DKIM, SPF or DMARC for that address's domain.

mod headers;
mod ids;
mod inbound;
mod mailbox;
mod outbound;
mod proof;
mod quote;
mod run;
mod smtp;
mod threads;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;

use self::ids::Ids;
use self::mailbox::Mailbox;
use self::threads::Threads;
use super::table::{Field, Misconfigured, Row, Section};
use super::{Capabilities, Identity, Inlet, Outgoing, Platform, SendFailure, Stopped};
use crate::config::Secret;
use crate::delivery::{Format, Limit, Markup, Unit};
use crate::providers::BoxFuture;

/// Largest file that is sent: most servers take mails of 25 MB, and base64 makes it a third longer.
const FILE_BYTES_MAX: u64 = 18_000_000;

const CAPABILITIES: Capabilities = Capabilities {
    // Every attempt at a chunk has the same `Message-ID`, by which many mail programs and some servers
    // show a repeat once. No standard makes them, so nobody may rely on it: this stays `false`.
    keyed: false,
    format: Format { markup: Markup::Html, limit: Some(Limit { max: 50_000, unit: Unit::Chars }) },
    file_bytes_max: Some(FILE_BYTES_MAX),
    ..Capabilities::plain(inbound::NAME)
};

const fn field(name: &'static str, env: &'static str, doc: &'static str) -> Field {
    Field { name, env, secret: false, doc }
}

pub(super) const ROW: Row = Row {
    name: inbound::NAME,
    about: "E-mail: a mailbox of herm's own over IMAP and SMTP; a thread of mails is a chat",
    fields: &[
        field("address", "EMAIL_ADDRESS", "herm's own address; also the name to log in with."),
        Field {
            name: "password",
            env: "EMAIL_PASSWORD",
            secret: true,
            doc: "The password of the mailbox; many providers give one of its own to programs.",
        },
        field("imap_host", "EMAIL_IMAP_HOST", "The server that mails are read from, such as `imap.example.org`."),
        field("smtp_host", "EMAIL_SMTP_HOST", "The server that mails are sent by, such as `smtp.example.org`."),
        field("imap_port", "EMAIL_IMAP_PORT", "993 unless set: TLS at once. On other ports STARTTLS is used."),
        field("smtp_port", "EMAIL_SMTP_PORT", "587 unless set, by STARTTLS; on 465 TLS at once."),
        field("tls", "EMAIL_TLS", "`none`: no TLS, for servers on this machine only."),
        field("user", "EMAIL_USER", "The name to log in with, if it is not the address."),
        field(
            "authserv",
            "EMAIL_AUTHSERV",
            "The first word of `Authentication-Results` in mails that you get, such as `mx.google.com`; \
             without it, the domain of the address and the name of the IMAP server count.",
        ),
        field(
            "trust_from",
            "EMAIL_TRUST_FROM",
            "`true`: whoever a mail says it is from is believed. Anybody can write any sender: only where \
             something else keeps forged mails away.",
        ),
    ],
    needs: &["address", "password", "imap_host", "smtp_host"],
    setup: "\
1. Make a mailbox for herm alone: it reads everything that comes in, and marks it as read.
2. Switch on IMAP in its settings. With two-factor login, make an app password there.
3. Set `EMAIL_ADDRESS`, `EMAIL_PASSWORD`, and the servers' names as `EMAIL_IMAP_HOST` and `EMAIL_SMTP_HOST`;
   the provider's help lists them under \"mail programs\".
4. Look into the source of a mail in that mailbox for the line `Authentication-Results:` and set its first
   word as `EMAIL_AUTHSERV`, such as `mx.google.com`. Mails whose sender is not confirmed there are passed over.
5. Write a mail to herm: it answers with a code to pair you.",
    make,
};

/// How a connection is kept from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Security {
    Implicit,
    StartTls,
    None,
}

#[derive(Clone, Debug)]
struct Host {
    name: String,
    port: u16,
    security: Security,
}

#[derive(Debug)]
struct Account {
    /// In small letters.
    address: String,
    user: String,
    password: Secret,
    imap: Host,
    smtp: Host,
}

/// A mailbox.
struct Email {
    account: Account,
    ids: Ids,
    /// Names of servers that may confirm a sender; `None`: every sender is believed.
    servers: Option<Vec<String>>,
    threads: Threads,
    /// When the adapter was made, in seconds since the epoch.
    begun: i64,
}

fn make(row: &Row, section: &Section) -> Result<Arc<dyn Platform>, Misconfigured> {
    let wrong = |reason: String, fix: &str| Misconfigured { platform: row.name, reason, fix: fix.to_owned() };
    let text = |name: &str| section.text(name).ok_or_else(|| row.missing(name));
    let address = text("address")?.trim().to_ascii_lowercase();
    if address.parse::<lettre::Address>().is_err() {
        return Err(wrong(format!("`{address}` is no address"), "set `EMAIL_ADDRESS` to `name@example.org`"));
    }
    let is_plain = match section.text("tls") {
        None | Some("auto") => false,
        Some("none") => true,
        Some(other) => {
            return Err(wrong(format!("`tls` is `{other}`"), "set `EMAIL_TLS` to `none`, or not at all"));
        }
    };
    let host = |name: &str, port: &str, usual: u16, implicit: u16| {
        let name = text(name)?.to_owned();
        let number = match section.text(port) {
            None => usual,
            Some(given) => given.parse().map_err(|_| {
                wrong(format!("`{port}` is `{given}`"), "set it to a number from 1 to 65535, or not at all")
            })?,
        };
        let is_here = name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        let security = match is_plain {
            true if is_here => Security::None,
            true => {
                let reason = format!("`tls` is `none`, and `{name}` is another machine");
                return Err(wrong(reason, "do not set `EMAIL_TLS`: the password would go in clear"));
            }
            false if number == implicit => Security::Implicit,
            false => Security::StartTls,
        };
        Ok(Host { name, port: number, security })
    };
    let password = section.needed(row, "password")?.clone();
    let (imap, smtp) = (host("imap_host", "imap_port", 993, 993)?, host("smtp_host", "smtp_port", 587, 465)?);
    let own = || vec![address.rsplit('@').next().unwrap_or_default().to_owned(), imap.name.clone()];
    let servers = match (section.text("trust_from"), section.text("authserv")) {
        (Some("true"), _) => None,
        (_, Some(server)) => Some(vec![server.to_owned()]),
        (_, None) => Some(own()),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let user = section.text("user").unwrap_or(&address).to_owned();
    Ok(Arc::new(Email {
        ids: Ids::new(&address, &password),
        account: Account { address, user, password, imap, smtp },
        servers,
        threads: Threads::default(),
        begun: i64::try_from(now.as_secs()).unwrap_or(i64::MAX),
    }))
}

impl Email {
    /// A text of a server's without the password.
    fn clean(&self, text: &str) -> String {
        let password = &self.account.password;
        text.replace(password.reveal(), &password.fingerprint())
    }
}

impl Platform for Email {
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

    fn probe(&self) -> BoxFuture<'_, Result<Identity, Stopped>> {
        Box::pin(async {
            Mailbox::open(&self.account).await.map_err(|failed| run::stopped(self, failed))?;
            let address = self.account.address.clone();
            Ok(Identity { id: address.clone(), name: address })
        })
    }
}
