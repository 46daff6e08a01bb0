//! The litellm proxy between herm and the loopback server: an independent reading of the wire
//! formats. It reads what herm sends in one format and writes it in another, which the vendor's
//! strict validator then reads; and it reads the vendor's stream and writes herm's format.
//!
//! The refusals of a vendor come through it too, in words of its own.
//!
//! Runs where a command `litellm` is on the path, and says why it does not elsewhere. Written
//! against litellm 1.108.7: `python3 -m venv V && V/bin/pip install 'litellm[proxy]==1.108.7'`, and
//! a link to `V/bin/litellm` in a folder of the path.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use herm::config::Secret;
use herm::providers::dialects::WireRequest;
use herm::providers::dialects::chat_completions::ChatCompletions;
use herm::providers::http::HttpProvider;
use herm::providers::http::auth::Header;
use herm::providers::{CallContext, Deadlines, LoadedMessage, LoadedRequest, Provider};
use herm_replay::reducer::request::RequestOptions;
use herm_schema::events::{FailureClass, ModelChoice, ModelFailure};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::check;
use super::stage::Stage;
use super::support::companion::{Companion, free_port};
use super::support::{ModelServer, Recorded, Reply, Wire};
use super::talks::{ask_at, sent};

/// How long the proxy may take to come up on a busy machine.
const READY_TIME_MAX: Duration = Duration::from_secs(120);
const POLL_EVERY: Duration = Duration::from_millis(200);
/// The proxy's own key; those of the vendors behind it are others.
const KEY: &str = "sk-key-of-the-test-0001";

/// What herm speaks, and what litellm makes of it.
struct Route {
    herm: Wire,
    vendor: Wire,
    /// The model in litellm's notation.
    target: &'static str,
}

const ROUTES: [Route; 9] = [
    Route { herm: Wire::ChatCompletions, vendor: Wire::ChatCompletions, target: "openai/some-model" },
    Route {
        herm: Wire::ChatCompletions,
        vendor: Wire::AnthropicMessages,
        target: "anthropic/claude-sonnet-4-5",
    },
    Route { herm: Wire::ChatCompletions, vendor: Wire::Gemini, target: "gemini/gemini-2.5-flash" },
    Route {
        herm: Wire::ChatCompletions,
        vendor: Wire::BedrockConverse,
        target: "bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    },
    Route { herm: Wire::AnthropicMessages, vendor: Wire::ChatCompletions, target: "hosted_vllm/some-model" },
    Route { herm: Wire::AnthropicMessages, vendor: Wire::Responses, target: "openai/gpt-5" },
    Route { herm: Wire::AnthropicMessages, vendor: Wire::Gemini, target: "gemini/gemini-2.5-flash" },
    Route { herm: Wire::Responses, vendor: Wire::Responses, target: "openai/gpt-5" },
    Route { herm: Wire::Responses, vendor: Wire::AnthropicMessages, target: "anthropic/claude-sonnet-4-5" },
];

impl Route {
    /// What herm calls the model.
    fn alias(&self) -> String {
        format!("{}-to-{}", self.herm.name(), self.vendor.name())
    }

    /// An entry of litellm's list of models.
    fn entry(&self, server: &ModelServer) -> Value {
        self.named(&self.alias(), server)
    }

    fn named(&self, alias: &str, server: &ModelServer) -> Value {
        let whole = server.base_url();
        let root = whole.trim_end_matches("/v1");
        let base = match self.vendor {
            Wire::AnthropicMessages | Wire::BedrockConverse => root,
            _ => &whole,
        };
        let mut parameters = json!({"model": self.target, "api_base": base, "api_key": "key-of-the-vendor"});
        if self.vendor == Wire::BedrockConverse {
            parameters["aws_region_name"] = "us-east-1".into();
        }
        json!({"model_name": alias, "litellm_params": parameters})
    }
}

fn installed() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut all = std::env::split_paths(&path).map(|folder| folder.join("litellm"));
    all.find(|file| file.is_file())
        .ok_or_else(|| "there is no `litellm` on the path: `pip install 'litellm[proxy]'`".to_owned())
}

/// The proxy, with its log.
struct Proxy {
    port: u16,
    process: Companion,
    log: PathBuf,
}

impl Proxy {
    fn start(program: &Path, folder: &Path, models: &[Value]) -> Self {
        let config = json!({
            "model_list": models,
            "litellm_settings": {"num_retries": 0, "telemetry": false, "drop_params": true},
            "router_settings": {"num_retries": 0, "disable_cooldowns": true},
        });
        std::fs::write(folder.join("config.yaml"), config.to_string()).unwrap();
        let (port, log) = (free_port(), folder.join("log"));
        let number = port.to_string();
        let arguments =
            [program.to_str().unwrap(), "--config", "config.yaml", "--host", "127.0.0.1", "--port", &number];
        // Prices from its own package, not from the network.
        let variables = [
            ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
            ("LITELLM_MASTER_KEY", KEY),
            ("HOME", folder.to_str().unwrap()),
            ("NO_PROXY", "127.0.0.1"),
        ];
        let process = Companion::start(&arguments, &variables, folder, &log);
        Self { port, process, log }
    }

    fn printed(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    fn wait(&mut self) {
        let until = Instant::now() + READY_TIME_MAX;
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(self.process.ended().is_none(), "litellm has ended by itself:\n{}", self.printed());
            assert!(Instant::now() < until, "litellm is not ready:\n{}", self.printed());
            std::thread::sleep(POLL_EVERY);
        }
    }
}

#[test]
fn what_litellm_makes_of_a_conversation_is_what_each_vendor_takes() {
    let program = match installed() {
        Ok(program) => program,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let began = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let servers: Vec<_> = ROUTES.iter().map(|_| ModelServer::start(script())).collect();
    let mut entries: Vec<_> =
        ROUTES.iter().zip(&servers).map(|(route, server)| route.entry(server)).collect();
    let refusing: Vec<_> = REFUSALS.iter().map(|(status, ..)| refusing(*status)).collect();
    entries
        .extend(REFUSALS.iter().zip(&refusing).map(|((_, name, _), server)| ROUTES[1].named(name, server)));
    let mut proxy = Proxy::start(&program, folder.path(), &entries);
    proxy.wait();
    println!("litellm was ready after {} ms", began.elapsed().as_millis());
    let base_url = format!("http://127.0.0.1:{}/v1", proxy.port);
    let mut failed = Vec::new();
    for (route, server) in ROUTES.iter().zip(&servers) {
        let began = Instant::now();
        let found = talk(route, server, &base_url);
        println!("{}: {found:?}, {} ms", route.alias(), began.elapsed().as_millis());
        failed.extend(found.err().map(|why| format!("{}: {why}", route.alias())));
    }
    for (_, name, class) in REFUSALS {
        let found = refused(&base_url, name);
        println!("{name}: {found:?}");
        if found.class != class {
            failed.push(format!("{name} is read as {found:?}"));
        }
    }
    assert!(failed.is_empty(), "{}\n\nlitellm:\n{}", failed.join("\n\n"), proxy.printed());
}

/// What a vendor answers with, the name of the model that does, and what it is to herm.
const REFUSALS: [(u16, &str, FailureClass); 5] = [
    (400, "overflowing", FailureClass::ContextOverflow),
    (401, "locked", FailureClass::Auth),
    (402, "unpaid", FailureClass::Billing),
    (429, "limited", FailureClass::RateLimit),
    (529, "overloaded", FailureClass::Overloaded),
];

fn refusing(status: u16) -> ModelServer {
    let overflow = "prompt is too long: 210000 tokens > 200000 maximum";
    let body = match status {
        400 => json!({"type": "error", "error": {"type": "invalid_request_error", "message": overflow}})
            .to_string(),
        _ => Wire::AnthropicMessages.refusal(status),
    };
    ModelServer::computed(move |_| Reply::status(status, &body))
}

/// The failure of a call of this model, in the words that litellm gives it.
fn refused(base_url: &str, model: &str) -> ModelFailure {
    let request = LoadedRequest {
        choice: ModelChoice::new("custom", model, "chat_completions"),
        system: None,
        tools: Vec::new(),
        messages: vec![LoadedMessage::user("hello")],
        output_tokens_max: 512,
        options: RequestOptions::default(),
    };
    let (auth, dialect) = (Arc::new(Header::bearer(Secret::new(KEY))), Arc::new(ChatCompletions::default()));
    let provider = HttpProvider::new(base_url, auth, dialect).unwrap();
    let (cancel, show) = (CancellationToken::new(), Arc::new(|_| ()));
    let context = CallContext { cancel, deadlines: Deadlines::default(), show };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(provider.call(&request, context)).unwrap_err()
}

fn script() -> [Reply; 3] {
    let calls =
        [("call_a", "read_file", "{\"path\":\"a.txt\"}"), ("call_b", "read_file", "{\"path\":\"b.txt\"}")];
    [
        Reply::calls(&calls).saying("Let me look."),
        Reply::text("Both are read."),
        Reply::text("As I said: both."),
    ]
}

/// A turn with two parallel calls, and a turn after it.
fn talk(route: &Route, server: &ModelServer, base_url: &str) -> Result<(), String> {
    let stage = Stage::new();
    std::fs::write(stage.path("a.txt"), "alpha\n").unwrap();
    std::fs::write(stage.path("b.txt"), "beta\n").unwrap();
    let alias = route.alias();
    for (more, expected) in [
        (&["-q", "read both"][..], "Both are read."),
        (&["--continue", "-q", "what was that?"][..], "As I said: both."),
    ] {
        // For Gemini, litellm makes a cache of its own out of what is marked to be kept, by another call.
        let keep = if route.vendor == Wire::Gemini { "off" } else { "5m" };
        let variables = [("HERM_API_KEY", KEY), ("HERM_CACHE_TTL", keep)];
        let run = ask_at(&stage, route.herm, (base_url, &alias), more, &variables);
        if (run.exit, run.out.trim()) != (0, expected) {
            return Err(format!("{run:?}\n{:#?}", server.requests().last()));
        }
    }
    let requests = server.requests();
    if requests.len() != 3 {
        return Err(format!("{} requests", requests.len()));
    }
    for request in &requests {
        if Wire::of_path(&request.path) != route.vendor {
            return Err(format!("the vendor is asked at `{}`", request.path));
        }
        if request.json["stream"] == false || request.path.ends_with("/converse") {
            return Err(format!("the vendor is not asked for a stream at `{}`", request.path));
        }
        check(route.vendor, &received(route.vendor, request))
            .map_err(|why| format!("{why}\n{}\n{}", request.path, request.body))?;
    }
    for (file, word) in [("a.txt", "alpha"), ("b.txt", "beta")] {
        let told =
            requests[1..].iter().all(|request| request.body.contains(file) && request.body.contains(word));
        if !told {
            return Err(format!("the call for {file} or its result is lost:\n{}", requests[1].body));
        }
    }
    Ok(())
}

/// The request in the spelling that the validators know, where litellm uses another documented one.
fn received(wire: Wire, request: &Recorded) -> WireRequest {
    let mut body = request.json.clone();
    match wire {
        Wire::AnthropicMessages => {
            // The kind of a tool may be told, and a text may stand for a list of one block.
            for tool in body["tools"].as_array_mut().into_iter().flatten() {
                if tool["type"] == "custom" {
                    tool.as_object_mut().unwrap().shift_remove("type");
                }
            }
            for message in body["messages"].as_array_mut().into_iter().flatten() {
                in_blocks(message);
                message["content"].as_array_mut().into_iter().flatten().for_each(in_blocks);
            }
        }
        Wire::Responses => {
            // What herm always says and litellm leaves to the vendor.
            let fields = body.as_object_mut().unwrap();
            fields.entry("store").or_insert(json!(false));
            for tool in body["tools"].as_array_mut().into_iter().flatten() {
                tool.as_object_mut().unwrap().entry("strict").or_insert(json!(false));
            }
        }
        Wire::Gemini => {
            body = in_camel_case(body);
            // litellm's own reading of the schemas: which says nothing about herm's.
            for tool in body["tools"].as_array_mut().into_iter().flatten() {
                for function in tool["functionDeclarations"].as_array_mut().into_iter().flatten() {
                    function.as_object_mut().unwrap().shift_remove("parameters").unwrap();
                }
            }
        }
        _ => {}
    }
    let sent = sent(request);
    let path = sent.path.trim_start_matches('/').replace("%3A", ":");
    WireRequest { path, body: body.to_string().into_bytes(), headers: sent.headers }
}

fn in_blocks(owner: &mut Value) {
    if let Some(text) = owner.get("content").and_then(Value::as_str) {
        owner["content"] = json!([{"type": "text", "text": text}]);
    }
}

/// Gemini takes the names of its own fields in both spellings; those inside of arguments are others'.
fn in_camel_case(value: Value) -> Value {
    const OTHERS: [&str; 4] = ["parameters", "args", "response", "parametersJsonSchema"];
    match value {
        Value::Array(items) => items.into_iter().map(in_camel_case).collect(),
        Value::Object(map) => {
            let renamed = map.into_iter().map(|(name, inner)| {
                let mut words = name.split('_');
                let mut camel = words.next().unwrap_or_default().to_owned();
                for word in words {
                    let (first, rest) = word.split_at(word.len().min(1));
                    camel.push_str(&(first.to_uppercase() + rest));
                }
                let inner = if OTHERS.contains(&camel.as_str()) { inner } else { in_camel_case(inner) };
                (camel, inner)
            });
            Value::Object(renamed.collect())
        }
        other => other,
    }
}
