//! What the generated schema promises to its readers.

use super::*;

fn generated() -> Vec<(String, Value)> {
    let parse = |(path, text): (String, String)| (path, serde_json::from_str(&text).unwrap());
    files().unwrap().into_iter().map(parse).collect()
}

fn each_object(value: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            visit(members);
            members.values().for_each(|member| each_object(member, visit));
        }
        Value::Array(elements) => elements.iter().for_each(|element| each_object(element, visit)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_to_a_shared_type() {
    let generated = generated();
    let types = &generated.iter().find(|(path, _)| path == TYPES_FILE).unwrap().1["$defs"];
    for (path, schema) in &generated {
        let (prefix, types) = match path.as_str() {
            TYPES_FILE => (DEFINITIONS, types),
            openrpc::FILE => (openrpc::SCHEMAS, &schema["components"]["schemas"]),
            _ => ("../types.json#/$defs/", types),
        };
        each_object(schema, &mut |members| {
            if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                let name = target
                    .strip_prefix(prefix)
                    .unwrap_or_else(|| panic!("{path}: {target}"));
                assert!(types.get(name).is_some(), "{path}: no type {name}");
            }
        });
    }
}

#[test]
fn the_index_names_exactly_the_files_there_are() {
    let generated = generated();
    let index = &generated.iter().find(|(path, _)| path == "index.json").unwrap().1;
    let mut named = vec![
        "index.json".to_owned(),
        CONFIGURATION_FILE.to_owned(),
        openrpc::FILE.to_owned(),
        index["types"].as_str().unwrap().to_owned(),
    ];
    for group in [
        "requests",
        "clientNotifications",
        "notifications",
        "serverRequests",
    ] {
        for entry in index[group].as_array().unwrap() {
            let paths = [entry.get("params"), entry.get("result")].into_iter().flatten();
            named.extend(paths.map(|path| path.as_str().unwrap().to_owned()));
        }
    }
    named.sort();
    let there: Vec<_> = generated.into_iter().map(|(path, _)| path).collect();
    assert_eq!(named, there);
}

#[test]
fn only_members_that_are_always_there_can_be_null() {
    // In a configuration file `null` is as good as left out.
    for (path, schema) in generated()
        .into_iter()
        .filter(|(path, _)| path != CONFIGURATION_FILE)
    {
        each_object(&schema, &mut |members| {
            let Some(properties) = members.get("properties").and_then(Value::as_object) else {
                return;
            };
            let required = members.get("required").and_then(Value::as_array);
            for (name, property) in properties {
                let nullable = property["type"]
                    .as_array()
                    .is_some_and(|types| types.contains(&"null".into()));
                let always = required.is_some_and(|required| required.contains(&name.as_str().into()));
                assert!(!nullable || always, "{path}: {name}");
            }
        });
    }
}

#[test]
fn everything_is_described() {
    for (path, schema) in generated() {
        each_object(&schema, &mut |members| {
            let Some(properties) = members.get("properties").and_then(Value::as_object) else {
                return;
            };
            for (name, property) in properties {
                let tag = property.get("const").is_some() || property.get("not").is_some();
                assert!(
                    tag || property.get("description").is_some(),
                    "{path}: {name} is not described"
                );
            }
        });
    }
}

#[test]
fn nothing_stands_beside_a_reference() {
    for (path, schema) in generated() {
        each_object(&schema, &mut |members| {
            let is_alone = members.len() == 1 || members.get("$ref").is_none_or(|target| !target.is_string());
            assert!(is_alone || path == CONFIGURATION_FILE, "{path}: {members:?}");
        });
    }
}

#[test]
fn a_variant_is_a_type_with_its_tag_inside() {
    let tag = |value: &str| json!({ "type": { "type": "string", "const": value } });
    let mut definitions = json!({
        "Part": { "oneOf": [
            { "$ref": "#/$defs/Text", "properties": tag("text"), "required": ["type"] },
            { "type": "object", "properties": tag("end"), "required": ["type"] },
        ]},
        "Text": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] },
    });
    variants::name(definitions.as_object_mut().unwrap(), &[]).unwrap();
    let wanted = json!({
        "Part": { "oneOf": [{ "$ref": "#/$defs/Text" }, { "$ref": "#/$defs/EndPart" }] },
        "Text": {
            "type": "object",
            "properties": { "text": { "type": "string" }, "type": { "type": "string", "const": "text" } },
            "required": ["type", "text"],
        },
        "EndPart": { "type": "object", "properties": tag("end"), "required": ["type"] },
    });
    assert_eq!(definitions, wanted);
}

#[test]
fn a_variant_that_is_used_elsewhere_without_its_tag_is_a_type_of_its_own() {
    let tag = json!({ "type": { "const": "text" } });
    let mut definitions = json!({
        "Part": { "oneOf": [{ "$ref": "#/$defs/Text", "properties": tag, "required": ["type"] }] },
        "Text": { "type": "object", "properties": {} },
    });
    let plain = definitions["Text"].clone();
    let messages = [("m.json".to_owned(), json!({ "$ref": "#/$defs/Text" }))];
    variants::name(definitions.as_object_mut().unwrap(), &messages).unwrap();
    assert_eq!(definitions["Text"], plain);
    assert_eq!(
        definitions["Part"]["oneOf"],
        json!([{ "$ref": "#/$defs/TextPart" }])
    );
    assert_eq!(definitions["TextPart"]["properties"], tag);
}

#[test]
fn a_type_with_two_shapes_is_refused() {
    let types = |shape: &str| json!({ "T": { "type": shape } }).as_object().cloned().unwrap();
    let mut into = types("string");
    assert!(merge(&mut into, types("string")).is_ok());
    let error = merge(&mut into, types("number")).unwrap_err();
    assert!(error.to_string().starts_with("T is read in another shape"));
}

#[test]
fn members_are_sorted_at_every_level() {
    let text = text(json!({ "b": [{ "d": 1, "c": 2 }], "a": 3 })).unwrap();
    let places: Vec<_> = ["\"a\"", "\"b\"", "\"c\"", "\"d\""]
        .iter()
        .map(|name| text.find(name))
        .collect();
    assert!(places.is_sorted(), "{text}");
}
