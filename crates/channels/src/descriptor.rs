//! The `channelAdapter` capability, which an adapter declares in `initialize` (AppServer protocol 06 §B3).
//!
//! Read leniently: an unreadable member counts as absent, and an unusable tool is left out with a diagnostic. Neither ends
//! the connection. Pure.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bobbin_agent_api::channel::MediaKind;
use bobbin_agent_api::dynamic_tool;
use bobbin_model::{ApprovalKind, DynamicApproval, DynamicOperation, DynamicTool, Json};
use serde::Deserialize;
use serde_json::Value;

/// Namespace of the tools of every channel.
const NAMESPACE: &str = "external_channel";
/// Most diagnostics of an adapter.
const MAX_DIAGNOSTICS: usize = 20;
/// Longest text of a diagnostic, in bytes.
const MAX_TEXT: usize = 500;

/// Abilities of an adapter.
#[derive(Debug, Clone, Default)]
pub(crate) struct Abilities {
    /// Whether it accepts messages.
    pub(crate) delivers: bool,
    /// The media that it accepts.
    pub(crate) media: BTreeMap<MediaKind, MediaAbility>,
    /// Its tools.
    pub(crate) tools: Arc<[DynamicTool]>,
    /// Names of the tools that run only for a chat.
    pub(crate) chat_tools: HashSet<String>,
    /// Its tools that are left out.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Limits of an adapter for one kind of media.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a list of independent switches on the wire"
)]
pub(crate) struct MediaAbility {
    pub(crate) max_bytes: Option<u64>,
    pub(crate) allowed_mime_types: Option<Vec<String>>,
    pub(crate) allowed_extensions: Option<Vec<String>>,
    pub(crate) supports_host_path: bool,
    pub(crate) supports_url: bool,
    pub(crate) supports_base64: bool,
    pub(crate) supports_caption: bool,
}

/// A tool that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// A code, for programs.
    pub(crate) code: &'static str,
    /// A sentence for the author of the adapter.
    pub(crate) message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolDescriptor {
    name: String,
    description: String,
    input_schema: Json,
    #[serde(default)]
    requires_chat_context: bool,
    approval: Option<ApprovalDescriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ApprovalDescriptor {
    kind: ApprovalKind,
    target_argument: String,
    operation: Option<String>,
    operation_argument: Option<String>,
}

impl Abilities {
    /// Reads the capability of the adapter of a channel.
    pub(crate) fn read(channel: &str, capability: &Json) -> Self {
        let Ok(capability) = capability.decode::<Value>() else {
            return Self::default();
        };
        let delivery = &capability["deliveryCapabilities"];
        let kinds = [
            (MediaKind::File, "file"),
            (MediaKind::Audio, "audio"),
            (MediaKind::Image, "image"),
            (MediaKind::Video, "video"),
        ];
        let media = kinds.into_iter().filter_map(|(kind, name)| {
            let ability = delivery["media"].get(name).filter(|ability| !ability.is_null())?;
            Some((kind, MediaAbility::deserialize(ability).ok()?))
        });
        let mut abilities = Self {
            delivers: delivery["structuredDelivery"].as_bool().unwrap_or_default(),
            media: media.collect(),
            ..Self::default()
        };
        let declared = capability["channelTools"].as_array().cloned().unwrap_or_default();
        abilities.read_tools(channel, declared);
        abilities
    }

    fn read_tools(&mut self, channel: &str, declared: Vec<Value>) {
        let mut tools: Vec<DynamicTool> = Vec::new();
        for (index, declared) in declared.into_iter().enumerate() {
            let shown = declared["name"]
                .as_str()
                .map_or_else(|| format!("#{index}"), str::to_owned);
            let invalid = |why: String| ("InvalidChannelToolDescriptor", why);
            let checked = serde_json::from_value::<ToolDescriptor>(declared)
                .map_err(|error| invalid(error.to_string()))
                .and_then(|descriptor| {
                    let needs_chat = descriptor.requires_chat_context;
                    let tool = tool(channel, descriptor).map_err(invalid)?;
                    if tools.iter().any(|known| known.name == tool.name) {
                        let why = "another tool of the adapter has this name".to_owned();
                        return Err(("ChannelToolNameConflict", why));
                    }
                    tools.push(tool);
                    // Checks the bounds of all tools together.
                    dynamic_tool::check(&tools).map_err(|error| {
                        tools.pop();
                        invalid(error.why)
                    })?;
                    Ok(needs_chat)
                });
            match checked {
                Ok(true) => drop(self.chat_tools.insert(shown)),
                Ok(false) => {}
                Err((code, why)) => self.complain(code, &format!("the tool {shown} is not used: {why}")),
            }
        }
        self.tools = tools.into();
    }

    fn complain(&mut self, code: &'static str, message: &str) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            let message = message[..message.floor_char_boundary(MAX_TEXT)].to_owned();
            self.diagnostics.push(Diagnostic { code, message });
        }
    }
}

fn tool(channel: &str, descriptor: ToolDescriptor) -> Result<DynamicTool, String> {
    let approval = descriptor.approval.map(|approval| {
        let operation = match (approval.operation, approval.operation_argument) {
            (Some(operation), None) => DynamicOperation::Fixed(operation),
            (None, Some(argument)) => DynamicOperation::Argument(argument),
            (Some(_), Some(_)) | (None, None) => {
                return Err("'approval' has exactly one of 'operation' and 'operationArgument'.".to_owned());
            }
        };
        Ok(DynamicApproval {
            kind: approval.kind,
            target_argument: approval.target_argument,
            operation,
        })
    });
    Ok(DynamicTool {
        name: descriptor.name,
        namespace: Some(NAMESPACE.to_owned()),
        plugin_id: Some(format!("external-channel:{channel}")),
        description: descriptor.description,
        input_schema: descriptor.input_schema,
        approval: approval.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(capability: &Value) -> Abilities {
        Abilities::read("pigeon", &Json::of(capability).unwrap())
    }

    fn declared(name: &str) -> Value {
        json!({ "name": name, "description": "d", "inputSchema": { "type": "object" } })
    }

    #[test]
    fn what_an_adapter_takes_is_read_and_what_cannot_be_read_is_absent() {
        let abilities = read(&json!({ "deliveryCapabilities": {
            "structuredDelivery": true,
            "media": { "image": { "maxBytes": 7, "supportsUrl": true }, "audio": 7, "video": null, "smell": {} },
        } }));
        assert!(abilities.delivers);
        let image = MediaAbility {
            max_bytes: Some(7),
            supports_url: true,
            ..MediaAbility::default()
        };
        assert_eq!(abilities.media, BTreeMap::from([(MediaKind::Image, image)]));
        for nothing in [
            json!({}),
            json!({ "deliveryCapabilities": null, "channelTools": null }),
            json!(7),
        ] {
            let abilities = read(&nothing);
            assert!(!abilities.delivers && abilities.tools.is_empty(), "{nothing}");
        }
    }

    #[test]
    fn a_bad_tool_is_left_out_with_a_diagnostic_and_the_others_are_used() {
        let mut asks = declared("Asks");
        asks["approval"] = json!({ "kind": "remoteResource", "targetArgument": "nowhere", "operation": "x" });
        let mut chats = declared("Chats");
        chats["requiresChatContext"] = json!(true);
        let abilities = read(&json!({ "channelTools": [
            chats, declared("Chats"), declared("no name"), { "name": "Bare" }, asks, declared("Other"),
        ] }));
        let names: Vec<&str> = abilities.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["Chats", "Other"]);
        assert_eq!(abilities.chat_tools, HashSet::from(["Chats".to_owned()]));
        let codes: Vec<&str> = abilities.diagnostics.iter().map(|one| one.code).collect();
        let invalid = "InvalidChannelToolDescriptor";
        assert_eq!(codes, ["ChannelToolNameConflict", invalid, invalid, invalid]);
        let plugin = abilities.tools[0].plugin_id.as_deref();
        assert_eq!(plugin, Some("external-channel:pigeon"));
    }
}
