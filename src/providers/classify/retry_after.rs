//! PURE: how long a provider asks to be waited, in every form in which it says so.

use std::time::Duration;

use herm_schema::Micros;
use serde_json::Value;

/// Longest wait that is believed: a week.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(7 * 86_400);

/// Numbers above are moments, not spans: seconds and milliseconds since the epoch.
const EPOCH_SECONDS_MIN: f64 = 1e9;
const EPOCH_MILLIS_MIN: f64 = 1e12;

/// From `retry-after-ms`, or `retry-after` in seconds or as an HTTP date (RFC 9110, 10.2.3).
/// A moment in the past is no wait; what is neither form is nothing. Names are lower case.
pub fn from_headers(headers: &[(String, String)], now: Micros) -> Option<Duration> {
    let value = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
    let millis =
        ["retry-after-ms", "x-ms-retry-after-ms"].iter().find_map(|name| value(name)?.parse::<f64>().ok());
    if let Some(wait) = millis.and_then(|millis| seconds(millis / 1_000.0)) {
        return Some(wait);
    }
    let server_now = value("date").and_then(http_date).unwrap_or(now);
    moment_or_span(value("retry-after")?, server_now)
}

/// From the headers that tell when a limit is lifted: `anthropic-ratelimit-requests-reset` and its
/// like, `x-ratelimit-reset-tokens`, `x-ratelimit-reset`, `ratelimit-reset`. They stand on every
/// answer, so they mean a wait only where a limit is what went wrong.
///
/// Of several limits those count of which nothing remains, and of these the last to be lifted;
/// where none says so, the first.
pub fn from_resets(headers: &[(String, String)], now: Micros) -> Option<Duration> {
    let value = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
    let server_now = value("date").and_then(http_date).unwrap_or(now);
    let mut spent: Option<Duration> = None;
    let mut first: Option<Duration> = None;
    for (name, text) in
        headers.iter().filter(|(name, _)| name.contains("ratelimit") && name.contains("reset"))
    {
        let Some(wait) = moment_or_span(text.trim(), server_now) else { continue };
        let remaining = value(&name.replace("reset", "remaining")).and_then(|left| left.parse::<f64>().ok());
        let rejected = value(&name.replace("reset", "status")).is_some_and(|status| status == "rejected");
        if rejected || remaining.is_some_and(|left| left <= 0.0) {
            spent = Some(spent.map_or(wait, |longest| longest.max(wait)));
        }
        first = Some(first.map_or(wait, |shortest| shortest.min(wait)));
    }
    spent.or(first)
}

/// From fields of a body: Google's `RetryInfo`, OpenRouter's copy of the headers of its upstream,
/// and numbers under names that vendors use.
pub fn from_body(body: &Value, now: Micros) -> Option<Duration> {
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let error = body.get("error").filter(|error| error.is_object()).unwrap_or(body);
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let info = details.filter_map(|detail| detail.get("retryDelay")?.as_str()).find_map(span);
    if info.is_some() {
        return info;
    }
    if let Some(headers) = error.pointer("/metadata/headers").and_then(Value::as_object) {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.to_lowercase(), text(value))).collect();
        let wait = from_headers(&headers, now).or_else(|| from_resets(&headers, now));
        if wait.is_some() {
            return wait;
        }
    }
    let names = ["retry_after", "retry_after_seconds", "resets_in_seconds", "resets_at", "estimated_time"];
    [error, body].iter().find_map(|place| {
        names.iter().find_map(|name| match place.get(name)? {
            Value::String(text) => moment_or_span(text.trim(), now),
            value => moment_or_span(&value.as_f64()?.to_string(), now),
        })
    })
}

/// Seconds, a span such as `1m30s`, or a moment: since the epoch, of RFC 3339, or an HTTP date.
fn moment_or_span(text: &str, now: Micros) -> Option<Duration> {
    let until = |at: Micros| Duration::from_micros(at.since(now)).min(WAIT_MAX);
    if let Ok(number) = text.parse::<f64>() {
        let micros = match number {
            number if number >= EPOCH_MILLIS_MIN => Some(number * 1e3),
            number if number >= EPOCH_SECONDS_MIN => Some(number * 1e6),
            _ => None,
        };
        return match micros.filter(|micros| *micros < i64::MAX as f64) {
            Some(micros) => Some(until(Micros(micros as i64))),
            None => seconds(number),
        };
    }
    let moment = text.parse::<jiff::Timestamp>().ok().map(|at| Micros(at.as_microsecond()));
    moment.or_else(|| http_date(text)).map(until).or_else(|| whole_span(text))
}

/// A span and nothing else.
fn whole_span(text: &str) -> Option<Duration> {
    let starts = text.chars().next().is_some_and(|c| c.is_ascii_digit());
    let ends = text.chars().next_back().is_some_and(|c| c.is_ascii_alphabetic());
    (starts && ends && !text.contains(',')).then(|| span(text)).flatten()
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

/// From words: `Please try again in 1m20.5s`, `retry in 350ms`, `retry after 20 seconds`, `resets at
/// 2027-12-01T00:00:00Z`.
pub fn from_text(text: &str, now: Micros) -> Option<Duration> {
    let lower = text.to_lowercase();
    let spans =
        ["try again in ", "retry in ", "retry after ", "resets in ", "reset in ", "reset after ", "wait "];
    let told = spans.iter().find_map(|lead| {
        let (_, rest) = lower.split_once(lead)?;
        span(rest.strip_prefix("about ").unwrap_or(rest))
    });
    told.or_else(|| {
        ["resets at ", "reset at ", "try again at ", "try again after ", "retry at "].iter().find_map(
            |lead| {
                let (_, rest) = lower.split_once(lead)?;
                let word = rest.split([' ', ',', ')', '"']).next()?.trim_end_matches('.');
                let at: jiff::Timestamp = word.to_uppercase().parse().ok()?;
                Some(Duration::from_micros(Micros(at.as_microsecond()).since(now)).min(WAIT_MAX))
            },
        )
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

    /// 2027-12-01T00:00:00Z.
    const NOW: Micros = Micros(1_827_619_200_000_000);

    fn owned(headers: &[(&str, &str)]) -> Vec<(String, String)> {
        headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    fn wait(headers: &[(&str, &str)]) -> Option<u64> {
        from_headers(&owned(headers), NOW).map(|wait| wait.as_millis() as u64)
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
        let ms = |text| from_text(text, NOW).map(|wait| wait.as_millis());
        assert_eq!(ms("Rate limit reached. Please try again in 20s. Visit"), Some(20_000));
        assert_eq!(ms("Please try again in 1m20.5s"), Some(80_500));
        assert_eq!(ms("retry in 350ms"), Some(350));
        assert_eq!(ms("Retry after 2 minutes"), Some(120_000));
        assert_eq!(ms("try again in a while"), None);
        assert_eq!(ms("no such thing"), None);
    }

    #[test]
    fn a_moment_may_be_written_in_many_ways() {
        assert_eq!(wait(&[("retry-after", "1.5")]), Some(1_500));
        assert_eq!(wait(&[("retry-after", "1m30s")]), Some(90_000));
        assert_eq!(wait(&[("retry-after", "2027-12-01T00:00:07Z")]), Some(7_000));
        assert_eq!(wait(&[("retry-after", "1827619203")]), Some(3_000));
        assert_eq!(wait(&[("x-ms-retry-after-ms", "40")]), Some(40));
        assert_eq!(wait(&[("retry-after", "NaN")]), None);
        assert_eq!(wait(&[("retry-after", "")]), None);
    }

    #[test]
    fn limits_tell_when_they_are_lifted() {
        let wait = |headers: &[(&str, &str)]| from_resets(&owned(headers), NOW).map(|wait| wait.as_millis());
        assert_eq!(
            wait(&[("x-ratelimit-reset-requests", "1s"), ("x-ratelimit-reset-tokens", "6m0s")]),
            Some(1_000)
        );
        let spent = [
            ("x-ratelimit-reset-requests", "1s"),
            ("x-ratelimit-reset-tokens", "6m0s"),
            ("x-ratelimit-remaining-tokens", "0"),
        ];
        assert_eq!(wait(&spent), Some(360_000));
        assert_eq!(wait(&[("anthropic-ratelimit-requests-reset", "2027-12-01T00:00:30Z")]), Some(30_000));
        let unified = [
            ("anthropic-ratelimit-unified-5h-reset", "1827619260"),
            ("anthropic-ratelimit-unified-5h-status", "rejected"),
            ("anthropic-ratelimit-unified-7d-reset", "1827619201"),
        ];
        assert_eq!(wait(&unified), Some(60_000));
        assert_eq!(wait(&[("x-ratelimit-reset", "1827619205000")]), Some(5_000));
        assert_eq!(wait(&[("ratelimit-reset", "12")]), Some(12_000));
        assert_eq!(wait(&[("x-ratelimit-remaining", "0")]), None);
    }

    #[test]
    fn bodies_tell_it_too() {
        let wait = |body: serde_json::Value| from_body(&body, NOW).map(|wait| wait.as_millis());
        let google = serde_json::json!([{"error": {"code": 429, "details": [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]}}]);
        assert_eq!(wait(google), Some(34_500));
        let router =
            serde_json::json!({"error": {"metadata": {"headers": {"X-RateLimit-Reset": "1827619209000"}}}});
        assert_eq!(wait(router), Some(9_000));
        assert_eq!(wait(serde_json::json!({"error": {"resets_in_seconds": 77}})), Some(77_000));
        assert_eq!(wait(serde_json::json!({"error": "loading", "estimated_time": 20.5})), Some(20_500));
        assert_eq!(wait(serde_json::json!({"error": "x"})), None);
        assert_eq!(
            from_text("Limit reached, resets at 2027-12-01T00:01:00Z.", NOW),
            Some(Duration::from_secs(60))
        );
    }
}
