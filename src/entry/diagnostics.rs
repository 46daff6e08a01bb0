//! Log lines for developers, on stderr, filtered by `HERM_LOG`.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// The variable that says what is shown, such as `herm=debug`.
const VARIABLE: &str = "HERM_LOG";

/// Begins to show them: warnings, unless the variable says otherwise. A filter that cannot be read
/// is told and replaced by the usual one.
pub fn begin() {
    let usual = || EnvFilter::builder().with_default_directive(LevelFilter::WARN.into()).parse_lossy("");
    let wanted = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
    let filter = match wanted.as_deref().map(EnvFilter::try_new) {
        Some(Ok(filter)) => filter,
        Some(Err(error)) => {
            eprintln!("warning: `{VARIABLE}` is not a filter: {error}");
            usual()
        }
        None => usual(),
    };
    let lines = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter);
    // It only fails if somebody has begun already, as tests may.
    drop(lines.with_ansi(std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())).try_init());
}
