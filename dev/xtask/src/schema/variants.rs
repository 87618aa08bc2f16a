//! Gives each variant of a tagged type a definition of its own, with the tag inside.
//!
//! Schemars describes a variant as a reference with the tag beside it, or in place without a name. Both are
//! right, but generators of code lose members of the former and number the latter.

use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

const PREFIX: &str = "#/$defs/";

/// Names the variants of every tagged type.
///
/// # Errors
/// The name of a variant is taken.
pub(super) fn name(definitions: &mut Map<String, Value>, messages: &[(String, Value)]) -> anyhow::Result<()> {
    let parents: Vec<String> = definitions.keys().cloned().collect();
    for parent in parents {
        let Some((member, variants)) = variants(&definitions[&parent]) else {
            continue;
        };
        let mut references = Vec::new();
        for variant in variants {
            references.push(named(&parent, &variant, definitions, messages)?);
        }
        definitions[&parent][member] = references.into();
    }
    Ok(())
}

/// Returns the variants of a type that has any, and the member they are in.
fn variants(schema: &Value) -> Option<(&'static str, Vec<Value>)> {
    ["oneOf", "anyOf"].into_iter().find_map(|member| {
        let variants = schema.get(member)?.as_array()?;
        let tagged = variants.iter().all(|variant| tag(variant).is_some());
        tagged.then(|| (member, variants.clone()))
    })
}

/// Returns what tells a variant apart from the others.
fn tag(variant: &Value) -> Option<String> {
    let members = variant.get("properties")?.as_object()?;
    members.values().find_map(|member| match member.get("const") {
        Some(tag) => tag.as_str().map(str::to_owned),
        None => member.get("not").map(|_| "unknown".to_owned()),
    })
}

/// Makes a definition of a variant and returns a reference to it.
fn named(
    parent: &str,
    variant: &Value,
    definitions: &mut Map<String, Value>,
    messages: &[(String, Value)],
) -> anyhow::Result<Value> {
    let tag = tag(variant).context("a variant without a tag")?;
    let mut letters = tag.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let name: String = first.into_iter().chain(letters).chain(parent.chars()).collect();
    let reference = json!({ "$ref": format!("{PREFIX}{name}") });
    let mut schema = variant.clone();
    if let Some(target) = variant["$ref"].as_str() {
        let of = target.trim_start_matches(PREFIX);
        let schemas = definitions
            .values()
            .chain(messages.iter().map(|(_, schema)| schema));
        if schemas.map(|schema| references(schema, target)).sum::<usize>() == 1 {
            put_inside(&mut definitions[of], variant)?;
            return Ok(json!({ "$ref": target }));
        }
        // It is also used without the tag: the variant is a type of its own.
        schema = definitions[of].clone();
        put_inside(&mut schema, variant)?;
    }
    if definitions.insert(name.clone(), schema).is_some() {
        bail!("a variant of {parent} would be called {name}, and that is another type");
    }
    Ok(reference)
}

/// Adds the tag of a variant to the members of its type.
fn put_inside(schema: &mut Value, variant: &Value) -> anyhow::Result<()> {
    let tag = variant["properties"].as_object().context("a tag")?.clone();
    let required = schema
        .as_object_mut()
        .context("a variant that is no object")?
        .entry("required")
        .or_insert_with(|| json!([]));
    let required = required.as_array_mut().context("a list of members")?;
    required.splice(0..0, tag.keys().map(|name| name.as_str().into()));
    schema["properties"]
        .as_object_mut()
        .context("a variant without members")?
        .extend(tag);
    Ok(())
}

/// Returns how often a schema refers to a type.
fn references(schema: &Value, target: &str) -> usize {
    match schema {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) => usize::from(name == "$ref" && text == target),
                _ => references(value, target),
            })
            .sum(),
        Value::Array(elements) => elements.iter().map(|element| references(element, target)).sum(),
        _ => 0,
    }
}
