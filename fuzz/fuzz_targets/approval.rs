//! No text makes the judgement of a command line panic, or take more time than its length explains;
//! and a line that ends in a hard line of its own is never allowed.
#![no_main]

use std::path::Path;
use std::time::{Duration, Instant};

use herm::approval::{Asked, Judgement, NoScripts, Rules, Scene, Verdict, judge, last_program};
use libfuzzer_sys::fuzz_target;

/// A sanitized build is slow; what grows faster than the text passes this all the same.
const TIME_MAX: Duration = Duration::from_millis(500);
const TIME_PER_KILOBYTE_MAX: Duration = Duration::from_millis(50);

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let begin = Instant::now();
    judged(&text);
    last_program(&text);
    let kilobytes = u32::try_from(text.len() >> 10).unwrap_or(u32::MAX);
    let allowed = TIME_MAX + TIME_PER_KILOBYTE_MAX.saturating_mul(kilobytes);
    assert!(begin.elapsed() < allowed, "{:?} for {} bytes", begin.elapsed(), text.len());
    // A shell runs the first line whatever comes after it.
    let first = judged(&format!("reboot\n{text}"));
    assert!(!matches!(first.verdict, Verdict::Allow), "{text:?}");
});

fn judged(command: &str) -> Judgement {
    let asked = Asked { command, cwd: Path::new("/srv"), home: Some(Path::new("/home/alice")), agent_home: None };
    judge(&asked, &Rules::default(), Scene::Cli, &NoScripts)
}
