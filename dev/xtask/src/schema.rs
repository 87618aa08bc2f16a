//! Making `proto-schema/`: one JSON Schema (2020-12) for each message, the types they share, an index.
//!
//! ```text
//! index.json                            every method: who sends it, its files, its errors
//! types.json                            what messages share, under $defs
//! openrpc.json                          all of it as one OpenRPC document
//! configuration.json                    configuration files, for editors
//! requests/thread.start.params.json     client to server
//! requests/thread.start.result.json
//! client-notifications/initialized.json
//! notifications/turn.started.json       server to client
//! server-requests/item.approval.request.params.json
//! ```
//!
//! What the server reads is described as it may be written, what it writes as it is written. A type that
//! goes both ways has to have one description; it is an error when it has two.

use anyhow::bail;
use bobbin_native::group::{Direction, Method, Shape};
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::groups::groups;
use crate::index;
use crate::stale::Files;

mod openrpc;
mod variants;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
const TYPES_FILE: &str = "types.json";
/// Where Schemars puts shared types.
const DEFINITIONS: &str = "#/$defs/";
const CONFIGURATION_FILE: &str = "configuration.json";

/// Returns every file of `proto-schema/`.
///
/// # Errors
/// A type has two descriptions, or a schema could not be written as text.
pub(crate) fn files() -> anyhow::Result<Files> {
    let mut read = generator(SchemaSettings::draft2020_12().for_deserialize());
    let mut written = generator(SchemaSettings::draft2020_12().for_serialize());
    let mut messages = Vec::new();

    for method in groups().methods() {
        let paths = Paths::of(method);
        let (ask, answer) = match method.direction {
            Direction::Request | Direction::ClientNotification => (&mut read, &mut written),
            Direction::Notification | Direction::ServerRequest => (&mut written, &mut read),
        };
        messages.push((paths.params, message(method, method.params, ask)));
        if let (Some(path), Some(shape)) = (paths.result, method.result) {
            messages.push((path, message(method, shape, answer)));
        }
    }

    let mut definitions = written.take_definitions(true);
    merge(&mut definitions, read.take_definitions(true))?;
    variants::name(&mut definitions, &messages)?;

    let mut files = Files::new();
    let mut document = openrpc::document(&messages, &definitions)?;
    point_at(&mut document, openrpc::SCHEMAS);
    files.insert(openrpc::FILE.to_owned(), text(document)?);
    let mut types = json!({
        "$schema": DRAFT,
        "title": "Types",
        "description": "What the messages of the protocol share.",
        "$defs": definitions,
    });
    point_at(&mut types, DEFINITIONS);
    for (path, mut schema) in messages {
        point_at(&mut schema, "../types.json#/$defs/");
        files.insert(path, text(schema)?);
    }
    files.insert(TYPES_FILE.to_owned(), text(types)?);
    files.insert(
        CONFIGURATION_FILE.to_owned(),
        text(bobbin_config::file::schema())?,
    );
    files.insert("index.json".to_owned(), text(index::index(TYPES_FILE))?);
    Ok(files)
}

/// Where the schemas of a method are.
pub(crate) struct Paths {
    /// What is sent.
    pub(crate) params: String,
    /// What is answered.
    pub(crate) result: Option<String>,
}

impl Paths {
    /// Returns the paths for one method.
    pub(crate) fn of(method: &Method) -> Self {
        let stem = format!(
            "{}/{}",
            dir(method.direction),
            method.name.trim_start_matches("$/").replace('/', ".")
        );
        match method.result {
            Some(_) => Self {
                params: format!("{stem}.params.json"),
                result: Some(format!("{stem}.result.json")),
            },
            None => Self {
                params: format!("{stem}.json"),
                result: None,
            },
        }
    }
}

fn dir(direction: Direction) -> &'static str {
    match direction {
        Direction::Request => "requests",
        Direction::ClientNotification => "client-notifications",
        Direction::Notification => "notifications",
        Direction::ServerRequest => "server-requests",
    }
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    settings.with_transform(AbsentNotNull).into_generator()
}

/// Returns the schema of one message.
fn message(method: &Method, shape: Shape, generator: &mut SchemaGenerator) -> Value {
    let mut schema = shape.schema(generator);
    for transform in generator.transforms_mut() {
        transform.transform(&mut schema);
    }
    schema.insert("$schema".to_owned(), DRAFT.into());
    schema.insert("title".to_owned(), shape.name().into());
    schema.insert("$comment".to_owned(), method.name.into());
    schema.to_value()
}

/// Makes every reference to a shared type point to its name behind `place`, and puts those with something beside them into
/// `allOf`: generators of code take a reference with members beside it for a type of its own, or lose the
/// members.
fn point_at(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members.iter_mut() {
                match value {
                    Value::String(target) if name == "$ref" => {
                        *target = target.replacen(DEFINITIONS, place, 1);
                    }
                    _ => point_at(value, place),
                }
            }
            if members.len() > 1
                && let Some(target) = members.remove("$ref")
            {
                members.insert("allOf".to_owned(), json!([{ "$ref": target }]));
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| point_at(element, place)),
        _ => {}
    }
}

fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) -> anyhow::Result<()> {
    for (name, schema) in from {
        match into.get(&name) {
            Some(other) if *other != schema => {
                bail!("{name} is read in another shape than it is written:\n{schema:#}\n{other:#}")
            }
            _ => drop(into.insert(name, schema)),
        }
    }
    Ok(())
}

/// Returns JSON as it is committed. Members are sorted here, since whether `serde_json` does so depends
/// on which features other packages of the build ask for.
fn text(value: Value) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(&sorted(value))? + "\n")
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members
                .into_iter()
                .map(|(name, value)| (name, sorted(value)))
                .collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(elements) => elements.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// Takes `null` out of members that may be absent: the protocol leaves them out and never writes `null`.
#[derive(Clone)]
struct AbsentNotNull;

impl Transform for AbsentNotNull {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let required: Vec<String> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| {
                names
                    .iter()
                    .filter_map(|name| name.as_str().map(str::to_owned))
                    .collect()
            })
            .unwrap_or_default();
        let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
            return;
        };
        for (name, property) in properties {
            if !required.contains(name) {
                without_null(property);
            }
        }
    }
}

fn without_null(property: &mut Value) {
    let null = json!({ "type": "null" });
    let Some(members) = property.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            members.insert("type".to_owned(), only);
        }
    }
    let only = match members.get("anyOf").and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::Object(shape), other]) if *other == null => shape.clone(),
        _ => return,
    };
    members.remove("anyOf");
    for (name, value) in only {
        members.entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests;
