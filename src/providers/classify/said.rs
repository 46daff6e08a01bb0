//! PURE: the body of a failure, in the shapes that servers give it.

use serde_json::Value;

/// What a server said about a failure.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Codes, types and status words, lower case; the most telling first.
    pub codes: Vec<String>,
    pub message: String,
    /// The status that a report inside of an answer names.
    pub status: Option<u16>,
    /// A gateway passes on what another provider said.
    pub upstream: bool,
    /// A web page instead of an answer.
    pub is_page: bool,
    /// It says when it will be otherwise, so it is no bill.
    pub resets: bool,
}

impl Said {
    /// A body that is no JSON.
    pub(super) fn of_text(body: &str) -> Self {
        Self { message: plain(body), is_page: body.trim_start().starts_with('<'), ..Self::default() }
    }

    /// Known shapes: `{"error":{message,code,type,status,metadata}}` (OpenAI, OpenRouter),
    /// `[{"error":…}]` (Gemini), `{"error":"…"}` (Ollama), `{"object":"error","message",…}` (vLLM,
    /// Mistral), `{"detail":"…"|[{"msg"}]}` (FastAPI), `{"message":…}`, `{"__type":…}` (AWS),
    /// `{"base_resp":{status_code,status_msg}}` (MiniMax), `{"code","error":"…"}` (xAI).
    pub(super) fn of_json(value: &Value) -> Self {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        if let Some(said) = of_minimax(value) {
            return said;
        }
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let mut codes: Vec<String> = reasons(error);
        for place in [error, value] {
            for name in ["code", "type", "status", "__type"] {
                let word = place.get(name).and_then(Value::as_str).map(code);
                codes.extend(word.filter(|word| !codes.contains(word)));
            }
        }
        let number = |value: &Value| {
            value.as_u64().or_else(|| value.as_str()?.parse().ok()).and_then(|n| u16::try_from(n).ok())
        };
        let status = ["code", "status", "status_code"]
            .iter()
            .find_map(|name| error.get(name).and_then(number))
            .filter(|status| (300..600).contains(status));
        let metadata = error.get("metadata");
        let upstream = metadata.is_some_and(|metadata| metadata.get("provider_name").is_some());
        let mut message = message_of(error).or_else(|| message_of(value)).unwrap_or_default();
        let raw = metadata.and_then(|metadata| metadata.get("raw"));
        if let Some(raw) = raw.map(|raw| raw.as_str().map_or_else(|| raw.to_string(), str::to_owned)) {
            message = format!("{message}: {raw}");
        }
        let resets = ["resets_in_seconds", "resets_at"];
        let resets = resets.iter().any(|name| error.get(name).is_some_and(|value| !value.is_null()));
        if message.is_empty() && !value.is_null() {
            message = value.to_string();
        }
        Self { codes, message, status, upstream, is_page: false, resets }
    }

    /// AWS names the error in a header.
    pub(super) fn of_headers(&mut self, headers: &[(String, String)]) {
        let named = headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("x-amzn-errortype"))
            .map(|(_, value)| code(value));
        self.codes.extend(named);
    }
}

/// In lower case, without the name space that AWS puts before and the address it puts behind.
fn code(text: &str) -> String {
    let text = text.rsplit('#').next().unwrap_or(text);
    text.split([':', ' ']).next().unwrap_or(text).trim().to_lowercase()
}

/// Google's `ErrorInfo`, which tells more than its status.
fn reasons(error: &Value) -> Vec<String> {
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    details.filter_map(|detail| detail.get("reason")?.as_str()).map(code).collect()
}

/// Its codes are numbers that others use for other things, so they bear its name here.
fn of_minimax(value: &Value) -> Option<Said> {
    let told = value.get("base_resp")?;
    let number = told.get("status_code")?.as_u64().filter(|number| *number != 0)?;
    let message = told.get("status_msg").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Said { codes: vec![format!("minimax-{number}")], message, ..Said::default() })
}

fn message_of(value: &Value) -> Option<String> {
    let text =
        |value: &Value| value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    if let Some(text) = text(value) {
        return Some(text);
    }
    let named = ["message", "msg", "detail", "error_description", "reason"];
    let found = named.iter().find_map(|name| value.get(name).and_then(text));
    found.or_else(|| {
        let details = value.get("detail")?.as_array()?;
        let texts: Vec<String> =
            details.iter().filter_map(|detail| detail.get("msg").and_then(text)).collect();
        Some(texts.join("; ")).filter(|text| !text.is_empty())
    })
}

/// A body that is no JSON: of a page its title, of a text the text on one line.
fn plain(body: &str) -> String {
    let trimmed = body.trim();
    if trimmed.starts_with('<') {
        let lower = trimmed.to_ascii_lowercase();
        let title = lower
            .find("<title>")
            .and_then(|start| trimmed.get(start + "<title>".len()..))
            .and_then(|rest| rest.split('<').next());
        return match title.map(str::trim).filter(|title| !title.is_empty()) {
            Some(title) => format!("a web page titled `{title}` instead of an answer"),
            None => "a web page instead of an answer".to_owned(),
        };
    }
    trimmed.split_whitespace().collect::<Vec<_>>().join(" ")
}
