//! A user's input: its parts, its sender, and the queue entry that it becomes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{QueuedInputId, Trigger, TurnFeatures, TurnId, UnixMillis};

/// One part of an input (AppServer protocol 03 §3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum InputPart {
    /// Literal text.
    Text {
        /// The text.
        text: String,
    },
    /// A reference to a custom slash command.
    CommandRef {
        /// Name without the slash.
        name: String,
        /// Text after the name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args_text: Option<String>,
        /// The line as typed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw_text: Option<String>,
        /// The command's text with the arguments filled in, as of the moment of input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expanded: Option<String>,
    },
    /// A reference to a skill.
    SkillRef {
        /// Name without the dollar sign.
        name: String,
        /// The skill's text, as of the moment of input.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
    /// A reference to a file.
    FileRef {
        /// Where it is.
        path: String,
        /// How to show it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_path: Option<String>,
    },
    /// A remote picture.
    Image {
        /// `http` or `https` address.
        url: String,
    },
    /// A picture on the server's disk.
    LocalImage {
        /// Where it is.
        path: String,
        /// Its media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// How to show it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_name: Option<String>,
    },
    /// Content that was attached to the input and read at that moment.
    Context {
        /// How a history shows it.
        label: String,
        /// What the model reads.
        text: String,
    },
}

impl InputPart {
    /// Returns the approximate bytes of text in the part.
    pub fn bytes(&self) -> usize {
        let optional = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        match self {
            Self::Text { text } => text.len(),
            Self::CommandRef {
                name,
                args_text,
                raw_text,
                expanded,
            } => name.len() + optional(args_text) + optional(raw_text) + optional(expanded),
            Self::SkillRef { name, content } => name.len() + optional(content),
            Self::Context { label, text } => label.len() + text.len(),
            Self::FileRef { path, display_path } => path.len() + optional(display_path),
            Self::Image { url } => url.len(),
            Self::LocalImage {
                path,
                mime_type,
                file_name,
            } => path.len() + optional(mime_type) + optional(file_name),
        }
    }

    /// Returns the text that a history shows for this part.
    pub fn display(&self) -> Cow<'_, str> {
        let shown = match self {
            Self::Text { text } => return Cow::Borrowed(text),
            Self::CommandRef { name, args_text, .. } => match args_text {
                Some(args) if !args.is_empty() => format!("/{name} {args}"),
                _ => format!("/{name}"),
            },
            Self::SkillRef { name, .. } => format!("${name}"),
            Self::FileRef { path, display_path } => format!("@{}", display_path.as_ref().unwrap_or(path)),
            Self::Image { url } => format!("[image: {url}]"),
            Self::LocalImage { path, file_name, .. } => {
                format!("[image: {}]", file_name.as_ref().unwrap_or(path))
            }
            Self::Context { label, .. } => format!(" @{label}"),
        };
        Cow::Owned(shown)
    }

    /// Returns the part as the model gets it. An [`InputPart::Context`] stays a context: its text is no instruction
    /// of the user, and a model must be able to tell.
    #[must_use]
    pub fn materialized(&self) -> Self {
        match self {
            Self::FileRef { path, .. } => Self::Text {
                text: format!("@{path}"),
            },
            Self::CommandRef {
                expanded: Some(text), ..
            } => Self::Text { text: text.clone() },
            Self::SkillRef {
                name,
                content: Some(content),
            } => Self::Text {
                text: format!("Follow the skill '{name}':\n\n{content}\n\n"),
            },
            // A picture stays a picture, for models that read pictures.
            other => other.clone(),
        }
    }
}

/// Returns the display text of a whole input: the parts' display texts one after the other.
pub fn display_text(parts: &[InputPart]) -> String {
    parts.iter().map(InputPart::display).collect()
}

/// Returns the display text of the typed parts, without attached content.
pub fn typed_text(parts: &[InputPart]) -> String {
    let typed = parts
        .iter()
        .filter(|part| !matches!(part, InputPart::Context { .. }));
    typed.map(InputPart::display).collect()
}

/// Returns the display text of what is no picture.
pub fn text_without_pictures(parts: &[InputPart]) -> String {
    let texts = parts
        .iter()
        .filter(|part| !matches!(part, InputPart::Image { .. } | InputPart::LocalImage { .. }));
    texts.map(InputPart::display).collect()
}

/// Returns the display text of the typed parts, without attached content and pictures.
pub fn written_text(parts: &[InputPart]) -> String {
    let is_written = |part: &&InputPart| {
        !matches!(
            part,
            InputPart::Context { .. } | InputPart::Image { .. } | InputPart::LocalImage { .. }
        )
    };
    let written = parts.iter().filter(is_written);
    written.map(InputPart::display).collect()
}

/// The person behind an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "SenderContext")
)]
pub struct Sender {
    /// Id of the user.
    pub sender_id: String,
    /// Name of the user.
    pub sender_name: String,
    /// Role of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_role: Option<String>,
    /// The group it was said in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
}

/// State of a queue entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Hash)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "QueuedInputStatus")
)]
#[serde(rename_all = "camelCase")]
pub enum QueueStatus {
    /// Waits for its own Turn.
    Queued,
    /// Will be given to the running Turn at its next safe boundary.
    GuidancePending,
}

/// An input that waits for the running Turn to end (AppServer protocol 03 §4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedInput {
    /// Its id.
    pub id: QueuedInputId,
    /// The parts as sent.
    pub native: Vec<InputPart>,
    /// Who sent them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<Sender>,
    /// The client's own id of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
    /// Channel they came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// What the sending client can do.
    #[serde(default)]
    pub features: TurnFeatures,
    /// Whether it waits for its own Turn or for the running one.
    pub status: QueueStatus,
    /// Whether this guidance is dropped if its Turn ends first. Its client then sends it again by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lapses: bool,
    /// Whether it only waits for the next model call: it is guidance of the running Turn, or of the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_message: bool,
    /// The cause of the input, if no user sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Box<Trigger>>,
    /// Whether its Turn starts however the Turn before it ends. Other entries wait for a good end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows_any_end: bool,
    /// When it was queued.
    pub created_at: UnixMillis,
    /// The Turn that ran when it was queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_after: Option<TurnId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a history shows, what the model gets, and the bytes that count for the queue's bound.
    #[test]
    fn parts_are_shown_sent_and_counted_as_the_table_says() {
        let part = |text: &str| serde_json::from_str::<InputPart>(text).expect(text);
        let same = None;
        let table = [
            (r#"{"type":"text","text":"é"}"#, "é", same, 2),
            (r#"{"type":"commandRef","name":"tea"}"#, "/tea", same, 3),
            (
                r#"{"type":"commandRef","name":"tea","argsText":""}"#,
                "/tea",
                same,
                3,
            ),
            (
                r#"{"type":"commandRef","name":"tea","argsText":"hot","rawText":"/tea hot","expanded":"Make it."}"#,
                "/tea hot",
                Some("Make it."),
                3 + 3 + 8 + 8,
            ),
            (r#"{"type":"skillRef","name":"tea"}"#, "$tea", same, 3),
            (
                r#"{"type":"skillRef","name":"tea","content":"Boil."}"#,
                "$tea",
                Some("Follow the skill 'tea':\n\nBoil.\n\n"),
                3 + 5,
            ),
            (
                r#"{"type":"fileRef","path":"/a/b","displayPath":"b"}"#,
                "@b",
                Some("@/a/b"),
                4 + 1,
            ),
            (
                r#"{"type":"image","url":"http://a"}"#,
                "[image: http://a]",
                same,
                8,
            ),
            (
                r#"{"type":"localImage","path":"/a","mimeType":"i/p","fileName":"a.png"}"#,
                "[image: a.png]",
                same,
                2 + 3 + 5,
            ),
            (
                r#"{"type":"context","label":"c","text":"long"}"#,
                " @c",
                same,
                1 + 4,
            ),
        ];
        let mut all = Vec::new();
        for (text, shown, sent, bytes) in table {
            let part = part(text);
            assert_eq!((&*part.display(), part.bytes()), (shown, bytes), "{text}");
            let sent = sent.map(|text: &str| InputPart::Text {
                text: text.to_owned(),
            });
            assert_eq!(
                part.materialized(),
                sent.unwrap_or_else(|| part.clone()),
                "{text}"
            );
            all.push(part);
        }
        let shown: String = table.map(|(_, shown, ..)| shown).concat();
        assert_eq!(display_text(&all), shown);
        assert_eq!(
            typed_text(&all),
            shown.trim_end_matches(" @c"),
            "without what was attached"
        );
    }
}
