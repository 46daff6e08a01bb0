//! The tools of this home, with what the configuration and the keys at hand make of them.

use std::sync::Arc;

use crate::config::Loaded;
use crate::entry::{Exit, Failure, engine};
use crate::environments::{Local, VariablePolicy};
use crate::tools::registry::fold::{Folding, When};
use crate::tools::terminal::Terminal;
use crate::tools::toolsets::Toolsets;
use crate::tools::vendors::Vendors;
use crate::tools::{Tool, Tools, media, table, web};

/// Every tool, and who is offered which.
///
/// # Errors
/// The configuration names a toolset, a platform or a vendor that there is not.
pub fn tools(loaded: &Loaded) -> Result<Tools, Failure> {
    let tools = all(loaded)?;
    let sets = sets(loaded, &tools)?;
    let config = &loaded.config.tools;
    let when = match config.search.as_str() {
        "on" => When::Always,
        "off" => When::Never,
        _ => When::Needed,
    };
    Ok(Tools::new(tools, sets, Folding { when, share_percent: config.search_share_percent }))
}

/// The toolsets, checked against the tools that there are.
///
/// # Errors
/// A name that nothing has.
pub fn sets(loaded: &Loaded, tools: &[Arc<dyn Tool>]) -> Result<Toolsets, Failure> {
    let config = &loaded.config.tools;
    let names: Vec<String> = tools.iter().map(|tool| tool.facts().name).collect();
    Toolsets::of(&config.toolsets, &config.platforms, &config.disabled, &names)
        .map_err(|error| Failure::new(Exit::Config, error).hint("herm tools list"))
}

fn all(loaded: &Loaded) -> Result<Vec<Arc<dyn Tool>>, Failure> {
    let config = &loaded.config;
    let remove = loaded.environment.dotenv().map(|(name, _)| name.to_owned()).collect();
    let policy = VariablePolicy { remove, passthrough: config.terminal.env_passthrough.clone() };
    let terminal = Terminal::new(Arc::new(Local::new(policy))).with_timeout(config.terminal.timeout);
    let mut all: Vec<Arc<dyn Tool>> = vec![Arc::new(terminal)];
    let vendors = Vendors::new(&config.tools.endpoints, |name| engine::key(loaded, name));
    let wrong = |error| Failure::message(Exit::Config, error).hint("herm config explain web");
    let guard = web::Guard::new(config.security.allow_private_urls, config.security.blocked_domains.clone());
    all.extend(web::tools(&config.web, &vendors, &guard).map_err(wrong)?);
    all.extend(media::tools(config, &vendors, &guard));
    Ok(table(all))
}
