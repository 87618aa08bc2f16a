//! How tables of configuration merge: objects deeply, lists are replaced, the later one wins.
//!
//! Lists whose items have a name are tables here, so that they merge by name: handlers of an action, `action_handler`
//! by its source, `service` by its interface.

use serde_json::{Map, Value, json};

/// Puts named items into tables.
pub(crate) fn normalize(table: Value) -> Value {
    let Value::Object(mut table) = table else {
        return json!({});
    };
    for (list, key) in [("action_handler", "source"), ("service", "interface")] {
        if let Some(items) = table.get_mut(list) {
            *items = by(items.take(), key);
        }
    }
    let actions = table.get_mut("action").and_then(Value::as_object_mut);
    for (_, action) in actions.into_iter().flatten() {
        if let Some(handlers) = action.get_mut("handlers") {
            *handlers = by(handlers.take(), "name");
        }
    }
    Value::Object(table)
}

/// Returns a list as a table by a member of its items. An item without it gets a name that says where it was, so that
/// the catalog can complain.
fn by(items: Value, key: &str) -> Value {
    let Value::Array(items) = items else {
        return items;
    };
    let named = items.into_iter().enumerate().map(|(at, item)| {
        let name = item.get(key).and_then(Value::as_str);
        (name.map_or_else(|| format!("#{}", at + 1), str::to_owned), item)
    });
    Value::Object(named.collect::<Map<_, _>>())
}

/// Merges a normalized table over another.
pub(crate) fn overlay(base: &mut Value, over: Value) {
    if let (Some(base), Some(over)) = (base.pointer_mut("/action"), over.get("action")) {
        // An action that replaces its handlers loses those of what it is merged over.
        for (name, action) in over.as_object().into_iter().flatten() {
            if action.get("handlers_mode").is_some_and(|mode| mode == "replace")
                && let Some(handlers) = base.get_mut(name).and_then(|action| action.get_mut("handlers"))
            {
                *handlers = json!({});
            }
        }
    }
    deep(base, over);
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
