//! A call's result as text and pictures for the model. Pure.
//!
//! Bounded by [`MAX_TEXT`] and [`MAX_PICTURES`]; a longer text loses its middle. The text names content that a model cannot
//! read here (sounds, files, other pictures), with its kind and size.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_agent_api::picture::{MAX_PICTURE_BYTES, StoredPicture};
use bobbin_agent_api::tool::ToolOutput;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::Secret;
use crate::text::{head, head_and_tail, scrubbed};

/// Most bytes of a result given to the model (guess: twice what the reading tools give).
pub(crate) const MAX_TEXT: usize = 128 << 10;
/// Most pictures of a result (guess: a model looks at few, and a conversation shows 20).
const MAX_PICTURES: usize = 8;
/// Longest name, kind or address shown.
const MAX_WORD: usize = 200;

/// A picture of a result, at its place in the content.
pub(crate) struct ResultPicture {
    pub(crate) at: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Whether a result has pictures.
pub(crate) fn has_pictures(result: &CallToolResult) -> bool {
    result.content.iter().any(|block| picture_of(block).is_some())
}

/// Returns the pictures of a result that models could see. Decoding them takes time.
pub(crate) fn pictures(result: &CallToolResult) -> Vec<ResultPicture> {
    let blocks = result.content.iter().enumerate();
    let small = blocks.filter_map(|(at, block)| {
        let base64 = picture_of(block).filter(|base64| base64.len() / 4 * 3 <= MAX_PICTURE_BYTES + 2)?;
        let bytes = STANDARD.decode(base64).ok()?;
        Some(ResultPicture { at, bytes })
    });
    small.take(MAX_PICTURES).collect()
}

fn picture_of(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Image(image) => Some(&image.data),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
                let is_image = mime_type
                    .as_deref()
                    .is_some_and(|kind| kind.starts_with("image/"));
                is_image.then_some(blob)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the output of a call; that of a failed call has no secrets. `stored` has the stored pictures, by their places in
/// the content.
pub(crate) fn output(
    result: &CallToolResult,
    stored: BTreeMap<usize, StoredPicture>,
    secrets: &[Secret],
) -> ToolOutput {
    let blocks = result.content.iter().enumerate();
    let one = |(at, block): (usize, &ContentBlock)| match stored.get(&at) {
        Some(picture) => format!("[{}: shown to models that see]", picture.media_type),
        None => part(block),
    };
    let mut parts: Vec<String> = blocks.map(one).collect();
    parts.retain(|part| !part.is_empty());
    // Servers usually repeat a structured result as text. Without text, the structured result is the output.
    if parts.is_empty()
        && let Some(value) = &result.structured_content
    {
        parts.push(value.to_string());
    }
    let success = result.is_error != Some(true);
    if parts.is_empty() {
        parts.push(
            if success {
                "done; nothing was said"
            } else {
                "the tool failed without saying why"
            }
            .to_owned(),
        );
    }
    let mut text = parts.join("\n");
    if !success {
        text = scrubbed(&text, secrets);
    }
    ToolOutput {
        text: head_and_tail(text, MAX_TEXT),
        success,
        pictures: stored.into_values().map(|picture| picture.path).collect(),
        ..ToolOutput::default()
    }
}

/// Returns one piece of content as text.
pub(crate) fn part(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => unread("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => unread("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => resource(&embedded.resource),
        ContentBlock::ResourceLink(link) => {
            format!(
                "[resource {}: {}]",
                head(&link.name, MAX_WORD),
                head(&link.uri, MAX_WORD)
            )
        }
        _ => "[content of an unknown kind: not shown]".to_owned(),
    }
}

/// Returns a resource as text.
pub(crate) fn resource(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            format!("[{}]\n{text}", head(uri, MAX_WORD))
        }
        ResourceContents::BlobResourceContents {
            uri, blob, mime_type, ..
        } => {
            let kind = mime_type.as_deref().unwrap_or("unknown kind");
            unread(&head(uri, MAX_WORD), kind, blob)
        }
        _ => "[a resource of an unknown kind: not shown]".to_owned(),
    }
}

fn unread(what: &str, kind: &str, base64: &str) -> String {
    format!(
        "[{what}, {}, {} bytes: not shown]",
        head(kind, MAX_WORD),
        base64.len() / 4 * 3
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text_of(result: serde_json::Value) -> (String, bool) {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        let output = output(&result, BTreeMap::new(), &[Secret("hunter2".to_owned())]);
        (output.text, output.success)
    }

    #[test]
    fn what_a_failed_call_says_is_told_without_secrets() {
        let content = json!([{ "type": "text", "text": "no entry with hunter2" }]);
        assert_eq!(
            text_of(json!({ "content": content, "isError": true })),
            ("no entry with [hidden]".to_owned(), false)
        );
        // The text of a successful call is not changed.
        assert_eq!(
            text_of(json!({ "content": content })),
            ("no entry with hunter2".to_owned(), true)
        );
    }

    #[test]
    fn every_kind_of_content_becomes_text() {
        let content = json!([
            { "type": "text", "text": "one" },
            { "type": "image", "data": "AAAAAAAA", "mimeType": "image/png" },
            { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "tea:1", "text": "two" } },
            { "type": "resource", "resource": { "uri": "tea:2", "blob": "AAAA", "mimeType": "a/b" } },
            { "type": "resource_link", "uri": "tea:3", "name": "leaf" },
        ]);
        let (text, success) = text_of(json!({ "content": content }));
        assert!(success);
        let lines = [
            "one",
            "[image, image/png, 6 bytes: not shown]",
            "[audio, audio/wav, 3 bytes: not shown]",
            "[tea:1]",
            "two",
            "[tea:2, a/b, 3 bytes: not shown]",
            "[resource leaf: tea:3]",
        ];
        assert_eq!(text, lines.join("\n"));
    }

    #[test]
    fn pictures_are_taken_out_with_their_places() {
        let image = |data: &str| json!({ "type": "image", "data": data, "mimeType": "image/png" });
        let content = json!([
            { "type": "text", "text": "one" },
            image("not base64!"),
            image("iVBORw0KGgo="),
            { "type": "resource", "resource": { "uri": "tea:1", "blob": "AAAA", "mimeType": "image/gif" } },
            { "type": "resource", "resource": { "uri": "tea:2", "blob": "AAAA", "mimeType": "a/b" } },
        ]);
        let result: CallToolResult = serde_json::from_value(json!({ "content": content })).unwrap();
        assert!(has_pictures(&result));
        let found = pictures(&result);
        let places: Vec<usize> = found.iter().map(|picture| picture.at).collect();
        assert_eq!(
            (places, found[0].bytes.as_slice()),
            (vec![2, 3], b"\x89PNG\r\n\x1a\n".as_slice())
        );
        let stored = StoredPicture {
            path: "/state/a.png".to_owned(),
            media_type: "image/png",
        };
        let output = output(&result, BTreeMap::from([(2, stored)]), &[]);
        assert_eq!(output.pictures, ["/state/a.png"]);
        assert!(
            output
                .text
                .contains("[image/png: shown to models that see]\n[tea:1, image/gif"),
            "{}",
            output.text
        );

        let many: Vec<_> = (0..20).map(|_| image("AAAA")).collect();
        let result: CallToolResult = serde_json::from_value(json!({ "content": many })).unwrap();
        assert_eq!(pictures(&result).len(), MAX_PICTURES);
    }

    #[test]
    fn structured_results_errors_and_silence_are_told() {
        assert_eq!(
            text_of(json!({ "content": [], "structuredContent": { "hot": true } })),
            ("{\"hot\":true}".to_owned(), true)
        );
        assert_eq!(
            text_of(json!({ "content": [{ "type": "text", "text": "cold" }], "isError": true })),
            ("cold".to_owned(), false)
        );
        assert!(!text_of(json!({ "content": [], "isError": true })).1);
        assert!(text_of(json!({ "content": [] })).1);
    }

    #[test]
    fn a_result_of_any_size_is_cut() {
        let long = "x".repeat(MAX_TEXT * 2);
        let (text, _) = text_of(json!({ "content": [{ "type": "text", "text": long }] }));
        assert!(text.len() < MAX_TEXT + 100 && text.contains("bytes left out"));
    }
}
