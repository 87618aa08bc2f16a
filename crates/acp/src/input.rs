//! The blocks of a prompt as a message and its attachments. Pure.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_acp_wire::{ContentBlock, EmbeddedResource};
use bobbin_editor_kit::{Context, LinesRange, path_of};

/// Most attachments of a prompt.
const MAX_CONTEXTS: usize = 64;

/// A prompt.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// The typed text, with a mention in the place of each attachment.
    pub(crate) message: String,
    /// The attachments, in order.
    pub(crate) contexts: Vec<Context>,
}

impl Input {
    /// Reads the blocks of a prompt in a workspace. The error is a sentence.
    pub(crate) fn new(blocks: Vec<ContentBlock>, root: &Path) -> Result<Self, String> {
        let brought: Vec<String> = blocks.iter().filter_map(brought).collect();
        let mut input = Self::default();
        for block in blocks {
            input.add(block, root, &brought)?;
        }
        if input.contexts.len() > MAX_CONTEXTS {
            return Err(format!(
                "A prompt takes {MAX_CONTEXTS} attachments at most; leave some out."
            ));
        }
        if input.message.trim().is_empty() && input.contexts.is_empty() {
            return Err("The prompt is empty; say what you want.".to_owned());
        }
        Ok(input)
    }

    fn add(&mut self, block: ContentBlock, root: &Path, brought: &[String]) -> Result<(), String> {
        match block {
            ContentBlock::Text { text } => self.message.push_str(&text),
            ContentBlock::Image { data, .. } => self.contexts.push(Context::Image { base64: data }),
            ContentBlock::ResourceLink { uri, name, .. } => {
                self.mention(&name);
                // The text that is brought along counts, not that of the disk.
                if !brought.contains(&uri) {
                    self.contexts.push(linked(&uri, root));
                }
            }
            ContentBlock::Resource { resource } => self.resource(resource),
            ContentBlock::Audio { .. } => return Err(not_taken("audio")),
            ContentBlock::Unknown => return Err(not_taken("of an unknown type")),
        }
        Ok(())
    }

    fn resource(&mut self, resource: EmbeddedResource) {
        let (uri, context) = match resource {
            EmbeddedResource::Text { uri, text, .. } => {
                let label = Some(shown(&uri));
                (uri, Context::Text { label, content: text })
            }
            EmbeddedResource::Blob { uri, mime_type, blob } => {
                let is_picture = mime_type.is_some_and(|kind| kind.starts_with("image/"));
                if is_picture {
                    (uri, Context::Image { base64: blob })
                } else {
                    let text = STANDARD.decode(blob.trim()).ok();
                    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
                    let content = text.unwrap_or_else(|| "This is no text, so it was not read.".to_owned());
                    let label = Some(shown(&uri));
                    (uri, Context::Text { label, content })
                }
            }
        };
        self.mention(name_of(&uri));
        self.contexts.push(context);
    }

    /// Names an attachment in its place in the text.
    fn mention(&mut self, name: &str) {
        if self
            .message
            .chars()
            .next_back()
            .is_some_and(|last| !last.is_whitespace())
        {
            self.message.push(' ');
        }
        self.message.push('@');
        self.message.push_str(name);
    }
}

fn not_taken(what: &str) -> String {
    format!("A block that is {what} is not taken; send text, links, resources or pictures.")
}

/// Returns the address of a resource that is brought along.
fn brought(block: &ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Resource {
            resource: EmbeddedResource::Text { uri, .. } | EmbeddedResource::Blob { uri, .. },
        } => Some(uri.clone()),
        _ => None,
    }
}

/// Returns what a link means: a file or a directory of the workspace. Anything else is only named.
fn linked(uri: &str, root: &Path) -> Context {
    let (address, fragment) = uri.split_once('#').unwrap_or((uri, ""));
    let address = address.split_once('?').map_or(address, |(address, _)| address);
    let is_file = address.starts_with("file://") || address.starts_with('/');
    let path = path_of(address);
    if !is_file
        || !root.join(&path).starts_with(root)
        || path.components().any(|part| part.as_os_str() == "..")
    {
        return Context::Text {
            label: Some(shown(uri)),
            content: "The user names this; it was not read.".to_owned(),
        };
    }
    let path = path.to_string_lossy().into_owned();
    if path.ends_with('/') {
        return Context::Directory { path };
    }
    Context::File {
        path,
        lines_range: lines(fragment),
    }
}

/// Returns the lines of a fragment such as `L10`, `L10-20`, `L10-L20` or `L10:20`.
fn lines(fragment: &str) -> Option<LinesRange> {
    let range = fragment.strip_prefix('L')?;
    let (start, end) = range.split_once(['-', ':']).unwrap_or((range, range));
    let (start, end) = (start.parse().ok()?, end.trim_start_matches('L').parse().ok()?);
    Some(LinesRange { start, end })
}

/// Returns an address as a label: the path of a file, else as it is.
fn shown(uri: &str) -> String {
    if uri.starts_with("file://") {
        path_of(uri).to_string_lossy().into_owned()
    } else {
        uri.to_owned()
    }
}

/// Returns the last part of an address.
fn name_of(uri: &str) -> &str {
    let address = uri.split(['#', '?']).next().unwrap_or(uri);
    let name = address.trim_end_matches('/').rsplit('/').next();
    name.filter(|name| !name.is_empty()).unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(blocks: Value) -> Result<(String, Vec<String>), String> {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        let input = Input::new(blocks, Path::new("/w"))?;
        let contexts = input.contexts.iter().map(|context| format!("{context:?}"));
        Ok((input.message, contexts.collect()))
    }

    #[test]
    fn every_block_that_is_offered_becomes_text_or_an_attachment() {
        let (message, contexts) = read(json!([
            {"type": "text", "text": "look at"},
            {"type": "resource_link", "uri": "file:///w/a.txt#L3-L5", "name": "a.txt"},
            {"type": "text", "text": " and "},
            {"type": "resource", "resource": {"uri": "file:///w/b%20c.txt", "text": "unsaved"}},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "mem:x", "blob": "aGk="}},
            {"type": "resource", "resource": {"uri": "mem:y", "blob": "/w=="}},
            {"type": "resource", "resource": {"uri": "mem:z", "mimeType": "image/png", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "file:///w/src/", "name": "src"},
            {"type": "resource_link", "uri": "https://tea.test/", "name": "tea"},
            {"type": "resource_link", "uri": "file:///etc/passwd", "name": "passwd"},
        ]))
        .unwrap();
        assert_eq!(
            message,
            "look at @a.txt and @b%20c.txt @mem:x @mem:y @mem:z @src @tea @passwd"
        );
        let not_read = "The user names this; it was not read.";
        let expected = [
            r#"File { path: "/w/a.txt", lines_range: Some(LinesRange { start: 3, end: 5 }) }"#.to_owned(),
            r#"Text { label: Some("/w/b c.txt"), content: "unsaved" }"#.to_owned(),
            r#"Image { base64: "AAAA" }"#.to_owned(),
            r#"Text { label: Some("mem:x"), content: "hi" }"#.to_owned(),
            r#"Text { label: Some("mem:y"), content: "This is no text, so it was not read." }"#.to_owned(),
            r#"Image { base64: "AAAA" }"#.to_owned(),
            r#"Directory { path: "/w/src/" }"#.to_owned(),
            format!(r#"Text {{ label: Some("https://tea.test/"), content: "{not_read}" }}"#),
            format!(r#"Text {{ label: Some("/etc/passwd"), content: "{not_read}" }}"#),
        ];
        assert_eq!(contexts, expected);
    }

    #[test]
    fn a_buffer_that_is_brought_along_wins_over_the_file() {
        let (message, contexts) = read(json!([
            {"type": "resource_link", "uri": "file:///w/a.txt", "name": "a.txt"},
            {"type": "resource", "resource": {"uri": "file:///w/a.txt", "text": "unsaved"}},
        ]))
        .unwrap();
        assert_eq!(message, "@a.txt @a.txt");
        assert_eq!(
            contexts,
            [r#"Text { label: Some("/w/a.txt"), content: "unsaved" }"#]
        );
    }

    #[test]
    fn blocks_that_are_not_offered_are_named() {
        for (blocks, word) in [
            (
                json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]),
                "audio",
            ),
            (json!([{"type": "smell"}]), "unknown"),
            (json!([]), "empty"),
            (json!([{"type": "text", "text": "  "}]), "empty"),
        ] {
            let why = read(blocks).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
        let many: Vec<Value> = (0..65)
            .map(|n| json!({"type": "resource_link", "uri": format!("file:///w/{n}"), "name": "n"}))
            .collect();
        assert!(read(Value::from(many)).unwrap_err().contains("64"));
    }

    #[test]
    fn a_path_that_climbs_out_of_the_workspace_is_only_named() {
        let (_, contexts) = read(json!([
            {"type": "resource_link", "uri": "file:///w/../etc/passwd", "name": "x"},
        ]))
        .unwrap();
        assert!(contexts[0].starts_with("Text"), "{contexts:?}");
    }
}
