//! Tools that clients run, on the wire: reads declarations and answers, writes calls. Pure.

use std::sync::Arc;

use bobbin_agent_api::dynamic_tool;
use bobbin_model as model;
use bobbin_model::{
    DynamicApproval, DynamicOperation, DynamicTool, ExecutionStatus, ToolAnswer, ToolContent,
};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::item::content::{ContentItem, ImageContent, TextContent};
use bobbin_native_wire::item::payload::ItemPayload;
use bobbin_native_wire::item::tool_payload::{DynamicToolCallPayload, PluginFunctionCallPayload};
use bobbin_native_wire::serving::types::ToolCallResult;
use bobbin_native_wire::thread::params::DynamicToolSpec;

/// Limit of content pieces in one answer.
const MAX_PIECES: usize = 256;
/// Limit of bytes of one answer: the record of its Turn has it, and every reader of the Turn gets it.
const MAX_ANSWER: usize = 2 << 20;
/// Longest code or message of an answer, in bytes.
const MAX_WORDS: usize = 4 << 10;

/// Returns the tools that a client declares.
///
/// # Errors
/// -32602, naming the first tool that breaks a rule.
pub(crate) fn declared_in(specs: Vec<DynamicToolSpec>) -> Result<Arc<[DynamicTool]>, RpcError> {
    let tools: Result<Vec<DynamicTool>, RpcError> = specs
        .into_iter()
        .enumerate()
        .map(|(index, spec)| tool_in(index, spec))
        .collect();
    let tools = tools?;
    dynamic_tool::check(&tools).map_err(|error| RpcError::invalid_params(error.to_string()))?;
    Ok(tools.into())
}

fn tool_in(index: usize, spec: DynamicToolSpec) -> Result<DynamicTool, RpcError> {
    let approval = match spec.approval {
        None => None,
        Some(approval) => {
            let operation = match (approval.operation, approval.operation_argument) {
                (Some(operation), None) => DynamicOperation::Fixed(operation),
                (None, Some(argument)) => DynamicOperation::Argument(argument),
                _ => {
                    return Err(RpcError::invalid_params(format!(
                        "'dynamicTools[{index}]': 'approval' has exactly one of 'operation' and 'operationArgument'."
                    )));
                }
            };
            Some(DynamicApproval {
                kind: approval.kind,
                target_argument: approval.target_argument,
                operation,
            })
        }
    };
    Ok(DynamicTool {
        name: spec.name,
        namespace: spec.namespace,
        plugin_id: None,
        description: spec.description,
        input_schema: spec.input_schema,
        approval,
    })
}

/// Returns the payload of a call: that of a plugin's function if the tool is an external channel's.
pub(crate) fn call(call: model::DynamicToolCall) -> ItemPayload {
    let status = match &call.answer {
        None => ExecutionStatus::InProgress,
        Some(answer) if answer.success => ExecutionStatus::Completed,
        Some(_) => ExecutionStatus::Failed,
    };
    let answer = call.answer.unwrap_or_default();
    let content_items = Some(answer.content)
        .filter(|content| !content.is_empty())
        .map(|content| content.into_iter().map(content_out).collect());
    match call.plugin_id {
        Some(plugin_id) => ItemPayload::PluginFunctionCall(PluginFunctionCallPayload {
            plugin_id,
            namespace: call.namespace,
            function_name: call.tool_name,
            call_id: call.call_id,
            arguments: call.arguments,
            content_items,
            structured_result: answer.structured,
            success: answer.success,
            error_code: answer.error_code,
            error_message: answer.error_message,
        }),
        None => ItemPayload::DynamicToolCall(DynamicToolCallPayload {
            provider_flat_name: match &call.namespace {
                Some(namespace) => format!("{namespace}__{}", call.tool_name),
                None => call.tool_name.clone(),
            },
            status,
            namespace: call.namespace,
            tool_name: call.tool_name,
            call_id: call.call_id,
            arguments: call.arguments,
            content_items,
            structured_result: answer.structured,
            success: answer.success,
            error_code: answer.error_code,
            error_message: answer.error_message,
        }),
    }
}

/// Returns the answer of a client.
///
/// # Errors
/// It is larger than allowed; the text gives the limit.
pub fn answer_in(result: ToolCallResult) -> Result<ToolAnswer, String> {
    let pieces = result.content_items.unwrap_or_default();
    if pieces.len() > MAX_PIECES {
        return Err(format!("it has more than {MAX_PIECES} content items"));
    }
    let content: Vec<ToolContent> = pieces.into_iter().map(content_in).collect();
    let structured = result.structured_result;
    let of_content = |content: &ToolContent| match content {
        ToolContent::Text(text) => text.len(),
        ToolContent::Image {
            media_type,
            data_base64,
        } => media_type.len() + data_base64.len(),
    };
    let bytes = content.iter().map(of_content).sum::<usize>()
        + structured
            .as_ref()
            .map_or(0, |value: &model::Json| value.get().len());
    if bytes > MAX_ANSWER {
        return Err(format!("it has {bytes} bytes, and {MAX_ANSWER} are the most"));
    }
    let words = |text: Option<String>| {
        text.map(|mut text| {
            text.truncate(text.floor_char_boundary(MAX_WORDS));
            text
        })
    };
    Ok(ToolAnswer {
        success: result.success,
        content,
        structured,
        error_code: words(result.error_code),
        error_message: words(result.error_message),
    })
}

fn content_in(item: ContentItem) -> ToolContent {
    match item {
        ContentItem::Text(text) => ToolContent::Text(text.text),
        ContentItem::Image(image) => ToolContent::Image {
            media_type: image.media_type,
            data_base64: image.data_base64,
        },
    }
}

fn content_out(content: ToolContent) -> ContentItem {
    match content {
        ToolContent::Text(text) => ContentItem::Text(TextContent { text }),
        ToolContent::Image {
            media_type,
            data_base64,
        } => ContentItem::Image(ImageContent {
            media_type,
            data_base64,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str) -> Result<ToolAnswer, String> {
        answer_in(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn an_answer_keeps_what_it_says_and_its_json_as_it_came() {
        let given = r#"{"success":true,"contentItems":[{"type":"text","text":"Set."},
            {"type":"image","mediaType":"image/png","dataBase64":"AAAA"}],"structuredResult":{"n":1.50}}"#;
        let answer = answer(given).unwrap();
        assert_eq!(
            answer.structured.as_ref().map(model::Json::get),
            Some(r#"{"n":1.50}"#)
        );
        assert_eq!(answer.content.len(), 2);
        assert!(answer.success && answer.error_code.is_none());
    }

    #[test]
    fn an_answer_has_its_bounds() {
        let text = "x".repeat(MAX_ANSWER + 1);
        let large = format!(r#"{{"success":true,"contentItems":[{{"type":"text","text":"{text}"}}]}}"#);
        assert!(answer(&large).is_err());
        let large = format!(r#"{{"success":true,"structuredResult":"{text}"}}"#);
        assert!(answer(&large).is_err());
        let piece = r#"{"type":"text","text":""}"#;
        let many = vec![piece; MAX_PIECES + 1].join(",");
        assert!(answer(&format!(r#"{{"success":true,"contentItems":[{many}]}}"#)).is_err());
        let words = format!(r#"{{"success":false,"errorMessage":"{text}"}}"#);
        assert_eq!(answer(&words).unwrap().error_message.unwrap().len(), MAX_WORDS);
    }
}
