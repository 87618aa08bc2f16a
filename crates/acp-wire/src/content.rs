//! Blocks of content: in prompts, messages and the results of tools.

use serde::{Deserialize, Serialize};

/// One piece of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContentBlock {
    /// Text, as Markdown.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// The bytes, as base64.
        data: String,
        /// The type of the bytes.
        mime_type: String,
        /// Its address, where it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
    },
    /// A sound.
    Audio {
        /// The bytes, as base64.
        data: String,
        /// The type of the bytes.
        mime_type: String,
    },
    /// A file or page that is named and not brought along.
    ResourceLink {
        /// Its address.
        uri: String,
        /// Its name for users.
        name: String,
        /// The type of its content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its title for users.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Its description.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// Its size in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    /// A file or page that is brought along.
    Resource {
        /// Its address and content.
        resource: EmbeddedResource,
    },
    /// A block of another type. It is never written.
    #[serde(other, skip_serializing)]
    Unknown,
}

impl ContentBlock {
    /// Returns a block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A resource with its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum EmbeddedResource {
    /// A text.
    Text {
        /// The resource's address.
        uri: String,
        /// The type of the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// The text; an editor's unsaved buffer comes so.
        text: String,
    },
    /// Bytes.
    Blob {
        /// The resource's address.
        uri: String,
        /// The type of the bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// The bytes, as base64.
        blob: String,
    },
}
