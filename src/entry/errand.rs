//! Errands of the gateway from the command line: by the gateway that runs, else on the log itself.

use std::sync::Arc;

use super::engine::open_log;
use super::{Exit, Failure, Start, gateway, store};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::config::{FIRST_PROFILE, Loaded};
use crate::gateway::control::Request;
use crate::gateway::desk::Desk;
use crate::gateway::errands::{self, Errand};
use crate::gateway::hub::served;
use crate::gateway::sections;
use crate::gateway::switchboard::Switchboard;
use crate::inbound::settings::LiveSettings;
use crate::platforms::table::PLATFORMS;
use crate::runtime::{Redact, SystemClock};

/// Runs an errand.
///
/// # Errors
/// Why it cannot be done.
pub fn run(start: &Start, errand: Errand) -> Result<Value, Failure> {
    if let Some(done) = gateway::ask(start, &Request::Errand(errand.clone()))? {
        return Ok(done);
    }
    if let Errand::DeliveryList { all } = errand {
        return listed(start, all);
    }
    let loaded = start.load(&[])?;
    let redactor = loaded.redactor.clone();
    let redact: Redact = Arc::new(move |text| redactor.redact(text).into_owned());
    let desk = Desk::open(open_log(&loaded)?, Arc::new(SystemClock), redact)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let Errand::Send { target, text } = &errand {
        return runtime.block_on(sent(&loaded, &desk, target, text));
    }
    let done = runtime.block_on(errands::of_desk(&desk, &errand));
    done.map_err(|why| Failure::message(Exit::Failed, why))?.ok_or_else(|| gateway::none_runs(start))
}

/// Sends with no gateway running: the platform of the target alone is made for it.
async fn sent(loaded: &Loaded, desk: &Arc<Desk>, target: &str, text: &str) -> Result<Value, Failure> {
    let failed = |why: String| Failure::message(Exit::Failed, why);
    let (settings, _) = crate::gateway::hub::settings(&loaded.config.gateway, &loaded.environment)?;
    let chat = errands::resolve(desk, &settings, target).map_err(failed)?;
    let row = PLATFORMS.iter().find(|row| row.name == chat.platform);
    let found = row.and_then(|row| sections::find(loaded, row));
    let found = found.ok_or_else(|| {
        let message = format!("the platform `{}` is not set up", chat.platform);
        Failure::message(Exit::Config, message).hint(format!("herm gateway setup {}", chat.platform))
    })?;
    let platform = found.made.map_err(|wrong| {
        let hint = wrong.fix.clone();
        Failure::new(Exit::Config, wrong).hint(hint)
    })?;
    let switchboard = Switchboard::new(Arc::clone(desk), Arc::default(), LiveSettings::new(settings));
    switchboard.connect(platform);
    let stop = CancellationToken::new();
    let courier = tokio::spawn({
        let (desk, outlet, stop) = (Arc::clone(desk), Arc::clone(&switchboard), stop.clone());
        async move { desk.deliver(outlet, stop).await }
    });
    let said = errands::say(desk, &*switchboard, &chat, text).await;
    stop.cancel();
    // What it had to say is in the log.
    let _ = courier.await;
    said.map_err(failed)
}

fn listed(start: &Start, all: bool) -> Result<Value, Failure> {
    let loaded = start.load(&[])?;
    let mut rows = Vec::new();
    for name in served(&loaded.config.gateway) {
        let home = if name == FIRST_PROFILE { start.home.clone() } else { start.home.profile(&name) };
        let views = store::views(store::log(&home)?, &home);
        let found = errands::deliveries(&views, &name, all);
        rows.extend(found.map_err(|why| Failure::message(Exit::Failed, why))?);
    }
    Ok(Value::Array(rows))
}
