//! Edits that a runner asks for, made in files: all of one request, or none.
//!
//! Only files of the workspace that the rules let the agent write without a question. The call that the run belongs to has
//! recorded the workspace before, so that an undo of the Turn puts them back.

use std::collections::BTreeMap;
use std::path::{Component, PathBuf};
use std::sync::Arc;

use crate::{Editor, Json};
use bobbin_agent_api::policy::{Judgement, PathAccess, Policy};
use bobbin_files::{Batch, Kind, Leftovers, MAX_FILE_BYTES, Want, as_read, read_bytes};
use bobbin_finecode_wire::{Document, Range};
use bobbin_policy::{ordinary, ruling};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::to_raw_value;

/// Most files of one request.
const MAX_FILES: usize = 1000;

/// Makes edits in the files of a workspace.
#[derive(Clone)]
pub(crate) struct FileEditor {
    root: PathBuf,
    policy: Arc<dyn Policy>,
}

#[derive(Deserialize)]
struct Request {
    edit: WorkspaceEdit,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorkspaceEdit {
    #[serde(default)]
    changes: BTreeMap<String, Vec<TextEdit>>,
    #[serde(default)]
    document_changes: Vec<DocumentChange>,
}

/// A change of a document; files are not created, renamed or removed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DocumentChange {
    kind: Option<String>,
    text_document: Option<TextDocument>,
    #[serde(default)]
    edits: Vec<TextEdit>,
}

#[derive(Deserialize)]
struct TextDocument {
    uri: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextEdit {
    range: Range,
    new_text: String,
}

impl FileEditor {
    pub(crate) fn new(root: PathBuf, policy: Arc<dyn Policy>) -> Self {
        Self { root, policy }
    }

    /// Makes the edits of one request. Blocking.
    fn make(&self, params: &str) -> Result<(), String> {
        let Request { edit } =
            serde_json::from_str(params).map_err(|error| format!("the edit cannot be read: {error}"))?;
        let mut edits: BTreeMap<String, Vec<TextEdit>> = edit.changes;
        for change in edit.document_changes {
            let (None, Some(document)) = (change.kind, change.text_document) else {
                return Err("files are not created, renamed or removed here".to_owned());
            };
            edits.entry(document.uri).or_default().extend(change.edits);
        }
        if edits.len() > MAX_FILES {
            return Err(format!("more than {MAX_FILES} files would be changed"));
        }
        let mut batch = Batch::default();
        for (uri, edits) in edits {
            let path = self.path(&uri)?;
            let shown = bobbin_files::shown(&self.root, &path);
            let before = read_bytes(&path, MAX_FILE_BYTES)
                .map_err(|error| format!("{shown} cannot be read: {error}"))?;
            let text = String::from_utf8(before.clone()).map_err(|_| format!("{shown} is not UTF-8"))?;
            let after = edited(text, edits).map_err(|error| format!("{shown}: {error}"))?;
            let want = Want::File(Kind::AsItWas, after.into_bytes().into());
            batch.add(path, want, as_read(Some(before.into())));
        }
        batch.apply(&Leftovers::default())
    }

    /// Returns the file of an address, if the agent may write it.
    fn path(&self, uri: &str) -> Result<PathBuf, String> {
        let url = url::Url::parse(uri).ok().filter(|url| url.scheme() == "file");
        let path = url.and_then(|url| url.to_file_path().ok());
        let path = path.ok_or_else(|| format!("{uri} is no file"))?;
        let is_inside =
            path.starts_with(&self.root) && !path.components().any(|part| part == Component::ParentDir);
        if !is_inside {
            return Err(format!("{} is not in the workspace", path.display()));
        }
        let shown = || bobbin_files::shown(&self.root, &path);
        let Some(trace) = ordinary(&self.root, &path) else {
            return Err(format!(
                "{} belongs to git or to the server, or leads out of the workspace",
                shown()
            ));
        };
        match ruling(&*self.policy, PathAccess::Write, &trace, &self.root) {
            Some(ruling) if ruling.judgement != Judgement::Allow => {
                Err(format!("{} may not be written: {}", shown(), ruling.reason))
            }
            _ => Ok(path),
        }
    }
}

/// Returns a text with edits that all count from the text as it was.
fn edited(text: String, mut edits: Vec<TextEdit>) -> Result<String, String> {
    // From the end, so that no edit moves another. Of several at one place the first comes first.
    edits.sort_by_key(|edit| edit.range.start);
    let overlaps = |pair: &[TextEdit]| matches!(pair, [one, other] if one.range.end > other.range.start);
    if edits.windows(2).any(overlaps) {
        return Err("its edits overlap".to_owned());
    }
    let mut document = Document { text, version: 0 };
    for TextEdit { range, new_text } in edits.into_iter().rev() {
        let changed = document.change(Some(range), &new_text);
        changed.map_err(|error| error.to_string())?;
    }
    Ok(document.text)
}

impl Editor for FileEditor {
    fn apply(&self, params: Json) -> BoxFuture<'static, Result<Json, String>> {
        let editor = self.clone();
        async move {
            let made = tokio::task::spawn_blocking(move || editor.make(params.get())).await;
            let made = made.unwrap_or_else(|error| Err(error.to_string()));
            let answer = match made {
                Ok(()) => json!({ "applied": true }),
                Err(why) => json!({ "applied": false, "failureReason": why }),
            };
            to_raw_value(&answer).map_err(|error| error.to_string())
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bobbin_agent_api::policy::NoRules;

    use super::*;

    fn edit(from: (u32, u32), to: (u32, u32), new_text: &str) -> serde_json::Value {
        let position = |(line, character)| json!({ "line": line, "character": character });
        json!({ "range": { "start": position(from), "end": position(to) }, "newText": new_text })
    }

    fn made(root: &Path, edit: &serde_json::Value) -> Result<(), String> {
        let editor = FileEditor::new(root.to_owned(), Arc::new(NoRules));
        editor.make(&json!({ "edit": edit }).to_string())
    }

    #[test]
    fn edits_of_several_files_are_all_made_or_none() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (one, other) = (root.join("o né.py"), root.join("other.py"));
        std::fs::write(&one, "import os\nx = 1\n").unwrap();
        std::fs::write(&other, "y\n").unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/config"), "").unwrap();
        std::os::unix::fs::symlink(".git/config", root.join("linked")).unwrap();
        let uri = |path: &Path| url::Url::from_file_path(path).unwrap().to_string();
        let change = |path: &Path, edits: &[serde_json::Value]| json!({ "textDocument": { "uri": uri(path), "version": null }, "edits": edits });
        let edits = [
            edit((1, 4), (1, 5), "2"),
            edit((0, 0), (1, 0), ""),
            edit((2, 0), (2, 0), "# end\n"),
        ];
        made(&root, &json!({ "documentChanges": [change(&one, &edits), change(&other, &[edit((0, 0), (0, 1), "z")])] }))
            .unwrap();
        assert_eq!(std::fs::read_to_string(&one).unwrap(), "x = 2\n# end\n");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "z\n");

        let good = change(&other, &[edit((0, 0), (0, 1), "never")]);
        for (bad, word) in [
            (change(&root.join("none.py"), &[]), "cannot be read"),
            (change(Path::new("/etc/hosts"), &[]), "not in the workspace"),
            (
                change(&one, &[edit((0, 0), (0, 4), "a"), edit((0, 2), (0, 5), "b")]),
                "overlap",
            ),
            (
                change(&root.join(".git/config"), &[edit((0, 0), (0, 0), "[core]")]),
                "belongs to git",
            ),
            (
                change(&root.join("linked"), &[edit((0, 0), (0, 0), "[core]")]),
                "belongs to git",
            ),
            (json!({ "kind": "delete", "uri": uri(&one) }), "not created"),
            (
                json!({ "textDocument": { "uri": "http://x/y" }, "edits": [] }),
                "no file",
            ),
        ] {
            let why = made(&root, &json!({ "documentChanges": [good, bad] })).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "z\n");
        made(
            &root,
            &json!({ "changes": { uri(&other): [edit((0, 0), (0, 1), "w")] } }),
        )
        .unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "w\n");
    }
}
