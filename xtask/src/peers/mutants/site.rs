//! Where a mistake can be made, and the draw of one of these places.

use serde_json::{Map, Value};

/// SplitMix64: small, and the same everywhere.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Self {
        Self(2016)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(super) fn pick<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        let count = u64::try_from(items.len()).ok().filter(|count| *count > 0)?;
        items.get(usize::try_from(self.next() % count).ok()?).cloned()
    }

    pub(super) fn shuffled<T: Clone>(&mut self, items: &[T]) -> Vec<T> {
        let mut keyed: Vec<(u64, T)> =
            items.iter().map(|item| (self.next(), item.clone())).collect();
        keyed.sort_by_key(|(key, _)| *key);
        keyed.into_iter().map(|(_, item)| item).collect()
    }
}

/// A state while it is looked at: its fields, and whether it speaks JSONata.
pub(super) type State = Map<String, Value>;

/// A definition in which one mistake is to be made.
pub(super) struct Site<'a> {
    pub(super) definition: &'a mut Value,
    pub(super) random: &'a mut Random,
}

impl<'a> Site<'a> {
    pub(super) fn new(definition: &'a mut Value, random: &'a mut Random) -> Self {
        Self { definition, random }
    }

    /// One of the states that fit.
    pub(super) fn state(&mut self, fits: impl Fn(&State, bool) -> bool) -> Option<&mut State> {
        let mut found = Vec::new();
        let jsonata = speaks_jsonata(self.definition, false);
        scope(self.definition, String::new(), jsonata, &mut |pointer, state, jsonata| {
            if fits(state, jsonata) {
                found.push(pointer.to_owned());
            }
        });
        let pointer = self.random.pick(&found)?;
        self.definition.pointer_mut(&pointer)?.as_object_mut()
    }

    /// One of the fields of these names, and the state that has it.
    pub(super) fn field(&mut self, names: &[&'static str]) -> Option<(&mut State, &'static str)> {
        let mut found = Vec::new();
        scope(self.definition, String::new(), false, &mut |pointer, state, _| {
            let present = names.iter().filter(|name| state.contains_key(**name));
            found.extend(present.map(|name| (pointer.to_owned(), *name)));
        });
        let (pointer, name) = self.random.pick(&found)?;
        Some((self.definition.pointer_mut(&pointer)?.as_object_mut()?, name))
    }

    /// One of the states of a type, in JSONPath.
    pub(super) fn of_type(&mut self, kind: &str) -> Option<&mut State> {
        self.state(|state, jsonata| state["Type"] == kind && !jsonata)
    }

    /// One of the texts that fit, by the name of their field.
    pub(super) fn text(&mut self, fits: impl Fn(&str, &str) -> bool) -> Option<&mut Value> {
        let mut found = Vec::new();
        texts(self.definition, "", String::new(), &mut |pointer, name, text| {
            if fits(name, text) {
                found.push(pointer.to_owned());
            }
        });
        let pointer = self.random.pick(&found)?;
        self.definition.pointer_mut(&pointer)
    }

    /// Changes one of the texts that fit.
    pub(super) fn edit(
        &mut self,
        fits: impl Fn(&str, &str) -> bool,
        edit: impl Fn(&str) -> String,
    ) -> Option<()> {
        let text = self.text(fits)?;
        *text = edit(text.as_str()?).into();
        Some(())
    }
}

fn speaks_jsonata(object: &Value, around: bool) -> bool {
    object.get("QueryLanguage").map_or(around, |language| language == "JSONata")
}

fn scope(machine: &Value, at: String, around: bool, visit: &mut dyn FnMut(&str, &State, bool)) {
    let states = machine["States"].as_object().into_iter().flatten();
    for (name, state) in states {
        let at = format!("{at}/States/{}", name.replace('~', "~0").replace('/', "~1"));
        let Some(fields) = state.as_object().filter(|fields| fields.contains_key("Type")) else {
            continue;
        };
        visit(&at, fields, speaks_jsonata(state, around));
        let branches = state["Branches"].as_array().into_iter().flatten().enumerate();
        for (index, branch) in branches {
            scope(branch, format!("{at}/Branches/{index}"), around, visit);
        }
        for field in ["ItemProcessor", "Iterator"] {
            if let Some(inner) = state.get(field) {
                scope(inner, format!("{at}/{field}"), around, visit);
            }
        }
    }
}

fn texts(value: &Value, name: &str, at: String, visit: &mut dyn FnMut(&str, &str, &str)) {
    match value {
        Value::String(text) => visit(&at, name, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(item, name, format!("{at}/{index}"), visit);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let step = name.replace('~', "~0").replace('/', "~1");
                texts(field, name, format!("{at}/{step}"), visit);
            }
        }
        _ => {}
    }
}
