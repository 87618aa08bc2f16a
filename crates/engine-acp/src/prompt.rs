//! The user's input as blocks of a prompt, and an earlier conversation as text.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bobbin_acp_wire::ContentBlock;
use bobbin_files::read_bytes;
use bobbin_model::{InputPart, Item, ItemBody, Turn};

/// Most bytes of an earlier conversation; its end is the newest.
const MAX_HISTORY: usize = 64 << 10;

/// Largest picture that is sent.
const MAX_PICTURE_BYTES: u64 = 8 << 20;

/// Returns the users' messages among Items as blocks of a prompt. With `pictures`, the folder of relative paths, pictures
/// on this machine are sent whole; otherwise, and where one cannot be read, as links. Blocks on the disk.
pub(crate) fn blocks(items: &[Item], pictures: Option<&Path>) -> Vec<ContentBlock> {
    let messages = items.iter().filter_map(|item| match &item.body {
        ItemBody::UserMessage(message) => Some(message),
        _ => None,
    });
    let mut blocks = Vec::new();
    for message in messages {
        if message.native.is_empty() {
            blocks.push(ContentBlock::text(message.text().into_owned()));
        }
        blocks.extend(message.native.iter().map(|part| block(part, pictures)));
    }
    blocks
}

fn block(part: &InputPart, pictures: Option<&Path>) -> ContentBlock {
    if let (InputPart::LocalImage { path, .. }, Some(root)) = (part, pictures)
        && let Some(picture) = picture(&root.join(path))
    {
        return picture;
    }
    match part.materialized() {
        InputPart::Text { text } => ContentBlock::text(text),
        InputPart::Image { url } => link(url.clone(), url),
        InputPart::LocalImage { path, .. } => link(format!("file://{path}"), path),
        other => ContentBlock::text(other.display().into_owned()),
    }
}

/// Reads a picture; `None` if the file is none, whatever its name says: a link could lead to anything.
fn picture(path: &Path) -> Option<ContentBlock> {
    let bytes = read_bytes(path, MAX_PICTURE_BYTES).ok()?;
    let mime_type = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => return None,
    };
    Some(ContentBlock::Image {
        data: BASE64_STANDARD.encode(&bytes),
        mime_type: mime_type.to_owned(),
        uri: None,
    })
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
        let block = |part: &InputPart| super::block(part, None);
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

    #[test]
    fn a_picture_is_sent_whole_to_an_agent_that_takes_pictures() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.png"), b"\x89PNG").unwrap();
        std::fs::write(folder.path().join("b.png"), "secret").unwrap();
        let picture = |path: &str| InputPart::LocalImage {
            path: path.into(),
            mime_type: None,
            file_name: None,
        };
        let sent = block(&picture("a.png"), Some(folder.path()));
        let expected = ContentBlock::Image {
            data: "iVBORw==".into(),
            mime_type: "image/png".into(),
            uri: None,
        };
        assert_eq!(sent, expected);
        let no_picture = block(&picture("b.png"), Some(folder.path()));
        assert_eq!(no_picture, link("file://b.png".into(), "b.png".into()));
    }
}
