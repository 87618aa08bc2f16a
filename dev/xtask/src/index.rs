//! The index of `proto-schema/`: every method with its direction, files and errors, and every error.

use bobbin_native::group::{Availability, COMMON_ERRORS, Direction, Method};
use bobbin_native_wire::ErrorCode;
use bobbin_native_wire::handshake::types::PROTOCOL_VERSION;
use serde_json::{Map, Value, json};

use crate::groups::groups;
use crate::schema::Paths;

/// Returns the index.
pub(crate) fn index(types_file: &str) -> Value {
    json!({
        "protocolVersion": PROTOCOL_VERSION,
        "types": types_file,
        "requests": methods(Direction::Request),
        "clientNotifications": methods(Direction::ClientNotification),
        "notifications": methods(Direction::Notification),
        "serverRequests": methods(Direction::ServerRequest),
        "errorsOfAnyRequest": codes(COMMON_ERRORS),
        "errors": ErrorCode::ALL.iter().map(|code| json!({
            "code": code.code(),
            "name": code.name(),
            "message": code.message(),
            "description": code.description(),
        })).collect::<Vec<_>>(),
    })
}

fn methods(direction: Direction) -> Vec<Value> {
    groups()
        .methods()
        .filter(|method| method.direction == direction)
        .map(entry)
        .collect()
}

fn entry(method: &Method) -> Value {
    let paths = Paths::of(method);
    let mut entry = json!({
        "method": method.name,
        "summary": method.summary,
        "served": method.availability != Availability::Later,
        "params": paths.params,
        "need": method.need.word(),
    });
    if !method.members.is_empty() {
        let members = method
            .members
            .iter()
            .map(|(member, need)| ((*member).to_owned(), need.word().into()));
        entry["members"] = members.collect::<Map<_, Value>>().into();
    }
    if let Some(result) = paths.result {
        entry["result"] = result.into();
    }
    if !method.errors.is_empty() {
        entry["errors"] = codes(method.errors).into();
    }
    entry
}

fn codes(errors: &[ErrorCode]) -> Vec<i64> {
    errors.iter().map(|error| error.code()).collect()
}

#[cfg(test)]
mod tests;
