//! Moments, as a person is shown them.

use herm_schema::Micros;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::Start;

/// Shows moments in one time zone.
#[derive(Clone, Debug)]
pub struct Clockface {
    zone: TimeZone,
}

impl Clockface {
    /// That of the setting `timezone`, else the system's. A configuration that is wrong must not keep
    /// anybody from looking at what was recorded.
    pub fn of(start: &Start) -> Self {
        let named = start.load(&[]).ok().and_then(|loaded| loaded.config.timezone);
        Self { zone: named.and_then(|name| TimeZone::get(&name).ok()).unwrap_or_else(TimeZone::system) }
    }

    /// Such as `2026-11-30 21:04`.
    pub fn minute(&self, at: Micros) -> String {
        self.shown(at, "%Y-%m-%d %H:%M")
    }

    /// Such as `2026-11-30 21:04:09.250`.
    pub fn exact(&self, at: Micros) -> String {
        self.shown(at, "%Y-%m-%d %H:%M:%S%.3f")
    }

    fn shown(&self, at: Micros, format: &str) -> String {
        match Timestamp::from_microsecond(at.0) {
            Ok(moment) => moment.to_zoned_datetime(self.zone.clone()).strftime(format).to_string(),
            // Before or after every calendar: only a damaged log says so.
            Err(_) => format!("{} µs", at.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_shown_in_their_zone() {
        let athens = Clockface { zone: TimeZone::get("Europe/Athens").unwrap() };
        let at = Micros(1_700_000_000_250_000);
        assert_eq!(athens.minute(at), "2023-11-15 00:13");
        assert_eq!(athens.exact(at), "2023-11-15 00:13:20.250");
        assert_eq!(athens.minute(Micros(i64::MAX)), format!("{} µs", i64::MAX));
    }
}
