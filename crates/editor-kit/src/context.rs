//! What a prompt brings along, as bounded texts and pictures for the engine. Blocking.
//!
//! A context that cannot be read never fails the prompt: it comes with the reason.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_agent_api::picture::{MAX_PICTURE_BYTES, media_type};
use nix::fcntl::OFlag;
use serde::Deserialize;
use serde_json::Value;

use bobbin_files::search::{self, FoundPath};

/// Most bytes of one context.
const MAX_BYTES: usize = 64 << 10;
/// Most bytes of a label: a path is rarely longer, and one that is cut still says what it was.
const MAX_LABEL: usize = 1 << 10;
/// Most bytes of the note on a cut.
const MAX_NOTE: usize = 64;
/// Most bytes of all contexts of a prompt (with [`MAX_BYTES`] a guess: what a model's window has room for).
const MAX_ALL_BYTES: usize = 256 << 10;
/// Most bytes of all pictures of a prompt: what a conversation shows to a model.
const MAX_ALL_PICTURES: usize = 12 << 20;
/// Most contexts of a prompt.
const MAX_CONTEXTS: usize = 64;
/// Most paths in a listing.
const MAX_PATHS: usize = 500;
/// Why what a disk does not hand over in time is not read.
pub(crate) const TOO_LONG: &str = "reading took too long";
/// Longest line that is searched for its end.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Something attached to a prompt. Its serialized form is that of ECA; other dialects make it from their own.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Context {
    /// A file, or some lines of it.
    File {
        /// Absolute, or relative to the workspace.
        path: String,
        /// `None`: all of it.
        lines_range: Option<LinesRange>,
    },
    /// A directory: what is in it, and the texts of its files.
    Directory {
        /// Absolute, or relative to the workspace.
        path: String,
    },
    /// A page of the web.
    Web {
        /// Its address.
        url: String,
    },
    /// The files of the workspace.
    RepoMap,
    /// Where the cursor is, or what is selected.
    Cursor {
        /// The file.
        path: String,
        /// Where in it.
        position: Position,
    },
    /// A resource of a tool server.
    McpResource {
        /// Its address there.
        uri: String,
        /// The server's name.
        server: String,
    },
    /// A picture that the client brings along.
    Image {
        /// Its bytes.
        base64: String,
    },
    /// A text that the client brings along.
    Text {
        /// What the model reads as its name.
        label: Option<String>,
        /// The text.
        content: String,
    },
}

/// Lines, counted from 1, both ends included.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct LinesRange {
    /// The first line.
    pub start: u64,
    /// The last line.
    pub end: u64,
}

/// A place or a selection.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Position {
    /// Where it starts.
    pub start: Place,
    /// Where it ends.
    pub end: Place,
}

/// A place in a file, in the numbers of the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Place {
    /// Its line.
    pub line: u64,
    /// Its character in the line.
    pub character: u64,
}

/// What was read of a context: its label, and what it is.
pub(crate) type Labelled = (String, Loaded);

/// The content of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Loaded {
    Text(String),
    /// The bytes of a picture, not looked at any further.
    Picture(Vec<u8>),
    /// Why there is nothing, to follow a colon.
    Unread(String),
}

impl Context {
    /// Returns the contexts that a client attached, without those of unknown kinds and those that name nothing.
    pub fn decode(contexts: Vec<Value>) -> Vec<Self> {
        let known = contexts.into_iter().take(MAX_CONTEXTS).filter_map(|value| {
            let context = serde_json::from_value::<Self>(value);
            context
                .inspect_err(|error| tracing::info!(%error, "a context was skipped"))
                .ok()
        });
        known
            .filter(|context| !context.name().trim().is_empty())
            .collect()
    }

    /// Returns the name by which the user knows it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File { path, .. } | Self::Directory { path } | Self::Cursor { path, .. } => path.clone(),
            Self::Web { url } => url.clone(),
            Self::McpResource { uri, .. } => uri.clone(),
            Self::RepoMap => "repoMap".to_owned(),
            Self::Image { .. } => "picture".to_owned(),
            Self::Text { label, .. } => label.clone().unwrap_or_else(|| "text".to_owned()),
        }
    }

    /// Returns it as one that could not be read.
    pub(crate) fn unread(&self, why: impl Into<String>) -> Labelled {
        (self.name(), Loaded::Unread(why.into()))
    }
}

/// Reads what is on this machine, in its order; `None` for what is not. Each is handed over as soon as it is read; nothing
/// is started after `until`.
pub(crate) fn read(
    contexts: &[Context],
    root: &Path,
    until: Instant,
    mut done: impl FnMut(Option<Labelled>),
) {
    for context in contexts {
        let near = || one(context, root, until).unwrap_or_else(|why| context.unread(why));
        done((!is_far(context)).then(near));
    }
}

/// Whether somebody else has to be asked for a context.
pub(crate) fn is_far(context: &Context) -> bool {
    matches!(context, Context::Web { .. } | Context::McpResource { .. })
}

/// Returns what there is room for, in its order.
pub(crate) fn fitting(contexts: impl IntoIterator<Item = Labelled>) -> Vec<Labelled> {
    let (mut left, mut left_of_pictures) = (MAX_ALL_BYTES, MAX_ALL_PICTURES);
    let mut fitting = Vec::new();
    for (label, content) in contexts {
        let text = match content {
            Loaded::Picture(bytes) if bytes.len() <= left_of_pictures => {
                left_of_pictures -= bytes.len();
                fitting.push((shortened(label), Loaded::Picture(bytes)));
                continue;
            }
            Loaded::Picture(_) => {
                fitting.push(left_out(label, "there are too many pictures"));
                continue;
            }
            Loaded::Unread(why) => {
                fitting.push(left_out(label, why));
                continue;
            }
            Loaded::Text(text) => text,
        };
        // What was cut already has a note behind it.
        let text = if text.len() > MAX_BYTES + MAX_NOTE {
            let size = text.len() as u64;
            cut(text, size)
        } else {
            text
        };
        let label = shortened(label);
        if label.len() + text.len() > left {
            fitting.push(left_out(label, "there is no room for it beside the others"));
            continue;
        }
        left -= label.len() + text.len();
        fitting.push((label, Loaded::Text(text)));
    }
    fitting
}

fn left_out(label: String, why: impl Into<String>) -> Labelled {
    let (label, why) = (shortened(label), shortened(why.into()));
    tracing::info!(label, why, "a context was not read");
    (label, Loaded::Unread(why))
}

fn shortened(mut label: String) -> String {
    if label.len() > MAX_LABEL {
        let end = (0..=MAX_LABEL).rev().find(|at| label.is_char_boundary(*at));
        label.truncate(end.unwrap_or(0));
        label.push('…');
    }
    label
}

/// Reads one.
fn one(context: &Context, root: &Path, until: Instant) -> Result<Labelled, String> {
    in_time(until)?;
    match context {
        Context::File { path, lines_range } => file(&root.join(path), *lines_range, until),
        Context::Directory { path } => directory(&root.join(path), until),
        Context::RepoMap => {
            let (text, _) = listing(root)?;
            Ok(("repoMap".to_owned(), Loaded::Text(text)))
        }
        Context::Cursor { path, position } => Ok(cursor(&root.join(path), *position)),
        Context::Web { .. } | Context::McpResource { .. } => Err("it is not on this machine".to_owned()),
        Context::Image { base64 } => {
            // One that is too large is refused by its store, which says so.
            let bytes = STANDARD
                .decode(base64.trim())
                .map_err(|error| format!("it is not base64: {error}"))?;
            Ok(("picture".to_owned(), Loaded::Picture(bytes)))
        }
        Context::Text { label, content } => {
            let label = label.clone().unwrap_or_else(|| "text".to_owned());
            Ok((label, Loaded::Text(cut(content.clone(), content.len() as u64))))
        }
    }
}

fn in_time(until: Instant) -> Result<(), String> {
    if Instant::now() < until {
        Ok(())
    } else {
        Err(TOO_LONG.to_owned())
    }
}

/// Opens a file that can be read at once. A pipe would wait for whoever writes to it, a device for its own reasons:
/// neither is opened, and one that takes the file's place in between is not waited for.
fn open(path: &Path) -> Result<(File, u64), String> {
    let is_file = |about: std::fs::Metadata| {
        let size = about.is_file().then_some(about.len());
        size.ok_or_else(|| "it is not a file".to_owned())
    };
    is_file(std::fs::metadata(path).map_err(reason)?)?;
    let opened = File::options()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
        .map_err(reason)?;
    let size = is_file(opened.metadata().map_err(reason)?)?;
    Ok((opened, size))
}

/// Returns why a file cannot be read, in words for the user.
#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn reason(error: std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::PermissionDenied => "Bobbin may not read it".to_owned(),
        ErrorKind::TimedOut => TOO_LONG.to_owned(),
        _ => error.to_string(),
    }
}

fn file(path: &Path, lines: Option<LinesRange>, until: Instant) -> Result<Labelled, String> {
    let (opened, file_bytes) = open(path)?;
    let shown = path.display();
    let (label, bytes, size) = match lines {
        None => {
            let mut bytes = Vec::new();
            let limit = MAX_BYTES as u64 + 1;
            let mut opened = opened.take(limit);
            opened.read_to_end(&mut bytes).map_err(reason)?;
            if media_type(&bytes).is_some() {
                opened.set_limit((MAX_PICTURE_BYTES + 1).saturating_sub(bytes.len()) as u64);
                opened.read_to_end(&mut bytes).map_err(reason)?;
                return Ok((shown.to_string(), Loaded::Picture(bytes)));
            }
            (shown.to_string(), bytes, file_bytes)
        }
        Some(LinesRange { start, end }) => {
            let bytes = lines_of(opened, start.max(1), end, until).map_err(reason)?;
            let size = bytes.len() as u64;
            (format!("{shown}:{start}-{end}"), bytes, size)
        }
    };
    if bytes.contains(&0) {
        return Err("it is not text".to_owned());
    }
    let text = cut(String::from_utf8_lossy(&bytes).into_owned(), size);
    Ok((label, Loaded::Text(text)))
}

/// Reads lines, counted from 1, both ends included; stops a little over the limit.
fn lines_of(file: File, start: u64, end: u64, until: Instant) -> std::io::Result<Vec<u8>> {
    let mut reader = BufReader::new(file);
    let mut kept = Vec::new();
    let mut number: u64 = 1;
    while number <= end && kept.len() <= MAX_BYTES {
        if Instant::now() >= until {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        let mut line = Vec::new();
        if reader
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)?
            == 0
        {
            break;
        }
        let ended = line.ends_with(b"\n");
        if number >= start {
            kept.extend(line);
        }
        // A line that was cut goes on.
        number += u64::from(ended);
    }
    Ok(kept)
}

/// Lists what is below a directory, then gives the text files in it, in their order, as far as there is room.
fn directory(path: &Path, until: Instant) -> Result<Labelled, String> {
    let (mut text, entries) = listing(path)?;
    for entry in entries.iter().filter(|entry| !entry.is_directory) {
        in_time(until)?;
        if text.len() > MAX_BYTES {
            break;
        }
        // What is no text, or cannot be read, is in the listing.
        if let Ok((_, Loaded::Text(content))) = file(&entry.path, None, until) {
            let below = entry.path.strip_prefix(path).unwrap_or(&entry.path);
            let end = if content.ends_with('\n') { "" } else { "\n" };
            // Writing to a String cannot fail.
            let _ = write!(text, "\n--- {}\n{content}{end}", below.display());
        }
    }
    let size = text.len() as u64;
    Ok((path.display().to_string(), Loaded::Text(cut(text, size))))
}

/// Returns what is below a directory, as a text too.
fn listing(path: &Path) -> Result<(String, Vec<FoundPath>), String> {
    if !path.is_dir() {
        let why = std::fs::metadata(path).map_err(reason);
        return Err(why.map_or_else(|why| why, |_| "it is not a directory".to_owned()));
    }
    let mut entries = search::all_under(path, MAX_PATHS + 1);
    let more = entries.len() > MAX_PATHS;
    entries.truncate(MAX_PATHS);
    let mut text = format!("Files below {}:\n", path.display());
    for entry in &entries {
        let below = entry.path.strip_prefix(path).unwrap_or(&entry.path);
        text.push_str(&below.to_string_lossy());
        text.push_str(if entry.is_directory { "/\n" } else { "\n" });
    }
    if more {
        text.push_str("… and more\n");
    }
    let size = text.len() as u64;
    Ok((cut(text, size), entries))
}

/// Says where the cursor is, in the numbers of the editor.
fn cursor(path: &Path, Position { start, end }: Position) -> Labelled {
    let path = path.display();
    let label = format!("{path}:{}:{}", start.line, start.character);
    let at = format!("line {}, character {}", start.line, start.character);
    let text = if start == end {
        format!("The cursor is in {path} at {at}.")
    } else {
        let to = format!("line {}, character {}", end.line, end.character);
        format!("Selected in {path}: from {at} to {to}.")
    };
    (label, Loaded::Text(text))
}

/// Cuts a text at the limit, on a character, and says so.
fn cut(mut text: String, size: u64) -> String {
    if text.len() > MAX_BYTES {
        let end = (0..=MAX_BYTES).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        // Writing to a String cannot fail.
        let _ = write!(text, "\n[cut; {size} bytes in all]\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn texts(root: &Path, contexts: &Value) -> Vec<String> {
        let shown = root.display().to_string();
        let contexts = Context::decode(contexts.as_array().unwrap().clone());
        let (until, mut all) = (Instant::now() + Duration::from_mins(1), Vec::new());
        read(&contexts, root, until, |one| all.extend(one));
        fitting(all)
            .into_iter()
            .map(|(label, content)| match content {
                Loaded::Text(text) => format!("{label}|{text}").replace(&shown, "ROOT"),
                Loaded::Picture(bytes) => format!("{label}: {} bytes", bytes.len()).replace(&shown, "ROOT"),
                Loaded::Unread(why) => format!("{label}: {why}").replace(&shown, "ROOT"),
            })
            .collect()
    }

    #[test]
    fn every_kind_of_context_becomes_text() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir(root.join("src")).unwrap();
        std::fs::write(root.join("src/spout.rs"), "one\ntwo\nthree\nfour").unwrap();
        let spout = root.join("src/spout.rs");
        let place = |line, character| json!({ "line": line, "character": character });
        let contexts = json!([
            { "type": "file", "path": spout, "linesRange": { "start": 2, "end": 3 } },
            { "type": "file", "path": "src/spout.rs", "content": "foreign" },
            { "type": "file", "path": spout, "linesRange": { "start": 4, "end": 99 } },
            { "type": "directory", "path": root },
            { "type": "repoMap", "path": "x", "content": "foreign" },
            { "type": "cursor", "path": spout, "position": { "start": place(3, 1), "end": place(3, 1) } },
            { "type": "cursor", "path": spout, "position": { "start": place(1, 0), "end": place(2, 4) } },
            { "type": "text", "label": "note", "content": "warm" },
        ]);
        assert_eq!(
            texts(root, &contexts),
            [
                "ROOT/src/spout.rs:2-3|two\nthree\n",
                "ROOT/src/spout.rs|one\ntwo\nthree\nfour",
                "ROOT/src/spout.rs:4-99|four",
                "ROOT|Files below ROOT:\nsrc/\nsrc/spout.rs\n\n--- src/spout.rs\none\ntwo\nthree\nfour\n",
                "repoMap|Files below ROOT:\nsrc/\nsrc/spout.rs\n",
                "ROOT/src/spout.rs:3:1|The cursor is in ROOT/src/spout.rs at line 3, character 1.",
                "ROOT/src/spout.rs:1:0|Selected in ROOT/src/spout.rs: from line 1, character 0 to line 2, character 4.",
                "note|warm",
            ]
        );
    }

    #[test]
    fn pictures_are_pictures_whether_they_come_as_files_or_as_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 100]].concat();
        std::fs::write(dir.path().join("shot.png"), &png).unwrap();
        let huge = [&png, vec![0; MAX_PICTURE_BYTES].as_slice()].concat();
        std::fs::write(dir.path().join("huge"), huge).unwrap();
        let contexts = json!([
            { "type": "file", "path": "shot.png" },
            { "type": "image", "mediaType": "image/png", "base64": STANDARD.encode(&png) },
            { "type": "image", "mediaType": "image/png", "base64": "no" },
            { "type": "file", "path": "huge" }, { "type": "file", "path": "huge" }, { "type": "file", "path": "huge" },
            { "type": "file", "path": "huge" },
        ]);
        let huge = format!("ROOT/huge: {} bytes", MAX_PICTURE_BYTES + 1);
        assert_eq!(
            texts(dir.path(), &contexts),
            [
                "ROOT/shot.png: 108 bytes",
                "picture: 108 bytes",
                "picture: it is not base64: Invalid padding",
                &huge,
                &huge,
                &huge,
                "ROOT/huge: there are too many pictures",
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_comes_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("binary"), [0, 1, 2]).unwrap();
        nix::unistd::mkfifo(&dir.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let contexts = json!([
            { "type": "file", "path": "pipe" },
            { "type": "file", "path": "pipe", "linesRange": { "start": 1, "end": 2 } },
            "text", 7, null, {}, { "type": "teapot" }, { "type": "file" }, { "type": "file", "path": " " },
            { "type": "file", "path": "missing" }, { "type": "file", "path": "." },
            { "type": "file", "path": "binary" }, { "type": "file", "path": "/dev/zero" },
            { "type": "directory", "path": "missing" }, { "type": "cursor" }, { "type": "web" },
            { "type": "mcpResource", "uri": "u", "name": "n", "description": "", "mimeType": "", "server": "s" },
        ]);
        assert_eq!(
            texts(dir.path(), &contexts),
            [
                "pipe: it is not a file",
                "pipe: it is not a file",
                "missing: it does not exist",
                ".: it is not a file",
                "binary: it is not text",
                "/dev/zero: it is not a file",
                "missing: it does not exist",
            ]
        );
    }

    #[test]
    fn long_files_are_cut_and_many_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("long"), "é".repeat(MAX_BYTES)).unwrap();
        let one = json!({ "type": "file", "path": "long" });
        let texts = texts(dir.path(), &json!([one, one, one, one, one, one]));
        let (texts, left_out) = texts.split_at(3);
        assert!(
            left_out
                .iter()
                .all(|text| text.ends_with("/long: there is no room for it beside the others"))
        );
        assert!(texts[0].ends_with("\n[cut; 131072 bytes in all]\n"));
        assert!(texts.iter().map(String::len).sum::<usize>() <= MAX_ALL_BYTES + 3 * 100);
    }

    #[test]
    fn labels_are_cut_and_count_too() {
        let one = json!({ "type": "text", "label": "é".repeat(1 << 20), "content": "" });
        let all = texts(Path::new("/"), &Value::from(vec![one; 64]));
        assert_eq!(all.len(), 64);
        assert!(all.iter().all(|text| text.len() <= MAX_LABEL + 4));
        let page = ("x".repeat(MAX_ALL_BYTES), Loaded::Text("y".repeat(MAX_BYTES)));
        let texts = fitting(vec![page; 5]).into_iter();
        let texts = texts.filter(|(_, content)| matches!(content, Loaded::Text(_)));
        assert_eq!(texts.count(), 3, "labels leave no room for a fourth");
    }

    #[test]
    fn a_directory_has_the_texts_below_it_as_far_as_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in [
            (".gitignore", &b"hidden\n"[..]),
            ("hidden", b"x"),
            ("a", b"tea\n"),
            ("b", &[0]),
        ] {
            std::fs::write(dir.path().join(name), bytes).unwrap();
        }
        let all = texts(dir.path(), &json!([{ "type": "directory", "path": "." }]));
        assert!(all[0].ends_with("a\nb\n\n--- a\ntea\n"), "{all:?}");
        std::fs::write(dir.path().join("c"), "milk ".repeat(MAX_BYTES)).unwrap();
        std::fs::write(dir.path().join("d"), "never read").unwrap();
        let all = texts(dir.path(), &json!([{ "type": "directory", "path": "." }]));
        assert!(all[0].len() < MAX_BYTES + MAX_NOTE + 100 && !all[0].contains("never read"));
    }
}
