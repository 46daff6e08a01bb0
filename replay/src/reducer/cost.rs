//! PURE: what a call costs, from its tokens and the prices that were recorded with it.

use herm_schema::events::{Prices, Usage};

/// Prices are for so many tokens.
const TOKENS: u128 = 1_000_000;

/// In micro-dollars, rounded up.
pub fn of(usage: &Usage, prices: &Prices) -> u64 {
    let fresh = usage.input.saturating_sub(usage.cached_read).saturating_sub(usage.cached_write);
    let parts = [
        (fresh, prices.input),
        (usage.cached_read, prices.cached_read),
        (usage.cached_write, prices.cached_write),
        (usage.output, prices.output),
    ];
    let sum: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
    u64::try_from(sum.div_ceil(TOKENS)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_price() {
        let prices = Prices {
            input: 3_000_000,
            cached_read: 300_000,
            cached_write: 3_750_000,
            output: 15_000_000,
            source: "catalogue".into(),
            as_of: "2026-11-01".into(),
        };
        let usage =
            Usage { input: 10_000, cached_read: 6_000, cached_write: 1_000, output: 500, reasoning: 100 };
        assert_eq!(of(&usage, &prices), 9_000 + 1_800 + 3_750 + 7_500);
        assert_eq!(of(&Usage { input: 1, ..Usage::default() }, &prices), 3);
        assert_eq!(of(&Usage { input: u64::MAX, ..usage }, &prices), u64::MAX);
        assert_eq!(of(&Usage::default(), &prices), 0);
    }
}
