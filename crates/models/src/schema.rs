//! Tools in a form that every provider accepts: not too many, and each schema an object with properties. Pure.
//!
//! MCP allows any schema of an object. Providers refuse a whole request because of one schema without properties,
//! or with alternatives at its top. So alternatives are joined into one object that allows each of them; the tool
//! itself reports a call that mixes them. JSON is read at most 128 levels deep. At most [`MAX_JOINED`] schemas,
//! references included, are joined at the top of one schema.

use bobbin_agent_api::tool::ToolSpec;
use serde_json::{Map, Value, json};

use crate::Wire;
use crate::conversation::value;

/// Most tools of one request, where a provider is known to have a limit.
const MAX_TOOLS: usize = 128;
/// Most schemas that are joined into one. References may form several cycles.
const MAX_JOINED: usize = 256;
/// Most bytes of names in the note about tools that are left out.
const MAX_NAMED: usize = 300;

/// Splits tools into those that a wire accepts and those left out: the last ones, which come from tool servers.
pub(crate) fn taken(wire: Wire, tools: &[ToolSpec]) -> (&[ToolSpec], &[ToolSpec]) {
    let most = match wire {
        Wire::ChatCompletions | Wire::Responses => MAX_TOOLS,
        Wire::Messages => tools.len(),
    };
    tools.split_at(most.min(tools.len()))
}

/// Returns the note that tools are left out.
pub(crate) fn left_out(model: &str, tools: &[ToolSpec]) -> String {
    let mut names = String::new();
    for (tool, n) in tools.iter().zip(0..) {
        if names.len() + tool.name.len() > MAX_NAMED {
            names.push_str(", …");
            break;
        }
        names.extend([if n == 0 { "" } else { ", " }, &*tool.name]);
    }
    let count = tools.len();
    format!(
        "The provider of the model {model:?} takes {MAX_TOOLS} tools; it is not told of {count} more: {names}. End tool servers that are not needed."
    )
}

/// Returns a tool's schema in the form that providers accept.
pub(crate) fn of_tool(tool: &ToolSpec) -> Value {
    let root = value(tool.input_schema.get());
    let mut left = MAX_JOINED;
    let mut whole = object(&root, &root, &mut left);
    whole.insert("type".to_owned(), "object".into());
    // It may name a dialect that some providers do not know.
    whole.remove("$schema");
    let mut whole = Value::Object(whole);
    with_items(&mut whole);
    whole
}

/// Returns an object's schema without references and alternatives at its top, always with properties. `left` counts
/// the schemas that may still be joined.
fn object(root: &Value, schema: &Value, left: &mut usize) -> Map<String, Value> {
    let mut whole = match schema {
        Value::Object(schema) if *left > 0 => schema.clone(),
        _ => Map::new(),
    };
    *left = left.saturating_sub(1);
    let mut properties = take_object(&mut whole, "properties");
    let mut required = take_names(&mut whole, "required");
    for name in ["enum", "const", "not"] {
        whole.remove(name);
    }
    let reference = whole.remove("$ref");
    let parts = ["allOf", "anyOf", "oneOf"].map(|name| match whole.remove(name) {
        Some(Value::Array(parts)) => parts,
        _ => Vec::new(),
    });
    let referred = reference
        .as_ref()
        .and_then(Value::as_str)
        .and_then(|place| root.pointer(place.strip_prefix('#')?));
    // All of these apply.
    for part in referred.into_iter().chain(&parts[0]) {
        let part = object(root, part, left);
        required.extend(names(part.get("required")));
        join(&mut properties, part.get("properties"));
        if let Some(said) = part.get("description") {
            whole.entry("description").or_insert_with(|| said.clone());
        }
    }
    // One of these applies: only members that all of them require are required.
    for alternatives in &parts[1..] {
        let mut wanted: Option<Vec<String>> = None;
        for part in alternatives.iter().filter(|part| may_be_object(part)) {
            let part = object(root, part, left);
            join(&mut properties, part.get("properties"));
            let of_part = names(part.get("required"));
            wanted = Some(match wanted {
                None => of_part,
                Some(wanted) => wanted.into_iter().filter(|name| of_part.contains(name)).collect(),
            });
        }
        required.extend(wanted.unwrap_or_default());
        if !alternatives.is_empty() {
            // A member that one alternative does not know may belong to another.
            whole.remove("additionalProperties");
        }
    }
    whole.insert("properties".to_owned(), Value::Object(properties));
    let mut unique: Vec<String> = Vec::new();
    for name in required {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    if !unique.is_empty() {
        whole.insert("required".to_owned(), unique.into());
    }
    whole
}

/// Adds properties. A property that has two schemas may match either.
fn join(known: &mut Map<String, Value>, more: Option<&Value>) {
    for (name, schema) in more.and_then(Value::as_object).into_iter().flatten() {
        match known.get_mut(name) {
            None => {
                known.insert(name.clone(), schema.clone());
            }
            Some(same) if same == schema => {}
            Some(other) => match other.get_mut("anyOf").and_then(Value::as_array_mut) {
                Some(several) if several.contains(schema) => {}
                Some(several) => several.push(schema.clone()),
                None => *other = json!({ "anyOf": [other.take(), schema] }),
            },
        }
    }
}

fn may_be_object(schema: &Value) -> bool {
    match schema.get("type") {
        None => schema.is_object(),
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
    }
}

/// Gives every array without `items` an empty one.
fn with_items(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let is_array = match members.get("type") {
                Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
                Some(kind) => kind == "array",
                None => false,
            };
            if is_array && !members.contains_key("items") {
                members.insert("items".to_owned(), json!({}));
            }
            members.values_mut().for_each(with_items);
        }
        Value::Array(values) => values.iter_mut().for_each(with_items),
        _ => {}
    }
}

fn take_object(schema: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match schema.remove(name) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

fn take_names(schema: &mut Map<String, Value>, name: &str) -> Vec<String> {
    names(schema.remove(name).as_ref())
}

fn names(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::tool::Effect;
    use bobbin_model::Json;
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn tool(name: &str, schema: &Value) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: "".into(),
            input_schema: Json::of(schema).unwrap(),
            effect: Effect::Reads,
        }
    }

    const TEXT: fn() -> Value = || json!({ "type": "string" });

    #[rstest]
    #[case::usual(json!({ "type": "object", "properties": { "a": TEXT() }, "required": ["a"], "additionalProperties": false }),
        json!({ "type": "object", "properties": { "a": TEXT() }, "required": ["a"], "additionalProperties": false }))]
    #[case::nothing(json!({}), json!({ "type": "object", "properties": {} }))]
    #[case::no_properties(json!({ "type": "object" }), json!({ "type": "object", "properties": {} }))]
    #[case::nulls(json!({ "type": ["object", "null"], "properties": null, "required": null, "$schema": "x" }),
        json!({ "type": "object", "properties": {} }))]
    #[case::no_schema(json!(true), json!({ "type": "object", "properties": {} }))]
    #[case::one_of(json!({ "oneOf": [
            { "type": "object", "properties": { "kind": { "const": "a" }, "x": TEXT() }, "required": ["kind", "x"], "additionalProperties": false },
            { "type": "object", "properties": { "kind": { "const": "b" }, "x": TEXT() }, "required": ["kind"] },
            { "type": "null" },
        ], "required": ["z"], "additionalProperties": false }),
        json!({ "type": "object", "properties": { "kind": { "anyOf": [{ "const": "a" }, { "const": "b" }] }, "x": TEXT() },
            "required": ["z", "kind"] }))]
    #[case::all_of(json!({ "allOf": [
            { "properties": { "a": TEXT() }, "required": ["a"] },
            { "properties": { "b": TEXT() }, "required": ["b", "a"] },
        ], "not": {}, "enum": [1] }),
        json!({ "type": "object", "properties": { "a": TEXT(), "b": TEXT() }, "required": ["a", "b"] }))]
    #[case::only_requirements(json!({ "type": "object", "properties": { "a": TEXT(), "b": TEXT() },
            "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
        json!({ "type": "object", "properties": { "a": TEXT(), "b": TEXT() } }))]
    #[case::reference(json!({ "$ref": "#/definitions/T", "definitions": { "T": { "type": "object", "properties": { "a": TEXT() }, "description": "d" } } }),
        json!({ "type": "object", "properties": { "a": TEXT() }, "description": "d",
            "definitions": { "T": { "type": "object", "properties": { "a": TEXT() }, "description": "d" } } }))]
    #[case::circle(json!({ "$ref": "#" }), json!({ "type": "object", "properties": {} }))]
    #[case::elsewhere(json!({ "$ref": "https://x.example/s" }), json!({ "type": "object", "properties": {} }))]
    #[case::arrays(json!({ "type": "object", "properties": { "l": { "type": "array" } } }),
        json!({ "type": "object", "properties": { "l": { "type": "array", "items": {} } } }))]
    fn a_schema_is_an_object_with_properties(#[case] schema: Value, #[case] sent: Value) {
        assert_eq!(of_tool(&tool("t", &schema)), sent);
    }

    fn schemas() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            Just(json!("object")),
            Just(json!("#/anyOf/0")),
            Just(json!("#")),
            Just(json!([]))
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let name = prop::sample::select(vec![
                "type",
                "properties",
                "required",
                "anyOf",
                "oneOf",
                "allOf",
                "not",
                "enum",
                "$ref",
                "items",
                "a",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec((name, inner), 0..5).prop_map(|members| members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_the_schema_its_top_can_be_sent(schema in schemas()) {
            let sent = of_tool(&tool("t", &schema));
            prop_assert_eq!(&sent["type"], "object");
            prop_assert!(sent["properties"].is_object());
            for name in ["oneOf", "anyOf", "allOf", "enum", "not"] {
                prop_assert!(sent.get(name).is_none(), "{}", sent);
            }
        }
    }

    #[test]
    fn circles_of_references_have_an_end() {
        let back = vec![json!({ "$ref": "#" }); 500];
        let schema = json!({ "allOf": back, "anyOf": back, "properties": { "a": TEXT() } });
        assert_eq!(
            of_tool(&tool("t", &schema)),
            json!({ "type": "object", "properties": { "a": TEXT() } })
        );
    }

    #[test]
    fn tools_beyond_what_a_wire_takes_are_left_out_and_named() {
        let tools: Vec<ToolSpec> = (0..200).map(|n| tool(&format!("t{n}"), &json!({}))).collect();
        for (wire, count) in [
            (Wire::ChatCompletions, 128),
            (Wire::Responses, 128),
            (Wire::Messages, 200),
        ] {
            let (kept, rest) = taken(wire, &tools);
            assert_eq!((kept.len(), rest.len()), (count, 200 - count));
        }
        let said = left_out("p/m", taken(Wire::Responses, &tools).1);
        assert!(
            said.contains("72 more: t128, t129") && said.contains("…") && said.len() < 500,
            "{said}"
        );
    }
}
