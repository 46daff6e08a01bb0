//! PURE: what an address alone tells of the endpoint behind it.

use reqwest::Url;

use super::mode::{ANTHROPIC, BEDROCK, GEMINI, RESPONSES};
use crate::providers::dialects::chat_completions::azure;
use crate::providers::http::auth::vertex;

/// Host and path of an address, in lower case.
pub(super) struct Place {
    host: String,
    path: String,
    azure: bool,
}

impl Place {
    pub(super) fn of(base_url: &str) -> Self {
        let url = Url::parse(base_url.trim()).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default().to_lowercase();
        let path = url.as_ref().map(Url::path).unwrap_or_default().trim_end_matches('/').to_lowercase();
        Self { azure: azure::is_azure(base_url), host, path }
    }

    /// The wire format that this address stands for, and what tells it.
    pub(super) fn tells(&self) -> Option<(&'static str, String)> {
        let host = self.host.as_str();
        let path = self.path.as_str();
        let by_host = |dialect| Some((dialect, format!("the host is `{host}`")));
        if host == "api.anthropic.com" {
            return by_host(ANTHROPIC);
        }
        if ["/anthropic", "/anthropic/v1"].iter().any(|end| path.ends_with(end)) {
            return Some((ANTHROPIC, "the path ends in `/anthropic`".to_owned()));
        }
        if host.starts_with("bedrock-runtime.") && host.ends_with(".amazonaws.com") {
            return by_host(BEDROCK);
        }
        if host == "api.x.ai" {
            return by_host(RESPONSES);
        }
        let codex = path.split('/').any(|part| part == "codex");
        if codex && (host == "chatgpt.com" || host.ends_with(".chatgpt.com")) {
            return Some((RESPONSES, "it is the Codex endpoint of ChatGPT".to_owned()));
        }
        if self.is_google() {
            return by_host(GEMINI);
        }
        None
    }

    /// Some vendors serve more than one wire format, at paths that say which.
    pub(super) fn insists(&self) -> Option<(&'static str, String)> {
        if !self.is_google() {
            return None;
        }
        let paths = [
            ("/openai", super::mode::CHAT),
            ("/endpoints/openapi", super::mode::CHAT),
            ("/publishers/anthropic", ANTHROPIC),
        ];
        let (path, dialect) = paths.iter().find(|(path, _)| self.path.ends_with(path))?;
        Some((dialect, format!("the path ends in `{path}`")))
    }

    fn is_google(&self) -> bool {
        self.host == "generativelanguage.googleapis.com" || self.is_vertex()
    }

    pub(super) fn is_vertex(&self) -> bool {
        vertex::is_host(&self.host)
    }

    pub(super) fn is_openai(&self) -> bool {
        self.host == "api.openai.com" || self.host.ends_with(".api.openai.com")
    }

    pub(super) const fn is_azure(&self) -> bool {
        self.azure
    }
}
