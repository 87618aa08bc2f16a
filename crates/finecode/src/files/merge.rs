//! How tables of configuration merge: objects deeply, lists are replaced, the later one wins.
//!
//! Lists whose items have a name merge by it and stay in their order: handlers of an action, `action_handler` by its
//! source, `service` by its interface.

use serde_json::{Value, json};

/// The lists of a table that merge by a member of their items.
const NAMED: [(&str, &str); 2] = [("action_handler", "source"), ("service", "interface")];

/// Makes an object of what should be one.
pub(crate) fn normalize(table: Value) -> Value {
    if table.is_object() { table } else { json!({}) }
}

/// Merges a normalized table over another.
pub(crate) fn overlay(base: &mut Value, mut over: Value) {
    for (list, key) in NAMED {
        if let (Some(base), Some(over)) = (base.get(list), over.get_mut(list)) {
            *over = by_name(base, over.take(), key);
        }
    }
    let actions = over.get_mut("action").and_then(Value::as_object_mut);
    for (name, action) in actions.into_iter().flatten() {
        let base = base.get("action").and_then(|actions| actions.get(name));
        let Some(base) = base.and_then(|base| base.get("handlers")) else {
            continue;
        };
        // An action that replaces its handlers loses those of what it is merged over.
        let replaces = action.get("handlers_mode").is_some_and(|mode| mode == "replace");
        match action.get_mut("handlers") {
            Some(handlers) if !replaces => *handlers = by_name(base, handlers.take(), "name"),
            None if replaces => action["handlers"] = json!([]),
            _ => {}
        }
    }
    deep(base, over);
}

/// Merges a list over another by a member of the items. Items that the first one has not come behind.
fn by_name(base: &Value, over: Value, key: &str) -> Value {
    let (Value::Array(base), Value::Array(over)) = (base, &over) else {
        return over;
    };
    let mut merged = base.clone();
    for item in over {
        let name = item.get(key).filter(|name| name.is_string());
        let there = merged
            .iter_mut()
            .find(|there| name.is_some() && there.get(key) == name);
        match there {
            Some(there) => deep(there, item.clone()),
            None => merged.push(item.clone()),
        }
    }
    Value::Array(merged)
}

fn deep(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (name, value) in over {
                match base.get_mut(&name) {
                    Some(there) => deep(there, value),
                    None => {
                        base.insert(name, value);
                    }
                }
            }
        }
        (base, over) => *base = over,
    }
}
