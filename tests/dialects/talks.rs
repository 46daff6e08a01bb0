//! herm itself, as a person runs it, against a server that speaks each wire format and misbehaves.

use herm::providers::dialects::WireRequest;
use herm_schema::Event;
use herm_schema::events::{FailureAction, FailureClass, ModelCallStarted};
use serde_json::json;

use super::stage::{Run, Stage};
use super::support::{ModelServer, Recorded, Reply, Wire};
use super::{check, model};

/// Asks one question with this wire format, key and more variables.
fn ask(stage: &Stage, wire: Wire, server: &ModelServer, more: &[&str], variables: &[(&str, &str)]) -> Run {
    ask_at(stage, wire, (&server.base_url(), model(wire)), more, variables)
}

/// As [`ask`], of the model with this name behind this URL.
pub fn ask_at(
    stage: &Stage,
    wire: Wire,
    (base_url, model): (&str, &str),
    more: &[&str],
    variables: &[(&str, &str)],
) -> Run {
    let usual = ["chat", "--base-url", base_url, "--model", model];
    let mut command = stage.command(&[&usual, more].concat());
    command.env("HERM_API_MODE", wire.name()).env("HERM_API_KEY", "key-of-the-test-0001");
    command.envs(variables.iter().copied());
    Stage::finish(command)
}

/// What was sent, as the validators take it.
pub fn sent(recorded: &Recorded) -> WireRequest {
    let path = recorded.path.strip_prefix("/v1/").unwrap_or(&recorded.path).to_owned();
    let known = ["accept", "anthropic-version", "anthropic-beta", "content-type"];
    let headers = known.iter().filter_map(|name| Some((*name, recorded.header(name)?.to_owned())));
    let headers = headers.filter(|(name, _)| *name != "content-type").collect();
    WireRequest { path, headers, body: recorded.body.clone().into_bytes() }
}

#[test]
fn a_conversation_with_tools_goes_the_same_way_in_every_wire_format() {
    for wire in Wire::ALL {
        let server = ModelServer::start([
            Reply::calls(&[
                ("call_a", "read_file", "{\"path\":\"a.txt\"}"),
                ("call_b", "read_file", "{\"path\":\"b.txt\"}"),
            ])
            .saying("Let me look."),
            Reply::text("Both are read."),
            Reply::text("As I said: both."),
        ]);
        let stage = Stage::new();
        std::fs::write(stage.path("a.txt"), "alpha\n").unwrap();
        std::fs::write(stage.path("b.txt"), "beta\n").unwrap();
        let first = ask(&stage, wire, &server, &["-q", "read both"], &[]);
        assert_eq!((first.exit, first.out.trim()), (0, "Both are read."), "{wire:?}: {}", first.err);
        let second = ask(&stage, wire, &server, &["--continue", "-q", "what was that?"], &[]);
        assert_eq!((second.exit, second.out.trim()), (0, "As I said: both."), "{wire:?}: {}", second.err);
        server.verify();
        let requests = server.requests();
        assert_eq!(requests.len(), 3, "{wire:?}");
        for request in &requests {
            assert_eq!(check(wire, &sent(request)), Ok(()), "{wire:?}: {}", request.body);
            let told = request.headers.iter().any(|(_, value)| value.contains("key-of-the-test-0001"));
            assert!(told, "{wire:?}: the key is presented");
        }
        assert!(requests[1].body.contains("alpha") && requests[1].body.contains("beta"), "{wire:?}");
        // All else that was sent before is sent again.
        for pair in requests.windows(2) {
            let (before, after) = (plain(&pair[0].body), plain(&pair[1].body));
            let before = before.trim_end_matches([']', '}', '"']);
            assert!(after.starts_with(before), "{wire:?}:\n{before}\n{after}");
        }
        let log = stage.home().join("log");
        let all: Vec<u8> =
            super::stage::files(&log).iter().flat_map(|file| std::fs::read(file).unwrap()).collect();
        let leaked = all.windows(20).any(|bytes| bytes == b"key-of-the-test-0001");
        assert!(!leaked, "{wire:?}: the key is in the log");
    }
}

/// A body without the breakpoints of an explicit cache, which move.
fn plain(body: &str) -> String {
    body.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
        .replace(",{\"cachePoint\":{\"type\":\"default\"}}", "")
}

#[test]
fn what_is_remembered_or_learnt_during_a_session_changes_nothing_that_was_sent_before() {
    for wire in Wire::ALL {
        let add = json!({"target": "memory", "action": "add", "content": "the build needs protoc"});
        let skill = "---\nname: build\ndescription: Build it here\n---\n\nInstall protoc first.\n";
        let create = json!({"action": "create", "name": "build", "category": "ops", "content": skill});
        let server = ModelServer::start([
            Reply::call("memory", &add),
            Reply::call("skill_manage", &create),
            Reply::text("Noted."),
            Reply::call("skill_view", &json!({"name": "build"})),
            Reply::text("As I said: protoc."),
            Reply::text("protoc, I know."),
        ]);
        let stage = Stage::new();
        let file = stage.home().join("memories/MEMORY.md");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "kept from earlier\n").unwrap();
        let known = stage.home().join("skills/ops/deploy");
        std::fs::create_dir_all(&known).unwrap();
        std::fs::write(known.join("SKILL.md"), "---\nname: deploy\ndescription: Deploy it\n---\nGo.\n")
            .unwrap();
        for (more, said) in [
            (&["-q", "remember protoc"][..], "Noted."),
            (&["--continue", "-q", "what was that?"], "As I said: protoc."),
            (&["-q", "what do you know?"], "protoc, I know."),
        ] {
            let run = ask(&stage, wire, &server, more, &[]);
            assert_eq!((run.exit, run.out.trim()), (0, said), "{wire:?}: {}", run.err);
        }
        server.verify();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept from earlier\n§\nthe build needs protoc\n");
        let bodies: Vec<String> = server.requests().iter().map(|request| plain(&request.body)).collect();
        let [same @ .., next] = bodies.as_slice() else { panic!("{wire:?}: no request") };
        assert_eq!(same.len(), 5, "{wire:?}");
        for pair in same.windows(2) {
            let before = pair[0].trim_end_matches([']', '}', '"']);
            assert!(pair[1].starts_with(before), "{wire:?}:\n{before}\n{}", pair[1]);
        }
        let remembers = |body: &String| body.contains("kept from earlier\\n§\\nthe build needs protoc\\n");
        let knows = |body: &String| body.contains("ops:\\n- build: Build it here\\n- deploy: Deploy it");
        assert!(same.iter().all(|body| body.contains("# MEMORY (your personal notes)")), "{wire:?}");
        assert!(same.iter().all(|body| body.contains("ops:\\n- deploy: Deploy it")), "{wire:?}");
        assert!(
            !same.iter().any(|body| remembers(body) || knows(body)),
            "{wire:?}: its prompt stays as it was"
        );
        assert!(same[4].contains("Install protoc first."), "{wire:?}: a new skill can be read at once");
        assert!(remembers(next) && knows(next), "{wire:?}: the next session knows\n{next}");
    }
}

#[test]
fn what_may_pass_is_tried_again_and_the_person_gets_one_answer() {
    for wire in Wire::ALL {
        let trouble: [(&str, Reply); 4] = [
            ("a limit", Reply::status(429, &wire.refusal(429)).header("retry-after", "0")),
            ("an overload", Reply::status(529, &wire.refusal(529))),
            ("a broken stream", Reply::text("It was going to be a long answer.").cut_after(3)),
            ("a failure in the stream", Reply::text("It was going to be a long answer.").fails_after(3)),
        ];
        std::thread::scope(|scope| {
            for (what, reply) in trouble {
                scope.spawn(move || {
                    let server = ModelServer::start([reply, Reply::text("Here it is.")]);
                    let stage = Stage::new();
                    let run = ask(&stage, wire, &server, &["-q", "go on"], &[]);
                    assert_eq!(
                        (run.exit, run.out.trim()),
                        (0, "Here it is."),
                        "{wire:?}, {what}: {}",
                        run.err
                    );
                    assert_eq!(server.requests().len(), 2, "{wire:?}, {what}");
                    let bodies: Vec<_> = server.requests().into_iter().map(|request| request.body).collect();
                    assert_eq!(bodies[0], bodies[1], "{wire:?}, {what}: the same request, byte for byte");
                });
            }
        });
    }
}

fn calls(stage: &Stage) -> Vec<ModelCallStarted> {
    let started = stage.events().into_iter().filter_map(|recorded| match recorded.event {
        Event::ModelCallStarted(started) => Some(started),
        _ => None,
    });
    started.collect()
}

fn actions(stage: &Stage) -> Vec<(FailureClass, FailureAction)> {
    let failed = stage.events().into_iter().filter_map(|recorded| match recorded.event {
        Event::ModelCallFailed(failed) => Some((failed.failure.class, failed.action)),
        _ => None,
    });
    failed.collect()
}

#[test]
fn a_key_without_credit_gives_way_to_the_next_and_rests_over_restarts() {
    let wire = Wire::ChatCompletions;
    let keys = [("HERM_API_KEY", "first-key-00000001"), ("HERM_API_KEY_2", "second-key-0000002")];
    let server = ModelServer::computed(|request| match request.header("authorization") {
        Some("Bearer second-key-0000002") => Reply::text("From the second."),
        _ => Reply::status(402, &Wire::ChatCompletions.refusal(402)),
    });
    let stage = Stage::new();
    let run = ask(&stage, wire, &server, &["-q", "one"], &keys);
    assert_eq!((run.exit, run.out.trim()), (0, "From the second."), "{}", run.err);
    assert_eq!(actions(&stage), [(FailureClass::Billing, FailureAction::Rotate)]);
    let run = ask(&stage, wire, &server, &["-q", "two"], &keys);
    assert_eq!((run.exit, run.out.trim()), (0, "From the second."), "{}", run.err);
    let presented: Vec<_> =
        server.requests().iter().map(|request| request.header("authorization").unwrap().to_owned()).collect();
    let (first, second) = ("Bearer first-key-00000001", "Bearer second-key-0000002");
    assert_eq!(presented, [first, second, second], "the key without credit is left alone by a later process");
    assert_eq!(calls(&stage).len(), 3);
    let rested =
        stage.events().into_iter().any(|recorded| matches!(recorded.event, Event::CredentialRested(_)));
    assert!(rested);
    // `herm auth reset` makes it good again.
    let reset = stage.run(&["auth", "reset", "custom"]);
    assert_eq!(reset.exit, 0, "{}", reset.err);
    ask(&stage, wire, &server, &["-q", "three"], &keys);
    let asked = server.requests()[3].header("authorization").map(str::to_owned);
    assert_eq!(asked.as_deref(), Some(first));
}

#[test]
fn a_model_that_cannot_be_had_is_stood_in_for_within_the_same_turn() {
    let broken =
        ModelServer::computed(|request| Reply::status(402, &Wire::of_path(&request.path).refusal(402)));
    let whole = ModelServer::start([Reply::text("I stand in."), Reply::text("Again.")]);
    let stage = Stage::new();
    std::fs::create_dir_all(stage.home()).unwrap();
    let fallback =
        json!([{"base_url": whole.base_url(), "model": "claude-x", "api_mode": "anthropic_messages"}]);
    std::fs::write(stage.home().join("config.yaml"), format!("fallback_providers: {fallback}\n")).unwrap();
    let run = ask(&stage, Wire::ChatCompletions, &broken, &["-q", "hello"], &[]);
    assert_eq!((run.exit, run.out.trim()), (0, "I stand in."), "{}", run.err);
    assert!(run.err.contains("claude-x"), "the person is told who answers: {}", run.err);
    assert_eq!(actions(&stage), [(FailureClass::Billing, FailureAction::FallBack { route: 1 })]);
    let called = calls(&stage);
    assert_eq!((called[0].route, called[1].route), (0, 1));
    assert_eq!((called[0].call, called[0].attempt, called[1].call, called[1].attempt), (1, 1, 1, 2));
    assert_eq!(check(Wire::AnthropicMessages, &sent(&whole.requests()[0])), Ok(()));
}

#[test]
fn a_question_besides_goes_on_to_any_vendor_with_a_key_only_where_that_is_allowed() {
    for allowed in [false, true] {
        // The conversation goes well, and whoever is shown the picture fails.
        let own = ModelServer::computed(|request| {
            let last = request.json["messages"].as_array().unwrap().last().unwrap();
            match (request.json["tools"].is_array(), last["role"] == "tool") {
                (false, _) => Reply::status(404, &Wire::ChatCompletions.refusal(404)),
                (true, false) => Reply::call(
                    "vision_analyze",
                    &json!({"image_url": "grey.png", "question": "What is it?"}),
                ),
                (true, true) => Reply::text("Done."),
            }
        });
        let other = ModelServer::computed(|_| Reply::text("A grey square."));
        let stage = Stage::new();
        image::RgbImage::from_pixel(20, 10, image::Rgb([90, 90, 90])).save(stage.path("grey.png")).unwrap();
        std::fs::create_dir_all(stage.home()).unwrap();
        let vendors = json!({
            "own": {"base_url": own.base_url(), "dialect": "chat_completions", "auth": "none", "model": "eye",
                "models": [{"name": "eye", "images": true}]},
            "openrouter": {"base_url": other.base_url(), "model": "seer",
                "models": [{"name": "seer", "images": true}]},
        });
        let config = format!("auxiliary_any_vendor: {allowed}\nproviders: {vendors}\n");
        std::fs::write(stage.home().join("config.yaml"), config).unwrap();
        let mut command = stage.command(&["chat", "--provider", "own", "-q", "look at grey.png"]);
        command.env("OPENROUTER_API_KEY", "key-of-the-gateway-0001");
        let run = Stage::finish(command);
        assert_eq!((run.exit, run.out.trim()), (0, "Done."), "{}", run.err);
        let asked: Vec<String> = stage
            .events()
            .into_iter()
            .filter_map(|recorded| match recorded.event {
                Event::AuxiliaryCallStarted(started) => Some(started.provider),
                _ => None,
            })
            .collect();
        let told = own.requests().last().unwrap().last_text().contains("A grey square.");
        match allowed {
            false => assert_eq!((asked, other.requests().len(), told), (vec!["own".to_owned()], 0, false)),
            true => {
                assert_eq!((asked, told), (vec!["own".to_owned(), "openrouter".to_owned()], true));
                let key = other.requests()[0].header("authorization").map(str::to_owned);
                assert_eq!(key.as_deref(), Some("Bearer key-of-the-gateway-0001"));
            }
        }
    }
}

#[test]
fn where_everything_fails_the_person_is_told_of_the_first_failure_in_plain_words() {
    // Case `err-ui-o`.
    let spent = json!({"error": {"message": "API key USD spend limit exceeded"}}).to_string();
    let refusal = spent.clone();
    let broken = ModelServer::computed(move |_| Reply::status(402, &spent));
    let also = ModelServer::computed(move |_| Reply::status(402, &refusal));
    let stage = Stage::new();
    std::fs::create_dir_all(stage.home()).unwrap();
    let fallback = json!([{"base_url": also.base_url(), "model": "other"}]);
    std::fs::write(stage.home().join("config.yaml"), format!("fallback_providers: {fallback}\n")).unwrap();
    let run = ask(&stage, Wire::ChatCompletions, &broken, &["-q", "hello"], &[]);
    assert_eq!(run.exit, 4, "{}", run.err);
    assert_eq!(run.out, "", "a failure is no answer");
    let told = run.err.to_lowercase();
    assert!(told.contains("spending limit"), "{told}");
    assert!(!told.contains("rate limit") && !told.contains("key is invalid"), "{told}");
    assert!(told.contains("asking custom other instead"), "{told}");
}

#[test]
fn a_picture_that_is_too_large_is_made_smaller_and_sent_again() {
    let wire = Wire::AnthropicMessages;
    let server = ModelServer::start([
        Reply::status(
            413,
            "{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\",\"message\":\"too large\"}}",
        ),
        Reply::text("A grey square."),
    ]);
    let stage = Stage::new();
    image::RgbImage::from_pixel(2_000, 1_000, image::Rgb([90, 90, 90])).save(stage.path("grey.png")).unwrap();
    let variables = [(
        "HERM_PROVIDERS",
        json!({"seer": {"base_url": server.base_url(), "dialect": "anthropic_messages",
        "auth": "anthropic", "key_variables": ["HERM_API_KEY"], "model": "claude-sonnet-4-5",
        "models": [{"name": "claude-sonnet-4-5", "images": true}]}})
        .to_string(),
    )];
    let mut command = stage.command(&["chat", "--provider", "seer", "-i", "grey.png", "-q", "what is it?"]);
    command.env("HERM_API_KEY", "key-of-the-test-0001");
    command.envs(variables);
    let run = Stage::finish(command);
    assert_eq!((run.exit, run.out.trim()), (0, "A grey square."), "{}", run.err);
    assert_eq!(
        actions(&stage),
        [(FailureClass::PayloadTooLarge, FailureAction::ShrinkImages { side_px_max: 1_568 })]
    );
    let sizes: Vec<(u32, u32)> = server
        .requests()
        .iter()
        .map(|request| {
            assert_eq!(check(wire, &sent(request)), Ok(()), "{}", request.body);
            let source = &request.json["messages"][0]["content"]
                .as_array()
                .unwrap()
                .iter()
                .find(|block| block["type"] == "image")
                .unwrap()["source"];
            let bytes = base64::Engine::decode(
                &base64::engine::general_purpose::STANDARD,
                source["data"].as_str().unwrap(),
            )
            .unwrap();
            let picture = image::load_from_memory(&bytes).unwrap();
            (picture.width(), picture.height())
        })
        .collect();
    assert_eq!(sizes, [(2_000, 1_000), (1_568, 784)]);
}

#[test]
fn pictures_of_a_tool_that_a_server_refuses_are_left_out_and_named() {
    let wire = Wire::ChatCompletions;
    let refusal = json!({"error": {"type": "invalid_request_error", "code": 400,
        "message": "messages[3]: tool message content must be a string, image_url is not supported"}});
    let server = ModelServer::start([
        Reply::call("read_file", &json!({"path": "grey.png"})),
        Reply::status(400, &refusal.to_string()),
        Reply::text("I cannot see it."),
    ]);
    let stage = Stage::new();
    image::RgbImage::from_pixel(20, 10, image::Rgb([90, 90, 90])).save(stage.path("grey.png")).unwrap();
    let vendor = json!({"seer": {"base_url": server.base_url(), "dialect": "chat_completions", "auth": "none",
        "model": "eye", "models": [{"name": "eye", "images": true}]}});
    let mut command = stage.command(&["chat", "--provider", "seer", "-q", "what is in grey.png?"]);
    command.env("HERM_PROVIDERS", vendor.to_string());
    let run = Stage::finish(command);
    assert_eq!((run.exit, run.out.trim()), (0, "I cannot see it."), "{}", run.err);
    let strip = FailureAction::Strip { what: herm_schema::events::Stripped::ToolImages };
    assert_eq!(actions(&stage), [(FailureClass::MultimodalToolContentUnsupported, strip)]);
    let told = run.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("trying again without the images of tools"), "the person is told: {told}");
    let requests = server.requests();
    let pictures: Vec<bool> =
        requests.iter().map(|request| request.body.contains("image/png;base64")).collect();
    assert_eq!(pictures, [false, true, false], "sent once, and never again after it was refused");
    assert!(requests[2].body.contains("grey.png`, image/png"), "named instead: {}", requests[2].body);
    for request in &requests {
        assert_eq!(check(wire, &sent(request)), Ok(()), "{}", request.body);
    }
}

#[test]
fn a_limit_on_spending_stops_before_the_next_call() {
    let server = ModelServer::start([Reply::text("Dear.").usage(100_000, 1_000), Reply::text("Never.")]);
    let stage = Stage::new();
    std::fs::create_dir_all(stage.home()).unwrap();
    let vendor = json!({"base_url": server.base_url(), "dialect": "chat_completions", "auth": "none",
        "model": "dear", "models": [{"name": "dear", "prices": {"input": 3.0, "output": 15.0}}]});
    let config =
        format!("providers: {}\nspending: {{session_max_usd: 0.3}}\n", json!({"dear-vendor": vendor}));
    std::fs::write(stage.home().join("config.yaml"), config).unwrap();
    let asked = |more: &[&str]| stage.run(&[&["chat", "--provider", "dear-vendor"], more].concat());
    let first = asked(&["-q", "one"]);
    assert_eq!((first.exit, first.out.trim()), (0, "Dear."), "{}", first.err);
    let second = asked(&["--continue", "-q", "two"]);
    assert_eq!(second.exit, 3, "{}", second.err);
    assert!(second.out.contains("spending limit") && second.out.contains("$0.32"), "{}", second.out);
    assert_eq!(server.requests().len(), 1, "nothing was asked");
    let usage = stage.run(&["usage", "--by", "model"]);
    assert!(usage.out.contains("dear-vendor dear") && usage.out.contains("$0.32"), "{}", usage.out);
}

/// A streamed answer of Claude's that reasons first, and signs it.
fn signed(text: &str) -> Reply {
    let events = [
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "model": "scripted", "content": [], "stop_reason": null, "usage": {"input_tokens": 9, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2lnbmVk"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ];
    let line = |event: &serde_json::Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()).into_bytes()
    };
    let pieces: Vec<_> = events.iter().map(line).collect();
    Reply::raw(&pieces.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn a_signature_that_is_refused_is_left_out_once_and_the_conversation_goes_on() {
    // Case `pair-thinking-o`.
    let wire = Wire::AnthropicMessages;
    let refusal = json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": "messages.1.content.0: Invalid `signature` in `thinking` block"}});
    let server = ModelServer::start([
        signed("First."),
        Reply::status(400, &refusal.to_string()),
        Reply::text("Second."),
        Reply::text("Third."),
    ]);
    let stage = Stage::new();
    for (more, said) in [
        (&["-q", "one"][..], "First."),
        (&["--continue", "-q", "two"], "Second."),
        (&["--continue", "-q", "three"], "Third."),
    ] {
        let run = ask(&stage, wire, &server, more, &[("HERM_REASONING_EFFORT", "low")]);
        assert_eq!((run.exit, run.out.trim()), (0, said), "{}", run.err);
    }
    let told: Vec<bool> = server.requests().iter().map(|request| request.body.contains("c2lnbmVk")).collect();
    assert_eq!(told, [false, true, false, false], "echoed as it came, and never again after it was refused");
    let strip = FailureAction::Strip { what: herm_schema::events::Stripped::Reasoning };
    assert_eq!(actions(&stage), [(FailureClass::ThinkingSignature, strip)]);
    for request in server.requests() {
        assert_eq!(check(wire, &sent(&request)), Ok(()), "{}", request.body);
    }
}

#[test]
fn a_schema_that_a_local_server_cannot_read_is_sent_plainly() {
    let refusal = json!({"error": {"code": 400, "message": "failed to parse grammar", "type": "invalid_request_error"}});
    let server = ModelServer::start([Reply::status(400, &refusal.to_string()), Reply::text("Now I can.")]);
    let stage = Stage::new();
    let run = ask(&stage, Wire::ChatCompletions, &server, &["-q", "hello"], &[]);
    assert_eq!((run.exit, run.out.trim()), (0, "Now I can."), "{}", run.err);
    let strip = FailureAction::Strip { what: herm_schema::events::Stripped::SchemaPatterns };
    assert_eq!(actions(&stage), [(FailureClass::LlamaCppGrammarPattern, strip)]);
    assert!(run.err.contains("plainer tool schemas"), "{}", run.err);
}
