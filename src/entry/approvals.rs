//! `herm approvals`: the yeses that last, what waits for one, and taking one back.

use clap::{Args, Subcommand};
use herm_replay::log::SegmentLog;
use herm_replay::log::segments::Options;
use herm_schema::{Micros, StreamPos};
use serde_json::json;

use super::{Exit, Failure, Out, Start, store};
use crate::effects::profile_stream;
use crate::runtime::grants::{Fold, Grants, Lasting};
use crate::runtime::{Clock, SystemClock};

/// List and take back what you have allowed for longer; see what waits for your yes.
#[derive(Args, Debug)]
pub struct Approvals {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List lasting yeses, and the calls that wait for a yes.
    #[command(after_help = "\
Examples:
  herm approvals list
  herm approvals list --all --json")]
    List {
        /// Also those that hold no more.
        #[arg(long)]
        all: bool,
        /// One JSON object a line.
        #[arg(long)]
        json: bool,
    },
    /// Take a lasting yes back: what it covered is asked about again.
    #[command(after_help = "\
Examples:
  herm approvals revoke g12
  herm approvals revoke --all")]
    Revoke {
        /// Its number, as `herm approvals list` shows it.
        #[arg(required_unless_present = "all")]
        grant: Option<String>,
        /// All of them.
        #[arg(long, conflicts_with = "grant")]
        all: bool,
    },
}

pub fn run(arguments: &Approvals, start: &Start, out: &mut Out) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::List { all, json } => list(*all, *json, start, out)?,
        Action::Revoke { grant, all } => revoke(grant.as_deref().filter(|_| !all), start, out)?,
    }
    out.end()?;
    Ok(Exit::Ok)
}

fn list(all: bool, json: bool, start: &Start, out: &mut Out) -> Result<(), Failure> {
    let now = SystemClock.now();
    let log = store::log(&start.home)?;
    let fold = Fold::of(&*log, profile_stream(start.home.profile_name()))?;
    for (at, lasting) in fold.all().filter(|(_, lasting)| all || lasting.holds(now)) {
        match json {
            true => out.json(&as_json(at, lasting, now))?,
            false => out.line(&in_words(at, lasting, now))?,
        }
    }
    let views = store::views(log, &start.home);
    let open = views.open_work().map_err(|error| Failure::new(Exit::Failed, error))?;
    for (session, work) in open {
        for waits in work.approvals {
            match json {
                true => out.json(&json!({
                    "kind": "waiting", "session": session.to_string(), "request": waits.request.0, "tool": waits.tool,
                    "subject": waits.subject, "reason": waits.reason, "parked": waits.parked,
                }))?,
                false => out.line(&format!(
                    "waits in session {session}: {}: {} ({}); herm chat --resume {session}, then /approvals",
                    waits.tool, waits.subject, waits.reason
                ))?,
            }
        }
    }
    Ok(())
}

fn as_json(at: StreamPos, lasting: &Lasting, now: Micros) -> serde_json::Value {
    let granted = &lasting.granted;
    json!({
        "kind": "grant", "grant": name(at), "tool": granted.tool, "pattern": granted.pattern, "target": granted.target,
        "granted_at_us": lasting.granted_at.0, "until_us": granted.until.map(|until| until.0),
        "uses": lasting.uses, "uses_max": granted.uses_max, "last_used_us": lasting.last_used.map(|at| at.0),
        "revoked": lasting.revoked, "holds": lasting.holds(now),
        "session": granted.origin.as_ref().map(|origin| origin.session.to_string()),
    })
}

/// How a lasting yes is called.
pub fn name(at: StreamPos) -> String {
    format!("g{}", at.0)
}

/// A lasting yes in one line.
pub fn in_words(at: StreamPos, lasting: &Lasting, now: Micros) -> String {
    let granted = &lasting.granted;
    let target = granted.target.as_ref().map(|target| format!(" on {target}")).unwrap_or_default();
    let until = match (granted.until, granted.uses_max) {
        (Some(until), _) if until > now => format!(", for {} s more", until.since(now) / 1_000_000),
        (Some(_), _) => ", its time is over".to_owned(),
        (None, Some(max)) => format!(", {} of {max} uses", lasting.uses),
        (None, None) => String::new(),
    };
    let used = match lasting.uses {
        0 => ", never used".to_owned(),
        uses if granted.uses_max.is_none() => format!(", used {uses} times"),
        _ => String::new(),
    };
    let revoked = if lasting.revoked { ", taken back" } else { "" };
    format!("{}  {}: {}{target}{until}{used}{revoked}", name(at), granted.tool, granted.pattern)
}

fn revoke(grant: Option<&str>, start: &Start, out: &mut Out) -> Result<(), Failure> {
    store::exists(&start.home)?;
    let log: std::sync::Arc<dyn herm_replay::log::Log> =
        std::sync::Arc::new(SegmentLog::open(Options::new(start.home.log_dir()))?);
    let grants = Grants::new(log, profile_stream(start.home.profile_name()));
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let revoked = runtime.block_on(async {
        let now = SystemClock.now();
        let fold = grants.list().await?;
        let wanted = |at: StreamPos| grant.is_none_or(|grant| grant == name(at) || grant == at.0.to_string());
        let mut revoked = Vec::new();
        for (at, lasting) in fold.all().filter(|(at, _)| wanted(*at)) {
            if grants.revoke(at, now).await? {
                revoked.push(in_words(at, lasting, now));
            }
        }
        Ok::<_, herm_replay::log::Error>(revoked)
    })?;
    match (grant, revoked.is_empty()) {
        (Some(grant), true) => {
            let message = format!("there is no lasting yes `{grant}`");
            Err(Failure::message(Exit::Usage, message).hint("herm approvals list"))
        }
        _ => revoked.iter().try_for_each(|line| out.line(&format!("taken back: {line}"))).map_err(Into::into),
    }
}
