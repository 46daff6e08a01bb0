//! PURE: the headers of a mail as they stand, each name in small letters, folded lines made one.

/// The headers, topmost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Headers(Vec<(String, String)>);

impl Headers {
    pub fn of(raw: &[u8]) -> Self {
        let text = String::from_utf8_lossy(raw);
        let mut headers: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            if line.is_empty() {
                break;
            }
            if line.starts_with([' ', '\t']) {
                if let Some((_, value)) = headers.last_mut() {
                    value.push(' ');
                    value.push_str(line.trim());
                }
            } else if let Some((name, value)) = line.split_once(':') {
                headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        Self(headers)
    }

    /// The topmost header of a name; the name in small letters.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The ids in a header, in their order, without angle brackets.
    pub fn ids(&self, name: &str) -> Vec<String> {
        self.first(name).map(ids).unwrap_or_default()
    }
}

fn ids(value: &str) -> Vec<String> {
    let parts = value.split('<').skip(1).filter_map(|part| part.split_once('>'));
    parts.map(|(id, _)| id.trim().to_owned()).filter(|id| is_id(id)).collect()
}

/// Whether it can stand in a header again without becoming another one.
pub(super) fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 900 && id.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '<' | '>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_headers_are_one_and_the_body_is_none() {
        let raw = b"References: <a@x>\r\n <b@y>\r\nX: 1\r\nx: 2\r\n\r\nSubject: no\r\n";
        let headers = Headers::of(raw);
        assert_eq!(headers.ids("references"), ["a@x", "b@y"]);
        assert_eq!((headers.first("x"), headers.all("x").count()), (Some("1"), 2));
        assert_eq!(headers.first("subject"), None);
    }
}
