//! Rules for tools that clients declare (AppServer protocol 02 §5.1.1): valid declarations, the names that models see, and
//! valid arguments.
//!
//! Pure. Clients write the schemas: reading one never fetches another document, and its patterns take linear time. Bounded by
//! the constants of this module.

use std::collections::HashSet;

use bobbin_model::{ApprovalKind, DynamicOperation, DynamicTool, Json};
use serde_json::Value;

use crate::json_schema::{Fault, JsonSchema};
use crate::tool_name;

/// Most tools of one Thread (a guess: models choose badly among more).
pub const MAX_TOOLS: usize = 128;
/// Longest name and longest namespace, in bytes.
pub const MAX_NAME: usize = 64;
/// Longest description, bytes.
pub const MAX_DESCRIPTION: usize = 4 << 10;
/// Largest schema, bytes.
pub const MAX_SCHEMA: usize = 64 << 10;
/// Most bytes of all declarations of a Thread, which are read whenever the Thread is loaded.
pub const MAX_BYTES: usize = 512 << 10;
/// Operations of Approvals about files (04 §1).
const FILE_OPERATIONS: [&str; 4] = ["read", "write", "edit", "list"];
/// Most errors about arguments that a model gets.
const MAX_COMPLAINTS: usize = 5;

/// A declaration that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'dynamicTools[{index}]': {why}")]
pub struct UnsoundTool {
    /// Its position in the list, from 0.
    pub index: usize,
    /// The broken rule, as a sentence for the author of the client.
    pub why: String,
}

/// Checks the declarations of a client.
///
/// # Errors
/// The first declaration that breaks a rule.
pub fn check(tools: &[DynamicTool]) -> Result<(), UnsoundTool> {
    let mut known = HashSet::new();
    let mut bytes = 0;
    for (index, tool) in tools.iter().enumerate() {
        let unsound = |why: String| UnsoundTool { index, why };
        if index == MAX_TOOLS {
            return Err(unsound(format!("there are more than {MAX_TOOLS} tools.")));
        }
        check_one(tool).map_err(unsound)?;
        if !known.insert((tool.namespace.as_deref(), tool.name.as_str())) {
            return Err(unsound(format!(
                "there is a tool '{}' in its namespace already.",
                tool.name
            )));
        }
        bytes += tool.description.len() + tool.input_schema.get().len();
        if bytes > MAX_BYTES {
            return Err(unsound(format!(
                "the tools have more than {MAX_BYTES} bytes together."
            )));
        }
    }
    Ok(())
}

fn check_one(tool: &DynamicTool) -> Result<(), String> {
    if !is_name(&tool.name) {
        return Err(format!(
            "'name' must be a letter or underscore and then letters, digits, '_' and '-', at most {MAX_NAME} of them."
        ));
    }
    if tool
        .namespace
        .as_deref()
        .is_some_and(|namespace| !is_name(namespace))
    {
        return Err(format!(
            "'namespace' must be made like a name, of at most {MAX_NAME} characters, or be left out."
        ));
    }
    if tool.description.trim().is_empty() {
        return Err("'description' must not be blank.".to_owned());
    }
    if tool.description.len() > MAX_DESCRIPTION {
        return Err(format!("'description' is longer than {MAX_DESCRIPTION} bytes."));
    }
    if tool.input_schema.get().len() > MAX_SCHEMA {
        return Err(format!("'inputSchema' is larger than {MAX_SCHEMA} bytes."));
    }
    let schema: Value = tool
        .input_schema
        .decode()
        .map_err(|_| "'inputSchema' must be a JSON object.".to_owned())?;
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("'inputSchema' must be an object with \"type\": \"object\".".to_owned());
    }
    JsonSchema::new(&schema).map_err(|why| format!("'inputSchema' is no usable JSON Schema: {why}."))?;
    match &tool.approval {
        Some(approval) => check_approval(approval, &schema),
        None => Ok(()),
    }
}

fn check_approval(approval: &bobbin_model::DynamicApproval, schema: &Value) -> Result<(), String> {
    let is_text = |argument: &str| {
        let property = schema
            .get("properties")
            .and_then(|properties| properties.get(argument));
        property
            .and_then(|property| property.get("type"))
            .and_then(Value::as_str)
            == Some("string")
    };
    if !is_text(&approval.target_argument) {
        return Err("'approval.targetArgument' must be a string property of the schema.".to_owned());
    }
    match &approval.operation {
        DynamicOperation::Argument(argument) if !is_text(argument) => {
            Err("'approval.operationArgument' must be a string property of the schema.".to_owned())
        }
        DynamicOperation::Fixed(operation) if operation.trim().is_empty() => {
            Err("'approval.operation' must not be blank.".to_owned())
        }
        DynamicOperation::Fixed(operation)
            if approval.kind == ApprovalKind::File && !is_file_operation(operation) =>
        {
            Err("'approval.operation' of a file is 'read', 'write', 'edit' or 'list'.".to_owned())
        }
        DynamicOperation::Fixed(_) | DynamicOperation::Argument(_) => Ok(()),
    }
}

/// Whether this is an operation on a file.
pub fn is_file_operation(operation: &str) -> bool {
    FILE_OPERATIONS.contains(&operation)
}

fn is_name(name: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let later = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    name.len() <= MAX_NAME && name.bytes().next().is_some_and(first) && name.bytes().all(later)
}

/// Returns the names under which models see the tools, in order. Takes the bare name if it is free, else the name with its
/// namespace in front, else a hashed name. `is_taken` knows the names of built-in tools; names that MCP servers' tools may
/// have are never used.
pub fn offered_names(tools: &[DynamicTool], is_taken: impl Fn(&str) -> bool) -> Vec<String> {
    let mut given: HashSet<String> = HashSet::new();
    let names = tools.iter().map(|tool| {
        let alone = tools.iter().filter(|other| other.name == tool.name).count() == 1;
        let bare = alone.then(|| tool.name.clone());
        let spaced = tool
            .namespace
            .as_ref()
            .map(|space| format!("{space}_{}", tool.name));
        let is_free = |name: &String| {
            name.len() <= MAX_NAME
                && !tool_name::is_of_server(name)
                && !is_taken(name)
                && !given.contains(name)
        };
        let name = bare
            .filter(is_free)
            .or_else(|| spaced.filter(is_free))
            .unwrap_or_else(|| tool_name::of_client(tool.namespace.as_deref(), &tool.name));
        given.insert(name.clone());
        name
    });
    names.collect()
}

/// Checks that arguments fit a tool's schema.
///
/// # Errors
/// The arguments do not fit; the text is for the model.
pub fn fit(tool: &DynamicTool, arguments: &Json) -> Result<(), String> {
    let unreadable = |what: &str| format!("{what} cannot be read");
    let schema: Value = tool
        .input_schema
        .decode()
        .map_err(|_| unreadable("the tool's schema"))?;
    let arguments: Value = arguments.decode().map_err(|_| unreadable("the arguments"))?;
    let faults = JsonSchema::new(&schema)?.faults(&arguments, MAX_COMPLAINTS);
    let complaints: Vec<String> = faults
        .into_iter()
        .map(|Fault { place, message }| {
            let place = if place.is_empty() { "the arguments" } else { &place };
            format!("{place}: {message}")
        })
        .collect();
    if complaints.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the arguments do not fit the schema: {}",
        complaints.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use bobbin_model::DynamicApproval;
    use serde_json::json;

    use super::*;

    fn tool(namespace: Option<&str>, name: &str) -> DynamicTool {
        with_schema(
            namespace,
            name,
            &json!({
                "type": "object",
                "properties": { "path": { "type": "string" }, "how": { "type": "string" }, "n": { "type": "integer" } },
                "required": ["path"],
            }),
        )
    }

    fn with_schema(namespace: Option<&str>, name: &str, schema: &Value) -> DynamicTool {
        DynamicTool {
            plugin_id: None,
            name: name.to_owned(),
            namespace: namespace.map(str::to_owned),
            description: "d".to_owned(),
            input_schema: Json::of(schema).unwrap(),
            approval: None,
        }
    }

    fn asking(kind: ApprovalKind, target: &str, operation: DynamicOperation) -> DynamicTool {
        DynamicTool {
            approval: Some(DynamicApproval {
                kind,
                target_argument: target.to_owned(),
                operation,
            }),
            ..tool(None, "t")
        }
    }

    /// 02 §5.1.1: every rule of the table, and the bounds.
    #[test]
    fn declarations_follow_the_table_and_the_index_is_told() {
        let fixed = |text: &str| DynamicOperation::Fixed(text.to_owned());
        let argument = |text: &str| DynamicOperation::Argument(text.to_owned());
        let blank = DynamicTool {
            description: " \n".to_owned(),
            ..tool(None, "t")
        };
        let wordy = DynamicTool {
            description: "x".repeat(MAX_DESCRIPTION + 1),
            ..tool(None, "t")
        };
        let object = |more: Value| {
            let mut schema = json!({ "type": "object" });
            schema
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            with_schema(None, "t", &schema)
        };
        let table: Vec<(DynamicTool, Option<&str>)> = vec![
            (tool(None, "set_timer"), None),
            (tool(Some("kitchen"), "_a-1"), None),
            (tool(None, &"a".repeat(64)), None),
            (tool(None, &"a".repeat(65)), Some("'name'")),
            (tool(None, ""), Some("'name'")),
            (tool(None, "1a"), Some("'name'")),
            (tool(None, "-a"), Some("'name'")),
            (tool(None, "a.b"), Some("'name'")),
            (tool(None, "t\u{e9}"), Some("'name'")),
            (tool(Some(""), "t"), Some("'namespace'")),
            (tool(Some("a b"), "t"), Some("'namespace'")),
            (blank, Some("'description' must not be blank")),
            (wordy, Some("'description' is longer")),
            (with_schema(None, "t", &json!([])), Some("'inputSchema'")),
            (with_schema(None, "t", &json!({})), Some("\"type\": \"object\"")),
            (
                with_schema(None, "t", &json!({ "type": "array" })),
                Some("\"type\": \"object\""),
            ),
            (object(json!({ "properties": 7 })), Some("no usable JSON Schema")),
            (
                object(json!({ "$ref": "https://example.org/x.json" })),
                Some("no usable JSON Schema"),
            ),
            (
                object(json!({ "description": "x".repeat(MAX_SCHEMA) })),
                Some("is larger"),
            ),
            (asking(ApprovalKind::File, "path", fixed("write")), None),
            (
                asking(ApprovalKind::File, "path", fixed("burn")),
                Some("of a file is"),
            ),
            (asking(ApprovalKind::RemoteResource, "path", fixed("burn")), None),
            (asking(ApprovalKind::Shell, "path", argument("how")), None),
            (
                asking(ApprovalKind::Shell, "path", argument("n")),
                Some("operationArgument"),
            ),
            (
                asking(ApprovalKind::File, "n", fixed("read")),
                Some("targetArgument"),
            ),
            (
                asking(ApprovalKind::File, "nowhere", fixed("read")),
                Some("targetArgument"),
            ),
            (
                asking(ApprovalKind::RemoteResource, "path", fixed(" ")),
                Some("must not be blank"),
            ),
        ];
        for (tool_, complaint) in table {
            let checked = check(&[tool(None, "first"), tool_.clone()]);
            match complaint {
                None => assert_eq!(checked, Ok(()), "{tool_:?}"),
                Some(complaint) => {
                    let error = checked.unwrap_err().to_string();
                    assert!(
                        error.starts_with("'dynamicTools[1]': ") && error.contains(complaint),
                        "{error}"
                    );
                }
            }
        }
    }

    /// ID-6: only the pair must be unique.
    #[test]
    fn a_name_may_come_once_in_each_namespace() {
        assert_eq!(
            check(&[tool(Some("a"), "t"), tool(Some("b"), "t"), tool(None, "t")]),
            Ok(())
        );
        assert_eq!(
            check(&[tool(Some("a"), "t"), tool(Some("a"), "t")])
                .unwrap_err()
                .index,
            1
        );
        assert_eq!(check(&[tool(None, "t"), tool(None, "t")]).unwrap_err().index, 1);
    }

    #[test]
    fn a_thread_has_so_many_tools_and_so_many_bytes_of_them() {
        let many: Vec<DynamicTool> = (0..=MAX_TOOLS).map(|n| tool(None, &format!("t{n}"))).collect();
        assert_eq!(check(&many[..MAX_TOOLS]), Ok(()));
        assert_eq!(check(&many).unwrap_err().index, MAX_TOOLS);
        let large = json!({ "type": "object", "description": "x".repeat(MAX_SCHEMA - 100) });
        let large: Vec<DynamicTool> = (0..10)
            .map(|n| with_schema(None, &format!("t{n}"), &large))
            .collect();
        assert!(check(&large).unwrap_err().why.contains("together"));
    }

    #[test]
    fn names_given_to_models_are_nobody_elses() {
        let tools = [
            tool(Some("kitchen"), "set_timer"),
            tool(Some("kitchen"), "open"),
            tool(Some("garden"), "open"),
            tool(None, "shell"),
            tool(Some("my"), "shell"),
            tool(None, "mcp__pantry__steep"),
            tool(Some("a_b"), "c"),
            tool(Some("a"), "b_c"),
            tool(Some("a"), "c"),
            tool(Some(&"n".repeat(64)), "open"),
        ];
        let names = offered_names(&tools, |name| name == "shell");
        assert_eq!(names[0], "set_timer");
        assert_eq!(names[1..3], ["kitchen_open", "garden_open"]);
        assert!(names[3].starts_with("client__shell_"), "{names:?}");
        assert_eq!(names[4], "my_shell");
        assert!(names[5].starts_with("client__mcp_pantry_steep_"), "{names:?}");
        assert_eq!(names[7], "b_c");
        let distinct: HashSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
        for name in &names {
            assert!(
                is_name(name) && !name.starts_with("mcp__") && name != "shell",
                "{name}"
            );
        }
        // Other tools do not change a tool's name from Turn to Turn.
        assert_eq!(names, offered_names(&tools, |name| name == "shell"));
    }

    #[test]
    fn arguments_are_held_against_the_schema() {
        let fits = |arguments: Value| fit(&tool(None, "t"), &Json::of(&arguments).unwrap());
        assert_eq!(fits(json!({ "path": "a", "n": 4, "more": [] })), Ok(()));
        let missing = fits(json!({ "n": "four" })).unwrap_err();
        assert!(missing.contains("path") && missing.contains("/n"), "{missing}");
        let long = fits(json!({ "path": "a", "n": "x".repeat(100_000) })).unwrap_err();
        assert!(long.len() < 1000, "{}", long.len());
    }

    #[test]
    fn a_pattern_takes_its_time_and_no_more() {
        let schema =
            json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^(a+)+$" } } });
        let text = "a".repeat(50_000) + "!";
        let arguments = Json::of(&json!({ "a": text })).unwrap();
        assert!(fit(&with_schema(None, "t", &schema), &arguments).is_err());
    }
}
