//! The protocol as one `OpenRPC` document, for inspectors and generators that read it.
//!
//! `OpenRPC` knows one direction only. Tags say which side sends a message, and a method without a result is a
//! notification.

use anyhow::Context;
use bobbin_native::group::{Availability, Direction, Method};
use bobbin_native_wire::handshake::types::PROTOCOL_VERSION;
use serde_json::{Map, Value, json};

use super::{DEFINITIONS, Paths};
use crate::groups::groups;

pub(super) const FILE: &str = "openrpc.json";
/// Where the document has its types.
pub(super) const SCHEMAS: &str = "#/components/schemas/";

/// Returns the document of everything that is served.
///
/// # Errors
/// Two types have one name.
pub(super) fn document(messages: &[(String, Value)], types: &Map<String, Value>) -> anyhow::Result<Value> {
    let mut schemas = types.clone();
    let mut methods: Vec<Value> = Vec::new();
    for method in groups().methods() {
        // Some clients send a request as a notification. `OpenRPC` has a name once.
        let is_known = methods.iter().any(|other| other["name"] == method.name);
        if method.availability != Availability::Later && !is_known {
            methods.push(entry(method, messages, &mut schemas)?);
        }
    }
    Ok(json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "Bobbin",
            "description": "The AppServer protocol as Bobbin serves it, with its extensions.",
            "version": PROTOCOL_VERSION,
            "license": { "name": "Apache-2.0" },
        },
        "methods": methods,
        "components": { "schemas": schemas },
    }))
}

fn entry(
    method: &Method,
    messages: &[(String, Value)],
    schemas: &mut Map<String, Value>,
) -> anyhow::Result<Value> {
    let paths = Paths::of(method);
    let message = |path: &str| {
        let found = messages.iter().find(|(other, _)| other == path);
        found
            .map(|(_, schema)| schema)
            .context("a method without a schema")
    };
    let mut entry = json!({
        "name": method.name,
        "summary": method.summary,
        "tags": [{ "name": sender(method.direction) }],
        "paramStructure": "by-name",
        "params": params(message(&paths.params)?),
    });
    if let Some(path) = paths.result {
        let name = shared(message(&path)?, schemas)?;
        entry["result"] = json!({ "name": name, "schema": { "$ref": format!("{DEFINITIONS}{name}") } });
    }
    if !method.errors.is_empty() {
        let error =
            |code: &bobbin_native_wire::ErrorCode| json!({ "code": code.code(), "message": code.message() });
        entry["errors"] = method.errors.iter().map(error).collect();
    }
    Ok(entry)
}

fn sender(direction: Direction) -> &'static str {
    match direction {
        Direction::Request | Direction::ClientNotification => "sent by clients",
        Direction::Notification | Direction::ServerRequest => "sent by the server",
    }
}

/// Returns the members of a message, each as a parameter.
fn params(message: &Value) -> Vec<Value> {
    let required = message["required"].as_array();
    let properties = message["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, schema)| {
            let is_required = required.is_some_and(|names| names.contains(&name.as_str().into()));
            json!({ "name": name, "required": is_required, "schema": schema })
        })
        .collect()
}

/// Puts a message among the types and returns its name.
fn shared(message: &Value, schemas: &mut Map<String, Value>) -> anyhow::Result<String> {
    let name = message["title"].as_str().context("a message without a name")?;
    let mut schema = message.clone();
    if let Some(members) = schema.as_object_mut() {
        // Several methods can have one result, and a result can be a shared type.
        for name in ["$comment", "$schema", "title"] {
            members.remove(name);
        }
    }
    let before = schemas.insert(name.to_owned(), schema.clone());
    anyhow::ensure!(
        before.is_none_or(|before| before == schema),
        "{name} is two types"
    );
    Ok(name.to_owned())
}
