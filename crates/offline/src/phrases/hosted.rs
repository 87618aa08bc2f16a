//! Calls of other tools: ``call mcp__pantry__steep with {"minutes": 3}`` for a tool of a tool server. Other tools must
//! be marked: ``use the tool editor_diagnostics``, or in backquotes before arguments, ``call `set_timer` with
//! {"minutes": 4}``.

use bobbin_agent_api::tool_name;
use serde_json::Value;

use crate::instruction::Instruction;
use crate::text::{after, after_any, is_noise, quoted, skip};

pub(super) fn understand(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    let begun = after_any(line, &["call", "use", "invoke"])?;
    let rest = skip(begun, &["the tool", "tool"]);
    let is_said = rest.len() < begun.len();
    let is_marked = rest.starts_with('`');
    let (tool, rest) = if let Some(named) = quoted(rest) {
        (named.text, named.rest)
    } else {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        (rest[..end].to_owned(), rest[end..].trim_start())
    };
    let tool = tool.trim_end_matches([':', ',']).to_owned();
    let rest = after(rest, "with").unwrap_or(rest);
    let rest = rest.strip_prefix(':').unwrap_or(rest).trim();
    // Any other word after "call" or "use" may have another meaning.
    let is_plain = is_marked && !tool.contains(char::is_whitespace) && rest.starts_with('{');
    if (!is_said && !is_plain) || tool.is_empty() {
        tool_name::parts(&tool)?;
    }
    let arguments = match fenced {
        Some(block) => is_noise(rest).then_some(block)?,
        None if is_noise(rest) => "{}",
        None => rest,
    };
    let arguments: Value = serde_json::from_str(arguments.trim().trim_matches('`')).ok()?;
    arguments
        .is_object()
        .then_some(Instruction::Call { tool, arguments })
}
