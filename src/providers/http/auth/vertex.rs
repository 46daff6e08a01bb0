//! Addresses of Google's Vertex AI.
//!
//! Source: "Generative AI on Vertex AI: locations" and "REST resource: projects.locations.publishers
//! .models" (v1). The global endpoint and those of `us` and `eu` as a whole have hosts of their own.
//! Gemini is there under the publisher `google` and speaks the dialect `gemini`; Claude is under
//! `anthropic`. Both take a token as [`super::google::Google`] fetches it.

/// The address in the catalogue, of which [`base_url`] makes the right one for each location and model.
pub const TEMPLATE: &str =
    "https://{region}-aiplatform.googleapis.com/v1/projects/{project}/locations/{region}/publishers/google";

/// Whether this host, in lower case, is Vertex AI's.
pub fn is_host(host: &str) -> bool {
    host == "aiplatform.googleapis.com"
        || host.ends_with("-aiplatform.googleapis.com")
        || (host.starts_with("aiplatform.") && host.ends_with(".rep.googleapis.com"))
}

/// Who made a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publisher {
    Google,
    Anthropic,
}

impl Publisher {
    /// As it stands in an address.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Google => "google",
            Self::Anthropic => "anthropic",
        }
    }

    /// Of a model by its name.
    pub fn of_model(model: &str) -> Self {
        if model.contains("claude") { Self::Anthropic } else { Self::Google }
    }
}

/// The base URL for `project` in `location`, such as `global` or `europe-west1`, up to the
/// publisher; `None` if one of them cannot be in an address.
pub fn base_url(project: &str, location: &str, publisher: Publisher) -> Option<String> {
    let (project, location) = (project.trim(), location.trim());
    let fits = |text: &str, more: &[char]| {
        let known = |char: char| char.is_ascii_alphanumeric() || char == '-' || more.contains(&char);
        !text.is_empty() && text.chars().all(known)
    };
    // Old projects bear the name of a domain: `example.com:project`.
    if !fits(project, &['.', ':', '_']) || !fits(location, &[]) {
        return None;
    }
    let host = match location {
        "global" => "aiplatform.googleapis.com".to_owned(),
        "us" | "eu" => format!("aiplatform.{location}.rep.googleapis.com"),
        region => format!("{region}-aiplatform.googleapis.com"),
    };
    let publisher = publisher.name();
    Some(format!("https://{host}/v1/projects/{project}/locations/{location}/publishers/{publisher}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_location_has_its_host() {
        let of = |location| base_url("proj-1", location, Publisher::Google);
        let path = |location: &str| format!("/v1/projects/proj-1/locations/{location}/publishers/google");
        let expected = |host: &str, location: &str| Some(format!("https://{host}{}", path(location)));
        assert_eq!(of("global"), expected("aiplatform.googleapis.com", "global"));
        assert_eq!(of("eu"), expected("aiplatform.eu.rep.googleapis.com", "eu"));
        assert_eq!(of("europe-west1"), expected("europe-west1-aiplatform.googleapis.com", "europe-west1"));
        for location in ["global", "eu", "us", "europe-west1"] {
            let url = of(location).unwrap();
            let host = url.split('/').nth(2).unwrap();
            assert!(is_host(host), "{host}");
            assert!(!is_host(&format!("{host}.evil.example")), "{host}");
        }
        assert_eq!(of("a/b"), None);
        assert_eq!(base_url("", "global", Publisher::Google), None);
    }

    #[test]
    fn a_model_tells_its_publisher() {
        assert_eq!(Publisher::of_model("claude-sonnet-4-5@20250929"), Publisher::Anthropic);
        assert_eq!(Publisher::of_model("gemini-2.5-pro"), Publisher::Google);
    }
}
