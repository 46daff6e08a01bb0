//! Of the arguments of a call, the one that says most: what people are shown of a call that runs.

use serde_json::Value;

/// The arguments that tell what a call is about, the most telling first.
const TELLING: &[&str] = &["command", "path", "pattern", "query", "question", "url", "name"];

/// The most telling argument of `arguments`, which are JSON.
pub fn telling(arguments: &str) -> Option<String> {
    let value: Value = serde_json::from_str(arguments).unwrap_or_default();
    TELLING.iter().find_map(|name| value.get(name)?.as_str().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_says_more_than_the_name() {
        assert_eq!(telling(r#"{"name":"x","command":"ls -l"}"#).as_deref(), Some("ls -l"));
        assert_eq!(telling(r#"{"depth":3}"#).or(telling("no json")), None);
    }
}
