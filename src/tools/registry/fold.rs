//! Folding: where the definitions of tools that are not core take too much of the model's window, they
//! are replaced by three that find, describe and call them. Every tool stays in reach.
//!
//! What is said of the folded tools comes in three grades, the first that fits: each name with a
//! sentence, the names alone, how many each toolset has.

use std::collections::BTreeMap;
use std::sync::Arc;

use herm_schema::events::{EffectClass, ToolFacts};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Shelf;
use crate::providers::{BoxFuture, ToolDefinition};
use crate::tools::toolsets::Toolsets;
use crate::tools::{Recovered, Tool, ToolContext, ToolResult, Typed, arguments, outcome, text, typed};

pub const SEARCH: &str = "tool_search";
pub const DESCRIBE: &str = "tool_describe";
pub const CALL: &str = "tool_call";

/// Bytes that count as a token.
const BYTES_PER_TOKEN: u64 = 4;
/// Window that is assumed where none is known, in tokens.
const WINDOW_TOKENS_DEFAULT: u32 = 128_000;
/// Characters of a sentence in the catalogue, at most.
const SENTENCE_CHARS_MAX: usize = 100;
/// Tools that a search finds where no number is asked for, and at most.
const FOUND_DEFAULT: usize = 5;
const FOUND_MAX: usize = 20;

/// When tools are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// When they take more than their share of the window.
    Needed,
    Always,
    Never,
}

/// The settings of folding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folding {
    pub when: When,
    /// Share of the window that definitions of tools that are not core may take, in percent.
    pub share_percent: u8,
}

impl Default for Folding {
    fn default() -> Self {
        Self { when: When::Needed, share_percent: 5 }
    }
}

impl Folding {
    pub(super) fn budget_bytes(self, window_tokens: u32) -> usize {
        let window = if window_tokens == 0 { WINDOW_TOKENS_DEFAULT } else { window_tokens };
        let bytes = u64::from(window) * BYTES_PER_TOKEN * u64::from(self.share_percent) / 100;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    pub(super) fn folds(self, definitions: &[ToolDefinition], window_tokens: u32) -> bool {
        let bytes = || serde_json::to_string(definitions).map_or(0, |json| json.len());
        match self.when {
            _ if definitions.is_empty() => false,
            When::Always => true,
            When::Never => false,
            When::Needed => bytes() > self.budget_bytes(window_tokens),
        }
    }
}

/// A line of the catalogue: of a toolset and its tools, each with a sentence.
type Line = dyn Fn(&str, &[(String, String)]) -> String;

/// What is said of the folded tools in at most so many bytes, if any of the grades fits; else the last.
pub(super) fn catalogue(tools: &[Arc<dyn Tool>], sets: Option<&Toolsets>, bytes_max: usize) -> String {
    let mut by_set: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for tool in tools {
        let name = tool.facts().name;
        let set = sets.and_then(|sets| sets.home_of(&name)).unwrap_or("other").to_owned();
        by_set.entry(set).or_default().push((name, sentence(tool.description())));
    }
    let grade = |line: &Line| -> String {
        let lines: Vec<String> = by_set.iter().map(|(set, tools)| line(set, tools)).collect();
        format!("{} more tools.\n{}", tools.len(), lines.join("\n"))
    };
    let sentences = |set: &str, tools: &[(String, String)]| {
        let lines: Vec<String> = tools.iter().map(|(name, what)| format!("- {name}: {what}")).collect();
        format!("{set}:\n{}", lines.join("\n"))
    };
    let names = |set: &str, tools: &[(String, String)]| {
        let names: Vec<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
        format!("{set}: {}", names.join(", "))
    };
    let counts = |set: &str, tools: &[(String, String)]| format!("{set}: {}", tools.len());
    let grades: [&Line; 3] = [&sentences, &names, &counts];
    let mut text = String::new();
    for line in grades {
        text = grade(line);
        if text.len() <= bytes_max {
            break;
        }
    }
    text
}

/// The first sentence, cut where it is long.
fn sentence(description: &str) -> String {
    let line = description.trim().lines().next().unwrap_or_default();
    let first = line.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let (kept, left) = text::head(first, SENTENCE_CHARS_MAX);
    if left == 0 { kept.to_owned() } else { format!("{kept}…") }
}

/// The three, as the model is told of them.
pub(super) fn definitions(catalogue: &str) -> Vec<ToolDefinition> {
    let search = format!("Find tools beyond those listed here, by what they do. {catalogue}");
    vec![
        ToolDefinition { name: SEARCH.into(), description: search, parameters: typed::schema::<Query>() },
        ToolDefinition {
            name: DESCRIBE.into(),
            description: DESCRIBE_DOES.into(),
            parameters: typed::schema::<Name>(),
        },
        ToolDefinition {
            name: CALL.into(),
            description: CALL_DOES.into(),
            parameters: typed::schema::<Inner>(),
        },
    ]
}

pub(super) fn facts() -> Vec<ToolFacts> {
    let once = ToolFacts { effect: EffectClass::Once, judged: true, ..typed::alone(CALL) };
    vec![typed::reading(SEARCH), typed::reading(DESCRIBE), once]
}

const DESCRIBE_DOES: &str = "The arguments that a tool found with tool_search takes.";
const CALL_DOES: &str = "Call a tool found with tool_search.";

/// The tools themselves.
pub(super) fn bridges(shelf: &Arc<Shelf>) -> [Arc<dyn Tool>; 3] {
    let shelf = || Arc::clone(shelf);
    [Arc::new(Search(shelf())), Arc::new(Describe(shelf())), Arc::new(Call(shelf()))]
}

/// The call that a `tool_call` is about: name and arguments as they were written; `None` for any other.
///
/// # Errors
/// For the model: it calls one of these three.
pub fn inner(name: &str, arguments: &Value) -> Result<Option<(String, String)>, String> {
    if name != CALL {
        return Ok(None);
    }
    let inner = Inner::deserialize(arguments).map_err(|error| format!("bad arguments: {error}"))?;
    if [SEARCH, DESCRIBE, CALL].contains(&inner.name.as_str()) {
        return Err(format!("`{}` is called by itself, not through `{CALL}`", inner.name));
    }
    Ok(Some((inner.name, Value::Object(inner.arguments.unwrap_or_default()).to_string())))
}

/// Where the session of a call takes place; it is the first thing that its stream says.
pub(in crate::tools) fn platform(context: &ToolContext) -> String {
    let first =
        context.services.log().read_stream(context.session.stream(), herm_schema::StreamPos(0)).next();
    match first {
        Some(Ok(recorded)) => match recorded.event {
            herm_schema::Event::SessionOpened(opened) => opened.chat.platform,
            _ => String::new(),
        },
        _ => String::new(),
    }
}

struct Search(Arc<Shelf>);
struct Describe(Arc<Shelf>);
struct Call(Arc<Shelf>);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Query {
    query: String,
    /// default 5, at most 20
    limit: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inner {
    name: String,
    arguments: Option<Map<String, Value>>,
}

impl Typed for Search {
    type Args = Query;

    fn facts(&self) -> ToolFacts {
        typed::reading(SEARCH)
    }

    fn description(&self) -> &'static str {
        "Find tools beyond those listed here, by what they do."
    }

    fn call<'a>(&'a self, args: Query, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let reach = self.0.reach(&platform(context), std::time::Instant::now());
            let limit = args.limit.map_or(FOUND_DEFAULT, |limit| usize::try_from(limit).unwrap_or(FOUND_MAX));
            let found = found(&args.query, &reach, self.0.sets.as_ref());
            let shown: Vec<Value> = found
                .iter()
                .take(limit.clamp(1, FOUND_MAX))
                .map(|tool| json!({"name": tool.facts().name, "description": tool.description()}))
                .collect();
            outcome::succeeded(
                &json!({"tools": shown, "total_found": found.len(), "total_tools": reach.len()}),
            )
        })
    }
}

/// Tools that have the words, those that have most of them in their name first.
fn found(query: &str, tools: &[Arc<dyn Tool>], sets: Option<&Toolsets>) -> Vec<Arc<dyn Tool>> {
    let words = words(query);
    let mut scored: Vec<(u32, String, &Arc<dyn Tool>)> = Vec::new();
    for tool in tools {
        let name = tool.facts().name;
        let set = sets.and_then(|sets| sets.home_of(&name)).unwrap_or_default();
        let parameters = tool.parameters();
        let properties = parameters.get("properties").and_then(Value::as_object);
        let members: Vec<&str> =
            properties.into_iter().flat_map(|all| all.keys().map(String::as_str)).collect();
        let places = [
            (8, name.clone()),
            (4, set.to_owned()),
            (2, tool.description().to_owned()),
            (1, members.join(" ")),
        ];
        let score: u32 = words.iter().map(|word| score(word, &places)).sum();
        if score > 0 {
            scored.push((score, name, tool));
        }
    }
    scored.sort_by(|(a, x, _), (b, y, _)| b.cmp(a).then_with(|| x.cmp(y)));
    scored.into_iter().map(|(_, _, tool)| Arc::clone(tool)).collect()
}

/// Twice the weight for the word itself, once for a word that begins so or is begun so.
fn score(word: &str, places: &[(u32, String)]) -> u32 {
    let near = |other: &String| {
        other.len() >= 3 && word.len() >= 3 && (other.starts_with(word) || word.starts_with(other.as_str()))
    };
    let in_place = |(weight, text): &(u32, String)| {
        let words = words(text);
        match (words.iter().any(|other| other == word), words.iter().any(near)) {
            (true, _) => weight * 2,
            (_, true) => *weight,
            _ => 0,
        }
    };
    places.iter().map(in_place).sum()
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

impl Typed for Describe {
    type Args = Name;

    fn facts(&self) -> ToolFacts {
        typed::reading(DESCRIBE)
    }

    fn description(&self) -> &'static str {
        DESCRIBE_DOES
    }

    fn call<'a>(&'a self, args: Name, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.0.reached(&platform(context), &args.name) {
                Ok(tool) => outcome::succeeded(&json!({
                    "name": args.name,
                    "description": tool.description(),
                    "parameters": tool.parameters(),
                })),
                Err(error) => outcome::failed(error),
            }
        })
    }
}

impl Call {
    fn inner(&self, arguments: &Value, context: &ToolContext) -> Result<(Arc<dyn Tool>, Value), String> {
        let (name, raw) = inner(CALL, arguments)?.ok_or("nothing is called")?;
        let tool = self.0.reached(&platform(context), &name)?;
        let arguments = arguments::prepare(&tool.parameters(), &raw)?;
        Ok((tool, arguments))
    }
}

impl Tool for Call {
    fn facts(&self) -> ToolFacts {
        ToolFacts { effect: EffectClass::Once, judged: true, ..typed::alone(CALL) }
    }

    fn description(&self) -> &'static str {
        CALL_DOES
    }

    fn parameters(&self) -> Value {
        typed::schema::<Inner>()
    }

    fn run<'a>(&'a self, arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.inner(arguments, context) {
                Ok((tool, arguments)) => tool.run(&arguments, context).await,
                Err(error) => outcome::failed(error),
            }
        })
    }

    /// This is of class once because some inner call may be; what a call was begun for knows better.
    fn recover<'a>(&'a self, arguments: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Recovered> {
        Box::pin(async move {
            match self.inner(arguments, context) {
                Ok((tool, _)) if tool.facts().effect == EffectClass::Repeatable => Recovered::NotDone,
                Ok((tool, arguments)) => tool.recover(&arguments, context).await,
                Err(_) => Recovered::Unknown,
            }
        })
    }
}
