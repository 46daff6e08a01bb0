//! The tools of this home, with what the configuration and the keys at hand make of them.

use std::sync::Arc;

use crate::config::Loaded;
use crate::entry::{Exit, Failure, engine};
use crate::environments::Environments;
use crate::tools::execute_code::ExecuteCode;
use crate::tools::process::{Process, Processes};
use crate::tools::registry::fold::{Folding, When};
use crate::tools::terminal::Terminal;
use crate::tools::toolsets::Toolsets;
use crate::tools::vendors::Vendors;
use crate::tools::{Memory, Tool, Tools, media, skills, table, web};

/// The tools, and what they share with the rest of herm.
pub struct Toolbox {
    pub tools: Tools,
    pub processes: Arc<Processes>,
    pub environments: Arc<Environments>,
}

/// Every tool, and who is offered which.
///
/// # Errors
/// The configuration names a toolset, a platform or a vendor that there is not.
pub fn tools(loaded: &Loaded) -> Result<Tools, Failure> {
    Ok(toolbox(loaded, engine::environments(loaded)?)?.tools)
}

/// As [`tools`], with what they share.
///
/// # Errors
/// As [`tools`].
pub fn toolbox(loaded: &Loaded, environments: Arc<Environments>) -> Result<Toolbox, Failure> {
    let processes = Arc::new(Processes::new(loaded.home.root().join("processes"), environments.clone()));
    let tools = all(loaded, &environments, &processes)?;
    let sets = sets(loaded, &tools)?;
    let config = &loaded.config.tools;
    let when = match config.search.as_str() {
        "on" => When::Always,
        "off" => When::Never,
        _ => When::Needed,
    };
    let folding = Folding { when, share_percent: config.search_share_percent };
    Ok(Toolbox { tools: Tools::new(tools, sets, folding), processes, environments })
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

fn all(
    loaded: &Loaded,
    environments: &Arc<Environments>,
    processes: &Arc<Processes>,
) -> Result<Vec<Arc<dyn Tool>>, Failure> {
    let config = &loaded.config;
    let terminal = Terminal::over(Arc::clone(environments))
        .with_timeout(config.terminal.timeout)
        .with_processes(Arc::clone(processes));
    let mut all: Vec<Arc<dyn Tool>> = vec![Arc::new(terminal), Arc::new(Process::new(Arc::clone(processes)))];
    all.push(Arc::new(ExecuteCode::new(Arc::clone(environments), config.code)));
    if config.memory.notes || config.memory.users {
        all.push(Arc::new(Memory));
    }
    all.extend(skills::tools());
    let vendors = Vendors::new(&config.tools.endpoints, |name| engine::key(loaded, name));
    let wrong = |error| Failure::message(Exit::Config, error).hint("herm config explain web");
    let guard = web::Guard::new(config.security.allow_private_urls, config.security.blocked_domains.clone());
    all.extend(web::tools(&config.web, &vendors, &guard).map_err(wrong)?);
    all.extend(media::tools(config, &vendors, &guard));
    Ok(table(all))
}
