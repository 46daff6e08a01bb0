//! A command line that is left running: begun, and handed over to `process`.

use herm_replay::reducer::command::Fact;
use herm_schema::events::ProcessStarted;
use serde_json::json;

use super::Args;
use crate::tools::process::{Process, Processes, Start, told};
use crate::tools::{ToolContext, ToolResult, outcome};

use std::sync::Arc;

/// Begins it; the call is over as soon as it runs.
pub fn begin(args: Args, processes: &Arc<Processes>, context: &ToolContext) -> ToolResult {
    let notify = args.notify_on_complete.unwrap_or(false);
    let start = Start {
        session: context.session,
        call: context.call,
        shown: context.services.redacted(&args.command),
        command_line: args.command,
        opened_in: context.opened_in.clone(),
        workdir: args.workdir,
        pty: args.pty.unwrap_or(false),
        notify,
        watch_patterns: args.watch_patterns.unwrap_or_default(),
    };
    match processes.begin(start) {
        Err(why) => outcome::failed(why),
        Ok(entry) => {
            let mut shown = told(&entry);
            let hint = format!("`{}` polls it, writes to it and ends it", Process::NAME);
            shown.insert("hint".into(), json!(hint));
            let started = ProcessStarted {
                call: context.call,
                process: entry.begun.name.clone(),
                command: entry.begun.command.clone(),
                pid: None,
                notify,
            };
            let facts = vec![Fact::ProcessStarted(started)];
            ToolResult { facts, ..outcome::succeeded(&serde_json::Value::Object(shown)) }
        }
    }
}
