//! A conversation from its first prompt to its end.

use std::sync::Arc;

use herm_schema::events::{ChatRef, MessageReceived, Scene, Sender};
use herm_schema::{Event, SessionId, StreamPos};

use super::link::Link;
use super::surroundings::{Surroundings, is_conversation};
use super::talk::Talk;
use super::view::View;
use super::{Chat, Prepared, Resume, editor, files};
use crate::entry::engine::{self, Engine, Front};
use crate::entry::{Exit, Failure, Start};
use crate::inbound::slash;
use crate::inbound::slash_table::Where;
use crate::memory::whose;
use crate::runtime::{Clock, SessionHandle, SystemClock};

/// Events between two times that a one-shot process brings the projections up to date.
const CATCH_UP_EVENTS: u64 = 512;

/// The chat that a terminal is.
pub fn terminal_chat() -> ChatRef {
    ChatRef { platform: "cli".to_owned(), chat: "terminal".to_owned(), thread: None }
}

pub fn run(arguments: &Chat, start: &Start) -> Result<Exit, Failure> {
    let prepared = arguments.prepare(start)?;
    // One question is answered by one thread; a conversation has room for many effects at once.
    let mut builder = match prepared.question {
        Some(_) => tokio::runtime::Builder::new_current_thread(),
        None => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.worker_threads(2).enable_all().build()?;
    let exit = runtime.block_on(converse(&prepared))?;
    // Whatever still reads a terminal or waits for a name server is not worth waiting for.
    runtime.shutdown_background();
    Ok(exit)
}

async fn converse(prepared: &Prepared) -> Result<Exit, Failure> {
    let attended = prepared.question.is_none() && is_conversation();
    let (link, heard) = Link::new(attended);
    let link = Arc::new(link);
    let (people, outlet, watch, ask) = (link.clone(), link.clone(), link.clone(), link.clone());
    let front = Front { people, outlet, watch, ask, whose: whose::together() };
    let mut engine = Engine::start(&prepared.loaded, front).await?;
    // Without a person a process is over before a title would be there; lists show the first words.
    engine.policy.titles &= attended;
    engine.policy.scene = if attended { Scene::Terminal } else { Scene::SingleQuery };
    if let (true, Some(kept)) = (attended, engine.checkpoints.clone())
        && let Some(retention) = prepared.loaded.config.checkpoints.and_then(|config| config.retention)
    {
        let tidy = move || kept.tidy(retention, SystemClock.now());
        drop(tokio::task::spawn_blocking(tidy));
    }
    let first = engine.log.tail().last;
    let follower = match prepared.question {
        Some(_) => None,
        None => Some(engine.views.follow()?),
    };
    let handle = session(&engine, prepared).await?;
    let mut talk = Talk::new(&engine, &prepared.loaded, handle, heard)?;
    if prepared.question.is_none() {
        talk.attach(files::keep(&*engine.log, &prepared.files)?);
    }
    let exit = said(&mut talk, prepared, attended).await;
    engine.environments.close_all().await;
    let exit = exit?;
    drop(follower);
    if prepared.question.is_some() && engine.log.tail().last.0 / CATCH_UP_EVENTS != first.0 / CATCH_UP_EVENTS
    {
        // Nobody else may ever do it; a failure shows in `herm projections status`.
        drop(engine.views.catch_up());
    }
    Ok(exit)
}

/// All that is said, to the end.
async fn said(talk: &mut Talk<'_>, prepared: &Prepared, attended: bool) -> Result<Exit, Failure> {
    match &prepared.question {
        Some(question) => {
            let mut view = view(prepared, Output::Plain);
            talk.warn(&mut view)?;
            let attachments = files::keep(&*talk.engine.log, &prepared.files)?;
            talk.answer_one(question, attachments, &mut view).await
        }
        None if attended => interactive(talk, prepared).await,
        None => {
            let inputs = editor::plain(std::io::BufReader::new(std::io::stdin()))?;
            talk.converse(inputs, true, &mut view(prepared, Output::Plain)).await
        }
    }
}

async fn interactive(talk: &mut Talk<'_>, prepared: &Prepared) -> Result<Exit, Failure> {
    let (inputs, printer) = editor::terminal(editor::EditorOptions {
        prompt: "› ".to_owned(),
        history_file: prepared.loaded.home.history_file(),
        commands: slash::offered(Where::Terminal, true).collect(),
    })?;
    let mut view = view(prepared, Output::Above(printer.clone()));
    talk.greet(&mut view)?;
    let exit = talk.converse(inputs, false, &mut view).await;
    printer.finish();
    exit
}

/// Where the view prints.
enum Output {
    Plain,
    /// Above the line that is being typed.
    Above(editor::Printer),
}

fn view(prepared: &Prepared, output: Output) -> View {
    let audience = Surroundings::here().audience(prepared);
    match output {
        Output::Plain => View::new(audience, prepared.shown(), std::io::stdout(), std::io::stderr()),
        Output::Above(printer) => View::new(audience, prepared.shown(), printer.clone(), printer),
    }
}

/// The session that is talked to: taken up again, or opened.
async fn session(engine: &Engine, prepared: &Prepared) -> Result<SessionHandle, Failure> {
    let found = match prepared.resume {
        Resume::No => None,
        Resume::Newest => engine.newest()?,
        Resume::This(id) => Some(id),
    };
    match found {
        Some(id) => take_up(engine, prepared, id).await,
        None => Ok(engine
            .sessions
            .open(engine::opened(&prepared.loaded, &prepared.cwd), engine.policy.clone())
            .await?),
    }
}

/// A session goes on where it began: what its earlier command lines wrote is nowhere else.
async fn take_up(engine: &Engine, prepared: &Prepared, id: SessionId) -> Result<SessionHandle, Failure> {
    let first = engine.log.read_stream(id.stream(), StreamPos(0)).next().transpose()?;
    let began = match first.map(|recorded| recorded.event) {
        Some(Event::SessionOpened(opened)) => opened.environment,
        _ => String::new(),
    };
    let now = prepared.loaded.config.terminal.environments.backend.name();
    if !began.is_empty() && began != now {
        let message =
            format!("the command lines of session {id} run in `{began}`, and `{now}` is configured");
        let hint = format!("HERM_TERMINAL_BACKEND={began} herm chat --resume {id}");
        return Err(Failure::message(Exit::Config, message).hint(hint));
    }
    Ok(engine.sessions.resume(id, Some(engine.policy.clone())).await?)
}

/// A message that a person typed.
pub fn typed(text: String) -> MessageReceived {
    let clock = SystemClock;
    MessageReceived {
        message_id: format!("{}-{:016x}", clock.now().0, clock.seed()),
        chat: terminal_chat(),
        sender: Sender { id: "local".to_owned(), name: None },
        text,
        attachments: Vec::new(),
        context: None,
    }
}
