//! The changes of files whose new texts a result has, as a diff. Actions that fix a file often answer `{changed, code}` alone.
//!
//! Payloads and results are of their actions' own types. A payload names a file with any text that is the path of one in the
//! workspace. An action may have written the file when its answer comes, so these files are read before the run: at most
//! [`MAX_FILES`] of at most [`MAX_BYTES`]. Blocking.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use similar::TextDiff;

/// Most files that are read before a run, and most that a diff has (a guess).
const MAX_FILES: usize = 100;
/// Most paths that are looked for in a payload (a guess).
const MAX_PATHS: usize = 1000;
/// Longest text of a file that is compared (a guess).
const MAX_BYTES: u64 = 1 << 20;
/// Longest comparison of a file; what is left then is shown as replaced.
const LIMIT: Duration = Duration::from_millis(500);

/// The files that a payload names, with their texts before the run.
#[derive(Default)]
pub(crate) struct FilesBefore {
    root: PathBuf,
    texts: BTreeMap<PathBuf, String>,
}

/// The new text of a file.
#[derive(Deserialize)]
struct NewText {
    changed: Option<bool>,
    code: Option<String>,
}

/// The new texts of several files, or of the one that the payload names.
#[derive(Deserialize)]
struct NewTexts {
    #[serde(alias = "resultByFilePath")]
    result_by_file_path: Option<BTreeMap<String, NewText>>,
    #[serde(flatten)]
    one: NewText,
}

impl FilesBefore {
    /// Reads the files of a workspace that a payload names. A relative path is of the workspace or of one of the projects.
    pub(crate) fn read(root: &Path, projects: &[PathBuf], payload: &str) -> Self {
        let mut before = Self {
            root: root.to_owned(),
            texts: BTreeMap::new(),
        };
        let payload = serde_json::from_str(payload).unwrap_or_default();
        let mut names = Vec::new();
        texts_of(&payload, &mut names);
        let folders = || std::iter::once(root).chain(projects.iter().map(PathBuf::as_path));
        let named = names
            .into_iter()
            .flat_map(|name| folders().map(move |folder| (folder, name)));
        for (folder, name) in named.take(MAX_PATHS) {
            if before.texts.len() < MAX_FILES
                && let Some(path) = before.path(folder, name)
                && let Ok(text) = bobbin_files::read_text(&path, MAX_BYTES)
            {
                before.texts.insert(path, text);
            }
        }
        before
    }

    /// Returns the file of the workspace that a name leads to.
    fn path(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        let url = url::Url::parse(name).ok().filter(|url| url.scheme() == "file");
        let path = url.and_then(|url| url.to_file_path().ok());
        let path = path.unwrap_or_else(|| folder.join(name)).canonicalize().ok()?;
        (path.starts_with(&self.root) && path.is_file()).then_some(path)
    }

    /// Returns the changes that a result of a project has, if it has new texts of files that differ.
    pub(crate) fn diff(&self, project: &Path, result: &str) -> Option<String> {
        let NewTexts {
            result_by_file_path,
            one,
        } = serde_json::from_str(result).ok()?;
        let mut diff = String::new();
        if let Some(files) = result_by_file_path {
            for (name, after) in files.into_iter().take(MAX_FILES) {
                if let Some(path) = self.path(project, &name) {
                    diff.push_str(&self.file(&path, after).unwrap_or_default());
                }
            }
        } else if let [path] = self.texts.keys().collect::<Vec<_>>()[..] {
            diff = self.file(path, one)?;
        }
        (!diff.is_empty()).then_some(diff)
    }

    fn file(&self, path: &Path, after: NewText) -> Option<String> {
        let after = after.code.filter(|_| after.changed != Some(false))?;
        let before = match self.texts.get(path) {
            Some(text) => text.clone(),
            // The payload does not name it. An action that writes nothing leaves it as it was.
            None => bobbin_files::read_text(path, MAX_BYTES).ok()?,
        };
        let shown = bobbin_files::shown(&self.root, path);
        let compared = TextDiff::configure().timeout(LIMIT).diff_lines(&before, &after);
        let (old, new) = (format!("a/{shown}"), format!("b/{shown}"));
        Some(compared.unified_diff().header(&old, &new).to_string())
    }
}

/// Finds every text in a value.
fn texts_of<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(elements) => elements.iter().for_each(|element| texts_of(element, found)),
        Value::Object(members) => members.values().for_each(|member| texts_of(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(root: &Path, payload: &Value) -> FilesBefore {
        FilesBefore::read(root, &[root.join("shop")], &payload.to_string())
    }

    #[test]
    fn a_new_text_is_compared_with_the_file_as_it_was_before_the_run() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (shop, secret) = (root.join("shop"), root.join("secret"));
        std::fs::create_dir(&shop).unwrap();
        for (path, text) in [
            (shop.join("tea \u{e9}.py"), "x = 1\ny=2\n"),
            (shop.join("b.py"), "z=3\n"),
        ] {
            std::fs::write(path, text).unwrap();
        }
        let wanted =
            "--- a/shop/tea \u{e9}.py\n+++ b/shop/tea \u{e9}.py\n@@ -1,2 +1,2 @@\n x = 1\n-y=2\n+y = 2\n";
        let one = json!({ "changed": true, "code": "x = 1\ny = 2\n" }).to_string();
        let absolute = shop.join("tea \u{e9}.py").display().to_string();
        let url = url::Url::from_file_path(&absolute).unwrap();
        for name in ["tea \u{e9}.py", "shop/tea \u{e9}.py", &absolute, url.as_str()] {
            let before = read(&root, &json!({ "options": [{ "path": name }], "save": true }));
            std::fs::write(shop.join("tea \u{e9}.py"), "x = 1\ny = 2\n").unwrap();
            assert_eq!(before.diff(&shop, &one).as_deref(), Some(wanted), "{name}");
            std::fs::write(shop.join("tea \u{e9}.py"), "x = 1\ny=2\n").unwrap();
        }

        // Which file it is, the payload does not say.
        for payload in [json!({}), json!(["tea \u{e9}.py", "b.py"])] {
            assert_eq!(read(&root, &payload).diff(&shop, &one), None);
        }
        let files = json!({ "tea \u{e9}.py": { "changed": true, "code": "x = 1\ny = 2\n" }, "b.py": { "changed": false, "code": "" } });
        let many = json!({ "result_by_file_path": files }).to_string();
        assert_eq!(
            read(&root, &json!({})).diff(&shop, &many).as_deref(),
            Some(wanted)
        );

        // Nothing beside the workspace is read, and what has no new text has no diff.
        std::fs::write(&secret, "key\n").unwrap();
        let out = read(&shop, &json!({ "path": "../secret" }));
        assert_eq!(out.diff(&shop, &one), None);
        for other in ["[]", "{}", "7", r#"{"code":7}"#, r#"{"changed":false,"code":""}"#] {
            assert_eq!(
                read(&root, &json!("tea \u{e9}.py")).diff(&shop, other),
                None,
                "{other}"
            );
        }
    }
}
