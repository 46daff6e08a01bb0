//! The way into a double over HTTP: a listener for axum that can be shut and opened again on the same
//! port, and whose connections can be cut.

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, Weak, mpsc};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// Connections that may wait.
const BACKLOG: u32 = 256;

/// A connection; a route gets it by `ConnectInfo<Line>`.
#[derive(Clone, Debug)]
pub struct Line(Arc<std::net::TcpStream>);

impl Line {
    /// Breaks it: whoever waits for an answer gets none.
    pub fn cut(&self) {
        // It may be closed already, which is as good.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl Connected<IncomingStream<'_, Door>> for Line {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.remote_addr().clone()
    }
}

type Lines = Arc<Mutex<Vec<Weak<std::net::TcpStream>>>>;
/// Whether it shall be open, and who waits until it is so.
type Command = (bool, mpsc::Sender<()>);

/// The listener, for `axum::serve`.
pub struct Door {
    addr: SocketAddr,
    /// Bound and never listening: nobody else gets the port while the door is shut.
    _holder: TcpSocket,
    listener: Option<TcpListener>,
    commands: UnboundedReceiver<Command>,
    lines: Lines,
}

fn bound(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    Ok(socket)
}

impl Door {
    fn new(commands: UnboundedReceiver<Command>, lines: Lines) -> io::Result<Self> {
        let holder = bound(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let addr = holder.local_addr()?;
        let listener = Some(bound(addr)?.listen(BACKLOG)?);
        Ok(Self { addr, _holder: holder, listener, commands, lines })
    }

    fn obey(&mut self, (open, done): Command) {
        match (open, self.listener.is_some()) {
            (true, false) => self.listener = Some(bound(self.addr).unwrap().listen(BACKLOG).unwrap()),
            (false, _) => self.listener = None,
            _ => {}
        }
        let _ = done.send(());
    }
}

impl Listener for Door {
    type Io = TcpStream;
    type Addr = Line;

    async fn accept(&mut self) -> (TcpStream, Line) {
        loop {
            let commands = &mut self.commands;
            let stream = match &self.listener {
                Some(listener) => tokio::select! {
                    Some(command) = commands.recv() => {
                        self.obey(command);
                        continue;
                    }
                    accepted = listener.accept() => accepted,
                },
                None => match commands.recv().await {
                    Some(command) => {
                        self.obey(command);
                        continue;
                    }
                    None => std::future::pending().await,
                },
            };
            let Ok((stream, _)) = stream else { continue };
            let Ok(socket) = stream.as_fd().try_clone_to_owned() else { continue };
            let line = Arc::new(std::net::TcpStream::from(socket));
            let mut lines = self.lines.lock().unwrap();
            lines.retain(|line| line.strong_count() > 0);
            lines.push(Arc::downgrade(&line));
            return (stream, Line(line));
        }
    }

    fn local_addr(&self) -> io::Result<Line> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// What a test has of a door; the server behind it stops when this is dropped.
pub struct Doorkeeper {
    addr: SocketAddr,
    commands: UnboundedSender<Command>,
    lines: Lines,
    _stop: oneshot::Sender<()>,
}

impl Doorkeeper {
    /// Serves `router` on a thread of its own.
    pub fn serve(router: axum::Router) -> Self {
        let service = router.into_make_service_with_connect_info::<Line>();
        Self::open_with(async move |door| axum::serve(door, service).await.unwrap())
    }

    /// Gives each connection to `greet`, on a thread of its own: for web sockets.
    pub fn greet<F>(greet: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::open_with(async move |mut door: Door| {
            loop {
                let (stream, line) = door.accept().await;
                let greeted = greet(stream);
                tokio::spawn(async move {
                    greeted.await;
                    // Kept until now, so that it could be cut.
                    drop(line);
                });
            }
        })
    }

    fn open_with(serve: impl AsyncFnOnce(Door) + Send + 'static) -> Self {
        let (commands, obeyed) = unbounded_channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let lines = Lines::default();
        let shared = Arc::clone(&lines);
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let door = Door::new(obeyed, shared).unwrap();
                tell.send(door.addr).unwrap();
                tokio::select! {
                    () = serve(door) => {}
                    _ = stopped => {}
                }
            });
        });
        let addr = told.recv().unwrap();
        Self { addr, commands, lines, _stop: stop }
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Breaks every connection that stands.
    pub fn cut(&self) {
        for line in self.lines.lock().unwrap().drain(..) {
            if let Some(line) = line.upgrade() {
                Line(line).cut();
            }
        }
    }

    /// From now on nobody can connect, and who was connected is not.
    pub fn shut(&self) {
        self.command(false);
        self.cut();
    }

    pub fn open(&self) {
        self.command(true);
    }

    fn command(&self, open: bool) {
        let (done, wait) = mpsc::channel();
        if self.commands.send((open, done)).is_ok() {
            // The double has a thread of its own, so this is a moment.
            let _ = wait.recv();
        }
    }
}
