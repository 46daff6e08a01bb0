//! What the profile has spent today, in micro-dollars: counted on from what the usage figures say.

use herm_replay::reducer::cost;
use herm_schema::Micros;
use herm_schema::events::{Prices, Usage};

const DAY_US: i64 = 86_400_000_000;

#[derive(Debug)]
pub(super) struct Spent {
    /// Days since 1970-01-01, UTC.
    day: i64,
    sum: u64,
}

impl Spent {
    pub(super) fn new(now: Micros, today: u64) -> Self {
        Self { day: day_of(now), sum: today }
    }

    pub(super) fn add(&mut self, at: Micros, usage: Option<&Usage>, prices: Option<&Prices>) {
        self.turn_to(at);
        if let Some((usage, prices)) = usage.zip(prices) {
            self.sum = self.sum.saturating_add(cost::of(usage, prices));
        }
    }

    pub(super) fn today(&mut self, now: Micros) -> u64 {
        self.turn_to(now);
        self.sum
    }

    fn turn_to(&mut self, now: Micros) {
        if day_of(now) > self.day {
            *self = Self { day: day_of(now), sum: 0 };
        }
    }
}

fn day_of(at: Micros) -> i64 {
    at.0.div_euclid(DAY_US)
}
