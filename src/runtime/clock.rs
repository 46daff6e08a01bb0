//! Time and chance, stamped in one place.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use herm_replay::reducer::Stamp;
use herm_schema::Micros;
use tokio::time::Instant;

/// Where times and random numbers come from.
pub trait Clock: Send + Sync {
    fn now(&self) -> Micros;

    fn seed(&self) -> u64;

    /// Random bytes that tell identifiers apart.
    fn salt(&self) -> [u8; 10] {
        let mut salt = [0; 10];
        let bytes = self.seed().to_le_bytes().into_iter().chain(self.seed().to_le_bytes());
        salt.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        salt
    }

    fn stamp(&self) -> Stamp {
        Stamp { now: self.now(), seed: self.seed(), ..Stamp::default() }
    }

    /// How long it is until `until`.
    fn left(&self, until: Micros) -> Duration {
        Duration::from_micros(until.since(self.now()))
    }
}

/// The wall clock and the system's random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Micros {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn seed(&self) -> u64 {
        // Without random numbers identifiers still differ by their time.
        getrandom::u64().unwrap_or_else(|_| self.now().0.unsigned_abs())
    }
}

/// The runtime's own clock from a given start, which tests can stop and move, and a counter for
/// chance.
#[derive(Debug)]
pub struct TokioClock {
    base: Micros,
    start: Instant,
    state: AtomicU64,
}

impl TokioClock {
    pub fn starting(base: Micros, seed: u64) -> Self {
        Self { base, start: Instant::now(), state: AtomicU64::new(seed) }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Micros {
        self.base.plus(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    /// Splitmix64.
    fn seed(&self) -> u64 {
        let state = self.state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
