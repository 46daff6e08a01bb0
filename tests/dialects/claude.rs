//! Whatever a history holds, what is sent of it passes the strict reading of the vendor's rules.

use std::sync::Arc;

use herm::config::Secret;
use herm::providers::dialects::Dialect;
use herm::providers::dialects::anthropic_messages::{AnthropicMessages, BINDING_BETA, Host, Quirks};
use herm::providers::dialects::bedrock_converse::BedrockConverse;
use herm::providers::http::HttpProvider;
use herm::providers::http::auth::{Authorize, AwsKeys, SigV4, anthropic};
use herm::providers::{
    Answer, CallContext, Deadlines, Image, LoadedMessage, LoadedRequest, Provider, ToolDefinition,
};
use herm_replay::reducer::request::{Call, RequestOptions};
use herm_schema::JsonText;
use herm_schema::events::{CacheTtl, Finish, ModelChoice, ProviderExtras, ReasoningEffort};
use proptest::prelude::*;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{anthropic_messages, bedrock_converse};

const MODELS: [&str; 8] = [
    "claude-3-5-haiku-20241022",
    "claude-sonnet-4-5",
    "us.anthropic.claude-opus-4-5-20251101-v1:0",
    "claude-opus-4-6",
    "claude-sonnet-5-5",
    "claude-opus-5-5",
    "amazon.nova-pro-v1:0",
    "MiniMax-M2",
];

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" \n".to_owned()),
        Just("\u{0}".to_owned()),
        Just("hé".to_owned()),
        Just("a\n\nb\u{1b}[0m".to_owned()),
        ".{0,12}",
    ]
}

fn ids() -> impl Strategy<Value = String> {
    let known = ["a", "b", "", "call.1", "functions.x:0", "é"].map(str::to_owned).to_vec();
    prop_oneof![4 => proptest::sample::select(known), 1 => "[a-z|.:-]{60,80}"]
}

fn names() -> impl Strategy<Value = String> {
    let known = ["f", "read_file", "", "mcp.server/tool"].map(str::to_owned).to_vec();
    prop_oneof![4 => proptest::sample::select(known), 1 => "[a-z.]{120,140}"]
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let arguments = ["{}", "{\"b\":1,\"a\":{\"d\":[null]}}", "{\"x", "[1]", "", "{\"n\":\"\\u0000\"}"];
    let call = (ids(), names(), proptest::sample::select(arguments.to_vec()));
    let call = call.prop_map(|(id, name, text)| Call { id, name, arguments: JsonText(text.to_owned()) });
    proptest::collection::vec(call, 0..4)
}

fn images() -> impl Strategy<Value = Vec<Image>> {
    let kinds = ["image/png", "image/jpeg", "image/tiff", ""].to_vec();
    let image = (proptest::sample::select(kinds), proptest::collection::vec(any::<u8>(), 0..5));
    let image = image.prop_map(|(kind, bytes)| Image { media_type: kind.into(), bytes: Arc::from(bytes) });
    proptest::collection::vec(image, 0..3)
}

/// Stands for the family of the request's own model.
const OWN: &str = "own";

/// `request` with the extras of `vendor`'s model where they are to be its own.
fn owned(mut request: LoadedRequest, vendor: &str) -> LoadedRequest {
    for message in &mut request.messages {
        if let LoadedMessage::Assistant { extras: Some(extras), .. } = message
            && extras.family == OWN
        {
            extras.family = format!("{vendor}:{}", request.choice.model);
        }
    }
    request
}

/// Extras of the vendor's own, of others, damaged, and of another shape.
fn extras() -> impl Strategy<Value = Option<ProviderExtras>> {
    let family = proptest::sample::select(vec![OWN.to_owned(), OWN.to_owned(), "another:m".to_owned()]);
    let own = |signature: &str| {
        [
            json!({"own": {"type": "thinking", "thinking": "t", "signature": signature}}),
            json!({"own": {"type": "redacted_thinking", "data": signature}}),
            json!({"own": {"reasoningText": {"text": "t", "signature": signature}}}),
            json!({"own": {"redactedContent": signature}}),
        ]
    };
    let others = [
        json!("call"),
        json!({"text": {"chars": 2, "apart": false}}),
        json!({"text": {"chars": 1, "apart": true}}),
    ];
    let places: Vec<_> = own("c2ln").into_iter().chain(own("")).chain(others).collect();
    let order = proptest::collection::vec(proptest::sample::select(places), 0..6);
    let json = prop_oneof![
        8 => order.prop_map(|order| json!({"order": order}).to_string()),
        1 => Just("{\"order\":[{".to_owned()),
        1 => Just("[]".to_owned()),
    ];
    let extras = (family, json).prop_map(|(family, json)| ProviderExtras { family, json: JsonText(json) });
    proptest::option::of(extras)
}

fn messages() -> impl Strategy<Value = Vec<LoadedMessage>> {
    let message = prop_oneof![
        (texts(), images()).prop_map(|(text, images)| LoadedMessage::User { text, images }),
        (texts(), calls(), extras()).prop_map(|(text, calls, extras)| LoadedMessage::Assistant {
            text,
            calls,
            extras
        }),
        (ids(), names(), texts(), images()).prop_map(|(id, name, text, images)| LoadedMessage::Tool {
            id,
            name,
            text,
            images
        }),
    ];
    proptest::collection::vec(message, 0..14)
}

fn tools() -> impl Strategy<Value = Vec<ToolDefinition>> {
    let schemas = [
        json!({"type": "object", "properties": {"pattern": {"type": "string", "format": "x"}}}),
        json!({"anyOf": [{}, {}]}),
        json!(true),
        json!({"type": "string"}),
    ];
    let tool = (names(), texts(), proptest::sample::select(schemas.to_vec()));
    let tool =
        tool.prop_map(|(name, description, parameters)| ToolDefinition { name, description, parameters });
    proptest::collection::vec(tool, 0..4)
}

fn requests() -> impl Strategy<Value = LoadedRequest> {
    use ReasoningEffort as E;
    let efforts =
        [None, Some(E::None), Some(E::Minimal), Some(E::Low), Some(E::Medium), Some(E::High), Some(E::XHigh)];
    let ttls = [CacheTtl::Off, CacheTtl::FiveMinutes, CacheTtl::OneHour];
    let choice = (
        proptest::sample::select(MODELS.to_vec()),
        proptest::sample::select(efforts.to_vec()),
        proptest::sample::select(ttls.to_vec()),
        any::<bool>(),
    );
    let options = (any::<bool>(), any::<bool>(), any::<bool>());
    let limits = proptest::sample::select(vec![0_u32, 1, 1_500, 8_192, 64_000]);
    let rest = (proptest::option::of(texts()), tools(), messages(), limits, options);
    (choice, rest).prop_map(
        |((model, effort, cache_ttl, stream), (system, tools, messages, limit, options))| LoadedRequest {
            choice: ModelChoice { effort, cache_ttl, stream, ..ModelChoice::new("p", model, "d") },
            system,
            tools,
            messages,
            output_tokens_max: limit,
            options: RequestOptions {
                no_tool_calls: options.0,
                plain_schemas: options.1,
                no_long_context: options.2,
                image_side_px_max: None,
            },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn anthropic_takes_every_request(request in requests(), vertex in any::<bool>(), binds in any::<bool>()) {
        let host = if vertex { Host::Vertex } else { Host::Anthropic };
        let betas = if binds { vec![BINDING_BETA.to_owned()] } else { vec![] };
        let dialect = AnthropicMessages { quirks: Quirks { host, betas, ..Quirks::default() } };
        let request = owned(request, "anthropic");
        let sent = dialect.encode(&request);
        prop_assert_eq!(anthropic_messages::check(&sent), Ok(()), "{}", String::from_utf8_lossy(&sent.body));
        prop_assert_eq!(dialect.encode(&request), sent);
    }

    #[test]
    fn bedrock_takes_every_request(request in requests()) {
        let request = owned(request, "bedrock");
        let sent = BedrockConverse::default().encode(&request);
        prop_assert_eq!(bedrock_converse::check(&sent), Ok(()), "{}", String::from_utf8_lossy(&sent.body));
        prop_assert_eq!(BedrockConverse::default().encode(&request), sent);
    }
}

/// The strict reading refuses what it should, or it would prove nothing.
#[test]
fn the_readings_refuse_what_the_vendors_refuse() {
    let request = LoadedRequest {
        choice: ModelChoice::new("p", "claude-opus-4-6", "d"),
        system: Some("s".into()),
        tools: vec![],
        messages: vec![
            LoadedMessage::user("hi"),
            LoadedMessage::Assistant {
                text: String::new(),
                calls: vec![Call { id: "a".into(), name: "f".into(), arguments: "{}".into() }],
                extras: None,
            },
            LoadedMessage::tool("a", "f", "r"),
        ],
        output_tokens_max: 100,
        options: RequestOptions::default(),
    };
    let refused = |dialect: &dyn Dialect, check: fn(&_) -> Result<(), String>, from: &str, to: &str| {
        let mut sent = dialect.encode(&request);
        assert_eq!(check(&sent), Ok(()));
        let text = String::from_utf8(sent.body).unwrap();
        assert!(text.contains(from), "{from} is not in {text}");
        sent.body = text.replace(from, to).into_bytes();
        assert!(check(&sent).is_err(), "{from} -> {to} was taken");
    };
    for (from, to) in [
        ("\"hi\"", "\" \""),
        ("\"tool_use_id\":\"a\"", "\"tool_use_id\":\"b\""),
        ("\"role\":\"assistant\"", "\"role\":\"user\""),
        ("\"max_tokens\":100", "\"max_tokens\":0"),
        ("\"name\":\"f\"", "\"name\":\"f.g\""),
        ("\"tools\"", "\"tolls\""),
        ("\"type\":\"object\"", "\"type\":\"string\""),
    ] {
        refused(&AnthropicMessages::default(), anthropic_messages::check, from, to);
    }
    for (from, to) in [
        ("{\"text\":\"hi\"}", "{\"text\":\"\"}"),
        ("\"toolUseId\":\"a\",\"content\"", "\"toolUseId\":\"b\",\"content\""),
        ("\"role\":\"assistant\"", "\"role\":\"user\""),
        ("\"maxTokens\":100", "\"maxTokens\":0"),
        ("\"toolConfig\"", "\"tools\""),
        ("\"type\":\"default\"", "\"type\":\"ephemeral\""),
    ] {
        refused(&BedrockConverse::default(), bedrock_converse::check, from, to);
    }
}

/// Answers one request with `body` and gives back what was asked.
async fn served(listener: TcpListener, content_type: &str, body: &str) -> String {
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut asked = Vec::new();
    loop {
        socket.read_buf(&mut asked).await.unwrap();
        let text = String::from_utf8_lossy(&asked).to_ascii_lowercase();
        let Some((head, sent)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if sent.len() >= length.parse().unwrap() {
            break;
        }
    }
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(body.as_bytes()).await.unwrap();
    String::from_utf8(asked).unwrap()
}

/// One call over a real socket: what was asked, and the answer.
async fn called(
    (dialect, auth): (Arc<dyn Dialect>, Arc<dyn Authorize>),
    (content_type, body): (&str, &str),
) -> (String, Answer) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let provider = HttpProvider::new(&address, auth, dialect).unwrap();
    let request = LoadedRequest {
        choice: ModelChoice { stream: false, ..ModelChoice::new("p", "anthropic.claude-opus-4-6-v1:0", "d") },
        system: None,
        tools: vec![],
        messages: vec![LoadedMessage::user("hi")],
        output_tokens_max: 100,
        options: RequestOptions::default(),
    };
    let context = CallContext {
        cancel: CancellationToken::new(),
        deadlines: Deadlines::default(),
        show: Arc::new(|_| {}),
    };
    let (asked, answer) =
        tokio::join!(served(listener, content_type, body), provider.call(&request, context));
    (asked, answer.unwrap())
}

#[tokio::test]
async fn anthropic_is_called_over_a_socket() {
    let stream = include_str!("../../src/providers/dialects/anthropic_messages/fixtures/text.txt");
    let auth = anthropic::auth(Secret::new("sk-ant-api03-x"));
    let (asked, answer) =
        called((Arc::new(AnthropicMessages::default()), auth), ("text/event-stream", stream)).await;
    assert!(asked.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("\r\nx-api-key: sk-ant-api03-x\r\n"), "{asked}");
    assert!(asked.contains("\r\nanthropic-version: 2023-06-01\r\n"), "{asked}");
    assert_eq!((answer.message.text.as_str(), answer.finish), ("Héllo 你好!", Finish::Stop));
}

#[tokio::test]
async fn bedrock_is_called_over_a_socket_and_the_call_is_signed() {
    let whole = include_str!("../../src/providers/dialects/bedrock_converse/fixtures/whole.txt");
    let keys = AwsKeys {
        access_key_id: Secret::new("AKIDEXAMPLE"),
        secret_access_key: Secret::new("secret"),
        session_token: Some(Secret::new("token")),
    };
    let auth = Arc::new(SigV4::bedrock(keys, "eu-central-1"));
    let (asked, answer) =
        called((Arc::new(BedrockConverse::default()), auth), ("application/json", whole)).await;
    let path = "POST /model/anthropic.claude-opus-4-6-v1%3A0/converse HTTP/1.1\r\n";
    assert!(asked.starts_with(path), "{asked}");
    let signed = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=";
    assert!(asked.contains(signed) && asked.contains("/eu-central-1/bedrock/aws4_request"), "{asked}");
    assert!(asked.contains("\r\nx-amz-security-token: token\r\n"), "{asked}");
    assert_eq!((answer.message.text.as_str(), answer.finish), ("Looking.", Finish::ToolCalls));
}
