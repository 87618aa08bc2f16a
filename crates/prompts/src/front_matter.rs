//! The front matter of a file: YAML between two lines of `---`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Most bytes of front matter.
const MAX_BYTES: usize = 8 << 10;

/// The fields of the front matter that have an effect.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Head {
    /// One sentence for users and models.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// Programs that it requires.
    #[serde(default)]
    pub(crate) bins: Words,
    /// Environment variables that it requires.
    #[serde(default)]
    pub(crate) env: Words,
}

/// Words as a list, or as one text with commas between them.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
pub(crate) enum Words {
    #[default]
    None,
    Text(String),
    List(Vec<String>),
}

impl Words {
    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        let (text, list) = match self {
            Self::None => (None, None),
            Self::Text(text) => (Some(text.split(',')), None),
            Self::List(list) => (None, Some(list.iter().map(String::as_str))),
        };
        let words = text.into_iter().flatten().chain(list.into_iter().flatten());
        words.map(str::trim).filter(|word| !word.is_empty())
    }
}

/// A file in its two parts.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) head: Head,
    /// All fields of the front matter.
    pub(crate) metadata: BTreeMap<String, Value>,
    /// The text after the front matter.
    pub(crate) body: &'a str,
}

/// Splits a file. Invalid front matter has no fields, and is still no part of the body.
pub(crate) fn parts(text: &str) -> Parts<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((head, body)) = split(text) else {
        return Parts {
            head: Head::default(),
            metadata: BTreeMap::new(),
            body: text,
        };
    };
    let (head, metadata) = if head.len() > MAX_BYTES {
        Default::default()
    } else {
        (read(head), read(head))
    };
    Parts {
        head,
        metadata,
        body: body.trim_start_matches(['\r', '\n']),
    }
}

/// Splits a file into the fields of its front matter and the text after it.
pub fn front_matter(text: &str) -> (BTreeMap<String, Value>, &str) {
    let parts = parts(text);
    (parts.metadata, parts.body)
}

fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn read<T: Default + for<'de> Deserialize<'de>>(head: &str) -> T {
    yaml(head).unwrap_or_else(|error| {
        tracing::debug!(%error, "the head of a file is not read");
        T::default()
    })
}

/// Reads YAML of at most [`MAX_BYTES`], with strict limits on nesting and repetition.
pub(crate) fn yaml<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(MAX_BYTES),
            max_depth: 16,
            max_nodes: 500,
            max_aliases: 0,
            max_anchors: 0,
            max_documents: 1,
        },
    };
    serde_saphyr::from_str_with_options(text, options)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none("Boil.", None, "Boil.")]
    #[case::usual(
        "---\ndescription: How to boil\n---\n\nBoil.\n",
        Some("How to boil"),
        "Boil.\n"
    )]
    #[case::crlf("---\r\ndescription: a\r\n---\r\nBoil.", Some("a"), "Boil.")]
    #[case::byte_order_mark("\u{feff}---\ndescription: a\n---\nBoil.", Some("a"), "Boil.")]
    #[case::no_as_a_word("---\ndescription: no\n---\nBoil.", Some("no"), "Boil.")]
    #[case::unreadable("---\ndescription: [\n---\nBoil.", None, "Boil.")]
    #[case::not_closed("---\ndescription: a\nBoil.", None, "---\ndescription: a\nBoil.")]
    #[case::a_rule("----\nBoil.", None, "----\nBoil.")]
    #[case::empty("---\n---\nBoil.", None, "Boil.")]
    fn a_file_has_a_head_and_a_body(
        #[case] text: &str,
        #[case] description: Option<&str>,
        #[case] body: &str,
    ) {
        let parts = parts(text);
        assert_eq!(parts.head.description.as_deref(), description);
        assert_eq!(parts.body, body);
    }

    #[test]
    fn words_are_a_list_or_a_text() {
        for text in ["bins: git, jq", "bins: [git, jq]", "bins:\n  - git\n  - jq"] {
            let file = format!("---\n{text}\n---\n");
            let parts = parts(&file);
            assert_eq!(parts.head.bins.all().collect::<Vec<_>>(), ["git", "jq"], "{text}");
        }
    }

    #[test]
    fn all_keys_are_given_back() {
        let parts = parts("---\ndescription: a\nnested:\n  deep: 1\n---\n");
        assert_eq!(
            serde_json::to_value(parts.metadata).unwrap(),
            serde_json::json!({"description": "a", "nested": {"deep": 1}})
        );
    }

    #[test]
    fn a_bomb_of_aliases_is_not_read() {
        let bomb = "---\na: &a [x]\nb: [*a, *a]\ndescription: boom\n---\nBoil.";
        assert_eq!(parts(bomb).head.description, None);
        let deep = format!("---\na: {}\n---\n", "[".repeat(2000));
        assert!(parts(&deep).metadata.is_empty());
    }
}
