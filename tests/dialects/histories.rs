//! Generated conversations: whatever an old log, a model gone wrong or another vendor left behind.

use herm::providers::{Image, LoadedMessage, LoadedRequest, ToolDefinition};
use herm_replay::reducer::request::{Call, RequestOptions};
use herm_schema::JsonText;
use herm_schema::events::{CacheTtl, ModelChoice, ProviderExtras, ReasoningEffort};
use proptest::prelude::*;
use serde_json::json;

/// Stands in the extras of other families; it must never be sent.
pub const FOREIGN: &str = "FOREIGN-REASONING";

/// Extras as a dialect would have stored them for a message: of its text and its number of calls.
pub type OwnExtras = fn(&str, usize) -> String;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        Just("\u{0}\u{1b}[31mred\u{7}".to_owned()),
        Just("\u{0}".to_owned()),
        Just("hello 你好 👋".to_owned()),
        ".{1,20}",
    ]
}

fn image() -> impl Strategy<Value = Image> {
    let kinds = prop_oneof!["image/png", "image/jpeg", "image/gif", "image/webp"];
    let bytes = proptest::collection::vec(any::<u8>(), 1..20);
    (kinds, bytes).prop_map(|(media_type, bytes)| Image { media_type, bytes: bytes.into() })
}

fn images() -> impl Strategy<Value = Vec<Image>> {
    prop_oneof![4 => Just(Vec::new()), 1 => proptest::collection::vec(image(), 1..3)]
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a".to_owned()),
        Just("call_1".to_owned()),
        Just("c.d/e:0".to_owned()),
        Just(String::new()),
        Just("é".to_owned()),
        Just("x".repeat(70)),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("read_file".to_owned()),
        Just("srv.tool/x".to_owned()),
        Just("no such tool".to_owned()),
        Just(String::new()),
        Just("9lives".to_owned()),
        Just("n".repeat(90)),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let arguments = prop_oneof![
        Just("{}"),
        Just("{\"b\":1,\"a\":[null]}"),
        Just("{\"path\": \"a"),
        Just("[1]"),
        Just("null"),
        Just(""),
        Just("{\"t\":\"\\u0000\"}"),
    ];
    (id(), name(), arguments).prop_map(|(id, name, arguments)| Call {
        id,
        name,
        arguments: JsonText(arguments.to_owned()),
    })
}

fn assistant(family: String, own: OwnExtras) -> impl Strategy<Value = LoadedMessage> {
    (text(), proptest::collection::vec(call(), 0..4), 0u8..5).prop_map(move |(text, calls, kind)| {
        let of_own = |json: String| Some(ProviderExtras { family: family.clone(), json: JsonText(json) });
        let extras = match kind {
            0 => None,
            1 => of_own(own(&text, calls.len())),
            2 => of_own(own("another text", calls.len() + 1)),
            3 => of_own("{\"parts\":[{\"oops\"".to_owned()),
            _ => Some(ProviderExtras {
                family: "another:family".to_owned(),
                json: JsonText(own(&text, calls.len()).replace("c2ln", FOREIGN)),
            }),
        };
        LoadedMessage::Assistant { text, calls, extras }
    })
}

fn message(family: String, own: OwnExtras) -> impl Strategy<Value = LoadedMessage> {
    let result = (id(), name(), text(), images());
    prop_oneof![
        (text(), images()).prop_map(|(text, images)| LoadedMessage::User { text, images }),
        assistant(family, own),
        result.prop_map(|(id, name, text, images)| LoadedMessage::Tool { id, name, text, images }),
    ]
}

fn tools() -> Vec<ToolDefinition> {
    let tool = |name: &str, description: &str, parameters| ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
    };
    vec![
        tool("nothing", "", json!({})),
        tool(
            "read_file",
            "reads",
            json!({"type":"object","additionalProperties":false,"required":["path","gone"],"properties":{
                "path":{"type":"string","format":"uri","pattern":"^/","minLength":1},
                "kind":{"enum":["a","b",""]},"count":{"type":["integer","null"],"enum":[1,2,null],"default":1},
                "either":{"oneOf":[{"type":"string"},{"type":"array"}],"description":"one of two"},
                "map":{"type":"object","additionalProperties":{"type":"string"}},"any":{"description":"any"},
                "tree":{"$ref":"#/$defs/node"},"list":{"type":"array","items":{"$ref":"#/$defs/node"}},
                "pair":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}]}},
                "$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"},"v":{"const":3}}}}}),
        ),
        tool(
            "srv.tool/x",
            "of a server",
            json!({"anyOf":[{"type":"object"}],"properties":{"format":{"type":"string"}}}),
        ),
    ]
}

fn effort() -> impl Strategy<Value = Option<ReasoningEffort>> {
    use ReasoningEffort as E;
    proptest::option::of(prop_oneof![
        Just(E::None),
        Just(E::Minimal),
        Just(E::Low),
        Just(E::Medium),
        Just(E::High),
        Just(E::XHigh),
    ])
}

/// Requests with anything in any order, for one of `models`; `family` is that of a model's extras.
pub fn requests(
    dialect: &'static str,
    models: &'static [&'static str],
    own: OwnExtras,
) -> impl Strategy<Value = LoadedRequest> {
    let choice = (proptest::sample::select(models), effort(), any::<bool>(), 0usize..3);
    let choice = choice.prop_map(move |(model, effort, stream, ttl)| ModelChoice {
        effort,
        stream,
        cache_ttl: [CacheTtl::Off, CacheTtl::FiveMinutes, CacheTtl::OneHour][ttl],
        ..ModelChoice::new("vendor", model, dialect)
    });
    choice.prop_flat_map(move |choice| {
        let family = format!("{dialect}:vendor:{}", choice.model);
        let messages = proptest::collection::vec(message(family, own), 0..12);
        let options = (any::<bool>(), any::<bool>(), any::<bool>());
        (Just(choice), messages, proptest::option::of(text()), options, 0u32..2_000).prop_map(
            |(choice, messages, system, (no_tool_calls, plain_schemas, with_tools), output_tokens_max)| {
                LoadedRequest {
                    choice,
                    system,
                    tools: if with_tools { tools() } else { Vec::new() },
                    messages,
                    output_tokens_max,
                    options: RequestOptions { no_tool_calls, plain_schemas, ..RequestOptions::default() },
                }
            },
        )
    })
}

/// A conversation as herm keeps it, and the numbers of messages after which a request goes out.
pub fn conversation(steps: &[u8]) -> (Vec<LoadedMessage>, Vec<usize>) {
    let mut messages = vec![LoadedMessage::user("begin")];
    let mut sent = vec![1];
    for (at, step) in steps.iter().enumerate() {
        let calls: Vec<Call> = (0..*step)
            .map(|n| Call {
                id: format!("c{at}_{n}"),
                name: "read_file".into(),
                arguments: JsonText("{}".into()),
            })
            .collect();
        let results =
            calls.iter().map(|call| LoadedMessage::tool(&call.id, &call.name, "result")).collect::<Vec<_>>();
        let text = if calls.is_empty() { "answer" } else { "" };
        messages.push(LoadedMessage::Assistant { text: text.into(), calls, extras: None });
        if results.is_empty() {
            messages.push(LoadedMessage::user("next"));
        }
        messages.extend(results);
        sent.push(messages.len());
    }
    (messages, sent)
}

/// A request with these messages, tools and a system prompt.
pub fn request(dialect: &str, model: &str, messages: &[LoadedMessage]) -> LoadedRequest {
    LoadedRequest {
        choice: ModelChoice::new("vendor", model, dialect),
        system: Some("be brief".into()),
        tools: tools(),
        messages: messages.to_vec(),
        output_tokens_max: 1_000,
        options: RequestOptions::default(),
    }
}

/// Whether a body begins with all that `before` says, without the end of its list and of itself.
pub fn goes_on_from(body: &[u8], before: &[u8]) -> bool {
    before.strip_suffix(b"]}").is_some_and(|before| body.starts_with(before))
}
