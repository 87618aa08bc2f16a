//! `FindFiles`: the entries of a directory, or of a whole tree.
//!
//! The result has one entry a line, directories with a trailing slash, then a note in brackets.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::Json;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::arguments::{decode, done, spec};
use super::blocking::{FileWork, Patience};
use super::paths::{Access, Target, locate};
use super::walk::{Chosen, Sight, Walk, one_line};
use bobbin_files::shown;

/// Most entries listed.
const MAX_ENTRIES: usize = 1000;
/// Longest walk.
const MAX_TIME: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct FindFiles {
    spec: ToolSpec,
    work: FileWork,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    pattern: Option<String>,
    #[serde(default)]
    recursive: Option<bool>,
    #[serde(default)]
    offset: usize,
}

impl FindFiles {
    pub(super) fn new(work: FileWork) -> Self {
        let spec = spec(
            "FindFiles",
            Effect::Reads,
            "Lists files and directories. Ignored and hidden ones are left out. At most 1,000 entries.",
            &[],
            &serde_json::json!({
                "path": { "type": "string", "description": "Directory; the workspace when left out." },
                "pattern": {
                    "type": "string",
                    "description": "Only files that match, such as *.rs or src/**/*.toml.",
                },
                "recursive": {
                    "type": "boolean",
                    "description": "The whole tree. Left out: only with a pattern.",
                },
                "offset": { "type": "integer", "description": "Leaves out so many of the first entries." },
            }),
        );
        Self { spec, work }
    }
}

impl Tool for FindFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: Arguments = decode(arguments)?;
        let chosen = Chosen::by(arguments.pattern.as_deref())?;
        let path = arguments
            .path
            .as_deref()
            .filter(|path| !path.is_empty())
            .unwrap_or(".");
        let (target, permission) = locate(environment, path, Access::List)?;
        Ok(Box::new(Prepared {
            target,
            permission,
            sight: Sight::of(environment),
            offset: arguments.offset,
            recursive: arguments.recursive.unwrap_or(!chosen.is_everything()),
            chosen,
            work: self.work.clone(),
        }))
    }
}

struct Prepared {
    target: Target,
    permission: Permission,
    sight: Sight,
    chosen: Chosen,
    recursive: bool,
    offset: usize,
    work: FileWork,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        let Self {
            target,
            sight,
            chosen,
            recursive,
            offset,
            work,
            ..
        } = *self;
        // Leaves room for the last entry and the count.
        let max_bytes = context.max_bytes.saturating_sub(600);
        let patience = Patience::new(MAX_TIME, context.cancel);
        work.run(move || {
            list(&target, sight, &chosen, (recursive, offset), &patience, max_bytes)
                .map(done)
                .map_err(|error| format!("cannot list {}: {error}", target.shown()))
        })
        .boxed()
    }
}

fn list(
    target: &Target,
    sight: Sight,
    chosen: &Chosen,
    (recursive, offset): (bool, usize),
    patience: &Patience,
    max_bytes: usize,
) -> Result<String, String> {
    let base = target.confirm()?;
    let found = std::fs::metadata(base).map_err(|error| error.to_string())?;
    if !found.is_dir() {
        return Err("it is not a directory; use ReadFile".to_owned());
    }
    let walk = Walk::below(base, sight);
    let (entries, hidden) = if recursive { walk } else { walk.no_deeper_than(1) }.entries();
    let mut text = String::new();
    let (mut count, mut unreadable, mut whole) = (0_usize, 0_usize, true);
    let mut passed = 0;
    for entry in entries {
        if count == MAX_ENTRIES || text.len() >= max_bytes || patience.is_over() {
            whole = false;
            break;
        }
        let Ok(entry) = entry else {
            unreadable += 1;
            continue;
        };
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        if !chosen.is_everything() && (is_dir || !chosen.takes(base, entry.path())) {
            continue;
        }
        if passed < offset {
            passed += 1;
            continue;
        }
        count += 1;
        text.push_str(&one_line(&shown(base, entry.path())));
        text.push_str(if is_dir { "/\n" } else { "\n" });
    }
    // Writing to a String cannot fail.
    let _ = match (count, whole) {
        (0, true) if passed > 0 => write!(text, "[nothing behind the first {passed} entries"),
        (0, true) => write!(text, "[no entries"),
        (_, true) => write!(text, "\n[{count} entries"),
        (_, false) => {
            let next = passed + count;
            let first = if passed == 0 { "the first " } else { "" };
            write!(
                text,
                "\n[{first}{count} entries; there are more, go on with offset {next}"
            )
        }
    };
    let hidden = hidden.load(Ordering::Relaxed);
    if hidden > 0 {
        let _ = write!(text, "; {hidden} hidden not shown");
    }
    if unreadable > 0 {
        let _ = write!(text, "; {unreadable} could not be read");
    }
    text.push(']');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Workspace;

    fn workspace() -> Workspace {
        let workspace = Workspace::new();
        for path in [
            "src/lib.rs",
            "src/deep/a.rs",
            "README.md",
            ".hidden",
            "target/x",
            ".git/config",
            ".craft/db",
        ] {
            workspace.write(path, "x");
        }
        workspace.write(".gitignore", "target/\n");
        workspace
    }

    async fn list(workspace: &Workspace, arguments: serde_json::Value) -> String {
        workspace
            .call(&FindFiles::new(FileWork::new()), arguments)
            .await
            .text
    }

    #[tokio::test]
    async fn one_directory_is_listed_without_ignored_and_hidden_files() {
        let workspace = workspace();
        assert_eq!(
            list(&workspace, json!({})).await,
            "README.md\nsrc/\n\n[2 entries; 2 hidden not shown]"
        );
    }

    #[tokio::test]
    async fn a_tree_is_listed_in_order() {
        let workspace = workspace();
        assert_eq!(
            list(&workspace, json!({ "path": "src", "recursive": true })).await,
            "deep/\ndeep/a.rs\nlib.rs\n\n[3 entries]"
        );
    }

    #[tokio::test]
    async fn a_glob_looks_everywhere_for_files() {
        let workspace = workspace();
        let all = list(&workspace, json!({ "pattern": "*.rs" })).await;
        assert!(
            all.starts_with("src/deep/a.rs\nsrc/lib.rs\n\n[2 entries"),
            "{all}"
        );
        let some = list(&workspace, json!({ "pattern": "src/*.rs" })).await;
        assert!(some.starts_with("src/lib.rs\n\n[1 entries"), "{some}");
        let none = list(&workspace, json!({ "pattern": "*.py" })).await;
        assert!(none.starts_with("[no entries"), "{none}");
    }

    #[tokio::test]
    async fn a_long_list_is_cut_and_says_so() {
        let workspace = Workspace::new();
        for n in 0..=MAX_ENTRIES {
            workspace.write(&format!("f{n:04}"), "");
        }
        let text = list(&workspace, json!({})).await;
        assert!(text.ends_with("[the first 1000 entries; there are more, go on with offset 1000]"));
        let rest = list(&workspace, json!({ "offset": 1000 })).await;
        assert_eq!(rest, "f1000\n\n[1 entries]");
        let none = list(&workspace, json!({ "offset": 2000 })).await;
        assert_eq!(none, "[nothing behind the first 1001 entries]");
        assert_eq!(
            text.lines().filter(|line| line.starts_with('f')).count(),
            MAX_ENTRIES
        );
    }

    #[tokio::test]
    async fn links_are_shown_and_not_followed() {
        let workspace = Workspace::new();
        std::fs::write(workspace.outside().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(workspace.outside(), workspace.root().join("leak")).unwrap();
        assert_eq!(
            list(&workspace, json!({ "recursive": true })).await,
            "leak\n\n[1 entries]"
        );
    }
}
