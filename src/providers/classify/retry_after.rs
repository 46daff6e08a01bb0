//! PURE: how long a provider asks to be waited, in every form in which it says so.

use std::time::Duration;

use herm_schema::Micros;

/// Longest wait that is believed: a week.
const WAIT_MAX: Duration = Duration::from_secs(7 * 86_400);

/// From `retry-after-ms`, or `retry-after` in seconds or as an HTTP date (RFC 9110, 10.2.3).
/// A moment in the past is no wait; what is neither form is nothing. Names are lower case.
pub fn from_headers(headers: &[(String, String)], now: Micros) -> Option<Duration> {
    let value = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
    let millis = value("retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    if let Some(wait) = millis.and_then(|millis| seconds(millis / 1_000.0)) {
        return Some(wait);
    }
    let text = value("retry-after")?;
    match text.parse::<f64>() {
        Ok(number) => seconds(number),
        Err(_) => {
            let server_now = value("date").and_then(http_date).unwrap_or(now);
            http_date(text).map(|at| Duration::from_micros(at.since(server_now)).min(WAIT_MAX))
        }
    }
}

fn seconds(number: f64) -> Option<Duration> {
    number
        .is_finite()
        .then(|| Duration::try_from_secs_f64(number.max(0.0)).map_or(WAIT_MAX, |d| d.min(WAIT_MAX)))
}

fn http_date(text: &str) -> Option<Micros> {
    let at = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(Micros(at.timestamp().as_microsecond()))
}

/// From words: `Please try again in 1m20.5s`, `retry in 350ms`, `retry after 20 seconds`.
pub fn from_text(text: &str) -> Option<Duration> {
    let lower = text.to_lowercase();
    ["try again in ", "retry in ", "retry after ", "resets in ", "wait "].iter().find_map(|lead| {
        let (_, rest) = lower.split_once(lead)?;
        span(rest)
    })
}

/// Numbers with units, one after another, until something else comes; `None` without any.
fn span(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut total = Duration::ZERO;
    let mut found = false;
    loop {
        let digits = rest.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(rest.len());
        let Some((number, after)) = rest.split_at_checked(digits) else { break };
        let Ok(number) = number.parse::<f64>() else { break };
        let after = after.trim_start();
        let letters = after.find(|char: char| !char.is_ascii_alphabetic()).unwrap_or(after.len());
        let Some((unit, next)) = after.split_at_checked(letters) else { break };
        let Some(factor) = unit_seconds(unit) else { break };
        total = total.saturating_add(seconds(number * factor)?);
        found = true;
        rest = next.trim_start();
    }
    found.then(|| total.min(WAIT_MAX))
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(headers: &[(&str, &str)]) -> Option<u64> {
        // 2027-12-01T00:00:00Z
        let now = Micros(1_827_619_200_000_000);
        let headers: Vec<_> = headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        from_headers(&headers, now).map(|wait| wait.as_millis() as u64)
    }

    #[test]
    fn both_legal_forms_and_never_a_negative_wait() {
        // Case `err-retryafter-o`.
        assert_eq!(wait(&[("retry-after", "30")]), Some(30_000));
        assert_eq!(wait(&[("retry-after", "Wed, 01 Dec 2027 00:00:45 GMT")]), Some(45_000));
        assert_eq!(wait(&[("retry-after", "-5")]), Some(0));
        assert_eq!(wait(&[]), None);
        assert_eq!(wait(&[("retry-after", "soon")]), None);
        assert_eq!(wait(&[("retry-after", "Wed, 01 Dec 2021 00:00:45 GMT")]), Some(0));
    }

    #[test]
    fn milliseconds_come_first_and_the_servers_clock_counts() {
        assert_eq!(wait(&[("retry-after", "30"), ("retry-after-ms", "350")]), Some(350));
        let date = ("date", "Wed, 01 Dec 2027 00:00:40 GMT");
        assert_eq!(wait(&[("retry-after", "Wed, 01 Dec 2027 00:00:45 GMT"), date]), Some(5_000));
        assert_eq!(wait(&[("retry-after", "1e300")]), Some(WAIT_MAX.as_millis() as u64));
    }

    #[test]
    fn words_are_read_with_their_units() {
        let ms = |text| from_text(text).map(|wait| wait.as_millis());
        assert_eq!(ms("Rate limit reached. Please try again in 20s. Visit"), Some(20_000));
        assert_eq!(ms("Please try again in 1m20.5s"), Some(80_500));
        assert_eq!(ms("retry in 350ms"), Some(350));
        assert_eq!(ms("Retry after 2 minutes"), Some(120_000));
        assert_eq!(ms("try again in a while"), None);
        assert_eq!(ms("no such thing"), None);
    }
}
