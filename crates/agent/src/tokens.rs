//! Estimates the number of tokens of a text, without the provider's own count. Pure.
//!
//! The estimate is rather too high: four bytes of ordinary text are a token, two of anything else (other scripts, and
//! runs without a space, which tokenizers cut into small pieces).

use bobbin_agent_api::tool::ToolSpec;
use bobbin_model::InputPart;

use super::conversation::model_text;
use bobbin_agent_api::model::Message;

/// Bytes of ordinary text in a token.
const BYTES: usize = 4;
/// Bytes of other text in a token.
const DENSE_BYTES: usize = 2;
/// Longest run without a space that counts as ordinary.
const WORD: usize = 64;
/// Highest cost of a picture, as providers scale it.
const PICTURE: u64 = 1600;
/// Cost of a message beside its text.
const MESSAGE: u64 = 4;

/// Returns the approximate number of tokens of a text.
pub(super) fn of_text(text: &str) -> u64 {
    let mut dense = 0;
    for word in text.split_ascii_whitespace() {
        dense += if word.len() > WORD {
            word.len()
        } else {
            word.bytes().filter(|byte| !byte.is_ascii()).count()
        };
    }
    let plain = text.len() - dense;
    (plain.div_ceil(BYTES) + dense.div_ceil(DENSE_BYTES)) as u64
}

/// Returns the approximate number of tokens of messages.
pub(super) fn of_messages<'a>(messages: impl IntoIterator<Item = &'a Message>) -> u64 {
    messages.into_iter().map(of_message).sum()
}

/// Returns the approximate number of tokens of one message.
pub(super) fn of_message(message: &Message) -> u64 {
    let text = match message {
        Message::User { parts } => parts.iter().map(of_part).sum(),
        Message::Agent { text, calls } => {
            let calls = calls.iter().map(|call| {
                let arguments = call.arguments.as_ref().map_or(0, |json| of_text(json.get()));
                arguments + of_text(&call.tool) + MESSAGE
            });
            of_text(text) + calls.sum::<u64>()
        }
        Message::Result { text, .. } => of_text(text),
    };
    MESSAGE + text
}

fn of_part(part: &InputPart) -> u64 {
    let picture = match part {
        InputPart::LocalImage { .. } | InputPart::Image { .. } => PICTURE,
        _ => 0,
    };
    picture + of_text(&model_text(part))
}

/// Returns the approximate number of tokens of tool descriptions.
pub(super) fn of_tools(tools: &[ToolSpec]) -> u64 {
    let one = |tool: &ToolSpec| {
        MESSAGE + of_text(&tool.name) + of_text(&tool.description) + of_text(tool.input_schema.get())
    };
    tools.iter().map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_text_counts_for_more_than_prose() {
        assert_eq!(of_text(""), 0);
        assert_eq!(of_text("boil the water now"), 5);
        assert_eq!(of_text("水を沸かす"), 8);
        let blob = "A".repeat(1000);
        assert_eq!(of_text(&blob), 500);
        assert_eq!(of_text(&format!("see {blob}")), 501);
    }
}
