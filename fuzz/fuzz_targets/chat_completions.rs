//! No bytes make the reader of this dialect panic, and where they are cut makes no difference.
#![no_main]

use herm::providers::dialects::chat_completions::ChatCompletions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let (cuts, bytes) = herm_fuzz::split(input);
    herm_fuzz::check(&ChatCompletions::default(), cuts, bytes);
});
