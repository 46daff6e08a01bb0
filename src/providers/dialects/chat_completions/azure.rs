//! PURE: the addresses of Azure OpenAI and Azure AI Foundry.
//!
//! Source: "Azure OpenAI in Azure AI Foundry Models REST API reference" and "API evolution" (v1).
//! The v1 form, `https://R.openai.azure.com/openai/v1`, is plain Chat Completions; the older one
//! has the deployment in the path and a version in the query. Keys go into the header `api-key`.
//! Azure is never spoken to in Responses.

/// The path of a base URL without one, for the form with deployments.
pub(super) const DEPLOYMENTS_BASE_PATH: &str = "/openai";
/// The path of a base URL without one, for the v1 form.
const V1_BASE_PATH: &str = "/openai/v1";
/// Ends of the hosts, those of its other clouds among them.
const HOSTS: [&str; 5] = [
    ".openai.azure.com",
    ".services.ai.azure.com",
    ".cognitiveservices.azure.com",
    ".openai.azure.us",
    ".openai.azure.cn",
];

/// Whether `base_url` is Azure's; nothing else in herm decides that.
pub fn is_azure(base_url: &str) -> bool {
    let host = host_and_path(base_url).0.to_ascii_lowercase();
    HOSTS.iter().any(|end| host.ends_with(end))
}

/// `base_url` with the path of the v1 form where it is Azure's and has none; others as they are.
pub fn base_url(base_url: &str) -> String {
    let trimmed = base_url.trim().trim_end_matches('/');
    if is_azure(trimmed) && host_and_path(trimmed).1.is_empty() {
        format!("{trimmed}{V1_BASE_PATH}")
    } else {
        trimmed.to_owned()
    }
}

fn host_and_path(url: &str) -> (&str, &str) {
    let rest = url.trim().split_once("://").map_or(url, |(_, rest)| rest);
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    (host.split(':').next().unwrap_or(host), path)
}

/// Where a deployment is called, relative to `…/openai`.
pub(super) fn deployment_path(deployment: &str, api_version: &str) -> String {
    format!("deployments/{}/chat/completions?api-version={}", encoded(deployment), encoded(api_version))
}

fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn azure_is_known_by_its_host() {
        assert!(
            is_azure("https://r.openai.azure.com") && is_azure("https://R.services.ai.azure.com/openai/v1")
        );
        assert!(!is_azure("https://api.openai.com/v1") && !is_azure("https://x.org/r.openai.azure.com"));
        assert!(!is_azure("https://r.openai.azure.com.evil.org/"));
    }

    #[test]
    fn a_base_url_without_a_path_is_the_v1_form() {
        assert_eq!(base_url("https://r.openai.azure.com/"), "https://r.openai.azure.com/openai/v1");
        assert_eq!(base_url("https://r.services.ai.azure.com"), "https://r.services.ai.azure.com/openai/v1");
        assert_eq!(base_url("https://r.openai.azure.com/openai"), "https://r.openai.azure.com/openai");
        assert_eq!(base_url("https://api.openai.com"), "https://api.openai.com");
    }

    #[test]
    fn a_deployment_is_called_by_its_name() {
        let expected = "deployments/my%20gpt/chat/completions?api-version=2024-10-21";
        assert_eq!(deployment_path("my gpt", "2024-10-21"), expected);
    }
}
