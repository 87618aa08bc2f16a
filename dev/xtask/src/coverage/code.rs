//! What the code has of the protocol, taken from the code.
//!
//! The names come from `native`: its table of methods and its types. Whether the server does something about a name
//! is seen in the server's sources: a notification's constant, an Item's payload, a capability's field or an error's
//! constructor that no source uses is not served, whatever a table says. A request is served by its row's handler.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bobbin_native::group::{Availability, Direction};
use bobbin_native::wire::{ClientCapabilities, ErrorCode, ItemPayload, ServerCapabilities};
use schemars::{JsonSchema, SchemaGenerator};

use super::Section;
use crate::groups::groups;

/// Where shapes of the protocol are described or named, which serves nothing.
const SHAPES: [&str; 2] = [
    "crates/native/src/wire",
    "crates/native/src/groups/item/payload.rs",
];
/// The crate that answers some errors and takes some notifications by itself.
const PEER: &str = "peer";

/// What there is.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Every name, and whether the server does something about it.
    pub(crate) there: BTreeMap<(Section, String), bool>,
    /// Where the code contradicts itself.
    pub(crate) complaints: Vec<String>,
}

impl Facts {
    /// Reads the sources of the repository at `root`.
    ///
    /// # Errors
    /// A file could not be read.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let sources = Sources::read(root)?;
        let mut facts = Self::default();
        facts.take_methods(&sources);
        for kind in ItemPayload::KINDS {
            let used = sources.paths.contains(&("ItemPayload".to_owned(), variant(kind)));
            facts.add(Section::ItemTypes, kind, used);
        }
        for name in members::<ClientCapabilities>() {
            let used = sources.reads(&format!("capabilities.{}", snake(&name)));
            facts.add(Section::ClientCapabilities, &name, used);
        }
        for name in members::<ServerCapabilities>() {
            let capability = format!("capabilities.{}", snake(&name));
            let used = sources.dense.contains(&format!("{capability}="))
                || sources
                    .dense
                    .contains(&format!("{capability}.get_or_insert_default()"));
            facts.add(Section::ServerCapabilities, &name, used);
        }
        for code in ErrorCode::ALL {
            let number = code.code().to_string();
            let used = sources
                .dense
                .contains(&format!("RpcError::{}(", snake(&code.name())))
                || sources.peer.contains(&format!("={number};"));
            facts.add(Section::ErrorCodes, &number, used);
        }
        Ok(facts)
    }

    fn add(&mut self, section: Section, name: &str, served: bool) {
        self.there.insert((section, name.to_owned()), served);
    }

    fn take_methods(&mut self, sources: &Sources) {
        for method in groups().methods() {
            let section = match method.direction {
                Direction::Request => Section::Requests,
                Direction::ClientNotification => Section::ClientNotifications,
                Direction::Notification => Section::Notifications,
                Direction::ServerRequest => Section::ServerRequests,
            };
            let used = method.direction == Direction::Request
                || sources.uses_constant(method.name)
                || sources.peer.contains(&format!("\"{}\"", method.name));
            let promised = method.availability == Availability::Now;
            if used != promised {
                self.complaints.push(format!(
                    "the table of methods says {:?} of `{}`, and the server's sources {} it",
                    method.availability,
                    method.name,
                    if used { "mention" } else { "do not mention" },
                ));
            }
            self.add(section, method.name, used && promised);
        }
    }
}

/// The server's sources, as far as they are asked.
#[derive(Debug, Default)]
struct Sources {
    /// The last two parts of every path: `("ItemPayload", "Error")`.
    paths: BTreeSet<(String, String)>,
    /// How often each word stands there.
    words: BTreeMap<String, usize>,
    /// Everything, without white space.
    dense: String,
    /// What the peer says, without white space.
    peer: String,
}

impl Sources {
    fn read(root: &Path) -> anyhow::Result<Self> {
        let mut sources = Self::default();
        for (room, path) in files(root)? {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            // Tests inside a file are its end.
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let dense: String = code.split_whitespace().collect();
            if room == PEER {
                sources.peer.push_str(&dense);
                continue;
            }
            sources.take_paths(code);
            sources.dense.push_str(&dense);
        }
        Ok(sources)
    }

    fn take_paths(&mut self, code: &str) {
        let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        for word in words {
            let mut parts = word.trim_matches(':').rsplit("::");
            let Some(last) = parts.next() else { continue };
            *self.words.entry(last.to_owned()).or_default() += 1;
            if let Some(of) = parts.next() {
                self.paths.insert((of.to_owned(), last.to_owned()));
            }
        }
    }

    /// Whether a capability of the client is read: the same word is set where the server says its own.
    fn reads(&self, capability: &str) -> bool {
        let mut found = self.dense.match_indices(capability);
        found.any(|(at, text)| !self.dense[at + text.len()..].starts_with('='))
    }

    /// Whether the constant with a method's name is used beside its declaration and its row.
    fn uses_constant(&self, method: &str) -> bool {
        let Some((before, _)) = self.dense.split_once(&format!(":&str=\"{method}\";")) else {
            return false;
        };
        let constant = before.rsplit("const").next().unwrap_or_default();
        self.words.get(constant).is_some_and(|count| *count > 2)
    }
}

/// The source files of the server with the room they belong to, files of tests left out.
fn files(root: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    let crates = root.join("crates");
    for entry in fs::read_dir(&crates).with_context(|| crates.display().to_string())? {
        let room = entry?.file_name().to_string_lossy().into_owned();
        let src = crates.join(&room).join("src");
        if !src.is_dir() {
            continue;
        }
        let mut dirs = vec![src];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
                let path = entry?.path();
                let stem = path
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                if path.is_dir() {
                    dirs.push(path);
                } else if path.extension().is_some_and(|ext| ext == "rs")
                    && !stem.ends_with("tests")
                    && !SHAPES.iter().any(|shapes| path.starts_with(root.join(shapes)))
                {
                    files.push((room.clone(), path));
                }
            }
        }
    }
    Ok(files)
}

/// The members of a type on the wire.
fn members<T: JsonSchema>() -> Vec<String> {
    let schema = T::json_schema(&mut SchemaGenerator::default());
    let properties = schema.get("properties").and_then(|all| all.as_object());
    properties
        .map(|all| all.keys().cloned().collect())
        .unwrap_or_default()
}

/// `thread/queue/updated` and `eventCursors` as a source writes them: `thread_queue_updated`, `event_cursors`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        match c {
            '/' => snake.push('_'),
            c if c.is_ascii_uppercase() => {
                snake.push('_');
                snake.push(c.to_ascii_lowercase());
            }
            c => snake.push(c),
        }
    }
    snake
}

/// `userMessage` as an enum writes it.
fn variant(kind: &str) -> String {
    let mut chars = kind.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_sources_spell_them() {
        assert_eq!(snake("ext/acp/fs/readTextFile"), "ext_acp_fs_read_text_file");
        assert_eq!(variant("userMessage"), "UserMessage");
    }

    #[test]
    fn a_constant_is_used_where_it_is_neither_declared_nor_listed() {
        let mut sources = Sources::default();
        for code in [
            "pub(crate) const TEA_READY: &str = \"tea/ready\";",
            "notification::<Tea>(TEA_READY, x)",
        ] {
            assert!(!sources.uses_constant("tea/ready"));
            sources.take_paths(code);
            sources.dense.extend(code.split_whitespace());
        }
        assert!(!sources.uses_constant("tea/ready"));
        sources.take_paths("message(wire::TEA_READY, &params)");
        assert!(sources.uses_constant("tea/ready"));
    }

    #[test]
    fn every_part_of_the_protocol_has_names() {
        let facts = Facts::read(&crate::root()).unwrap();
        for section in [
            Section::Requests,
            Section::ClientNotifications,
            Section::Notifications,
            Section::ServerRequests,
            Section::ItemTypes,
            Section::ClientCapabilities,
            Section::ServerCapabilities,
            Section::ErrorCodes,
        ] {
            let served = facts
                .there
                .iter()
                .filter(|((of, _), served)| *of == section && **served);
            assert!(served.count() > 0, "{section:?}");
        }
    }
}
