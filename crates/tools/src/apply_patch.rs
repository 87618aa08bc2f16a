//! `ApplyPatch`: several files changed by one patch, all of them or none.
//!
//! The tool computes the new content of every file first; then one [`Batch`] changes them. It checks each path as if the
//! patch had only that file. At most one path may need an approval, because an approval covers one file. A section may
//! name a file that an earlier section has changed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_agent_api::tool::{
    CallContext, ChangedFile, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput,
    ToolRefusal, ToolSpec, Touches,
};
use bobbin_model::Json;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::arguments::{decode, done, spec};
use super::blocking::FileWork;
use super::paths::{Access, Target, locate};
use super::replace_file::{read_whole, seen};
use crate::patch::{Action, Hunk, patched, read};
use bobbin_files::Leftovers;
use bobbin_files::{Batch, Kind, MAX_FILE_BYTES, Want, as_read};

#[derive(Debug)]
pub(super) struct ApplyPatch {
    spec: ToolSpec,
    work: FileWork,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    #[serde(alias = "input")]
    patch: String,
}

impl ApplyPatch {
    pub(super) fn new(work: FileWork) -> Self {
        let spec = spec(
            "ApplyPatch",
            Effect::Writes,
            "Changes, adds, deletes and renames several files at once: all of them or none. The patch is a unified diff, \
             or has this form:\n*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n@@ fn main() {\n \
             context line\n-removed line\n+added line\n*** Add File: new.txt\n+its lines\n*** Delete File: old.txt\n\
             *** End Patch\nMove to and the text after @@ (a line before the change) may be left out. The lines of a hunk \
             must stand in one place only: give about three lines around a change.",
            &["patch"],
            &serde_json::json!({
                "patch": { "type": "string", "description": "The patch. Paths are relative to the workspace or absolute." },
            }),
        );
        Self { spec, work }
    }
}

impl Tool for ApplyPatch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: Arguments = decode(arguments)?;
        let files = read(&arguments.patch).map_err(|why| {
            ToolRefusal::Unusable(format!("the patch is not usable, and nothing was changed: {why}"))
        })?;
        let mut permission = Permission::Free;
        let mut asked: Vec<PathBuf> = Vec::new();
        let mut find = |path: &str, access: Access| -> Result<Target, ToolRefusal> {
            let (target, needed) = locate(environment, path, access)?;
            if needed != Permission::Free && !asked.iter().any(|asked| asked == target.path()) {
                asked.push(target.path().to_owned());
                permission = needed;
            }
            Ok(target)
        };
        let mut sections = Vec::with_capacity(files.len());
        for file in files {
            sections.push(match file.action {
                Action::Add(content) => Section::Add(find(&file.path, Access::Write)?, content),
                Action::Delete => Section::Delete(find(&file.path, Access::Write)?),
                Action::Update { to, hunks } => {
                    let target = find(&file.path, Access::Edit)?;
                    let to = to.map(|to| find(&to, Access::Write)).transpose()?;
                    Section::Update { target, to, hunks }
                }
            });
        }
        if asked.len() > 1 {
            let names: Vec<_> = asked.iter().map(|path| path.to_string_lossy()).collect();
            return Err(ToolRefusal::Unusable(format!(
                "each of these files needs a person's approval, and a patch can ask for one file only; change them one by \
                 one: {}",
                names.join(", ")
            )));
        }
        Ok(Box::new(Prepared {
            sections,
            permission,
            work: self.work.clone(),
        }))
    }
}

enum Section {
    Add(Target, String),
    Delete(Target),
    Update {
        target: Target,
        to: Option<Target>,
        hunks: Vec<Hunk>,
    },
}

impl Section {
    fn targets(&self) -> impl Iterator<Item = &Target> {
        let (first, second) = match self {
            Self::Add(target, _) | Self::Delete(target) => (target, None),
            Self::Update { target, to, .. } => (target, to.as_ref()),
        };
        std::iter::once(first).chain(second)
    }
}

struct Prepared {
    sections: Vec<Section>,
    permission: Permission,
    work: FileWork,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        self.permission.clone()
    }

    fn touches(&self) -> Touches {
        let targets = self.sections.iter().flat_map(Section::targets);
        let mut files: Vec<PathBuf> = targets.map(|target| target.path().to_owned()).collect();
        files.sort();
        files.dedup();
        Touches::Files(files)
    }

    fn run(self: Box<Self>, _context: CallContext) -> BoxFuture<'static, ToolOutput> {
        let Self { sections, work, .. } = *self;
        let leftovers = work.leftovers().clone();
        work.run(move || {
            apply(&sections, &leftovers)
                .map_err(|error| format!("the patch was not applied, and nothing was changed: {error}"))
        })
        .boxed()
    }
}

/// The change of one file.
struct Fate {
    before: Option<Arc<[u8]>>,
    now: Option<Arc<[u8]>>,
    /// Its permissions: those of the previous file.
    mode: Option<u32>,
}

#[derive(Default)]
struct Plan {
    files: BTreeMap<PathBuf, Fate>,
    report: String,
}

impl Plan {
    fn at(&mut self, target: &Target) -> Result<&mut Fate, String> {
        let shown = target.shown();
        let path = target.confirm()?;
        match self.files.entry(path.to_owned()) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => {
                let before: Option<Arc<[u8]>> = read_whole(path)
                    .map_err(|error| format!("{shown}: {error}"))?
                    .map(Into::into);
                Ok(new.insert(Fate {
                    now: before.clone(),
                    before,
                    mode: None,
                }))
            }
        }
    }

    fn section(&mut self, section: &Section) -> Result<(), String> {
        // Writing to a String cannot fail.
        match section {
            Section::Add(target, content) => {
                self.make(target, content.as_bytes(), None)?;
                let _ = write!(self.report, "\nadded {}", target.shown());
            }
            Section::Delete(target) => {
                self.at(target)?
                    .now
                    .take()
                    .ok_or_else(|| format!("{}: there is no such file", target.shown()))?;
                let _ = write!(self.report, "\ndeleted {}", target.shown());
            }
            Section::Update { target, to, hunks } => {
                let shown = target.shown();
                let fate = self.at(target)?;
                let content = fate
                    .now
                    .clone()
                    .ok_or_else(|| format!("{shown}: there is no such file"))?;
                let after = if hunks.is_empty() {
                    content
                } else {
                    let text = std::str::from_utf8(&content)
                        .map_err(|_| format!("{shown}: it is not UTF-8 text"))?;
                    let after = patched(text, hunks).map_err(|error| format!("{shown}: {error}"))?;
                    Arc::from(after.into_bytes())
                };
                if after.len() as u64 > MAX_FILE_BYTES {
                    return Err(format!(
                        "{shown}: it would become larger than {} MiB",
                        MAX_FILE_BYTES >> 20
                    ));
                }
                match to.as_ref().filter(|to| to.path() != target.path()) {
                    None => {
                        fate.now = Some(after);
                        let _ = write!(self.report, "\nchanged {shown}");
                    }
                    Some(to) => {
                        fate.now = None;
                        self.make(to, &after, Some(target.path()))?;
                        let _ = write!(self.report, "\nrenamed {shown} to {}", to.shown());
                    }
                }
            }
        }
        Ok(())
    }

    fn make(&mut self, target: &Target, content: &[u8], like: Option<&Path>) -> Result<(), String> {
        let fate = self.at(target)?;
        if fate.now.is_some() {
            return Err(format!(
                "{}: it is there already; update it, or delete it first",
                target.shown()
            ));
        }
        fate.now = Some(content.into());
        fate.mode = like
            .and_then(|like| std::fs::metadata(like).ok())
            .map(|like| like.permissions().mode() & 0o7777);
        Ok(())
    }
}

fn apply(sections: &[Section], leftovers: &Leftovers) -> Result<ToolOutput, String> {
    let mut plan = Plan::default();
    for section in sections {
        plan.section(section)?;
    }
    let mut batch = Batch::default();
    let mut changed = Vec::new();
    for (path, fate) in plan.files {
        if fate.before == fate.now {
            continue;
        }
        let kind = fate.mode.map_or(Kind::AsItWas, Kind::Mode);
        let want = fate.now.map_or(Want::Gone, |content| Want::File(kind, content));
        batch.add(path.clone(), want, as_read(fate.before.clone()));
        let before = fate.before.map(|content| content.to_vec());
        changed.push(ChangedFile { path, before });
    }
    batch.apply(leftovers)?;
    let mut output = done(plan.report.trim_start());
    output.seen = changed
        .iter()
        .filter_map(|file: &ChangedFile| seen(&file.path))
        .collect();
    output.changed = changed;
    Ok(output)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use bobbin_agent_api::tool::OutsideWorkspace;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::testing::Workspace;

    fn tool() -> ApplyPatch {
        ApplyPatch::new(FileWork::new())
    }

    fn patch(body: &str) -> serde_json::Value {
        json!({ "patch": format!("*** Begin Patch\n{body}\n*** End Patch") })
    }

    async fn call(workspace: &Workspace, body: &str) -> ToolOutput {
        workspace.call(&tool(), patch(body)).await
    }

    #[tokio::test]
    async fn files_are_changed_added_deleted_and_renamed_as_one() {
        let workspace = Workspace::new();
        workspace.write("a.txt", "one\ntwo\n");
        workspace.write("old.txt", "x\n");
        workspace.write("run.sh", "echo 1\n");
        let mode = |path: &str| {
            fs::metadata(workspace.root().join(path))
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        fs::set_permissions(workspace.root().join("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
        let output = call(
            &workspace,
            "*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: deep/new.txt\n+n\n*** Delete File: old.txt\n\
             *** Update File: run.sh\n*** Move to: bin/run.sh\n-echo 1\n+echo 2",
        )
        .await;
        assert_eq!(
            output.text,
            "changed a.txt\nadded deep/new.txt\ndeleted old.txt\nrenamed run.sh to bin/run.sh"
        );
        assert!(output.success);
        assert_eq!(workspace.read("a.txt"), "one\n2\n");
        assert_eq!(workspace.read("deep/new.txt"), "n\n");
        assert_eq!(workspace.read("bin/run.sh"), "echo 2\n");
        assert_eq!(mode("bin/run.sh"), 0o750);
        assert!(!workspace.root().join("old.txt").exists() && !workspace.root().join("run.sh").exists());
        let changed: Vec<_> = output
            .changed
            .iter()
            .map(|file| {
                let path = file.path.strip_prefix(workspace.root()).unwrap();
                (path.to_str().unwrap(), file.before.as_deref())
            })
            .collect();
        assert_eq!(
            changed,
            [
                ("a.txt", Some(&b"one\ntwo\n"[..])),
                ("bin/run.sh", None),
                ("deep/new.txt", None),
                ("old.txt", Some(b"x\n")),
                ("run.sh", Some(b"echo 1\n")),
            ]
        );
    }

    #[rstest]
    #[case::a_hunk("*** Update File: b\n-z\n+y", "b: hunk: these lines are not in the file")]
    #[case::a_missing_file("*** Delete File: none", "none: there is no such file")]
    #[case::a_file_in_the_way("*** Add File: b\n+y", "b: it is there already")]
    #[case::a_name_in_the_way("*** Update File: c\n*** Move to: b", "b: it is there already")]
    #[case::no_text("*** Update File: bin\n-a\n+b", "bin: it is not UTF-8 text")]
    #[case::a_directory("*** Delete File: dir", "dir: it is a directory")]
    #[tokio::test]
    async fn one_section_that_fails_leaves_every_file_alone(#[case] body: &str, #[case] why: &str) {
        let workspace = Workspace::new();
        for (path, content) in [("a", "1\n"), ("b", "1\n"), ("c", "1\n"), ("dir/x", "1\n")] {
            workspace.write(path, content);
        }
        fs::write(workspace.root().join("bin"), b"a\n\xff\n").unwrap();
        let output = call(
            &workspace,
            &format!("*** Update File: a\n-1\n+2\n*** Add File: new\n+x\n{body}"),
        )
        .await;
        assert!(!output.success && output.changed.is_empty());
        assert!(
            output.text.contains(why) && output.text.contains("nothing was changed"),
            "{}",
            output.text
        );
        assert_eq!(workspace.read("a"), "1\n");
        assert!(!workspace.root().join("new").exists());
    }

    #[tokio::test]
    async fn sections_see_what_earlier_ones_did() {
        let workspace = Workspace::new();
        workspace.write("a", "1\n2\n");
        let body = "*** Update File: a\n-1\n+x\n*** Update File: a\n-2\n+y\n*** Update File: a\n*** Move to: b\n\
                    *** Add File: a\n+new";
        assert!(call(&workspace, body).await.success);
        assert_eq!(
            (workspace.read("a").as_str(), workspace.read("b").as_str()),
            ("new\n", "x\ny\n")
        );
    }

    #[tokio::test]
    async fn a_unified_diff_is_taken_too() {
        let workspace = Workspace::new();
        workspace.write("a", "1\n");
        let diff = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n";
        assert!(workspace.call(&tool(), json!({ "input": diff })).await.success);
        assert_eq!(workspace.read("a"), "2\n");
    }

    #[test]
    fn every_path_is_checked_links_followed() {
        let workspace = Workspace::new();
        symlink(workspace.outside(), workspace.root().join("leak")).unwrap();
        workspace.write("a", "1\n");
        let prepare = |body: &str, outside: OutsideWorkspace| {
            let environment = ToolEnvironment {
                outside_workspace: outside,
                ..workspace.environment()
            };
            tool()
                .prepare(&Workspace::json(&patch(body)), &environment)
                .map(|call| call.permission())
        };
        let leak = "*** Update File: a\n*** Move to: leak/b";
        assert!(matches!(
            prepare(leak, OutsideWorkspace::Refuse),
            Err(ToolRefusal::Denied(_))
        ));
        assert!(matches!(
            prepare(leak, OutsideWorkspace::Ask),
            Ok(Permission::Ask { .. })
        ));
        let hook = "*** Add File: .git/hooks/pre-commit\n+x";
        assert!(matches!(
            prepare(hook, OutsideWorkspace::Ask),
            Err(ToolRefusal::Denied(_))
        ));
        let two = format!("{leak}\n*** Add File: leak/c\n+x");
        assert!(
            prepare(&two, OutsideWorkspace::Ask)
                .unwrap_err()
                .to_string()
                .contains("one by one")
        );
        assert_eq!(
            prepare("*** Delete File: a", OutsideWorkspace::Ask),
            Ok(Permission::Free)
        );
    }
}
