//! `web_search`: titles, addresses and descriptions of pages.

use std::time::Duration;

use herm_schema::events::ToolFacts;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Backend;
use super::search_vendors::Asked;
use crate::providers::BoxFuture;
use crate::tools::vendors::Caller;
use crate::tools::{ToolContext, ToolResult, Typed, outcome, typed};

/// Results where no number is asked for, and at most.
const RESULTS_DEFAULT: u64 = 5;
const RESULTS_MAX: u64 = 50;
/// Characters of a question, at most; searchers refuse more.
const QUERY_CHARS_MAX: usize = 2_000;
/// Time that a searcher has.
const TIME_MAX: Duration = Duration::from_secs(30);

/// The tool.
pub struct WebSearch {
    /// Who searches, or why nobody does.
    pub(super) searcher: Result<Backend, String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    query: String,
    /// default 5
    limit: Option<u64>,
}

impl Typed for WebSearch {
    type Args = Arguments;

    fn facts(&self) -> ToolFacts {
        typed::reading("web_search")
    }

    fn description(&self) -> &'static str {
        "Search the web; gives titles, addresses and descriptions. Read pages with web_extract."
    }

    fn available(&self) -> Result<(), String> {
        self.searcher.as_ref().map(drop).map_err(Clone::clone)
    }

    fn call<'a>(&'a self, args: Arguments, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match search(&self.searcher, args, context).await {
                Ok(shown) => outcome::succeeded(&shown),
                Err(Some(error)) => outcome::failed(error),
                Err(None) => outcome::interrupted(),
            }
        })
    }
}

async fn search(
    searcher: &Result<Backend, String>,
    args: Arguments,
    context: &ToolContext,
) -> Result<Value, Option<String>> {
    let backend = searcher.as_ref().map_err(|why| Some(why.clone()))?;
    let query = args.query.trim();
    if query.is_empty() || query.chars().count() > QUERY_CHARS_MAX {
        return Err(Some(format!("the query must have 1 to {QUERY_CHARS_MAX} characters")));
    }
    let limit = args.limit.unwrap_or(RESULTS_DEFAULT).clamp(1, RESULTS_MAX) as usize;
    let wire = (backend.vendor.ask)(&backend.base, &Asked { query, limit });
    let caller = Caller::new(TIME_MAX).map_err(Some)?;
    let auth = (backend.vendor.auth, backend.key.as_ref());
    let answer = caller.ask(backend.vendor.name, wire, auth, &context.cancel).await?;
    let hits = (backend.vendor.read)(&answer.bytes);
    let hits = hits.map_err(|error| Some(format!("{}: {error}", backend.vendor.name)))?;
    let web: Vec<Value> = hits
        .into_iter()
        .take(limit)
        .enumerate()
        .map(|(index, hit)| {
            json!({
                "title": hit.title, "url": hit.url, "description": hit.description, "position": index + 1,
            })
        })
        .collect();
    Ok(json!({"success": true, "data": {"web": web}}))
}
