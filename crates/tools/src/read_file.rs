//! `ReadFile`: lines of a text file.

use std::fs::Metadata;
use std::io::{self, BufRead as _, BufReader};
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
use super::numbered::{Part, USUAL_LINES, numbered};
use super::paths::{Access, Target, locate};
use super::replace_file::seen_as;
use bobbin_files::open_file;

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
    #[serde(default)]
    column: Option<u64>,
}

impl ReadFile {
    pub(super) fn new(work: FileWork) -> Self {
        let spec = spec(
            "ReadFile",
            Effect::Reads,
            "Reads a text file. Each line comes as its number, a tab and its text; the number and the tab are not in the \
             file. At most 2,000 lines, and less of large files: read on with offset, or search for what you need. \
             Long lines are cut: read on with offset and column.",
            &["path"],
            &serde_json::json!({
                "path": { "type": "string", "description": "Path, relative to the workspace or absolute." },
                "offset": { "type": "integer", "minimum": 1, "description": "First line, counted from 1." },
                "limit": { "type": "integer", "minimum": 1, "description": "Most lines; 2,000 when left out." },
                "column": { "type": "integer", "minimum": 1, "description": "First character of the first line, to read on in a long line." },
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
            let part = Part {
                first: arguments.offset.unwrap_or(1).max(1),
                column: arguments.column,
                limit: arguments.limit.unwrap_or(USUAL_LINES),
                max_bytes: context.max_bytes,
            };
            if let Some(editor) = editor
                && let Some(path) = target.confirmed().await
                && let Some(text) = editor.read(&path, arguments.offset, arguments.limit).await
            {
                let mut output = done(part_of_editor(&text, part));
                output.seen.extend(work.seen(&path).await);
                return output;
            }
            let patience = Patience::new(MAX_TIME, context.cancel);
            let read = move || {
                let path = target.confirm()?;
                read_part(path, part, &patience)
                    .map(|(text, found)| ToolOutput {
                        seen: vec![seen_as(path, &found)],
                        ..done(text)
                    })
                    .map_err(|error| format!("cannot read {}: {error}", target.shown()))
            };
            work.run(read).await
        }
        .boxed()
    }
}

/// Returns a part of a file, and the file as it was when it was opened.
fn read_part(path: &Path, part: Part, patience: &Patience) -> io::Result<(String, Metadata)> {
    let file = match open_file(path) {
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            return Err(io::Error::other("it is a directory; use FindFiles"));
        }
        opened => opened?,
    };
    let found = file.metadata()?;
    let file = Patient::new(file, patience);
    let mut file = BufReader::with_capacity(PROBE_BYTES, file);
    if file.fill_buf()?.contains(&0) {
        return Err(io::Error::other(format!(
            "it is a binary file of {} bytes",
            found.len()
        )));
    }
    for skipped in 1..part.first {
        if file.skip_until(b'\n')? == 0 {
            return Ok((format!("[the file has only {} lines]", skipped - 1), found));
        }
    }
    let shown = numbered(&mut file, part)?;
    let shown = match (shown.is_empty(), part.first) {
        (false, _) => shown,
        (true, 1) => "[empty]".to_owned(),
        (true, first) => format!("[the file has only {} lines]", first - 1),
    };
    Ok((shown, found))
}

/// Returns the lines that an editor returned for a file, from the part's first line on.
fn part_of_editor(text: &str, part: Part) -> String {
    // Reading from memory cannot fail.
    let shown = numbered(&mut text.as_bytes(), part).unwrap_or_default();
    match (shown.is_empty(), part.first) {
        (false, _) => shown,
        (true, 1) => "[empty]".to_owned(),
        (true, _) => "[the file ends before that line]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::tool::MAX_RESULT_BYTES;

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
        assert_eq!(
            (whole.text.as_str(), whole.success),
            ("1\t1\n2\t2\n3\t3\n4\t4\n", true)
        );
        let part = read(
            &workspace,
            serde_json::json!({ "path": "a.txt", "offset": 2, "limit": 2 }),
        )
        .await;
        assert_eq!(part.text, "2\t2\n3\t3\n[the file goes on at offset 4]");
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
            assert!(part.len() <= MAX_RESULT_BYTES);
            let note = part.rsplit_once("[the file").map_or("", |(_, note)| note);
            let text = |line: &str| line.split_once('\t').unwrap().1.to_owned();
            seen.extend(part.lines().filter(|line| !line.starts_with('[')).map(text));
            let Some((_, next)) = note.rsplit_once(' ') else {
                break;
            };
            offset = next.trim_end_matches(']').parse().unwrap();
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
        let part = Part {
            first: 2,
            column: None,
            limit: 1,
            max_bytes: MAX_RESULT_BYTES,
        };
        let far = |patience| read_part(&path, part, patience);
        assert_eq!(far(&patience).unwrap().0, "[the file has only 1 lines]");
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
