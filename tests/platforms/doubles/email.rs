//! A double of a mail provider: IMAP with IDLE and SMTP with AUTH, in clear on loopback.
//!
//! [`Double::start`] starts it; an adapter is given [`Double::adapter`]. It has one mailbox, that of herm,
//! and takes every mail that herm sends. `imap` and `smtp` speak, `state` is what it knows, and where the
//! two doors are is here.

mod imap;
mod smtp;
mod state;

use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};

use herm::platforms::Platform;
use herm::platforms::contract::{Bench, Fault, Happening, Record, Who};
use herm::platforms::table::{PLATFORMS, Section};
use herm_schema::events::{ChatKind, ChatRef};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{Notify, oneshot, watch};

use state::State;

/// herm's address and password.
pub const ADDRESS: &str = "herm@double.example";
pub const PASSWORD: &str = "app password 7391";

struct Shared {
    state: Mutex<State>,
    changed: Notify,
    /// Connections that stand, to be broken.
    lines: Mutex<Vec<std::net::TcpStream>>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn cut(&self) {
        for line in self.lines.lock().unwrap().drain(..) {
            // It may be closed already, which is as good.
            let _ = line.shutdown(Shutdown::Both);
        }
    }
}

/// The double; its servers stop when it is dropped.
pub struct Double {
    shared: Arc<Shared>,
    open: watch::Sender<bool>,
    shut: Mutex<mpsc::Receiver<bool>>,
    ports: [SocketAddr; 2],
    _stop: oneshot::Sender<()>,
}

fn bound(addr: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(addr).unwrap();
    socket
}

/// Accepts while it is open; says each change.
async fn door(
    shared: Arc<Shared>,
    holder: TcpSocket,
    mut open: watch::Receiver<bool>,
    told: mpsc::Sender<bool>,
    is_imap: bool,
) {
    let addr = holder.local_addr().unwrap();
    loop {
        open.wait_for(|open| *open).await.unwrap();
        let listener = bound(addr).listen(64).unwrap();
        told.send(true).unwrap();
        loop {
            tokio::select! {
                biased;
                _ = open.wait_for(|open| !*open) => break,
                accepted = listener.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    let line = std::net::TcpStream::from(stream.as_fd().try_clone_to_owned().unwrap());
                    shared.lines.lock().unwrap().push(line);
                    tokio::spawn(serve(Arc::clone(&shared), stream, is_imap));
                }
            }
        }
        drop(listener);
        told.send(false).unwrap();
    }
}

async fn serve(shared: Arc<Shared>, stream: TcpStream, is_imap: bool) {
    // A connection that breaks is what this is for.
    let _ = match is_imap {
        true => imap::serve(&shared, stream).await,
        false => smtp::serve(&shared, stream).await,
    };
}

impl Double {
    pub fn start() -> Self {
        let shared =
            Arc::new(Shared { state: Mutex::default(), changed: Notify::new(), lines: Mutex::default() });
        let (open, opened) = watch::channel(true);
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = mpsc::channel();
        let (ready, ports) = mpsc::channel();
        let inner = Arc::clone(&shared);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                // Bound and never listening: nobody else gets the ports while the doors are shut.
                let holders = [true, false].map(|_| bound(SocketAddr::from(([127, 0, 0, 1], 0))));
                ready.send(holders.each_ref().map(|holder| holder.local_addr().unwrap())).unwrap();
                let [imap, smtp] = holders;
                let imap = door(Arc::clone(&inner), imap, opened.clone(), tell.clone(), true);
                let smtp = door(inner, smtp, opened, tell, false);
                tokio::select! {
                    () = imap => {}
                    () = smtp => {}
                    _ = stopped => {}
                }
            });
        });
        let ports = ports.recv().unwrap();
        let double = Self { shared, open, shut: Mutex::new(told), ports, _stop: stop };
        double.both();
        double
    }

    fn both(&self) {
        let told = self.shut.lock().unwrap();
        for _ in 0..2 {
            // The double has a thread of its own, so this is a moment.
            let _ = told.recv();
        }
    }

    /// A mail comes in as it is.
    pub fn deliver(&self, raw: &str) -> u32 {
        let uid = self.shared.state().deliver(raw.replace('\n', "\r\n").into_bytes());
        self.shared.changed.notify_waiters();
        uid
    }

    /// The server numbers its mails anew.
    pub fn renumber(&self) {
        self.shared.state().validity += 1;
    }

    /// The mails that herm sent, as they are.
    pub fn mails(&self) -> Vec<String> {
        self.shared.state().mails.iter().map(|mail| String::from_utf8_lossy(mail).into_owned()).collect()
    }

    /// The next sending is refused with these words.
    pub fn refuse(&self, words: &str) {
        self.shared.state().refusal = Some(words.to_owned());
    }

    /// The adapter, pointed at this double, with more settings.
    pub fn adapter(&self, more: &[(&str, &str)]) -> Arc<dyn Platform> {
        let row = PLATFORMS.iter().find(|row| row.name == "email").unwrap();
        let mut section = Section::default();
        let [imap, smtp] = self.ports.map(|addr| addr.port().to_string());
        let settings = [
            ("address", ADDRESS),
            ("password", PASSWORD),
            ("imap_host", "127.0.0.1"),
            ("smtp_host", "127.0.0.1"),
            ("imap_port", &imap),
            ("smtp_port", &smtp),
            ("tls", "none"),
        ];
        for (name, value) in settings.iter().chain(more) {
            section.set(row.field(name).unwrap(), value);
        }
        (row.make)(row, &section).unwrap()
    }
}

impl Bench for Double {
    fn platform(&self) -> Arc<dyn Platform> {
        self.adapter(&[])
    }

    fn secrets(&self) -> Vec<String> {
        vec![PASSWORD.to_owned()]
    }

    fn id_of(&self, who: Who) -> String {
        state::address_of(who)
    }

    fn chat(&self, kind: ChatKind, number: usize) -> Option<ChatRef> {
        let thread = Some(format!("root{number}@people.example"));
        let chat = state::address_of(Who::Person(0));
        (kind == ChatKind::Direct).then(|| ChatRef { platform: "email".to_owned(), chat, thread })
    }

    fn happen(&self, happening: &Happening) -> Option<String> {
        let happened = self.shared.state().happen(happening);
        self.shared.changed.notify_waiters();
        happened
    }

    fn is_acknowledged(&self, message_id: &str) -> Option<bool> {
        let state = self.shared.state();
        let mail = state.inbox.iter().find(|mail| mail.message_id == message_id)?;
        Some(mail.seen)
    }

    fn record(&self) -> Record {
        self.shared.state().record.clone()
    }

    fn fail(&self, fault: Fault) -> bool {
        match fault {
            // SMTP tells no time, knows no block but a missing mailbox, and takes any text.
            Fault::RateLimited { .. } | Fault::Blocked | Fault::MarkupRefused => return false,
            Fault::Cut => self.shared.cut(),
            Fault::Unreachable => {
                if self.open.send_replace(false) {
                    self.both();
                }
                self.shared.cut();
            }
            Fault::Unauthorised => {
                self.shared.state().unauthorised = true;
                self.shared.cut();
            }
            next => self.shared.state().fault = Some(next),
        }
        true
    }

    fn heal(&self) {
        let mut state = self.shared.state();
        state.unauthorised = false;
        state.fault = None;
        drop(state);
        if !self.open.send_replace(true) {
            self.both();
        }
    }
}
