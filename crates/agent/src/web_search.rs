//! Searches of the web by a model's provider, as the record has them: a call of the tool `WebSearch` and its result.
//!
//! Users see what was searched for, and what was found there. The model does not get these Items again: its provider has
//! searched while it answered, and the answer says what it found.

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::model::WebSearch;
use bobbin_core::engine::{OpenItem, TurnContext};
use bobbin_model::{ItemBody, Json};
use serde_json::json;

/// The name of the tool, in the record and in rules.
pub(super) const WEB_SEARCH: &str = "WebSearch";
/// Most pages that a result names (guess: more than a search returns).
const MAX_PAGES: usize = 30;
/// Most characters of a query, an address or a title; longer ones are cut.
const MAX_CHARS: usize = 1000;

/// Opens the Item of a search.
pub(super) async fn open(
    turn: &TurnContext,
    call_id: &str,
    search: &WebSearch,
) -> Result<OpenItem, TurnGone> {
    let call = ItemBody::ToolCall {
        tool_name: WEB_SEARCH.to_owned(),
        call_id: call_id.to_owned(),
        arguments: Json::of(&json!({ "query": cut(&search.query) })).ok(),
        arguments_text: None,
        kept: None,
    };
    turn.open(call).await
}

/// Returns the Item with what a search has found.
pub(super) fn result(call_id: String, search: &WebSearch) -> ItemBody {
    let mut lines: Vec<String> = Vec::new();
    if let Some(error) = &search.error {
        lines.push(format!("The provider could not search: {}", cut(error)));
    }
    for page in search.found.iter().take(MAX_PAGES) {
        lines.push(match cut(&page.title) {
            "" => cut(&page.url).to_owned(),
            title => format!("{title}\n  {}", cut(&page.url)),
        });
    }
    if lines.is_empty() {
        lines.push("The provider did not say what it found.".to_owned());
    }
    ItemBody::ToolResult {
        call_id,
        result: lines.join("\n"),
        success: search.error.is_none(),
        refused: false,
        seen: Vec::new(),
        pictures: Vec::new(),
        change: None,
        tool_name: None,
    }
}

/// Returns the beginning of a text.
fn cut(text: &str) -> &str {
    text.char_indices()
        .nth(MAX_CHARS)
        .map_or(text, |(end, _)| &text[..end])
}
