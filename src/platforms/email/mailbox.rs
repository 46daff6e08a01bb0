//! The mailbox over IMAP (RFC 3501, IDLE by RFC 2177): connecting, reading, marking, waiting.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_imap::{Client, Session};
use futures_util::TryStreamExt;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, pki_types::ServerName};

use super::{Account, Host, Security};

/// How long a step of the conversation may take.
const STEP_MAX: Duration = Duration::from_secs(60);
/// How long a mail may take to be fetched.
const FETCH_MAX: Duration = Duration::from_secs(180);
/// How long the server is waited for before herm looks by itself; servers and routers forget quiet
/// connections after some minutes.
const IDLE_MAX: Duration = Duration::from_secs(120);
/// How often herm looks where the server cannot tell.
const POLL_EVERY: Duration = Duration::from_secs(30);
/// Bytes of a mail that is too long as a whole: its headers and the beginning of its text.
pub(super) const BEGINNING_BYTES: u64 = 256 << 10;

pub(super) trait Line: AsyncRead + AsyncWrite + Unpin + Send + Debug {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send + Debug> Line for T {}

/// Why it does not go on.
#[derive(Debug)]
pub(super) enum Failed {
    /// The server does not take the password.
    Account(String),
    /// Anything that may be otherwise the next time.
    Passing(String),
}

type Result<T> = std::result::Result<T, Failed>;

fn passing(error: impl ToString) -> Failed {
    Failed::Passing(error.to_string())
}

async fn within<T, E: ToString>(
    time: Duration,
    step: impl Future<Output = std::result::Result<T, E>>,
) -> Result<T> {
    match timeout(time, step).await {
        Ok(done) => done.map_err(passing),
        Err(_) => Err(Failed::Passing(format!("no answer within {} s", time.as_secs()))),
    }
}

/// A mail, as it is listed.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub uid: u32,
    pub bytes: u64,
    /// Seconds since the epoch.
    pub arrived: i64,
    pub seen: bool,
}

/// The opened inbox.
pub(super) struct Mailbox {
    /// Gone while it waits.
    session: Option<Session<Box<dyn Line>>>,
    can_idle: bool,
    pub validity: u32,
    /// The number that the next mail will have.
    pub next: u32,
}

impl Mailbox {
    /// Connects, logs in and opens the inbox.
    pub async fn open(account: &Account) -> Result<Self> {
        let mut session = log_in(account).await?;
        let can = within(STEP_MAX, session.capabilities()).await?;
        let opened = within(STEP_MAX, session.select("INBOX")).await?;
        let validity = opened.uid_validity.ok_or_else(|| passing("the server has no UIDVALIDITY"))?;
        let next = opened.uid_next.ok_or_else(|| passing("the server has no UIDNEXT"))?;
        Ok(Self { session: Some(session), can_idle: can.has_str("IDLE"), validity, next })
    }

    fn session(&mut self) -> Result<&mut Session<Box<dyn Line>>> {
        let session = self.session.as_mut().ok_or_else(|| passing("the connection is gone"))?;
        // What the server says unasked is seen by the next look; the queue must not fill.
        while session.unsolicited_responses.try_recv().is_ok() {}
        Ok(session)
    }

    /// The mails behind a number, in their order.
    pub async fn behind(&mut self, uid: u32) -> Result<Vec<Listed>> {
        let set = format!("{}:*", uid.saturating_add(1));
        let session = self.session()?;
        let fetched = within(STEP_MAX, async {
            let fetched = session.uid_fetch(set, "(UID FLAGS INTERNALDATE RFC822.SIZE)").await?;
            fetched.try_collect::<Vec<_>>().await
        })
        .await?;
        let listed = fetched.iter().filter_map(|mail| {
            Some(Listed {
                uid: mail.uid?,
                bytes: u64::from(mail.size.unwrap_or_default()),
                arrived: mail.internal_date().map_or(0, |at| at.timestamp()),
                seen: mail.flags().any(|flag| matches!(flag, async_imap::types::Flag::Seen)),
            })
        });
        // `n:*` is the last mail at least, even where it has a smaller number.
        let mut listed: Vec<Listed> = listed.filter(|mail| mail.uid > uid).collect();
        listed.sort_by_key(|mail| mail.uid);
        listed.dedup_by_key(|mail| mail.uid);
        Ok(listed)
    }

    /// A mail, whole or its beginning; `None` if it is gone by now.
    pub async fn mail(&mut self, uid: u32, whole: bool) -> Result<Option<Vec<u8>>> {
        let what = match whole {
            true => "(UID BODY.PEEK[])".to_owned(),
            false => format!("(UID BODY.PEEK[]<0.{BEGINNING_BYTES}>)"),
        };
        let session = self.session()?;
        let fetched = within(FETCH_MAX, async {
            let fetched = session.uid_fetch(uid.to_string(), what).await?;
            fetched.try_collect::<Vec<_>>().await
        })
        .await?;
        let mail = fetched.iter().find(|mail| mail.uid == Some(uid)).and_then(|mail| mail.body());
        Ok(mail.map(<[u8]>::to_vec))
    }

    /// Marks a mail as read.
    pub async fn mark(&mut self, uid: u32) -> Result<()> {
        let session = self.session()?;
        within(STEP_MAX, async {
            let marked = session.uid_store(uid.to_string(), "+FLAGS.SILENT (\\Seen)").await?;
            marked.try_collect::<Vec<_>>().await
        })
        .await
        .map(|_| ())
    }

    /// The headers of the last mail that is, or refers to, the one of this id; the id has no blanks.
    pub async fn last_of(&mut self, id: &str) -> Result<Option<Vec<u8>>> {
        let id = id.replace(['"', '\\'], "");
        let query = format!("OR HEADER Message-ID \"{id}\" HEADER References \"{id}\"");
        let session = self.session()?;
        let found = within(STEP_MAX, session.uid_search(query)).await?;
        match found.into_iter().max() {
            Some(uid) => self.mail(uid, false).await,
            None => Ok(None),
        }
    }

    /// Waits until something may be new.
    pub async fn wait(&mut self) -> Result<()> {
        if !self.can_idle {
            sleep(POLL_EVERY).await;
            let session = self.session()?;
            return within(STEP_MAX, session.noop()).await;
        }
        self.session()?;
        let Some(session) = self.session.take() else { return Err(passing("the connection is gone")) };
        let mut idle = session.idle();
        within(STEP_MAX, idle.init()).await?;
        let (news, _interrupt) = idle.wait_with_timeout(IDLE_MAX);
        news.await.map_err(passing)?;
        self.session = Some(within(STEP_MAX, idle.done()).await?);
        Ok(())
    }
}

async fn log_in(account: &Account) -> Result<Session<Box<dyn Line>>> {
    let host = &account.imap;
    let plain = within(STEP_MAX, TcpStream::connect((host.name.as_str(), host.port))).await?;
    let line: Box<dyn Line> = match host.security {
        Security::Implicit => Box::new(secured(host, plain).await?),
        _ => Box::new(plain),
    };
    let mut client = Client::new(line);
    let greeting = within(STEP_MAX, client.read_response()).await?;
    greeting.ok_or_else(|| passing("the server hung up"))?;
    if host.security == Security::StartTls {
        within(STEP_MAX, client.run_command_and_check_ok("STARTTLS", None)).await?;
        let line: Box<dyn Line> = Box::new(secured(host, client.into_inner()).await?);
        client = Client::new(line);
    }
    let login = client.login(&account.user, account.password.reveal());
    match timeout(STEP_MAX, login).await {
        Ok(Ok(session)) => Ok(session),
        Ok(Err((async_imap::error::Error::No(why), _))) if !is_passing(&why) => Err(Failed::Account(why)),
        Ok(Err((error, _))) => Err(passing(error)),
        Err(_) => Err(passing("no answer to the login")),
    }
}

/// A refusal that has nothing to do with the password (RFC 5530).
fn is_passing(why: &str) -> bool {
    let why = why.to_ascii_lowercase();
    ["unavailable", "inuse", "limit", "temporar", "try again"].iter().any(|word| why.contains(word))
}

async fn secured(host: &Host, line: impl Line + 'static) -> Result<impl Line + 'static> {
    // The first installation stays; a second one finds it and changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = ClientConfig::builder().with_platform_verifier().map_err(passing)?.with_no_client_auth();
    let name = ServerName::try_from(host.name.clone()).map_err(passing)?;
    within(STEP_MAX, TlsConnector::from(Arc::new(config)).connect(name, line)).await
}
