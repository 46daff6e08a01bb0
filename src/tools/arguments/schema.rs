//! A JSON schema as the alternatives that it allows, in the order in which it declares them.
//!
//! `type: [a, b]`, `anyOf`, `oneOf` and `nullable` are the same thing here: alternatives. `allOf`
//! and `$ref` put several schemas into one alternative. What a schema says besides (patterns,
//! formats, conditions) is not looked at; the tool itself has the last word.

use std::cell::Cell;

use serde_json::Value;

/// Alternatives that are told apart, at most; what is beyond is not corrected towards.
const ALTERNATIVES_MAX: usize = 64;
/// `$ref`, `allOf`, `anyOf` within one another, at most.
const DEPTH_MAX: usize = 24;
/// Steps that correcting and checking one call's arguments may take, so that a schema that
/// branches at every level cannot keep herm busy.
const STEPS_MAX: u32 = 200_000;

/// A whole schema; the place that `$ref` looks things up in.
pub struct Schema<'s> {
    whole: &'s Value,
    steps: Cell<u32>,
}

/// Schemas that hold at once, of one place.
#[derive(Clone)]
pub struct Node<'s, 'r> {
    root: &'r Schema<'s>,
    all: Vec<&'s Value>,
}

/// One thing that a place may hold.
#[derive(Clone)]
pub struct Alternative<'s> {
    /// Name of the type; `None` allows all.
    pub kind: Option<&'s str>,
    /// What else must hold.
    pub all: Vec<&'s Value>,
}

impl<'s> Schema<'s> {
    pub fn new(whole: &'s Value) -> Self {
        Self { whole, steps: Cell::new(STEPS_MAX) }
    }

    pub fn root<'r>(&'r self) -> Node<'s, 'r> {
        Node { root: self, all: vec![self.whole] }
    }

    fn target(&self, reference: &str) -> Option<&'s Value> {
        self.whole.pointer(reference.strip_prefix('#')?)
    }
}

impl<'s, 'r> Node<'s, 'r> {
    /// Whether there is strength left for another step.
    pub fn step(&self) -> bool {
        let left = self.root.steps.get().saturating_sub(1);
        self.root.steps.set(left);
        left > 0
    }

    /// Everything that may stand here, in the declared order.
    pub fn alternatives(&self) -> Vec<Alternative<'s>> {
        flatten(self.root, &self.all, 0)
    }

    /// Whether something of this type may stand here.
    pub fn takes(&self, kind: &str) -> bool {
        self.alternatives().iter().any(|one| one.kind.is_none_or(|name| name == kind))
    }

    /// Names of the types that may stand here, each once; none where all may.
    pub fn kinds(&self) -> Vec<&'s str> {
        let mut names = Vec::new();
        for kind in self.alternatives().iter().filter_map(|one| one.kind) {
            if !names.contains(&kind) {
                names.push(kind);
            }
        }
        names
    }

    /// The same place of the same schema, with these.
    pub fn of(&self, all: Vec<&'s Value>) -> Self {
        Self { root: self.root, all }
    }

    /// What the member `name` of an alternative is, if the schema knows it.
    pub fn member(&self, one: &Alternative<'s>, name: &str) -> Option<Self> {
        let named: Vec<&Value> =
            one.all.iter().filter_map(|schema| schema.get("properties")?.get(name)).collect();
        if !named.is_empty() {
            return Some(self.of(named));
        }
        let others = |schema: &&'s Value| schema.get("additionalProperties").filter(|rest| rest.is_object());
        let others: Vec<&Value> = one.all.iter().filter_map(others).collect();
        (!others.is_empty()).then(|| self.of(others))
    }

    /// What the item at `index` of an alternative is, if the schema says.
    pub fn item(&self, one: &Alternative<'s>, index: usize) -> Option<Self> {
        let item = |schema: &&'s Value| -> Option<&'s Value> {
            let tuple = schema.get("prefixItems").or_else(|| schema.get("items").filter(|i| i.is_array()));
            let placed = tuple.and_then(Value::as_array).and_then(|tuple| tuple.get(index));
            placed.or_else(|| schema.get("items").filter(|items| items.is_object()))
        };
        let items: Vec<&Value> = one.all.iter().filter_map(item).collect();
        (!items.is_empty()).then(|| self.of(items))
    }
}

impl<'s> Alternative<'s> {
    /// The values of `key` in all of its schemas.
    pub fn each(&self, key: &str) -> impl Iterator<Item = &'s Value> {
        self.all.iter().filter_map(move |schema| schema.get(key))
    }

    pub fn required(&self) -> Vec<&'s str> {
        self.each("required").filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect()
    }

    /// Names of the members that it knows.
    pub fn known(&self) -> Vec<&'s str> {
        let properties = self.each("properties").filter_map(Value::as_object);
        properties.flat_map(|all| all.keys().map(String::as_str)).collect()
    }

    /// The only values that are allowed, where the schema lists them.
    pub fn values(&self) -> Option<Vec<&'s Value>> {
        let lists = self.each("enum").filter_map(Value::as_array).map(|list| list.iter().collect());
        let single = self.each("const").map(|value| vec![value]);
        lists.chain(single).reduce(|a: Vec<&Value>, b| a.into_iter().filter(|v| b.contains(v)).collect())
    }
}

fn flatten<'s>(root: &Schema<'s>, all: &[&'s Value], depth: usize) -> Vec<Alternative<'s>> {
    let mut pieces: Vec<&'s Value> = Vec::new();
    let mut waiting: Vec<&'s Value> = all.iter().rev().copied().collect();
    let mut choices: Vec<&'s Vec<Value>> = Vec::new();
    while let Some(schema) = waiting.pop() {
        // The same schema twice says nothing more; so a circle of references ends.
        if !schema.is_object() || pieces.iter().any(|known| std::ptr::eq(*known, schema)) {
            continue;
        }
        pieces.push(schema);
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|reference| root.target(reference));
        waiting.extend(target);
        waiting.extend(schema.get("allOf").and_then(Value::as_array).into_iter().flatten());
        choices.extend(["anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array()));
    }
    let mut found = vec![Alternative { kind: None, all: Vec::new() }];
    for choice in choices {
        if depth >= DEPTH_MAX {
            break;
        }
        let branches: Vec<_> = choice.iter().flat_map(|branch| flatten(root, &[branch], depth + 1)).collect();
        found = crossed(&found, &branches);
    }
    let own = kinds(&pieces);
    if !own.is_empty() {
        let own: Vec<_> =
            own.into_iter().map(|kind| Alternative { kind: Some(kind), all: Vec::new() }).collect();
        found = crossed(&own, &found);
    }
    for one in &mut found {
        one.all.splice(0..0, pieces.iter().copied());
    }
    let nullable = pieces.iter().any(|schema| schema.get("nullable") == Some(&Value::Bool(true)));
    if nullable && !found.iter().any(|one| one.kind.is_none_or(|kind| kind == "null")) {
        found.push(Alternative { kind: Some("null"), all: Vec::new() });
    }
    found
}

/// Both at once, of each pair that can be.
fn crossed<'s>(one: &[Alternative<'s>], other: &[Alternative<'s>]) -> Vec<Alternative<'s>> {
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a, b)));
    let both = pairs.filter_map(|(a, b)| {
        let kind = match (a.kind, b.kind) {
            (Some("number"), Some("integer")) | (Some("integer"), Some("number")) => Some("integer"),
            (Some(a), Some(b)) if a != b => return None,
            (a, b) => a.or(b),
        };
        Some(Alternative { kind, all: a.all.iter().chain(&b.all).copied().collect() })
    });
    both.take(ALTERNATIVES_MAX).collect()
}

/// The types that all of these name, in the order of the first; none where none is named. What has
/// properties is meant to be an object, and what has items a list, whether it says so or not.
fn kinds<'s>(pieces: &[&'s Value]) -> Vec<&'s str> {
    let named = |schema: &&'s Value| -> Option<Vec<&'s str>> {
        match schema.get("type")? {
            Value::String(name) => Some(vec![name.as_str()]),
            Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
            _ => None,
        }
    };
    let both = |a: Vec<&'s str>, b: Vec<&'s str>| a.into_iter().filter(|kind| b.contains(kind)).collect();
    if let Some(found) = pieces.iter().filter_map(named).reduce(both) {
        return found;
    }
    let has = |key: &str| pieces.iter().any(|schema| schema.get(key).is_some());
    match (has("properties"), has("items"), has("anyOf") || has("oneOf")) {
        (true, false, false) => vec!["object"],
        (false, true, false) => vec!["array"],
        _ => Vec::new(),
    }
}
