//! E-mail over real servers: Dovecot and Postfix from Debian, on high ports of loopback, with a
//! configuration of their own. Without them, or without root, the test says that it is skipped.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use herm::platforms::contract::{Desk, Running, eventually};
use herm::platforms::table::{PLATFORMS, Section};
use herm::platforms::{Content, Inbound, Outgoing, Platform, Say, Stopped, What, Written};
use herm_schema::events::{ChatRef, DeliveryFailure};
use lettre::message::header::ContentType;
use lettre::message::{Attachment, MultiPart, SinglePart};
use lettre::{Message, SmtpTransport, Transport};
use tokio::time::{Instant, sleep};

const PASSWORD: &str = "secret7391";
/// How long the servers may take to be there.
const START_MAX: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Both servers; they end when this is dropped.
struct Servers {
    folder: tempfile::TempDir,
    dovecot: Child,
    imap: u16,
    smtp: u16,
}

impl Drop for Servers {
    fn drop(&mut self) {
        // They may have ended by themselves, which is as good.
        let _ = postfix(self.folder.path(), "stop");
        let _ = self.dovecot.kill();
        let _ = self.dovecot.wait();
    }
}

fn is_there(program: &str) -> bool {
    Path::new("/usr/sbin").join(program).exists()
}

fn port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

fn postfix(folder: &Path, what: &str) -> std::io::Result<std::process::ExitStatus> {
    let mut command = Command::new("/usr/sbin/postfix");
    command.arg("-c").arg(folder.join("pf")).arg(what);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()
}

/// How the servers speak.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speech {
    Plain,
    /// By STARTTLS, with a certificate of an authority of their own, and whoever sends logs in.
    Tls,
}

/// Makes an authority, and a certificate for this machine. Whether it could be made.
fn certificate(at: &str) -> bool {
    let extensions = "subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n";
    fs::write(format!("{at}/extensions"), extensions).unwrap();
    let steps = [
        format!(
            "req -x509 -newkey rsa:2048 -nodes -keyout {at}/ca.key -out {at}/ca.pem -days 2 -subj /CN=Kit \
             -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign"
        ),
        format!("req -newkey rsa:2048 -nodes -keyout {at}/own.key -out {at}/own.csr -subj /CN=localhost"),
        format!(
            "x509 -req -in {at}/own.csr -CA {at}/ca.pem -CAkey {at}/ca.key -CAcreateserial -out {at}/own.pem \
             -days 2 -extfile {at}/extensions"
        ),
    ];
    steps.iter().all(|step| {
        let mut openssl = Command::new("openssl");
        openssl.args(step.split_whitespace()).stdin(Stdio::null());
        openssl.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|ended| ended.success())
    })
}

impl Servers {
    async fn start(speech: Speech) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (imap, smtp) = (port(), port());
        let at = folder.path().display().to_string();
        // Both servers give up their rights, and have to get in all the same.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["mail", "pf", "spool", "data"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let users: String = ["herm", "ada"]
            .iter()
            .map(|user| format!("{user}@herm.test:{{PLAIN}}{PASSWORD}:65534:65534::{at}/mail/{user}::\n"))
            .collect();
        fs::write(folder.path().join("users"), users).unwrap();
        std::os::unix::fs::chown(folder.path().join("mail"), Some(65534), Some(65534)).unwrap();
        if speech == Speech::Tls {
            assert!(certificate(&at));
        }
        fs::write(folder.path().join("dovecot.conf"), dovecot_conf(&at, imap, speech)).unwrap();
        fs::write(folder.path().join("pf/main.cf"), postfix_conf(&at, speech)).unwrap();
        let dist = fs::read_to_string("/usr/share/postfix/master.cf.dist").unwrap();
        fs::write(folder.path().join("pf/master.cf"), master_conf(&dist, smtp)).unwrap();
        let owned = Command::new("chown").arg("postfix").arg(folder.path().join("data")).status().unwrap();
        assert!(owned.success());
        let log = fs::File::create(folder.path().join("out.log")).unwrap();
        let mut dovecot = Command::new("/usr/sbin/dovecot");
        dovecot.args(["-F", "-c"]).arg(folder.path().join("dovecot.conf")).stdin(Stdio::null());
        let dovecot = dovecot.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let servers = Self { folder, dovecot, imap, smtp };
        assert!(postfix(servers.folder.path(), "start").unwrap().success(), "{}", servers.log());
        let end = Instant::now() + START_MAX;
        for port in [imap, smtp] {
            while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                assert!(Instant::now() < end, "they did not start: {}", servers.log());
                sleep(LOOK_EVERY).await;
            }
        }
        servers
    }

    fn log(&self) -> String {
        let read = |name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        ["out.log", "dovecot.log", "postfix.log"].map(read).join("\n")
    }

    fn adapter(&self, password: &str) -> Arc<dyn Platform> {
        let row = PLATFORMS.iter().find(|row| row.name == "email").unwrap();
        let mut section = Section::default();
        let (imap, smtp) = (self.imap.to_string(), self.smtp.to_string());
        for (name, value) in [
            ("address", "herm@herm.test"),
            ("password", password),
            ("imap_host", "127.0.0.1"),
            ("smtp_host", "127.0.0.1"),
            ("imap_port", &imap),
            ("smtp_port", &smtp),
            ("tls", "none"),
            ("trust_from", "true"),
        ] {
            section.set(row.field(name).unwrap(), value);
        }
        (row.make)(row, &section).unwrap()
    }

    /// Ada sends a mail, with a file.
    fn mail(&self, id: &str, references: Option<&str>, text: &str) {
        let mut message = Message::builder()
            .from("Ada <ada@herm.test>".parse().unwrap())
            .to("herm@herm.test".parse().unwrap())
            .subject("Plans")
            .message_id(Some(format!("<{id}>")));
        if let Some(references) = references {
            message = message.in_reply_to(references.to_owned()).references(references.to_owned());
        }
        let file = Attachment::new("a.csv".to_owned()).body("a,b".to_owned(), ContentType::TEXT_PLAIN);
        let parts = MultiPart::mixed().singlepart(SinglePart::plain(text.to_owned())).singlepart(file);
        let relay = SmtpTransport::builder_dangerous("127.0.0.1").port(self.smtp).build();
        relay.send(&message.multipart(parts).unwrap()).unwrap();
    }

    /// Files of somebody's mailbox.
    fn files(&self, user: &str, part: &str) -> Vec<PathBuf> {
        let folder = self.folder.path().join("mail").join(user).join(part);
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

fn dovecot_conf(at: &str, port: u16, speech: Speech) -> String {
    let tls = match speech {
        Speech::Plain => "ssl = no\ndisable_plaintext_auth = no\n".to_owned(),
        Speech::Tls => format!(
            "ssl = required\nssl_cert = <{at}/own.pem\nssl_key = <{at}/own.key\nservice auth {{\n  \
             unix_listener auth-client {{\n    mode = 0666\n  }}\n}}\n"
        ),
    };
    format!(
        "{tls}base_dir = {at}/run\nstate_dir = {at}/state\nlog_path = {at}/dovecot.log\nprotocols = imap lmtp\n\
         listen = 127.0.0.1\nmail_location = maildir:~\n\
         first_valid_uid = 1\npassdb {{\n  driver = passwd-file\n  args = {at}/users\n}}\n\
         userdb {{\n  driver = passwd-file\n  args = {at}/users\n}}\n\
         service imap-login {{\n  inet_listener imap {{\n    port = {port}\n  }}\n  inet_listener imaps {{\n    \
         port = 0\n  }}\n}}\nservice lmtp {{\n  unix_listener lmtp {{\n    mode = 0666\n  }}\n}}\n"
    )
}

/// `gone` is a mailbox that Postfix knows and Dovecot does not, so that a mail to it comes back.
fn postfix_conf(at: &str, speech: Speech) -> String {
    let tls = match speech {
        Speech::Plain => String::new(),
        Speech::Tls => format!(
            "smtpd_tls_security_level = may\nsmtpd_tls_cert_file = {at}/own.pem\nsmtpd_tls_loglevel = 1\n\
             smtpd_tls_key_file = {at}/own.key\nsmtpd_sasl_auth_enable = yes\nsmtpd_sasl_type = dovecot\n\
             smtpd_sasl_path = {at}/run/auth-client\nsmtpd_tls_auth_only = yes\n"
        ),
    };
    format!(
        "{tls}compatibility_level = 3.6\nqueue_directory = {at}/spool\ndata_directory = {at}/data\n\
         command_directory = /usr/sbin\ndaemon_directory = /usr/lib/postfix/sbin\nmail_owner = postfix\n\
         setgid_group = postdrop\ninet_interfaces = 127.0.0.1\ninet_protocols = ipv4\n\
         myhostname = mx.herm.test\nmydestination =\nmynetworks = 127.0.0.0/8\n\
         virtual_mailbox_domains = herm.test\nvirtual_transport = lmtp:unix:{at}/run/lmtp\n\
         virtual_mailbox_maps = inline:{{ {{herm@herm.test=1}} {{ada@herm.test=1}} {{gone@herm.test=1}} }}\n\
         maillog_file = {at}/postfix.log\nmaillog_file_prefixes = /\nsmtpd_peername_lookup = no\n"
    )
}

/// Debian's services, without `chroot`, and with the port of this test.
fn master_conf(dist: &str, port: u16) -> String {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["smtp", "inet", ..] => format!("127.0.0.1:{port} inet n - n - - smtpd"),
            [name, kind, private, unprivileged, "y", rest @ ..] if !line.starts_with(['#', ' ']) => {
                format!("{name} {kind} {private} {unprivileged} n {}", rest.join(" "))
            }
            _ => line.to_owned(),
        }
    };
    dist.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

fn place(address: &str, thread: &str) -> ChatRef {
    let (platform, chat) = ("email".to_owned(), address.to_owned());
    ChatRef { platform, chat, thread: Some(thread.to_owned()) }
}

fn text(chat: &ChatRef, key: &str, text: &str, plain: &str) -> Outgoing {
    Outgoing {
        target: chat.clone(),
        content: Say::Text(Written { text: text.to_owned(), plain: plain.to_owned() }),
        key: key.to_owned(),
        possible_repeat: false,
        reply_to: None,
        replaces: None,
        buttons: Vec::new(),
    }
}

#[tokio::test]
async fn a_person_writes_with_herm_through_dovecot_and_postfix() {
    if !is_there("dovecot") || !is_there("postfix") || !is_root() {
        println!("skipped: Dovecot or Postfix is not installed, see `.ci/run`, or this is not root");
        return;
    }
    let servers = Servers::start(Speech::Plain).await;
    let platform = servers.adapter(PASSWORD);
    assert_eq!(platform.probe().await.unwrap().id, "herm@herm.test", "{}", servers.log());
    let wrong = servers.adapter("another").probe().await.unwrap_err();
    assert!(matches!(wrong, Stopped::Terminal { .. }), "{wrong:?}");

    let (desk, chat) = (Desk::new(1000), place("ada@herm.test", "1@ada.test"));
    let running = Running::start(platform.clone(), &desk);
    servers.mail("1@ada.test", None, "shall we go");
    let (inbound, message) = desk.message(&chat, "shall we go").await;
    assert_eq!((inbound.author.id.as_str(), inbound.author.name.as_deref()), ("ada@herm.test", Some("Ada")));
    assert_eq!(message.media.first().map(|file| &file.content), Some(&Content::Bytes(b"a,b".to_vec())));
    let is_read =
        |path: &PathBuf| path.to_string_lossy().rsplit(',').next().is_some_and(|flags| flags.contains('S'));
    eventually("the mark", || servers.files("herm", "cur").iter().any(is_read).then_some(())).await;
    let id = platform.send(&text(&chat, "key-1", "<b>yes</b>", "yes")).await.unwrap().unwrap();
    let came = eventually("the answer", || servers.files("ada", "new").first().cloned()).await;
    let mail = fs::read_to_string(came).unwrap();
    for line in
        ["Subject: Re: Plans", "In-Reply-To: <1@ada.test>", "References: <1@ada.test>", "<b>yes</b>", &id]
    {
        assert!(mail.contains(line), "{line}: {mail}");
    }
    running.stop().await;

    // Said while herm was away; a new adapter goes on from the cursor.
    servers.mail("2@ada.test", Some(&format!("<1@ada.test> <{id}>")), "at last");
    let running = Running::start(servers.adapter(PASSWORD), &desk);
    let (_, message) = desk.message(&chat, "at last").await;
    assert!(message.reply.is_some_and(|reply| !reply.ours), "it names the first mail before herm's");
    assert_eq!(desk.of(&chat).len(), 2);
    bounces(&servers, &*platform, &desk).await;
    running.stop().await;
}

/// herm as people run it, over TLS that it can trust, and then over TLS that it cannot.
#[tokio::test]
async fn the_mailbox_is_read_and_answered_over_tls_and_not_where_nobody_vouches_for_it() {
    let has_openssl = Command::new("openssl").arg("version").output().is_ok();
    if !is_there("dovecot") || !is_there("postfix") || !is_root() || !has_openssl {
        println!("skipped: Dovecot, Postfix or openssl is not installed, see `.ci/run`, or this is not root");
        return;
    }
    let servers = Servers::start(Speech::Tls).await;
    let home = tempfile::tempdir().unwrap();
    let gateway = |authority: &Path| {
        let mut herm = Command::new(env!("CARGO_BIN_EXE_herm"));
        herm.args(["gateway", "run"]).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        herm.env("HOME", home.path()).env("HERM_HOME", home.path().join("herm"));
        herm.env("SSL_CERT_FILE", authority).env("HERM_SESSION_TITLES", "false");
        herm.env("EMAIL_ADDRESS", "herm@herm.test").env("EMAIL_PASSWORD", PASSWORD);
        herm.env("EMAIL_IMAP_HOST", "localhost").env("EMAIL_IMAP_PORT", servers.imap.to_string());
        herm.env("EMAIL_SMTP_HOST", "localhost").env("EMAIL_SMTP_PORT", servers.smtp.to_string());
        herm.env("EMAIL_TRUST_FROM", "true").env("EMAIL_ALLOW_ALL_USERS", "true");
        let said = fs::File::create(home.path().join("said")).unwrap();
        herm.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn().unwrap()
    };
    let said = || fs::read_to_string(home.path().join("said")).unwrap();

    let elsewhere = tempfile::tempdir().unwrap();
    assert!(certificate(&elsewhere.path().display().to_string()));
    let mut herm = gateway(&elsewhere.path().join("ca.pem"));
    let refused = async {
        while !said().contains("certificate") {
            sleep(LOOK_EVERY).await;
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(20), refused).await;
    assert!(refused.is_ok(), "{}", said());
    herm.kill().unwrap();
    herm.wait().unwrap();

    let mut herm = gateway(&servers.folder.path().join("ca.pem"));
    servers.mail("1@ada.test", None, "shall we go");
    let came = eventually("the answer", || servers.files("ada", "new").first().cloned()).await;
    let mail = fs::read_to_string(came).unwrap();
    assert!(mail.contains("In-Reply-To: <1@ada.test>"), "{mail}");
    let log = servers.log();
    assert!(log.contains("TLS connection established") && log.contains(", TLS"), "{log}");
    herm.kill().unwrap();
    herm.wait().unwrap();
}

/// Mails to nobody are refused, or come back.
async fn bounces(servers: &Servers, platform: &dyn Platform, desk: &Desk) {
    let nobody = text(&place("nobody@herm.test", "1@x"), "key-2", "x", "x");
    let failure = platform.send(&nobody).await.unwrap_err();
    assert_eq!(failure.class, DeliveryFailure::Gone, "{failure:?}");
    let gone = place("gone@herm.test", "1@x");
    platform.send(&text(&gone, "key-3", "x", "x")).await.unwrap();
    let removed = |inbound: &Inbound| matches!(inbound.what, What::Removed { .. }).then_some(());
    let came =
        tokio::time::timeout(Duration::from_secs(19), desk.until(&gone, "the mail that comes back", removed));
    assert!(came.await.is_ok(), "{}", servers.log());
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
