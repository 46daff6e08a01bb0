//! The list of tools, and what it says to the reducer and to the model.

use std::sync::Arc;

use herm_schema::events::ToolFacts;

use super::{Clarify, Patch, ReadFile, SearchFiles, SessionSearch, Todo, Tool, WriteFile};
use crate::providers::ToolDefinition;

/// Every tool of this folder and those in `more`, sorted by name; of two with one name the
/// one in `more` stays.
pub fn table(more: Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> {
    let own: [Arc<dyn Tool>; 7] = [
        Arc::new(Clarify),
        Arc::new(Patch),
        Arc::new(ReadFile),
        Arc::new(SearchFiles),
        Arc::new(SessionSearch),
        Arc::new(Todo),
        Arc::new(WriteFile),
    ];
    let mut all: Vec<Arc<dyn Tool>> = more.into_iter().chain(own).collect();
    all.sort_by_key(|tool| tool.facts().name);
    all.dedup_by_key(|tool| tool.facts().name);
    all
}

/// What the model is told of them, sorted by name, so that the same tools always make the same
/// bytes.
pub fn definitions(tools: &[Arc<dyn Tool>]) -> Vec<ToolDefinition> {
    let mut all: Vec<ToolDefinition> = tools
        .iter()
        .map(|tool| ToolDefinition {
            name: tool.facts().name,
            description: tool.description().to_owned(),
            parameters: tool.parameters(),
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// What the reducer is told of them, sorted by name.
pub fn facts(tools: &[Arc<dyn Tool>]) -> Vec<ToolFacts> {
    let mut all: Vec<ToolFacts> = tools.iter().map(|tool| tool.facts()).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use herm_schema::events::{Concurrency, EffectClass};

    /// What all definitions may weigh in every request, in bytes; the reference's weigh 40,500.
    const DEFINITIONS_BYTES_MAX: usize = 8 << 10;
    /// What is kept free of it for `terminal`, which is added where the table is wired.
    const TERMINAL_BYTES: usize = 1_500;

    #[test]
    fn definitions_are_light() {
        let all = table(Vec::new());
        let bytes = serde_json::to_string(&definitions(&all)).unwrap().len();
        assert!(bytes < DEFINITIONS_BYTES_MAX - TERMINAL_BYTES, "{bytes} bytes");
    }

    #[test]
    fn tools_are_sorted_and_their_schemas_are_sound() {
        let all = table(Vec::new());
        let names: Vec<String> = facts(&all).into_iter().map(|facts| facts.name).collect();
        assert!(names.is_sorted());
        for definition in definitions(&all) {
            assert_eq!(definition.parameters["type"], "object", "{}", definition.name);
            let properties = definition.parameters["properties"].as_object().unwrap();
            let required = definition.parameters.get("required").and_then(|list| list.as_array());
            for name in required.into_iter().flatten() {
                assert!(properties.contains_key(name.as_str().unwrap()), "{} {name}", definition.name);
            }
        }
    }

    #[test]
    fn paths_that_facts_name_are_arguments() {
        for tool in table(Vec::new()) {
            let facts = tool.facts();
            if let Concurrency::Paths { arguments, .. } = facts.concurrency {
                let properties = tool.parameters()["properties"].clone();
                assert!(arguments.iter().all(|name| properties.get(name).is_some()), "{}", facts.name);
            }
        }
    }

    #[test]
    fn only_writers_are_checkable() {
        let checkable: Vec<String> = facts(&table(Vec::new()))
            .into_iter()
            .filter(|facts| facts.effect != EffectClass::Repeatable)
            .map(|facts| facts.name)
            .collect();
        assert_eq!(checkable, ["patch", "write_file"]);
    }

    #[test]
    fn one_more_of_the_same_name_replaces() {
        let all = table(vec![Arc::new(Todo), Arc::new(ReadFile)]);
        assert_eq!(all.len(), 7);
    }
}
