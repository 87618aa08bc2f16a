//! The user's input as blocks of a prompt, and an earlier conversation as text.

use bobbin_acp_wire::ContentBlock;
use bobbin_model::{InputPart, Item, ItemBody, Turn};

/// Most bytes of an earlier conversation; its end is the newest.
const MAX_HISTORY: usize = 64 << 10;

/// Returns the users' messages among Items as blocks of a prompt.
pub(crate) fn blocks<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<ContentBlock> {
    let messages = items.into_iter().filter_map(|item| match &item.body {
        ItemBody::UserMessage(message) => Some(message),
        _ => None,
    });
    let mut blocks = Vec::new();
    for message in messages {
        if message.native.is_empty() {
            blocks.push(ContentBlock::text(message.text().into_owned()));
        }
        blocks.extend(message.native.iter().map(block));
    }
    blocks
}

fn block(part: &InputPart) -> ContentBlock {
    match part.materialized() {
        InputPart::Text { text } => ContentBlock::text(text),
        InputPart::Image { url } => link(url.clone(), url),
        InputPart::LocalImage { path, .. } => link(format!("file://{path}"), path),
        other => ContentBlock::text(other.display().into_owned()),
    }
}

fn link(uri: String, name: String) -> ContentBlock {
    ContentBlock::ResourceLink {
        uri,
        name,
        mime_type: None,
        title: None,
        description: None,
        size: None,
    }
}

/// Returns the conversation of ended Turns as text, for an agent that does not know it; `None` if there is none.
pub(crate) fn history(turns: &[Turn]) -> Option<ContentBlock> {
    let mut lines = Vec::new();
    for item in turns.iter().flat_map(|turn| &turn.items) {
        match &item.body {
            ItemBody::UserMessage(message) => lines.push(format!("User: {}", message.text())),
            ItemBody::AgentMessage { text } => lines.push(format!("Agent: {text}")),
            _ => {}
        }
    }
    if lines.is_empty() {
        return None;
    }
    let text = lines.join("\n\n");
    let cut = text.len().saturating_sub(MAX_HISTORY);
    let text = &text[text.ceil_char_boundary(cut)..];
    let missing = if cut > 0 {
        "The beginning is left out.\n\n"
    } else {
        ""
    };
    Some(ContentBlock::text(format!(
        "This is the conversation so far, which you do not remember. Continue it.\n\n{missing}{text}\n\nThe user says \
         now:\n\n"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_become_text_and_pictures_become_links() {
        let text = |text: &str| InputPart::Text { text: text.into() };
        assert_eq!(block(&text("boil")), ContentBlock::text("boil"));
        let file = InputPart::FileRef {
            path: "a.txt".into(),
            display_path: None,
        };
        assert_eq!(block(&file), ContentBlock::text("@a.txt"));
        let picture = InputPart::LocalImage {
            path: "/a.png".into(),
            mime_type: None,
            file_name: None,
        };
        assert_eq!(block(&picture), link("file:///a.png".into(), "/a.png".into()));
        assert_eq!(history(&[]), None);
    }
}
