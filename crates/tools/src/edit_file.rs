//! `EditFile`: replaces a text inside a file.

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

use super::arguments::{decode, done, failed, spec};
use super::blocking::FileWork;
use super::editor::EditorOf;
use super::editor_write::{self, Next, written_here};
use super::patch::{Hunk, Mark, patched};
use super::paths::{Access, Target, locate};
use super::replace_file::{has_crlf_lines, read_whole, replace, seen, to_crlf};
use bobbin_files::{Leftovers, MAX_FILE_BYTES};
use bobbin_undo::preview;

#[derive(Debug)]
pub(super) struct EditFile {
    spec: ToolSpec,
    work: FileWork,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

impl EditFile {
    pub(super) fn new(work: FileWork) -> Self {
        let spec = spec(
            "EditFile",
            Effect::Writes,
            "Replaces a text in a file that you have read. oldText must be in the file exactly once, unless replaceAll is \
             true: add lines around it to make it so. It has no line numbers. Line ends of the file stay.",
            &["path", "oldText", "newText"],
            &serde_json::json!({
                "path": { "type": "string", "description": "Path, relative to the workspace or absolute." },
                "oldText": { "type": "string", "description": "The text that is there, whitespace included." },
                "newText": { "type": "string", "description": "The text to put in its place." },
                "replaceAll": { "type": "boolean", "description": "Replace every occurrence." },
            }),
        );
        Self { spec, work }
    }
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: Arguments = decode(arguments)?;
        if arguments.old_text.is_empty() {
            return Err(ToolRefusal::Unusable(
                "oldText is empty; WriteFile writes whole files".to_owned(),
            ));
        }
        if arguments.old_text == arguments.new_text {
            return Err(ToolRefusal::Unusable(
                "oldText and newText are the same".to_owned(),
            ));
        }
        let (target, permission) = locate(environment, &arguments.path, Access::Edit)?;
        Ok(Box::new(Prepared {
            target,
            permission,
            arguments,
            work: self.work.clone(),
            editor: EditorOf::find(&environment.clients, |can| can.read && can.write),
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

    fn preview(&self) -> BoxFuture<'_, Option<CallPreview>> {
        let (target, arguments) = (self.target.clone(), self.arguments.clone());
        let look = move || {
            let path = target.confirm().ok()?;
            let before = read_whole(path).ok()??;
            let (after, _) = replaced(std::str::from_utf8(&before).ok()?, &arguments).ok()?;
            preview(path, Some(&before), after.as_bytes())
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
            arguments,
            work,
            editor,
            ..
        } = *self;
        async move {
            let mut why = None;
            if let Some(editor) = editor {
                match edit_in_editor(&editor, &work, &target, &arguments, &context.cancel).await {
                    InEditor::Done(output) => return *output,
                    InEditor::Not(failure) => why = failure,
                }
            }
            let leftovers = work.leftovers().clone();
            let edit = move || {
                edit(&target, &arguments, &leftovers)
                    .map_err(|error| format!("cannot edit {}: {error}", target.shown()))
            };
            written_here(work.run(edit).await, why.as_ref())
        }
        .boxed()
    }
}

/// The result of an edit in an editor.
enum InEditor {
    /// The editor has made it, or the call has failed.
    Done(Box<ToolOutput>),
    /// The editor has not: the tool edits the file. The failure is the editor's, if it was asked to write.
    Not(Option<ClientFailure>),
}

/// Asks an editor to change its version of the file.
async fn edit_in_editor(
    editor: &EditorOf,
    work: &FileWork,
    target: &Target,
    arguments: &Arguments,
    cancel: &CancellationToken,
) -> InEditor {
    let Some(path) = target.confirmed().await else {
        return InEditor::Not(None);
    };
    // A file that is missing, or that no tool may change, is not sent to the editor either.
    let Some(Some(before)) = work.before(&path).await else {
        return InEditor::Not(None);
    };
    let read = tokio::select! {
        biased;
        read = editor.read(&path, None, None) => read,
        () = cancel.cancelled() => {
            let text = format!("the turn was cancelled before {} was changed", target.shown());
            return InEditor::Done(Box::new(failed(text)));
        }
    };
    let Some(text) = read else {
        return InEditor::Not(None);
    };
    let (after, count) = match replaced(&text, arguments) {
        Ok(replaced) => replaced,
        Err(why) => {
            return InEditor::Done(Box::new(failed(format!("cannot edit {}: {why}", target.shown()))));
        }
    };
    let shown = target.shown();
    match editor_write::write(editor, work, &path, Some(&before), &after, &shown, cancel).await {
        Next::Here(why) => InEditor::Not(Some(why)),
        // The editor's version must equal the file on disk.
        Next::HereIfUnchanged(why) if text.as_bytes() == before => InEditor::Not(Some(why)),
        Next::HereIfUnchanged(_) => InEditor::Done(Box::new(failed(format!(
            "it is not known whether the editor changed {shown}: the file is as it was, and was not changed here, since \
             the editor had changes that were not saved"
        )))),
        Next::Reported(output) => InEditor::Done(output),
        Next::Nothing => {
            let mut output = changed(target, count);
            output.seen.extend(work.seen(&path).await);
            output.changed.push(ChangedFile {
                path,
                before: Some(before),
            });
            InEditor::Done(Box::new(output))
        }
    }
}

fn changed(target: &Target, count: usize) -> ToolOutput {
    let places = if count == 1 { "place" } else { "places" };
    done(format!("changed {} in {count} {places}", target.shown()))
}

fn edit(target: &Target, arguments: &Arguments, leftovers: &Leftovers) -> Result<ToolOutput, String> {
    let path = target.confirm()?;
    let before = read_whole(path)?.ok_or("there is no such file")?;
    let text = std::str::from_utf8(&before).map_err(|_| "it is not UTF-8 text")?;
    let (after, count) = replaced(text, arguments)?;
    replace(path, Some(&before), after.as_bytes(), leftovers)?;
    let mut output = changed(target, count);
    output.seen.extend(seen(path));
    output.changed.push(ChangedFile {
        path: path.to_owned(),
        before: Some(before),
    });
    Ok(output)
}

/// Returns the new content and how many texts were replaced.
fn replaced(text: &str, arguments: &Arguments) -> Result<(String, usize), String> {
    // Models write `\n`; in a file of `\r\n` lines, both texts are converted to its line ends.
    let (old, new) = if has_crlf_lines(text) {
        (to_crlf(&arguments.old_text), to_crlf(&arguments.new_text))
    } else {
        (arguments.old_text.clone(), arguments.new_text.clone())
    };
    let count = text.matches(&old).count();
    if count == 0 {
        return nearly(text, arguments).map(|after| (after, 1));
    }
    if count > 1 && !arguments.replace_all {
        return Err(format!(
            "oldText occurs {count} times; add surrounding lines to it or set replaceAll"
        ));
    }
    let grown = new
        .len()
        .saturating_sub(old.len())
        .saturating_mul(count)
        .saturating_add(text.len());
    if grown as u64 > MAX_FILE_BYTES {
        return Err(format!(
            "it would become larger than {} MiB",
            MAX_FILE_BYTES >> 20
        ));
    }
    Ok((text.replace(&old, &new), count))
}

/// Returns the new content for an oldText that fits the file's lines except for blanks, indentation or typographic signs.
fn nearly(text: &str, arguments: &Arguments) -> Result<String, String> {
    let (old, new) = (&arguments.old_text, &arguments.new_text);
    if old.trim().is_empty() {
        return Err("oldText is not there; read the file again".to_owned());
    }
    let ended = old.ends_with('\n') && (new.ends_with('\n') || new.is_empty());
    let lines = |text: &str, mark: Mark| -> Vec<(Mark, String)> {
        let text = if ended {
            text.strip_suffix('\n').unwrap_or(text)
        } else {
            text
        };
        let lines = text
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line));
        lines.map(|line| (mark, line.to_owned())).collect()
    };
    let mut changed = lines(old, Mark::Remove);
    if !new.is_empty() {
        changed.extend(lines(new, Mark::Add));
    }
    let hunk = Hunk {
        lines: changed,
        ..Hunk::default()
    };
    patched(text, &[hunk]).map_err(|why| why.replacen("hunk: ", "oldText: ", 1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Workspace;

    async fn edit(before: &str, old: &str, new: &str, all: bool) -> (ToolOutput, String) {
        let workspace = Workspace::new();
        workspace.write("f", before);
        let arguments = json!({ "path": "f", "oldText": old, "newText": new, "replaceAll": all });
        let output = workspace.call(&EditFile::new(FileWork::new()), arguments).await;
        (output, workspace.read("f"))
    }

    #[tokio::test]
    async fn one_occurrence_is_replaced() {
        let (output, after) = edit("a b c", "b", "x", false).await;
        assert_eq!(
            (output.text.as_str(), after.as_str()),
            ("changed f in 1 place", "a x c")
        );
        assert_eq!(output.changed[0].before.as_deref(), Some(&b"a b c"[..]));
    }

    #[tokio::test]
    async fn an_ambiguous_or_missing_text_changes_nothing() {
        for (old, all) in [("a", false), ("z", false), ("z", true)] {
            let (output, after) = edit("a a", old, "x", all).await;
            assert!(!output.success && output.changed.is_empty(), "{}", output.text);
            assert_eq!(after, "a a");
        }
    }

    #[tokio::test]
    async fn all_occurrences_are_replaced_when_asked() {
        assert_eq!(edit("a a", "a", "b", true).await.1, "b b");
    }

    #[tokio::test]
    async fn line_ends_of_the_file_are_kept() {
        assert_eq!(
            edit("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false).await.1,
            "x\r\ny\r\nz\r\nc\r\n"
        );
        assert_eq!(edit("a\nb\n", "a\nb", "x", false).await.1, "x\n");
        assert_eq!(edit("a\r\nb\nc\n", "b", "x", false).await.1, "a\r\nx\nc\n");
    }

    #[tokio::test]
    async fn a_text_that_differs_in_blanks_and_signs_is_found_and_gets_the_indentation_of_the_file() {
        let before = "fn f() {\n        let a = “x”;\n        if a {\n            b();  \n        }\n}\n";
        let old = "let a = \"x\";\nif a {\n    b();\n}\n";
        let new = "let a = 1;\nif a {\n    c(\n        2);\n}\n";
        assert_eq!(
            edit(before, old, new, false).await.1,
            "fn f() {\n        let a = 1;\n        if a {\n            c(\n                2);\n        }\n}\n"
        );
        assert_eq!(
            edit("a\r\n  b \r\nc\r\n", "a\nb\n", "x\ny\n", false).await.1,
            "x\r\ny\r\nc\r\n"
        );
        assert_eq!(edit("  a;\nb\n", "a; \n", "", false).await.1, "b\n");
    }

    #[tokio::test]
    async fn a_text_that_fits_nowhere_is_told_where_it_nearly_fits() {
        let (output, _) = edit(
            "one\nlet kettle = boil(water, 90);\nthree\n",
            "let kettle = boil(water, 100);",
            "x",
            false,
        )
        .await;
        assert!(
            output.text.contains(
                "They nearly fit at line 2. Line 2 of the file is:\n  let kettle = boil(water, 90);"
            ),
            "{}",
            output.text
        );
        let (output, after) = edit("a\n  b;\n    b;\n", " b; ", "x", false).await;
        assert!(
            output.text.contains("2 places") && after.contains("b;"),
            "{}",
            output.text
        );
    }

    #[tokio::test]
    async fn a_missing_file_is_a_failure() {
        let workspace = Workspace::new();
        let arguments = json!({ "path": "f", "oldText": "a", "newText": "b" });
        assert!(
            !workspace
                .call(&EditFile::new(FileWork::new()), arguments)
                .await
                .success
        );
    }
}
