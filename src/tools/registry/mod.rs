//! Which tools a model is offered: those of its platform that can work here and now, sorted by name, so
//! that the same tools always make the same bytes.
//!
//! [`Tools`] holds every tool that can be run and dereferences to them. [`Tools::offer`] is what one
//! session is told; [`fold`] keeps it small where plugins bring hundreds. Whether a tool is available is
//! asked at most every half minute, and what was worked out is kept for a few questions. Nothing here
//! runs a tool.

mod available;
pub mod fold;

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use herm_schema::events::ToolFacts;
use serde_json::Value;

use self::available::Availability;
use self::fold::Folding;
use super::toolsets::{CORE, Toolsets};
use super::{Tool, arguments, table};
use crate::providers::ToolDefinition;

/// Offers that are kept worked out, at most; a gateway serves a handful of platforms.
const OFFERS_KEPT_MAX: usize = 8;

/// What a model is told, and what the reducer is.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    pub definitions: Vec<ToolDefinition>,
    /// The definitions as JSON, as they are kept.
    pub json: String,
    pub facts: Vec<ToolFacts>,
    /// Whether tools are folded behind `tool_search`.
    pub folded: bool,
}

impl Offer {
    fn of(definitions: Vec<ToolDefinition>, facts: Vec<ToolFacts>, folded: bool) -> Self {
        // Only maps with keys that are not strings do not serialise, and there are none.
        let json = serde_json::to_string(&definitions).unwrap_or_default();
        Self { definitions, json, facts, folded }
    }
}

/// Everything that an offer depends on and that can change while herm runs; the tools, the sets and the
/// settings cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Question {
    platform: String,
    window_tokens: u32,
    available: Vec<String>,
}

/// Every tool there is.
#[derive(Clone)]
pub struct Tools {
    /// In the order of their names, with those that folding adds.
    all: Vec<Arc<dyn Tool>>,
    shelf: Arc<Shelf>,
}

/// What tools that reach other tools share with the registry.
pub(super) struct Shelf {
    /// In the order of their names, without those that folding adds.
    tools: Vec<Arc<dyn Tool>>,
    /// `None` offers everything to everybody.
    sets: Option<Toolsets>,
    folding: Folding,
    available: Availability,
    /// The newest last.
    offers: Mutex<VecDeque<(Question, Arc<Offer>)>>,
}

/// A call, and what it really is.
pub struct Meant<'a> {
    pub name: String,
    pub tool: &'a Arc<dyn Tool>,
    pub arguments: Value,
}

impl Deref for Tools {
    type Target = [Arc<dyn Tool>];

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

/// These, all of them, wherever they are asked for.
impl From<Vec<Arc<dyn Tool>>> for Tools {
    fn from(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self::on(tools, None, Folding::default())
    }
}

impl Tools {
    /// `tools` as `sets` gives them to platforms.
    pub fn new(tools: Vec<Arc<dyn Tool>>, sets: Toolsets, folding: Folding) -> Self {
        Self::on(tools, Some(sets), folding)
    }

    fn on(mut tools: Vec<Arc<dyn Tool>>, sets: Option<Toolsets>, folding: Folding) -> Self {
        tools.sort_by_key(|tool| tool.facts().name);
        let available = Availability::default();
        let shelf = Shelf { tools, sets, folding, available, offers: Mutex::default() };
        let shelf = Arc::new(shelf);
        let mut all = shelf.tools.clone();
        if shelf.sets.is_some() {
            all.extend(fold::bridges(&shelf));
            all.sort_by_key(|tool| tool.facts().name);
        }
        Self { all, shelf }
    }

    /// What a session on `platform` is offered, whose model sees so many tokens.
    pub fn offer(&self, platform: &str, window_tokens: u32) -> Arc<Offer> {
        self.offer_at(platform, window_tokens, Instant::now())
    }

    fn offer_at(&self, platform: &str, window_tokens: u32, now: Instant) -> Arc<Offer> {
        let reach = self.shelf.reach(platform, now);
        let available = reach.iter().map(|tool| tool.facts().name).collect();
        let question = Question { platform: platform.to_owned(), window_tokens, available };
        let offers = || self.shelf.offers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, offer)) = offers().iter().find(|(known, _)| *known == question) {
            return Arc::clone(offer);
        }
        let offer = Arc::new(self.shelf.worked_out(&reach, window_tokens));
        let mut kept = offers();
        while kept.len() >= OFFERS_KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back((question, Arc::clone(&offer)));
        offer
    }

    /// Whether a tool can work, as it was found out at most half a minute ago.
    ///
    /// # Errors
    /// Why not, for a person.
    pub fn available(&self, tool: &Arc<dyn Tool>) -> Result<(), String> {
        self.shelf.available.of(tool, Instant::now())
    }

    /// What a call with these checked arguments is: itself, or, for `tool_call`, the call within, whose
    /// arguments are corrected and checked as any.
    ///
    /// # Errors
    /// For the model: no such tool is in reach on this platform, or its arguments do not fit.
    pub fn meant(&self, platform: &str, name: &str, arguments: Value) -> Result<Meant<'_>, String> {
        let (name, arguments) = match fold::inner(name, &arguments)? {
            Some((inner, raw)) => {
                let tool = self.shelf.reached(platform, &inner)?;
                (inner, arguments::prepare(&tool.parameters(), &raw)?)
            }
            None => (name.to_owned(), arguments),
        };
        let tool = self.all.iter().find(|tool| tool.facts().name == name);
        let tool = tool.ok_or_else(|| format!("The tool `{name}` is not available any more."))?;
        Ok(Meant { name, tool, arguments })
    }
}

impl Shelf {
    /// The tools of a platform that can work now.
    fn reach(&self, platform: &str, now: Instant) -> Vec<Arc<dyn Tool>> {
        let has = self.sets.as_ref().map(|sets| sets.of_platform(platform));
        let wanted = |tool: &&Arc<dyn Tool>| has.as_ref().is_none_or(|has| has.contains(&tool.facts().name));
        let can = |tool: &&Arc<dyn Tool>| self.available.of(tool, now).is_ok();
        self.tools.iter().filter(wanted).filter(can).cloned().collect()
    }

    /// The tool of that name, if the platform has it.
    fn reached(&self, platform: &str, name: &str) -> Result<Arc<dyn Tool>, String> {
        let reach = self.reach(platform, Instant::now());
        let found = reach.iter().find(|tool| tool.facts().name == name);
        found.cloned().ok_or_else(|| {
            let names: Vec<String> = reach.iter().map(|tool| tool.facts().name).collect();
            let nearest = super::toolsets::nearest(name, names.iter().map(String::as_str));
            let advice = super::toolsets::suggestion(nearest.as_deref());
            format!("there is no tool `{name}` here{advice}; `tool_search` finds those that there are")
        })
    }

    fn worked_out(&self, reach: &[Arc<dyn Tool>], window_tokens: u32) -> Offer {
        let folds =
            |tool: &&Arc<dyn Tool>| self.sets.is_some() && !CORE.contains(&tool.facts().name.as_str());
        let folded: Vec<Arc<dyn Tool>> = reach.iter().filter(folds).cloned().collect();
        if !self.folding.folds(&table::definitions(&folded), window_tokens) {
            return Offer::of(table::definitions(reach), table::facts(reach), false);
        }
        let kept: Vec<Arc<dyn Tool>> = reach.iter().filter(|tool| !folds(tool)).cloned().collect();
        let catalogue =
            fold::catalogue(&folded, self.sets.as_ref(), self.folding.budget_bytes(window_tokens));
        let mut definitions = table::definitions(&kept);
        definitions.extend(fold::definitions(&catalogue));
        definitions.sort_by(|a, b| a.name.cmp(&b.name));
        let mut facts = table::facts(&kept);
        facts.extend(fold::facts());
        facts.sort_by(|a, b| a.name.cmp(&b.name));
        Offer::of(definitions, facts, true)
    }
}

#[cfg(test)]
mod tests;
