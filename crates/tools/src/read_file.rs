//! `ReadFile`: lines of a text file.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::time::Duration;

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::Json;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::arguments::{decode, done, spec};
use super::blocking::{FileWork, Patience, Patient};
use super::editor::EditorOf;
use super::paths::{Access, Target, locate};
use bobbin_agent_api::cut::head;
use bobbin_files::open_file;

/// Most bytes given to the model.
const MAX_BYTES: usize = 256 << 10;
/// Bytes examined to detect a binary file.
const PROBE_BYTES: usize = 8 << 10;
/// Longest read: most of the time is the search for a far line.
const MAX_TIME: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct ReadFile {
    spec: ToolSpec,
    work: FileWork,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    limit: Option<u64>,
}

impl ReadFile {
    pub(super) fn new(work: FileWork) -> Self {
        let spec = spec(
            "ReadFile",
            Effect::Reads,
            "Reads a text file. Large files are cut; read on with offset.",
            &["path"],
            &serde_json::json!({
                "path": { "type": "string", "description": "Path, relative to the workspace or absolute." },
                "offset": { "type": "integer", "minimum": 1, "description": "First line, counted from 1." },
                "limit": { "type": "integer", "minimum": 1, "description": "Most lines." },
            }),
        );
        Self { spec, work }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: Arguments = decode(arguments)?;
        let (target, permission) = locate(environment, &arguments.path, Access::Read)?;
        Ok(Box::new(Prepared {
            target,
            permission,
            arguments,
            work: self.work.clone(),
            editor: EditorOf::find(&environment.clients, |can| can.read),
        }))
    }
}

struct Prepared {
    target: Target,
    permission: Permission,
    arguments: Arguments,
    work: FileWork,
    editor: Option<EditorOf>,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        let Self {
            target,
            arguments,
            work,
            editor,
            ..
        } = *self;
        async move {
            let first = arguments.offset.unwrap_or(1).max(1);
            if let Some(editor) = editor
                && let Some(path) = target.confirmed().await
                && let Some(text) = editor.read(&path, arguments.offset, arguments.limit).await
            {
                return done(lines_of_editor(&text, first));
            }
            let patience = Patience::new(MAX_TIME, context.cancel);
            let read = move || {
                let limit = arguments.limit.unwrap_or(u64::MAX);
                let path = target.confirm()?;
                read_lines(path, first, limit, &patience)
                    .map(done)
                    .map_err(|error| format!("cannot read {}: {error}", target.shown()))
            };
            work.run(read).await
        }
        .boxed()
    }
}

fn read_lines(path: &Path, first: u64, limit: u64, patience: &Patience) -> io::Result<String> {
    let file = match open_file(path) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            return Err(io::Error::other("it is a directory; use FindFiles"));
        }
        opened => opened?,
    };
    let bytes = file.metadata()?.len();
    let file = Patient::new(file, patience);
    let mut file = BufReader::with_capacity(PROBE_BYTES, file);
    if file.fill_buf()?.contains(&0) {
        return Err(io::Error::other(format!("it is a binary file of {bytes} bytes")));
    }
    for skipped in 1..first {
        if file.skip_until(b'\n')? == 0 {
            return Ok(format!("[the file has only {} lines]", skipped - 1));
        }
    }
    let mut text = Vec::new();
    for line in 0..limit {
        let room = MAX_BYTES - text.len();
        let read = file.by_ref().take(room as u64).read_until(b'\n', &mut text)?;
        if text.len() == MAX_BYTES {
            return cut(text, first + line, &mut file);
        }
        if read == 0 {
            break;
        }
    }
    if text.is_empty() && first > 1 {
        return Ok(format!("[the file has only {} lines]", first - 1));
    }
    if text.is_empty() {
        return Ok("[empty]".to_owned());
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the lines that an editor returned for a file, from a line on, within the bound.
fn lines_of_editor(text: &str, first: u64) -> String {
    if text.is_empty() {
        let nothing = if first > 1 {
            "[the file ends before that line]"
        } else {
            "[empty]"
        };
        return nothing.to_owned();
    }
    if text.len() <= MAX_BYTES {
        return text.to_owned();
    }
    let (head, _) = head(text, MAX_BYTES);
    let whole = head.rfind('\n').map_or(head, |end| &head[..end]);
    let next = first + whole.lines().count() as u64;
    format!(
        "{whole}\n[cut at {} KiB; the file goes on at offset {next}]",
        MAX_BYTES >> 10
    )
}

/// Returns text that filled its bound, with a note on the next line to read.
fn cut(mut text: Vec<u8>, last_line: u64, file: &mut impl io::BufRead) -> io::Result<String> {
    if file.fill_buf()?.is_empty() {
        return Ok(String::from_utf8_lossy(&text).into_owned());
    }
    let whole = text.ends_with(b"\n");
    let next = if whole { last_line + 1 } else { last_line };
    // An incomplete last line is left for the next call, unless it is longer than the bound itself.
    let end = text
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(text.len(), |at| at + 1);
    let next = if end == text.len() && !whole {
        next + 1
    } else {
        next
    };
    text.truncate(end);
    Ok(format!(
        "{}\n[cut at {} KiB; the file goes on at offset {next}]",
        String::from_utf8_lossy(&text).trim_end_matches('\n'),
        MAX_BYTES >> 10,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Workspace;

    async fn read(workspace: &Workspace, arguments: serde_json::Value) -> ToolOutput {
        workspace.call(&ReadFile::new(FileWork::new()), arguments).await
    }

    #[tokio::test]
    async fn a_file_is_read_whole_or_by_lines() {
        let workspace = Workspace::new();
        workspace.write("a.txt", "1\n2\n3\n4");
        let whole = read(&workspace, serde_json::json!({ "path": "a.txt" })).await;
        assert_eq!((whole.text.as_str(), whole.success), ("1\n2\n3\n4", true));
        let part = read(
            &workspace,
            serde_json::json!({ "path": "a.txt", "offset": 2, "limit": 2 }),
        )
        .await;
        assert_eq!(part.text, "2\n3\n");
        let past = read(&workspace, serde_json::json!({ "path": "a.txt", "offset": 9 })).await;
        assert_eq!(past.text, "[the file has only 4 lines]");
    }

    #[tokio::test]
    async fn a_large_file_is_cut_at_a_line_and_can_be_read_on() {
        let workspace = Workspace::new();
        let lines: Vec<String> = (1..=40_000).map(|n| format!("line {n}")).collect();
        workspace.write("big.txt", &lines.join("\n"));
        let mut offset = 1;
        let mut seen = Vec::new();
        loop {
            let part = read(
                &workspace,
                serde_json::json!({ "path": "big.txt", "offset": offset }),
            )
            .await
            .text;
            assert!(part.len() < MAX_BYTES + 100);
            let Some((text, note)) = part.split_once("\n[cut at") else {
                seen.extend(part.lines().map(ToOwned::to_owned));
                break;
            };
            seen.extend(text.lines().map(ToOwned::to_owned));
            offset = note
                .trim_end_matches(']')
                .rsplit(' ')
                .next()
                .unwrap()
                .parse()
                .unwrap();
        }
        assert_eq!(seen, lines);
    }

    #[test]
    fn a_file_without_an_end_of_line_is_given_up_as_well() {
        let workspace = Workspace::new();
        workspace.write("endless", &"x".repeat(PROBE_BYTES * 4));
        let stop = tokio_util::sync::CancellationToken::new();
        let patience = Patience::new(MAX_TIME, stop.clone());
        let path = workspace.root().join("endless");
        let far = |patience| read_lines(&path, 2, 1, patience);
        assert_eq!(far(&patience).unwrap(), "[the file has only 1 lines]");
        stop.cancel();
        assert_eq!(far(&patience).unwrap_err().to_string(), "it took too long");
    }

    #[tokio::test]
    async fn what_is_not_text_in_a_file_is_a_failure() {
        let workspace = Workspace::new();
        workspace.write("bin", "a\0b");
        for path in ["bin", ".", "missing"] {
            let output = read(&workspace, serde_json::json!({ "path": path })).await;
            assert!(!output.success, "{path}: {}", output.text);
        }
    }
}
