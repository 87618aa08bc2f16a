//! What the code has of the protocol, taken from the code.
//!
//! The names come from `wire`: its table of methods and its types. Whether the server does something about a name
//! is seen in the server's sources: a method's constant, an Item's payload, a capability's field or an error's
//! constructor that no source mentions is not served, whatever a table says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use bobbin_wire::{
    Availability, ClientCapabilities, Direction, ErrorCode, ItemPayload, METHODS, ServerCapabilities,
};
use schemars::{JsonSchema, SchemaGenerator};

use super::Section;

/// Rooms that describe the protocol or are no part of the server.
const NOT_THE_SERVER: [&str; 3] = ["wire", "testkit", "xtask"];
/// The room that answers some errors and takes some notifications by itself.
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
            let used = sources.dense.contains(&format!("capabilities.{}", snake(&name)));
            facts.add(Section::ClientCapabilities, &name, used);
        }
        let advertised = sources.advertised();
        for name in members::<ServerCapabilities>() {
            let used = advertised.contains(&format!("{}:", snake(&name)));
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
        for method in METHODS {
            let (section, module) = match method.direction {
                Direction::Request => (Section::Requests, "request"),
                Direction::ClientNotification => (Section::ClientNotifications, "client_notification"),
                Direction::Notification => (Section::Notifications, "notification"),
                Direction::ServerRequest => (Section::ServerRequests, "server_request"),
            };
            let constant = snake(method.name.trim_start_matches("$/")).to_uppercase();
            let used = sources.paths.contains(&(module.to_owned(), constant))
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
    /// The last two parts of every path: `("request", "THREAD_START")`, aliases resolved.
    paths: BTreeSet<(String, String)>,
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
        let alias = ["client_notification", "server_request", "notification", "request"]
            .into_iter()
            .find(|module| code.contains(&format!("{module} as method")));
        let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        for word in words {
            let mut parts = word.rsplit("::");
            let (Some(last), Some(module)) = (parts.next(), parts.next()) else {
                continue;
            };
            let module = match (module, alias) {
                ("method", Some(alias)) => alias,
                (module, _) => module,
            };
            self.paths.insert((module.to_owned(), last.to_owned()));
        }
    }

    /// What is said in `initialize`: the literals of the type, without white space.
    fn advertised(&self) -> String {
        let literals = self.dense.split("ServerCapabilities{").skip(1);
        literals.filter_map(|rest| rest.split("..").next()).collect()
    }
}

/// The source files of the server with the room they belong to, files of tests left out.
fn files(root: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    let crates = root.join("crates");
    for entry in fs::read_dir(&crates).with_context(|| crates.display().to_string())? {
        let room = entry?.file_name().to_string_lossy().into_owned();
        let src = crates.join(&room).join("src");
        if NOT_THE_SERVER.contains(&room.as_str()) || !src.is_dir() {
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
                } else if path.extension().is_some_and(|ext| ext == "rs") && !stem.ends_with("tests") {
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
    fn paths_are_seen_under_their_real_name() {
        let mut sources = Sources::default();
        sources.take_paths(
            "use bobbin_wire::{decode, method::request as method};\nmethod::THREAD_START => x(),",
        );
        sources.take_paths("use bobbin_wire::method;\nif *m == method::client_notification::INITIALIZED {}");
        for (module, constant) in [
            ("request", "THREAD_START"),
            ("client_notification", "INITIALIZED"),
        ] {
            let path = (module.to_owned(), constant.to_owned());
            assert!(sources.paths.contains(&path), "{sources:?}");
        }
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
