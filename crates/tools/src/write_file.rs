//! `WriteFile`: a whole file, new or replaced.

use std::borrow::Cow;
use std::path::PathBuf;

use bobbin_agent_api::client::ClientFailure;
use bobbin_agent_api::tool::{
    CallContext, ChangedFile, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput,
    ToolRefusal, ToolSpec, Touches,
};
use bobbin_model::{CallPreview, Json};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::arguments::{decode, done, spec};
use super::blocking::FileWork;
use super::editor::EditorOf;
use super::editor_write::{self, Next, written_here};
use super::paths::{Access, Target, locate};
use super::replace_file::{has_crlf_lines, read_whole, replace, seen, to_crlf};
use bobbin_files::Leftovers;
use bobbin_undo::preview;

/// The byte order mark.
const MARK: char = '\u{feff}';

#[derive(Debug)]
pub(super) struct WriteFile {
    spec: ToolSpec,
    work: FileWork,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

impl WriteFile {
    pub(super) fn new(work: FileWork) -> Self {
        let spec = spec(
            "WriteFile",
            Effect::Writes,
            "Writes a whole file: a new one with its directories, or one that you have read and that is to be replaced. \
             To change a part of a file, use EditFile or ApplyPatch.",
            &["path", "content"],
            &serde_json::json!({
                "path": { "type": "string", "description": "Path, relative to the workspace or absolute." },
                "content": { "type": "string", "description": "All of the file." },
            }),
        );
        Self { spec, work }
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: Arguments = decode(arguments)?;
        let (target, permission) = locate(environment, &arguments.path, Access::Write)?;
        Ok(Box::new(Prepared {
            target,
            permission,
            content: arguments.content,
            work: self.work.clone(),
            editor: EditorOf::find(&environment.clients, |can| can.write),
        }))
    }
}

struct Prepared {
    target: Target,
    permission: Permission,
    content: String,
    work: FileWork,
    editor: Option<EditorOf>,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn preview(&self) -> BoxFuture<'_, Option<CallPreview>> {
        let (target, content) = (self.target.clone(), self.content.clone());
        let look = move || {
            let path = target.confirm().ok()?;
            let before = read_whole(path).ok()?;
            let content = in_form_of(before.as_deref(), &content);
            preview(path, before.as_deref(), content.as_bytes())
        };
        self.work.clone().look(look).boxed()
    }

    fn must_know(&self) -> Option<PathBuf> {
        Some(self.target.path().to_owned())
    }

    fn touches(&self) -> Touches {
        Touches::Files(vec![self.target.path().to_owned()])
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        let Self {
            target,
            content,
            work,
            editor,
            ..
        } = *self;
        async move {
            let (mut over, mut why) = (Over::Anything, None);
            if let Some(editor) = editor {
                match write_in_editor(&editor, &work, &target, &content, &context.cancel).await {
                    InEditor::Done(output) => return *output,
                    InEditor::Not(what, failure) => (over, why) = (what, failure),
                }
            }
            let leftovers = work.leftovers().clone();
            let write = move || {
                write(&target, &content, &over, &leftovers)
                    .map_err(|error| format!("cannot write {}: {error}", target.shown()))
            };
            written_here(work.run(write).await, why.as_ref())
        }
        .boxed()
    }
}

/// The result of a write in an editor.
enum InEditor {
    /// The editor has written it, or the call has failed.
    Done(Box<ToolOutput>),
    /// The editor has not: the tool writes the file. The failure is the editor's, if it was asked.
    Not(Over, Option<ClientFailure>),
}

/// The content that a write may replace.
enum Over {
    Anything,
    /// Exactly this content; `None` if the file must not exist.
    This(Option<Vec<u8>>),
}

/// Asks an editor to write the file.
async fn write_in_editor(
    editor: &EditorOf,
    work: &FileWork,
    target: &Target,
    content: &str,
    cancel: &CancellationToken,
) -> InEditor {
    let Some(path) = target.confirmed().await else {
        return InEditor::Not(Over::Anything, None);
    };
    let Some(before) = work.before(&path).await else {
        return InEditor::Not(Over::Anything, None);
    };
    let shown = target.shown();
    let content = &*in_form_of(before.as_deref(), content);
    match editor_write::write(editor, work, &path, before.as_deref(), content, &shown, cancel).await {
        Next::Here(why) => InEditor::Not(Over::Anything, Some(why)),
        Next::HereIfUnchanged(why) => InEditor::Not(Over::This(before), Some(why)),
        Next::Reported(output) => InEditor::Done(output),
        Next::Nothing => {
            let mut output = done(wrote(target, before.is_none(), content));
            output.seen.extend(work.seen(&path).await);
            output.changed.push(ChangedFile { path, before });
            InEditor::Done(Box::new(output))
        }
    }
}

fn wrote(target: &Target, is_new: bool, content: &str) -> String {
    let what = if is_new { "created" } else { "replaced" };
    format!(
        "{what} {} ({} lines, {} bytes)",
        target.shown(),
        content.lines().count(),
        content.len()
    )
}

fn write(target: &Target, content: &str, over: &Over, leftovers: &Leftovers) -> Result<ToolOutput, String> {
    let path = target.confirm()?;
    let before = read_whole(path)?;
    if matches!(over, Over::This(expected) if *expected != before) {
        return Err("the file has changed meanwhile; read it again".to_owned());
    }
    let content = in_form_of(before.as_deref(), content);
    replace(path, before.as_deref(), content.as_bytes(), leftovers)?;
    let text = wrote(target, before.is_none(), &content);
    let mut output = done(text);
    output.seen.extend(seen(path));
    output.changed.push(ChangedFile {
        path: path.to_owned(),
        before,
    });
    Ok(output)
}

/// Returns a content with the line ends and the byte order mark of the file that it replaces: models write neither.
fn in_form_of<'a>(before: Option<&[u8]>, content: &'a str) -> Cow<'a, str> {
    let Some(before) = before.and_then(|before| std::str::from_utf8(before).ok()) else {
        return Cow::Borrowed(content);
    };
    let mut content = Cow::Borrowed(content);
    if has_crlf_lines(before) {
        content = Cow::Owned(to_crlf(&content));
    }
    if before.starts_with(MARK) && !content.starts_with(MARK) {
        content = Cow::Owned(format!("{MARK}{content}"));
    }
    content
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Workspace;

    #[tokio::test]
    async fn a_file_is_created_with_its_directories_and_replaced_with_its_past_told() {
        let workspace = Workspace::new();
        let tool = WriteFile::new(FileWork::new());
        let first = workspace
            .call(&tool, json!({ "path": "a/b/c.txt", "content": "one\n" }))
            .await;
        assert!(first.success, "{}", first.text);
        assert_eq!(first.text, "created a/b/c.txt (1 lines, 4 bytes)");
        assert_eq!(first.changed[0].before, None);
        let second = workspace
            .call(&tool, json!({ "path": "a/b/c.txt", "content": "two" }))
            .await;
        assert_eq!(second.changed[0].before.as_deref(), Some(&b"one\n"[..]));
        assert_eq!(workspace.read("a/b/c.txt"), "two");
    }

    #[tokio::test]
    async fn what_it_would_write_is_shown_and_nothing_is_touched() {
        let workspace = Workspace::new();
        workspace.write("old", "a\nb\n");
        let tool = WriteFile::new(FileWork::new());
        let preview = async |path: &str| {
            let arguments = Workspace::json(&json!({ "path": path, "content": "a\nc\n" }));
            let prepared = tool.prepare(&arguments, &workspace.environment()).unwrap();
            prepared.preview().await
        };
        let changed = preview("old").await.unwrap();
        assert_eq!(changed.diff, "@@ -1,2 +1,2 @@\n a\n-b\n+c");
        let new = preview("deep/new").await.unwrap();
        assert_eq!((new.additions, new.deletions), (2, 0));
        assert!(new.path.ends_with("/deep/new"), "{}", new.path);
        assert_eq!(workspace.read("old"), "a\nb\n");
        assert!(!workspace.root().join("deep").exists());
    }

    #[tokio::test]
    async fn line_ends_and_the_byte_order_mark_of_a_replaced_file_stay() {
        let workspace = Workspace::new();
        workspace.write("dos", "\u{feff}a\r\nb\r\n");
        let tool = WriteFile::new(FileWork::new());
        let output = workspace
            .call(&tool, json!({ "path": "dos", "content": "x\ny\n" }))
            .await;
        assert_eq!(workspace.read("dos"), "\u{feff}x\r\ny\r\n");
        assert_eq!(output.text, "replaced dos (2 lines, 9 bytes)");
        assert!(output.seen[0].path.ends_with("/dos") && output.seen[0].fingerprint.starts_with("9-"));
        workspace.write("mixed", "a\r\nb\n");
        workspace
            .call(&tool, json!({ "path": "mixed", "content": "x\ny\n" }))
            .await;
        assert_eq!(workspace.read("mixed"), "x\ny\n");
    }

    #[tokio::test]
    async fn a_directory_is_not_written_over() {
        let workspace = Workspace::new();
        workspace.write("a/b", "x");
        let tool = WriteFile::new(FileWork::new());
        for path in ["a", "a/b/c"] {
            let prepared = tool.prepare(
                &Workspace::json(&json!({ "path": path, "content": "" })),
                &workspace.environment(),
            );
            let Ok(prepared) = prepared else { continue };
            assert!(!prepared.run(Workspace::context()).await.success, "{path}");
        }
        assert_eq!(workspace.read("a/b"), "x");
    }

    #[test]
    fn inside_is_free_and_state_is_refused() {
        let workspace = Workspace::new();
        let tool = WriteFile::new(FileWork::new());
        let prepare = |path: &str| {
            tool.prepare(
                &Workspace::json(&json!({ "path": path, "content": "" })),
                &workspace.environment(),
            )
            .map(|call| call.permission())
        };
        assert_eq!(prepare("x").unwrap(), Permission::Free);
        assert!(matches!(prepare("/etc/x").unwrap(), Permission::Ask { .. }));
        assert!(prepare(".git/hooks/pre-commit").is_err());
    }
}
