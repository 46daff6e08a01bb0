//! PURE: whether the own mail server vouches for the address that a mail says it is from.
//!
//! Anybody can write any `From`. A receiving server checks DKIM, SPF and DMARC and writes what it found
//! into `Authentication-Results` (RFC 8601), after having taken out those that came with the mail under
//! its name. So only the topmost one of that name counts, and only a pass for the domain of `From`.

use super::headers::Headers;

/// Whether `from` is the sender, as far as the server that signs as `servers` says.
pub(super) fn is_proven(headers: &Headers, from: &str, servers: &[String]) -> bool {
    let Some((_, domain)) = from.rsplit_once('@') else { return false };
    let domain = domain.to_ascii_lowercase();
    let mut results = headers.all("authentication-results").map(without_comments);
    let own = results.find(|result| {
        let server = result.split(';').next().unwrap_or_default();
        let server = server.split_whitespace().next().unwrap_or_default();
        servers.iter().any(|own| own.eq_ignore_ascii_case(server))
    });
    own.is_some_and(|own| own.split(';').skip(1).any(|method| passes(method, &domain)))
}

fn passes(method: &str, domain: &str) -> bool {
    let method = method.to_ascii_lowercase();
    let mut words = method.split_whitespace();
    let Some((name, "pass")) = words.next().and_then(|first| first.split_once('=')) else { return false };
    let wanted: &[&str] = match name.split('/').next().unwrap_or_default() {
        "dmarc" => &["header.from"],
        "dkim" => &["header.d", "header.i"],
        "spf" => &["smtp.mailfrom", "smtp.mail"],
        _ => return false,
    };
    words.filter_map(|word| word.split_once('=')).any(|(property, value)| {
        let of = value.trim_matches('"').rsplit('@').next().unwrap_or_default();
        wanted.contains(&property) && is_aligned(of, domain)
    })
}

/// The same domain, or one above it; a top-level domain vouches for nobody.
fn is_aligned(of: &str, domain: &str) -> bool {
    of == domain || (of.contains('.') && domain.strip_suffix(of).is_some_and(|rest| rest.ends_with('.')))
}

/// A value without what stands in parentheses.
fn without_comments(value: &str) -> String {
    let mut depth = 0_usize;
    let kept = value.chars().filter(|c| {
        match c {
            '(' => depth += 1,
            ')' => {
                depth = depth.saturating_sub(1);
                return false;
            }
            _ => {}
        }
        depth == 0
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_from(results: &[&str], from: &str) -> bool {
        let raw: String =
            results.iter().map(|result| format!("Authentication-Results: {result}\r\n")).collect();
        is_proven(&Headers::of(raw.as_bytes()), from, &["mx.example.org".to_owned()])
    }

    #[test]
    fn a_pass_of_the_own_server_for_the_domain_counts() {
        for result in [
            "mx.example.org; dmarc=pass (p=NONE) header.from=ada.net",
            "mx.example.org; dkim=pass header.i=@ada.net header.s=x; spf=fail smtp.mailfrom=x.y",
            "mx.example.org 1; spf=pass (says so) smtp.mailfrom=bounce@ada.net",
            "MX.example.org;\r\n dkim=fail header.d=ada.net;\r\n dkim=pass header.d=ada.net",
        ] {
            assert!(is_from(&[result], "Ada@Ada.net"), "{result}");
        }
        assert!(is_from(&["mx.example.org; dkim=pass header.d=ada.net"], "x@mail.ada.net"));
    }

    #[test]
    fn nothing_else_does() {
        for result in [
            "mx.example.org; none",
            "mx.example.org; dkim=pass header.d=evil.net",
            "mx.example.org; dkim=pass header.d=net",
            "mx.example.org; dkim=pass header.d=a.net",
            "mx.example.org; spf=softfail smtp.mailfrom=ada.net",
            "mx.example.org; spf=pass smtp.mailfrom=mail.ada.net",
            "mx.example.org; x=pass header.d=ada.net",
            "mx.example.org; dkim=fail (dkim=pass header.d=ada.net)",
            "mx.evil.net; dmarc=pass header.from=ada.net",
        ] {
            assert!(!is_from(&[result], "ada@ada.net"), "{result}");
        }
        let forged = ["mx.example.org; none", "mx.example.org; dmarc=pass header.from=ada.net"];
        assert!(!is_from(&forged, "ada@ada.net"), "the lower one came with the mail");
        assert!(!is_from(&[], "ada@ada.net"));
    }
}
