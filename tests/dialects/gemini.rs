//! A strict validator of requests to Gemini, and requests that must pass it.
//!
//! Written from the Gemini API reference (v1beta): `generateContent`, `Content`, `Part`, `Schema`,
//! `Tool`, and from the guides "Function calling", "Thinking" and "Thought signatures".

use std::collections::BTreeSet;

use herm::providers::dialects::gemini::{Gemini, NAME};
use herm::providers::dialects::{Dialect, WireRequest};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::histories::{self, FOREIGN};
use super::rules::{base64, ensure, fields, list, not_blank, object, printable, text};

const NAME_CHARS_MAX: usize = 64;
const METHODS: [&str; 2] = [":generateContent", ":streamGenerateContent?alt=sse"];
const IMAGE_TYPES: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];
/// What is documented for calls that another model made.
const SENTINELS: [&str; 2] = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// Whether the API takes `request`; why not.
pub fn check(request: &WireRequest) -> Result<(), String> {
    let method = METHODS.iter().find_map(|method| request.path.strip_suffix(method));
    let model =
        method.and_then(|path| path.strip_prefix("models/")).ok_or(format!("the path `{}`", request.path))?;
    let body: Value = serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
    let allowed = ["systemInstruction", "tools", "toolConfig", "generationConfig"];
    fields(&body, "the body", &["contents"], &allowed)?;
    printable(&body)?;
    if let Some(system) = body.get("systemInstruction") {
        fields(system, "systemInstruction", &["parts"], &[])?;
        for part in list(&system["parts"], "parts")? {
            fields(part, "part", &["text"], &[])?;
            not_blank(text(&part["text"], "text")?, "systemInstruction")?;
        }
    }
    tools(&body)?;
    if let Some(config) = body.get("generationConfig") {
        generation_config(config, model)?;
    }
    let signed = model.starts_with("gemini-3") || model.starts_with("gemini-4");
    contents(list(&body["contents"], "contents")?, signed)
}

fn tools(body: &Value) -> Result<(), String> {
    let Some(tools) = body.get("tools") else {
        return ensure(body.get("toolConfig").is_none(), "toolConfig without tools");
    };
    let mut names = BTreeSet::new();
    for tool in list(tools, "tools")? {
        fields(tool, "tool", &["functionDeclarations"], &[])?;
        let declared = list(&tool["functionDeclarations"], "functionDeclarations")?;
        ensure(!declared.is_empty(), "no function is declared")?;
        for function in declared {
            fields(function, "function", &["name", "description"], &["parameters"])?;
            let name = text(&function["name"], "name")?;
            named(name)?;
            ensure(names.insert(name), format!("two functions are named `{name}`"))?;
            not_blank(text(&function["description"], "description")?, "description")?;
            if let Some(parameters) = function.get("parameters") {
                ensure(parameters["type"] == "OBJECT", "parameters are no object")?;
                ensure(parameters.get("properties").is_some(), "parameters without properties")?;
                schema(parameters)?;
            }
        }
    }
    let none = json!({"functionCallingConfig":{"mode":"NONE"}});
    ensure(body.get("toolConfig").is_none_or(|config| *config == none), "toolConfig")
}

fn named(name: &str) -> Result<(), String> {
    let first = name.chars().next().is_some_and(|char| char.is_ascii_alphabetic() || char == '_');
    let fits = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | ':' | '-');
    ensure(first && name.len() <= NAME_CHARS_MAX && name.chars().all(fits), format!("the name `{name}`"))
}

fn schema(schema: &Value) -> Result<(), String> {
    if schema.get("anyOf").is_some() {
        fields(schema, "anyOf", &["anyOf"], &[])?;
        return list(&schema["anyOf"], "anyOf")?.iter().try_for_each(self::schema);
    }
    let common = ["description", "title", "nullable"];
    let own: &[&str] = match schema["type"].as_str() {
        Some("OBJECT") => &["properties", "required", "propertyOrdering"],
        Some("ARRAY") => &["items", "minItems", "maxItems"],
        Some("STRING") => &["format", "enum", "minLength", "maxLength", "pattern"],
        Some("INTEGER" | "NUMBER") => &["format", "minimum", "maximum"],
        Some("BOOLEAN") => &[],
        _ => return Err(format!("a schema without a type: {schema}")),
    };
    let allowed: Vec<&str> = common.iter().chain(own).copied().collect();
    let map = fields(schema, "schema", &["type"], &allowed)?;
    ensure(map.get("nullable").is_none_or(Value::is_boolean), "nullable")?;
    match schema["type"].as_str() {
        Some("ARRAY") => self::schema(map.get("items").ok_or("an array without items")?)?,
        Some("OBJECT") => {
            let Some(properties) = map.get("properties") else {
                return ensure(!map.contains_key("required"), "required without properties");
            };
            let properties = object(properties, "properties")?;
            ensure(!properties.is_empty(), "properties are empty")?;
            properties.values().try_for_each(self::schema)?;
            for name in map.get("required").and_then(Value::as_array).into_iter().flatten() {
                let known = name.as_str().is_some_and(|name| properties.contains_key(name));
                ensure(known, format!("{name} is required and no property"))?;
            }
        }
        _ => {}
    }
    if let Some(words) = map.get("enum") {
        let words = list(words, "enum")?;
        let full = words.iter().all(|word| word.as_str().is_some_and(|word| !word.is_empty()));
        ensure(!words.is_empty() && full && schema["format"] == "enum", format!("enum {schema}"))?;
    }
    let format = map.get("format").and_then(Value::as_str);
    let formats = ["enum", "date-time", "int32", "int64", "float", "double"];
    ensure(format.is_none_or(|format| formats.contains(&format)), format!("format {format:?}"))
}

fn generation_config(config: &Value, model: &str) -> Result<(), String> {
    fields(config, "generationConfig", &[], &["maxOutputTokens", "thinkingConfig"])?;
    let limit = config.get("maxOutputTokens");
    ensure(limit.is_none_or(|limit| limit.as_u64().is_some_and(|it| it > 0)), "maxOutputTokens")?;
    let Some(thinking) = config.get("thinkingConfig") else { return Ok(()) };
    fields(thinking, "thinkingConfig", &["includeThoughts"], &["thinkingBudget", "thinkingLevel"])?;
    if let Some(level) = thinking.get("thinkingLevel") {
        let levels: &[&str] = match model {
            "gemini-3-pro-preview" => &["low", "high"],
            _ => &["minimal", "low", "medium", "high"],
        };
        ensure(levels.iter().any(|it| level == it), format!("level {level} of {model}"))?;
        ensure(!model.starts_with("gemini-2"), format!("{model} takes no level"))?;
    }
    if let Some(budget) = thinking.get("thinkingBudget").map(|it| it.as_u64().unwrap_or(u64::MAX)) {
        let range = if model.contains("pro") { 128..=32_768 } else { 0..=24_576 };
        ensure(
            model.starts_with("gemini-2.5") && range.contains(&budget),
            format!("budget {budget} of {model}"),
        )?;
    }
    ensure(
        model.starts_with("gemini-2.5") || model.starts_with("gemini-3"),
        format!("{model} does not think"),
    )
}

fn contents(contents: &[Value], signed: bool) -> Result<(), String> {
    ensure(contents.first().is_some_and(|first| first["role"] == "user"), "the user does not begin")?;
    ensure(contents.last().is_some_and(|last| last["role"] == "user"), "the user does not end")?;
    // Names and ids of the calls that wait for their responses.
    let mut waiting: Vec<(Value, Value)> = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        fields(content, "content", &["role", "parts"], &[])?;
        let expected = if at % 2 == 0 { "user" } else { "model" };
        ensure(content["role"] == expected, format!("roles do not alternate at {at}"))?;
        let parts = list(&content["parts"], "parts")?;
        ensure(!parts.is_empty(), "a content is empty")?;
        parts.iter().try_for_each(|part| self::part(part, expected))?;
        let found = |name: &str| -> Vec<(Value, Value)> {
            let inner = parts.iter().filter_map(|part| part.get(name));
            inner.map(|it| (it["name"].clone(), it.get("id").cloned().unwrap_or_default())).collect()
        };
        if expected == "user" {
            ensure(found("functionResponse") == waiting, format!("{waiting:?} is not answered in order"))?;
            let first = parts.iter().take(waiting.len()).all(|part| part.get("functionResponse").is_some());
            ensure(first, "responses do not stand first")?;
        } else {
            let calls: Vec<&Value> = parts.iter().filter(|part| part.get("functionCall").is_some()).collect();
            let unsigned = calls.first().is_some_and(|call| call.get("thoughtSignature").is_none());
            ensure(!signed || !unsigned, "the first call is not signed")?;
            waiting = found("functionCall");
        }
    }
    Ok(())
}

fn part(part: &Value, role: &str) -> Result<(), String> {
    let signature = part.get("thoughtSignature");
    if let Some(signature) = signature {
        let signature = text(signature, "thoughtSignature")?;
        ensure(role == "model", "what the user said is signed")?;
        ensure(
            SENTINELS.contains(&signature) || base64(signature).is_ok(),
            format!("signature `{signature}`"),
        )?;
    }
    if part.get("text").is_some() {
        fields(part, "part", &["text"], &["thought", "thoughtSignature"])?;
        let said = text(&part["text"], "text")?;
        ensure(part.get("thought").is_none() || signature.is_some(), "a thought without a signature")?;
        return ensure(signature.is_some() || !said.trim().is_empty(), "a text is empty");
    }
    if part.get("inlineData").is_some() {
        fields(part, "part", &["inlineData"], &[])?;
        fields(&part["inlineData"], "inlineData", &["mimeType", "data"], &[])?;
        let kind = text(&part["inlineData"]["mimeType"], "mimeType")?;
        ensure(role == "user" && IMAGE_TYPES.contains(&kind), format!("an image of type `{kind}`"))?;
        return base64(text(&part["inlineData"]["data"], "data")?);
    }
    let (kind, content, of) = match part.get("functionCall") {
        Some(_) => ("functionCall", "args", "model"),
        None => ("functionResponse", "response", "user"),
    };
    fields(part, "part", &[kind], &["thoughtSignature"])?;
    ensure(role == of, format!("a {kind} of `{role}`"))?;
    fields(&part[kind], kind, &["name", content], &["id"])?;
    named(text(&part[kind]["name"], "name")?)?;
    object(&part[kind][content], content).map(|_| ())
}

const MODELS: &[&str] =
    &["gemini-2.0-flash", "gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3-flash"];

fn own_extras(text: &str, calls: usize) -> String {
    let chars = text.chars().count();
    let half = chars / 2;
    let mut parts = vec![
        json!({"thought":{"text":"t","signature":"c2ln"}}),
        json!({"text":{"chars":half}}),
        json!({"text":{"chars":chars - half,"signature":"c2ln"}}),
    ];
    parts.extend((0..calls).map(|at| {
        let signature = if at == 0 { json!("c2ln") } else { Value::Null };
        json!({"call":{"id":format!("fc-{at}"),"signature":signature}})
    }));
    json!({ "parts": parts }).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn every_request_is_taken(request in histories::requests(NAME, MODELS, own_extras)) {
        let wire = Gemini.encode(&request);
        let body = String::from_utf8_lossy(&wire.body).into_owned();
        prop_assert_eq!(check(&wire), Ok(()), "{}", body);
        prop_assert!(!body.contains(FOREIGN), "{}", body);
        prop_assert_eq!(&wire, &Gemini.encode(&request));
    }

    #[test]
    fn a_request_begins_with_the_one_before(steps in proptest::collection::vec(0u8..3, 1..8)) {
        let (messages, sent) = histories::conversation(&steps);
        let bytes = |end: usize| Gemini.encode(&histories::request(NAME, "gemini-3-flash", &messages[..end])).body;
        for pair in sent.windows(2) {
            prop_assert!(histories::goes_on_from(&bytes(pair[1]), &bytes(pair[0])));
        }
    }
}

#[test]
fn the_validator_refuses_what_the_api_refuses() {
    let with = |contents: Value| {
        let body = json!({ "contents": contents }).to_string().into_bytes();
        check(&WireRequest { path: "models/gemini-3-flash:generateContent".into(), headers: vec![], body })
    };
    let user = json!({"role":"user","parts":[{"text":"x"}]});
    let call = json!({"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2ln"});
    let called = json!({"role":"model","parts":[call]});
    let result = json!({"functionResponse":{"name":"f","response":{"output":"r"}}});
    let answered = json!({"role":"user","parts":[result]});
    assert_eq!(with(json!([user, called, answered])), Ok(()));
    for refused in [
        json!([]),
        json!([user, user]),
        json!([called, answered]),
        json!([user, called]),
        json!([user, called, user]),
        json!([user, {"role":"model","parts":[{"text":"a"}]}, answered]),
        json!([user, called, {"role":"user","parts":[result, result]}]),
        json!([user, {"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}, answered]),
        json!([{"role":"user","parts":[]}]),
        json!([{"role":"user","parts":[{"text":""}]}]),
    ] {
        assert!(with(refused.clone()).is_err(), "{refused}");
    }
}
