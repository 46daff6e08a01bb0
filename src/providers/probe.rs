//! Looks for model servers on this machine: all at once, briefly, and on loopback only.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::Deadlines;
use super::catalog::Heading;
use super::dialects::chat_completions::ChatCompletions;
use super::http::HttpProvider;
use super::http::auth::Nothing;

/// Longest time that the whole search takes.
pub const PROBE_TIME_MAX: Duration = Duration::from_millis(150);

/// A server that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    pub base_url: String,
    /// The first model that it lists.
    pub model: String,
    pub context_window_tokens: Option<u32>,
}

/// The first of `servers` that listens and lists a model, within `time_max`. A port alone proves
/// nothing: 8080 and 8000 are anybody's.
pub async fn probe(servers: &[Heading], time_max: Duration) -> Option<Found> {
    let until = Instant::now() + time_max;
    let found = join_all(
        servers
            .iter()
            .map(|server| async move { timeout_at(until, ask(server, time_max)).await.ok().flatten() }),
    );
    found.await.into_iter().flatten().next()
}

async fn ask(server: &Heading, time_max: Duration) -> Option<Found> {
    let address = server.base_url.split("://").nth(1)?.split('/').next()?;
    // A connection first: building a client for ports that nobody listens on would cost more.
    drop(TcpStream::connect(address).await.ok()?);
    let dialect = Arc::new(ChatCompletions::default());
    let provider = HttpProvider::new(&server.base_url, Arc::new(Nothing), dialect).ok()?;
    let deadlines =
        Deadlines { connect: time_max, first_content: time_max, between_content: time_max, total: time_max };
    let model = provider.models(&deadlines).await.ok()?.into_iter().next()?;
    Some(Found {
        name: server.name.clone(),
        base_url: server.base_url.clone(),
        model: model.name,
        context_window_tokens: model.context_window_tokens,
    })
}
