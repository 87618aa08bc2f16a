//! Reading the projects of the workspace: their files when something is asked, their presets through a runner.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::conn::{PackagePath, SMALL};
use crate::error::RunError;
use crate::files::{self, Preset, Problem};
use crate::host::Inner;
use crate::project::Project;

/// Most presets of a project, those of presets included.
const MAX_PRESETS: usize = 64;
/// The environment whose runner finds presets.
const DEV_WORKSPACE: &str = "dev_workspace";

impl Inner {
    /// Looks for projects, and reads those that are new or have changed.
    pub(crate) async fn refresh(&self) {
        let before = self.projects.lock().clone();
        let (root, settings) = (self.root.clone(), self.settings.projects.clone());
        let read = tokio::task::spawn_blocking(move || {
            let settings: BTreeMap<_, _> = settings
                .into_iter()
                .map(|(path, table)| (lexical(&root.join(path)), table))
                .collect();
            let mut directories: BTreeSet<PathBuf> = files::scan(&root).into_iter().collect();
            directories.extend(settings.keys().cloned());
            let one = |dir: PathBuf| {
                let there = before.get(&dir);
                let project = match there {
                    Some(there) if there.is_current() => there.clone(),
                    _ => {
                        let definition = files::read(&dir, settings.get(&dir));
                        Arc::new(Project::new(definition, there.map(AsRef::as_ref)))
                    }
                };
                (dir, project)
            };
            directories.into_iter().map(one).collect()
        });
        match read.await {
            Ok(projects) => *self.projects.lock() = projects,
            Err(error) => tracing::error!(%error, "the projects of the workspace cannot be read"),
        }
    }

    /// Returns a project as its files are now.
    pub(crate) async fn current(&self, path: &Path) -> Result<Arc<Project>, RunError> {
        if let Ok(project) = self.project(path) {
            let checked = project.clone();
            let current = tokio::task::spawn_blocking(move || checked.is_current());
            if current.await.unwrap_or(false) {
                return Ok(project);
            }
        }
        self.refresh().await;
        self.project(path)
    }

    /// Finds the presets of a project, once for its present files, and configures its runners anew if they are affected.
    pub(crate) async fn load(self: &Arc<Self>, project: &Arc<Project>) -> Result<(), RunError> {
        project.check()?;
        let loaded = project.loaded.get_or_try_init(|| async {
            if !project.definition.presets.is_empty() {
                let (presets, problems) = self.presets(project).await?;
                project.merge(&presets, problems);
            }
            for runner in self.runners.all() {
                let Some(conn) = runner.handle().filter(|conn| conn.project == project.dir()) else {
                    continue;
                };
                if let Err(problem) = conn.configure(self).await {
                    tracing::warn!(env = conn.env, problem, "a runner cannot be configured anew");
                    conn.give_up();
                }
            }
            Ok(())
        });
        loaded.await.copied()
    }

    async fn presets(
        self: &Arc<Self>,
        project: &Arc<Project>,
    ) -> Result<(BTreeMap<String, Preset>, Vec<Problem>), RunError> {
        let conn = self.runner(project, DEV_WORKSPACE).await?;
        let mut waiting = project.definition.presets.clone();
        let (mut presets, mut problems) = (BTreeMap::new(), Vec::new());
        let mut seen = BTreeSet::new();
        while let Some(name) = waiting.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let by = presets
                .values()
                .find(|preset: &&Preset| preset.presets.contains(&name));
            let sources = by.map_or(&project.definition.sources[..], |preset| {
                std::slice::from_ref(&preset.source)
            });
            let problem = |message: String| files::locate(sources, &["presets"], message);
            if seen.len() > MAX_PRESETS {
                problems.push(problem(format!(
                    "more than {MAX_PRESETS} presets; {name} is not used"
                )));
                break;
            }
            let params = serde_json::json!({ "packageName": name });
            let path = conn
                .peer
                .call_with_timeout::<PackagePath>("packages/resolvePath", params, SMALL);
            let path = match path.await {
                Ok(PackagePath { package_path }) => package_path,
                Err(error) => {
                    let why = crate::conn::explained(&error);
                    problems.push(problem(format!("preset {name} cannot be found: {why}")));
                    continue;
                }
            };
            let package = name.clone();
            let read = tokio::task::spawn_blocking(move || files::read_preset(&path, &package));
            match read.await.ok().flatten() {
                Some(Ok(preset)) => {
                    waiting.extend(preset.presets.iter().cloned());
                    presets.insert(name, preset);
                }
                Some(Err(unreadable)) => problems.push(unreadable),
                None => problems.push(problem(format!("package {name} has no preset.toml"))),
            }
        }
        Ok((presets, problems))
    }
}

/// Returns a path without `.` in it.
fn lexical(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Returns the names of the projects of a folder that use FineCode. Blocking; starts nothing.
pub fn projects_of(root: &Path) -> Vec<String> {
    let directories = files::scan(root).into_iter();
    let read = directories.map(|dir| files::read(&dir, None));
    let enabled = read.filter(|definition| definition.enabled == files::Enabled::Yes);
    enabled.map(|definition| definition.name).collect()
}
