//! The front matter of a file: YAML between two lines of `---`. Other agents read lines of `name: text` instead, so
//! theirs may be no YAML (`argument-hint: [file] [line]`). It is read line by line then.

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
    /// A hint about the arguments of a command.
    #[serde(default, rename = "argument-hint")]
    pub(crate) argument_hint: Option<Words>,
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
    /// Returns them as their author wrote them.
    pub(crate) fn written(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Text(text) => text,
            Self::List(list) => format!("[{}]", list.join(", ")),
        }
    }

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

/// How the front matter of a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading<'a> {
    /// As YAML, or there is none.
    Whole,
    /// Line by line, from this text that is no YAML.
    ByLines(&'a str),
    /// Not at all: it is too long, or nothing closes it.
    Unread,
}

impl Reading<'_> {
    /// Returns whether one of some fields may be there otherwise than it was read.
    pub fn may_lack(self, names: &[&str]) -> bool {
        let ends_with_name = |text: &str| {
            let name = text.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
            let name = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
            name.is_some_and(|name| names.contains(&name))
        };
        match self {
            Self::Whole => false,
            Self::ByLines(head) => head.rsplit(':').skip(1).any(ends_with_name),
            Self::Unread => true,
        }
    }
}

/// A file in its two parts.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) head: Head,
    /// All fields of the front matter.
    pub(crate) metadata: BTreeMap<String, Value>,
    reading: Reading<'a>,
    /// The text after the front matter.
    pub(crate) body: &'a str,
}

/// Splits a file. Front matter that is too long has no fields, and is still no part of the body.
pub(crate) fn parts(text: &str) -> Parts<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((head, body)) = split(text) else {
        let is_open = text.lines().next().is_some_and(|line| line.trim_end() == "---");
        return Parts {
            head: Head::default(),
            metadata: BTreeMap::new(),
            reading: if is_open { Reading::Unread } else { Reading::Whole },
            body: text,
        };
    };
    let (head, metadata, reading) = if head.len() > MAX_BYTES {
        (Head::default(), BTreeMap::new(), Reading::Unread)
    } else {
        read(head)
    };
    Parts {
        head,
        metadata,
        reading,
        body: body.trim_start_matches(['\r', '\n']),
    }
}

/// Splits a file into the fields of its front matter and the text after it.
pub fn front_matter(text: &str) -> (BTreeMap<String, Value>, &str) {
    let parts = parts(text);
    (parts.metadata, parts.body)
}

/// Does the same as [`front_matter`], and says how the fields were read.
pub fn front_matter_and_reading(text: &str) -> (BTreeMap<String, Value>, Reading<'_>, &str) {
    let parts = parts(text);
    (parts.metadata, parts.reading, parts.body)
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

fn read(head: &str) -> (Head, BTreeMap<String, Value>, Reading<'_>) {
    let is_yaml = yaml(head).and_then(|known| Ok((known, yaml(head)?, Reading::Whole)));
    is_yaml.unwrap_or_else(|error| {
        tracing::debug!(%error, "the head of a file is read line by line");
        let fields = by_lines(head);
        let known = serde_json::from_value(fields.clone().into_iter().collect()).unwrap_or_default();
        (known, fields, Reading::ByLines(head))
    })
}

/// Reads lines of `name: text`. A name without a text has the list in the lines after it.
fn by_lines(head: &str) -> BTreeMap<String, Value> {
    let mut fields = BTreeMap::new();
    let mut last = None;
    for line in head.lines() {
        let entry = line.trim_start().strip_prefix("- ").map(str::trim);
        if let (Some(entry), Some(Value::Array(list))) =
            (entry, last.as_ref().and_then(|name| fields.get_mut(name)))
        {
            list.push(entry.into());
            continue;
        }
        let is_name =
            |name: &str| name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.contains([' ', '\t']);
        if let Some((name, text)) = line.split_once(':').filter(|(name, _)| is_name(name)) {
            let text = text.trim();
            let value = if text.is_empty() {
                Value::Array(Vec::new())
            } else {
                text.into()
            };
            fields.insert(name.to_owned(), value);
            last = Some(name.to_owned());
        }
    }
    fields
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
    #[case::a_colon("---\ndescription: Use it: now\n---\nBoil.", Some("Use it: now"), "Boil.")]
    #[case::no_line_of_it("---\n- [\n---\nBoil.", None, "Boil.")]
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
        let bomb = "---\na: &a [x]\nb: [*a, *a]\n---\nBoil.";
        assert_eq!(parts(bomb).metadata["b"], "[*a, *a]");
        let deep = "[".repeat(2000);
        assert_eq!(parts(&format!("---\na: {deep}\n---\n")).metadata["a"], deep);
    }

    #[test]
    fn heads_of_other_agents_are_read_line_by_line_where_they_are_no_yaml() {
        let file = "---\nargument-hint: [file] [line]\ntools:\n  - Read\n- Grep\nname: a\n  x: y\n---\n";
        let read = parts(file);
        assert_eq!(
            serde_json::to_value(&read.metadata).unwrap(),
            serde_json::json!({"argument-hint": "[file] [line]", "tools": ["Read", "Grep"], "name": "a"})
        );
        assert_eq!(read.head.argument_hint.unwrap().written(), "[file] [line]");
        let list = parts("---\nargument-hint: [file]\n---\n").head.argument_hint;
        assert_eq!(list.unwrap().written(), "[file]");
    }

    #[rstest]
    #[case::none("Look.", false)]
    #[case::yaml("---\ntools: [a]\n---\n", false)]
    #[case::lines("---\nhint: [a] [b]\ntools: [a]\n---\n", true)]
    #[case::within("---\nhint: [a] [b]\n{x: y, 'tools' : [a]}\n---\n", true)]
    #[case::other_lines("---\nhint: [a] [b]\nmy_retools: a\nname: tools\n---\n", false)]
    #[case::open("---\ntools: a\n", true)]
    #[case::open_with_a_blank("--- \ntools: a\n---\n", true)]
    fn fields_that_were_not_read_as_written_may_be_lacking(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(parts(text).reading.may_lack(&["tools"]), expected);
        let long = format!("---\n# {}\n---\n", "x".repeat(MAX_BYTES));
        assert_eq!(parts(&long).reading, Reading::Unread);
    }
}
