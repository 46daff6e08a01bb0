//! `herm search`: finds what was said, in any conversation.

use clap::{Args, ValueEnum};
use herm_replay::projections::find::{Asked, Hit, Order};
use herm_replay::projections::messages::Role;
use herm_replay::projections::query::Query;
use herm_replay::projections::tokenizer::Words;
use serde::Serialize;

use super::time::Clockface;
use super::{Exit, Failure, Out, Start, store};

/// Find what was said, in any conversation.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  herm search tokio deadlock
  herm search '\"connection reset\"' --by tool --order newest
  herm search 你好 --json

Exit status: 0 something was found, 1 nothing was.")]
pub struct Search {
    /// What to look for. Words in double quotes must stand together.
    #[arg(required = true)]
    words: Vec<String>,

    /// Only what was said by these.
    #[arg(long, value_enum, value_name = "WHO")]
    by: Vec<By>,

    /// Which come first.
    #[arg(long, value_enum, default_value = "relevance")]
    order: First,

    /// So many at most.
    #[arg(long, default_value_t = 10, value_name = "COUNT")]
    limit: usize,

    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

/// Who said it.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    User,
    Assistant,
    Tool,
}

/// Which come first.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum First {
    Relevance,
    Newest,
    Oldest,
}

pub fn run(arguments: &Search, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    let views = store::views(store::log(&start.home)?, &start.home);
    let query = Query::parse(&mut Words::default(), &arguments.words.join(" "));
    if query.is_empty() {
        return Err(Failure::message(Exit::Usage, "there is no word to look for").hint("herm search --help"));
    }
    let roles: Vec<Role> = arguments.by.iter().map(|by| role(*by)).collect();
    let asked =
        Asked { query: &query, roles: &roles, order: order(arguments.order), hits_max: arguments.limit };
    let hits = views.find(&asked)?;
    let clock = Clockface::of(start);
    for hit in &hits {
        let snippet = views.snippet(hit, &query)?;
        if arguments.json {
            out.json(&Found { hit, snippet: &snippet })?;
        } else {
            out.line(&found(hit, &snippet, &clock))?;
        }
    }
    out.end()?;
    Ok(if hits.is_empty() { Exit::Failed } else { Exit::Ok })
}

#[derive(Serialize)]
struct Found<'a> {
    #[serde(flatten)]
    hit: &'a Hit,
    snippet: &'a str,
}

fn found(hit: &Hit, snippet: &str, clock: &Clockface) -> String {
    let snippet = snippet.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}  {}  {}\n    {snippet}", hit.session, clock.minute(hit.at), hit.role.word())
}

fn role(by: By) -> Role {
    match by {
        By::User => Role::User,
        By::Assistant => Role::Assistant,
        By::Tool => Role::Tool,
    }
}

fn order(order: First) -> Order {
    match order {
        First::Relevance => Order::Relevance,
        First::Newest => Order::Newest,
        First::Oldest => Order::Oldest,
    }
}
