//! Single-Item calls: those of tools that a client runs (AppServer protocol 03 §5.9, 04 §7).
//!
//! Such an Item is opened once the arguments are complete, and completed with the result. It replaces the Items of the
//! call, the result and the lifecycle.

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::tool::{Tool, ToolOutput};
use bobbin_core::engine::{OpenItem, TurnContext};
use bobbin_model::dynamic_tool::{CALL_ID, CHANNEL_CALL_ID};
use bobbin_model::{DynamicTool, DynamicToolCall, DynamicToolError, ItemBody, Json, ToolAnswer};

/// Longest part of a model's own id in a call's id: some providers accept 40 characters in total.
const MAX_KEY: usize = 32;

/// A call whose Item is open.
pub(super) struct OpenCall {
    item: OpenItem,
    call: DynamicToolCall,
}

/// Returns the first part of the id of a call of a client's tool.
pub(super) fn call_key(key: &str, tool: &DynamicTool) -> String {
    let from = key.len().saturating_sub(MAX_KEY);
    let prefix = match tool.plugin_id {
        Some(_) => CHANNEL_CALL_ID,
        None => CALL_ID,
    };
    format!("{prefix}{}", &key[key.ceil_char_boundary(from)..])
}

/// Returns how a call of this tool is recorded, if it is a single-Item call.
pub(super) fn single_item_call(tool: &dyn Tool, call_id: &str, reply: usize) -> Option<DynamicToolCall> {
    let declared = tool.declared()?;
    Some(DynamicToolCall {
        namespace: declared.namespace.clone(),
        plugin_id: declared.plugin_id.clone(),
        tool_name: declared.name.clone(),
        offered_as: tool.spec().name.to_string(),
        call_id: call_id.to_owned(),
        reply: Some(reply),
        arguments: None,
        answer: None,
        kept: None,
    })
}

impl OpenCall {
    /// Opens the Item of a call whose arguments are complete.
    pub(super) async fn open(
        turn: &TurnContext,
        mut call: DynamicToolCall,
        arguments: Option<Json>,
    ) -> Result<Self, TurnGone> {
        call.arguments = arguments;
        let item = turn
            .open(ItemBody::DynamicToolCall(Box::new(call.clone())))
            .await?;
        Ok(Self { item, call })
    }

    /// Resumes the Item of a call that was open when the server stopped.
    pub(super) fn resume(turn: &TurnContext, item: &bobbin_model::Item) -> Option<Self> {
        match &item.body {
            ItemBody::DynamicToolCall(call) => Some(Self {
                item: OpenItem::resume(turn, item),
                call: (**call).clone(),
            }),
            _ => None,
        }
    }

    /// Returns the call's id.
    pub(super) fn id(&self) -> &str {
        &self.call.call_id
    }

    /// Returns the name under which the model knows the tool.
    pub(super) fn offered_as(&self) -> &str {
        &self.call.offered_as
    }

    /// Completes the Item with the call's output, or with the reason why the call was not sent. Returns the text for
    /// the model. `known` says whether the Thread still has the tool.
    pub(super) async fn complete(mut self, output: ToolOutput, known: bool) -> Result<String, TurnGone> {
        let ToolOutput {
            text,
            refused,
            answer,
            ..
        } = output;
        let (text, answer) = if let Some(answer) = answer {
            (text, *answer)
        } else {
            let error = match (known, refused) {
                (false, _) => DynamicToolError::Unavailable,
                (true, true) => DynamicToolError::AccessDenied,
                (true, false) => DynamicToolError::InvalidArguments,
            };
            let answer = match self.call.plugin_id {
                Some(_) => ToolAnswer::failed_on_channel(error, text),
                None => ToolAnswer::failed(error, text),
            };
            (answer.text(), answer)
        };
        self.call.answer = Some(answer);
        self.item
            .complete(Some(ItemBody::DynamicToolCall(Box::new(self.call))))
            .await?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_call_has_the_protocols_beginning_and_fits_every_wire() {
        let mut tool = DynamicTool {
            name: "t".to_owned(),
            namespace: None,
            plugin_id: None,
            description: "d".to_owned(),
            input_schema: Json::of(&serde_json::json!({})).unwrap(),
            approval: None,
        };
        assert_eq!(call_key("call_1", &tool), "dyntool_call_1");
        assert_eq!(call_key("", &tool), "dyntool_");
        let long = call_key(&"\u{e9}".repeat(64), &tool);
        assert!(long.len() <= 40 && long.starts_with(CALL_ID), "{long}");
        tool.plugin_id = Some("external-channel:pigeon".to_owned());
        assert_eq!(call_key("call_1", &tool), "exttool_call_1");
    }
}
