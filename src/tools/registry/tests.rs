use std::sync::atomic::{AtomicUsize, Ordering};

use herm_schema::events::{ChatRef, EffectClass, SessionOpened, ToolStatus};
use serde_json::json;

use super::*;
use crate::providers::BoxFuture;
use crate::tools::testing::{place, wait};
use crate::tools::toolsets::Toolset;
use crate::tools::{ToolContext, ToolResult, outcome, typed};

/// A tool as a plugin might bring it.
struct Plugin {
    name: String,
    description: String,
    judged: bool,
    missing: Option<&'static str>,
    asked: AtomicUsize,
}

fn plugin(name: &str, description: &str) -> Plugin {
    let asked = AtomicUsize::new(0);
    Plugin { name: name.into(), description: description.into(), judged: false, missing: None, asked }
}

impl Tool for Plugin {
    fn facts(&self) -> ToolFacts {
        ToolFacts { effect: EffectClass::Once, judged: self.judged, ..typed::alone(&self.name) }
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "target": {"type": "string", "description": "what it is about, by the name that the service gives it"},
                "count": {"type": "integer", "description": "how many of them, from one up to a hundred"},
            },
            "required": ["target"],
        })
    }

    fn available(&self) -> Result<(), String> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.missing.map_or(Ok(()), |why| Err(why.to_owned()))
    }

    fn run<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move { outcome::succeeded(&json!({"ran": self.name, "with": arguments})) })
    }
}

const PLUGINS: usize = 300;
const SERVICES: [&str; 6] = ["mail", "calendar", "tickets", "invoices", "music", "maps"];
const VERBS: [&str; 5] = ["list", "create", "delete", "update", "share"];

/// Many plugins' tools, in one set a service, besides herm's own.
fn many(folding: Folding) -> Tools {
    let mut all = table(Vec::new());
    let mut sets = Toolsets::default();
    for service in SERVICES {
        let names: Vec<String> = (0..PLUGINS / SERVICES.len())
            .map(|n| format!("{service}_{}_{n:02}", VERBS[n % VERBS.len()]))
            .collect();
        for name in &names {
            let description =
                format!("Works on {service} in the way number {name} does. It says more than a sentence.");
            all.push(Arc::new(plugin(name, &description)));
        }
        sets.add(service, Toolset { tools: names, ..Toolset::default() });
    }
    Tools::new(all, sets, folding)
}

fn table(more: Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> {
    crate::tools::table(more)
}

fn bytes(offer: &Offer) -> usize {
    serde_json::to_string(&offer.definitions).unwrap().len()
}

fn search_text(offer: &Offer) -> &str {
    &offer.definitions.iter().find(|d| d.name == fold::SEARCH).unwrap().description
}

#[test]
fn a_few_tools_are_not_folded_and_bridges_are_not_offered() {
    let tools = Tools::new(table(Vec::new()), Toolsets::default(), Folding::default());
    let offer = tools.offer("cli", 128_000);
    assert!(!offer.folded);
    assert!(!offer.definitions.iter().any(|d| d.name.starts_with("tool_")));
    assert!(tools.iter().any(|tool| tool.facts().name == fold::CALL), "they can be run all the same");
}

#[test]
fn three_hundred_tools_fold_in_three_grades_and_core_never_does() {
    let tools = many(Folding::default());
    let core: Vec<String> = tools.offer("cli", 128_000).definitions.iter().map(|d| d.name.clone()).collect();
    for name in ["read_file", "patch", "clarify", "tool_search", "tool_describe", "tool_call"] {
        assert!(core.contains(&name.to_owned()), "{name}");
    }
    assert!(!core.contains(&"mail_list_00".to_owned()));
    let large = tools.offer("cli", 200_000);
    assert!(
        search_text(&large).contains("- mail_list_00: Works on mail in the way number mail_list_00 does\n")
    );
    let middle = tools.offer("cli", 40_000);
    assert!(
        search_text(&middle).contains("\nmail: mail_create_01, mail_create_06, "),
        "{}",
        search_text(&middle)
    );
    let small = tools.offer("cli", 8_000);
    assert!(search_text(&small).ends_with(
        "300 more tools.\ncalendar: 50\ninvoices: 50\nmail: 50\nmaps: 50\nmusic: 50\ntickets: 50"
    ));
    for (offer, window) in [(&large, 200_000), (&middle, 40_000), (&small, 8_000)] {
        let own = Tools::new(table(Vec::new()), Toolsets::default(), Folding::default()).offer("cli", 0);
        let more = bytes(offer) - bytes(&own);
        assert!(more < Folding::default().budget_bytes(window) + 1_000, "{more} bytes at {window}");
    }
    let roomy = many(Folding { share_percent: 90, ..Folding::default() }).offer("cli", 1_000_000);
    assert!(!roomy.folded && roomy.definitions.len() > PLUGINS);
    assert!(!many(Folding { when: fold::When::Never, share_percent: 5 }).offer("cli", 8_000).folded);
}

#[test]
fn folded_tools_are_found_described_and_called() {
    let place = place();
    let chat = ChatRef { platform: "cli".into(), chat: "terminal".into(), thread: None };
    let (cwd, environment, herm_version) = ("/".into(), "local".into(), "0".into());
    place.services.record(SessionOpened {
        profile: "default".into(),
        key: String::new(),
        shared: false,
        chat,
        cwd,
        environment,
        herm_version,
    });
    let tools = many(Folding::default());
    let tool = |name: &str| tools.iter().find(|tool| tool.facts().name == name).cloned().unwrap();
    let found =
        place.succeeds(&*tool("tool_search"), json!({"query": "delete calendar entry", "limit": "3"}));
    assert_eq!(found["tools"].as_array().unwrap().len(), 3);
    assert_eq!(found["tools"][0]["name"], "calendar_delete_02");
    let described = place.succeeds(&*tool("tool_describe"), json!({"name": "calendar_delete_02"}));
    assert_eq!(described["parameters"]["required"], json!(["target"]));
    let called = place.succeeds(
        &*tool("tool_call"),
        json!({"name": "calendar_delete_02", "arguments": "{\"target\": \"x\", \"count\": \"2\"}"}),
    );
    assert_eq!(called, json!({"ran": "calendar_delete_02", "with": {"target": "x", "count": 2}}));
    let missing = place.fails(&*tool("tool_call"), json!({"name": "calendar_delete_2", "arguments": {}}));
    assert!(missing.contains("did you mean `calendar_delete_"), "{missing}");
    let wrong =
        place.fails(&*tool("tool_call"), json!({"name": "calendar_delete_02", "arguments": {"count": 1}}));
    assert!(wrong.contains("`target`: required"), "{wrong}");
    let circle = place.fails(&*tool("tool_call"), json!({"name": "tool_call", "arguments": {}}));
    assert!(circle.contains("by itself"), "{circle}");
}

#[test]
fn what_is_judged_is_the_call_within() {
    let mut run = plugin("run_it", "Runs it");
    run.judged = true;
    let mut sets = Toolsets::default();
    sets.add("more", Toolset { tools: vec!["run_it".into()], ..Toolset::default() });
    let tools =
        Tools::new(table(vec![Arc::new(run)]), sets, Folding { when: fold::When::Always, share_percent: 5 });
    let outer = json!({"name": "run_it", "arguments": {"target": "a", "count": "7"}});
    let meant = tools.meant("cli", "tool_call", outer.clone()).unwrap();
    assert_eq!((meant.name.as_str(), &meant.arguments), ("run_it", &json!({"target": "a", "count": 7})));
    assert!(meant.tool.facts().judged);
    let itself = tools.meant("cli", "read_file", json!({"path": "x"})).unwrap();
    assert_eq!((itself.name.as_str(), &itself.arguments), ("read_file", &json!({"path": "x"})));
    let refused = |platform: &str, call: Value| tools.meant(platform, "tool_call", call).err().unwrap();
    assert!(refused("webhook", outer).contains("there is no tool `run_it` here"));
    assert!(refused("webhook", json!({"name": "read_file", "arguments": {"path": "x"}})).contains("no tool"));
}

#[test]
fn what_cannot_work_is_not_offered_and_is_asked_every_half_minute_only() {
    let mut missing = plugin("needs_key", "x");
    missing.missing = Some("no key");
    let missing = Arc::new(missing);
    let mut sets = Toolsets::default();
    sets.add("more", Toolset { tools: vec!["needs_key".into()], ..Toolset::default() });
    let tools = Tools::new(table(vec![missing.clone()]), sets, Folding::default());
    let begun = Instant::now();
    for seconds in [0, 10, 29] {
        let offer = tools.offer_at("cli", 0, begun + std::time::Duration::from_secs(seconds));
        assert!(!offer.definitions.iter().any(|d| d.name == "needs_key"));
    }
    assert_eq!(missing.asked.load(Ordering::Relaxed), 1);
    tools.offer_at("cli", 0, begun + available::BELIEVED);
    assert_eq!(missing.asked.load(Ordering::Relaxed), 2);
    let tool: Arc<dyn Tool> = missing;
    assert_eq!(tools.available(&tool), Err("no key".to_owned()));
}

#[test]
fn offers_are_kept_and_only_a_few() {
    let tools = many(Folding::default());
    let first = tools.offer("cli", 1_000);
    assert!(Arc::ptr_eq(&first, &tools.offer("cli", 1_000)));
    assert!(!Arc::ptr_eq(&first, &tools.offer("telegram", 1_000)), "another platform is another question");
    for window in 0..OFFERS_KEPT_MAX as u32 {
        tools.offer("cli", 10_000 + window);
    }
    assert_eq!(tools.shelf.offers.lock().unwrap().len(), OFFERS_KEPT_MAX);
    let again = tools.offer("cli", 1_000);
    assert!(!Arc::ptr_eq(&first, &again), "the oldest went");
    assert_eq!(*first, *again, "and is worked out to the same");
}

#[test]
fn definitions_are_sorted_and_no_name_is_twice() {
    let tools = many(Folding::default());
    for platform in ["cli", "webhook", "discord"] {
        let offer = tools.offer(platform, 64_000);
        let names: Vec<&String> = offer.definitions.iter().map(|d| &d.name).collect();
        assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        let facts: Vec<&String> = offer.facts.iter().map(|facts| &facts.name).collect();
        assert_eq!(names, facts);
    }
}

#[test]
fn a_plain_list_is_offered_whole_to_everybody() {
    let tools: Tools = table(vec![Arc::new(plugin("mine", "x"))]).into();
    let offer = tools.offer("anywhere", 10);
    assert!(offer.definitions.iter().any(|d| d.name == "mine") && !offer.folded);
    let place = place();
    let mine = tools.iter().find(|tool| tool.facts().name == "mine").unwrap();
    let result = wait(mine.run(&json!({}), &place.context));
    assert_eq!(result.status, ToolStatus::Succeeded);
}
