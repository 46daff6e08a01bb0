//! PURE: how often Discord lets itself be asked, as its answers said.
//!
//! Source: API v10, "Rate Limits": a route belongs to a bucket (`X-RateLimit-Bucket`), which counts for each
//! channel by itself; `X-RateLimit-Remaining` and `-Reset-After` say how it stands. A refusal that is
//! `global` holds for every route.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// Buckets that are remembered; more are forgotten, and Discord's refusal tells them anew.
const KEPT_MAX: usize = 1000;
/// Longest word of a path, in bytes.
const WORD_MAX: usize = 40;

/// What is asked: the method and the path without ids, and the channel or server that it is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Route {
    pub pattern: String,
    pub major: String,
}

impl Route {
    pub fn new(method: &str, segments: &[&str]) -> Self {
        let is_id = |segment: &str| segment.len() > 15 && segment.bytes().all(|byte| byte.is_ascii_digit());
        let mut pattern = method.to_owned();
        let mut major = String::new();
        for segment in segments {
            pattern.push('/');
            match segment {
                id if is_id(id) => {
                    if major.is_empty() {
                        major.push_str(id);
                    }
                    pattern.push_str(":id");
                }
                // Tokens of interactions: each is used a few times, and nobody shall keep it.
                token if token.len() > WORD_MAX => pattern.push_str(":token"),
                word => pattern.push_str(word),
            }
        }
        Self { pattern, major }
    }
}

/// What an answer says of its bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    pub bucket: Option<String>,
    pub remaining: Option<u64>,
    pub reset_after: Option<Duration>,
}

#[derive(Debug, Default)]
pub(super) struct Limits {
    /// The bucket of each pattern.
    buckets: HashMap<String, String>,
    /// Until when a bucket of a channel is empty.
    empty: HashMap<(String, String), Instant>,
    everything: Option<Instant>,
}

impl Limits {
    /// How long to wait before this may be asked.
    pub fn wait(&self, route: &Route, now: Instant) -> Option<Duration> {
        let bucket = self.buckets.get(&route.pattern).unwrap_or(&route.pattern);
        let own = self.empty.get(&(bucket.clone(), route.major.clone())).copied();
        let until = own.into_iter().chain(self.everything).max()?;
        Some(until.saturating_duration_since(now)).filter(|wait| !wait.is_zero())
    }

    /// An answer came.
    pub fn told(&mut self, route: &Route, told: &Told, now: Instant) {
        if let Some(bucket) = &told.bucket {
            if self.buckets.len() >= KEPT_MAX {
                self.buckets.clear();
            }
            self.buckets.insert(route.pattern.clone(), bucket.clone());
        }
        if let (Some(0), Some(after)) = (told.remaining, told.reset_after) {
            self.close(route, now + after, now);
        }
    }

    /// It was refused for so long.
    pub fn refused(&mut self, route: &Route, after: Duration, global: bool, now: Instant) {
        match global {
            true => self.everything = Some(now + after),
            false => self.close(route, now + after, now),
        }
    }

    fn close(&mut self, route: &Route, until: Instant, now: Instant) {
        if self.empty.len() >= KEPT_MAX {
            self.empty.retain(|_, until| *until > now);
        }
        let bucket = self.buckets.get(&route.pattern).unwrap_or(&route.pattern).clone();
        self.empty.insert((bucket, route.major.clone()), until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANNEL: &str = "1100000000000000001";

    #[test]
    fn a_bucket_is_of_a_channel_and_shared_by_its_routes() {
        let (now, mut limits) = (Instant::now(), Limits::default());
        let post = Route::new("POST", &["channels", CHANNEL, "messages"]);
        let other = Route::new("POST", &["channels", "1100000000000000002", "messages"]);
        let patch = Route::new("PATCH", &["channels", CHANNEL, "messages", "1200000000000000001"]);
        assert_eq!(patch.pattern, "PATCH/channels/:id/messages/:id");
        let told = |remaining| Told {
            bucket: Some("b".to_owned()),
            remaining: Some(remaining),
            reset_after: Some(Duration::from_millis(1250)),
        };
        limits.told(&patch, &told(4), now);
        limits.told(&post, &told(1), now);
        assert_eq!(limits.wait(&post, now), None);
        limits.told(&post, &told(0), now);
        assert_eq!(limits.wait(&post, now), Some(Duration::from_millis(1250)));
        assert_eq!(limits.wait(&patch, now), Some(Duration::from_millis(1250)));
        assert_eq!(limits.wait(&other, now), None);
        assert_eq!(limits.wait(&post, now + Duration::from_secs(2)), None);
    }

    #[test]
    fn a_global_refusal_holds_for_everything() {
        let (now, mut limits) = (Instant::now(), Limits::default());
        let (one, another) = (Route::new("GET", &["users", "@me"]), Route::new("GET", &["gateway", "bot"]));
        limits.refused(&one, Duration::from_secs(1), false, now);
        assert!(limits.wait(&one, now).is_some() && limits.wait(&another, now).is_none());
        limits.refused(&one, Duration::from_secs(3), true, now);
        assert_eq!(limits.wait(&another, now), Some(Duration::from_secs(3)));
    }
}
