//! A project in use: the configuration of its files, its presets, and the knowledge of runners about its actions.
//!
//! Another state of its files is another [`Project`]. Actions that runners have resolved go over to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::error::RunError;
use crate::files::{self, Action, Catalog, Definition, Enabled, Fingerprint, Preset, Problem};
use crate::wire::Meta;

/// A project of the workspace.
pub(crate) struct Project {
    pub(crate) definition: Definition,
    /// Set once its presets are known.
    pub(crate) loaded: OnceCell<()>,
    state: Mutex<ProjectState>,
}

struct ProjectState {
    catalog: Arc<Catalog>,
    merged: Value,
    problems: Vec<Problem>,
    presets: Fingerprint,
    meta: BTreeMap<String, Meta>,
}

impl Project {
    pub(crate) fn new(definition: Definition, before: Option<&Self>) -> Self {
        let state = ProjectState {
            catalog: Arc::default(),
            merged: Value::Null,
            problems: Vec::new(),
            presets: Fingerprint::of([]),
            meta: before
                .map(|before| before.state.lock().meta.clone())
                .unwrap_or_default(),
        };
        let project = Self {
            definition,
            loaded: OnceCell::new(),
            state: Mutex::new(state),
        };
        project.merge(&BTreeMap::new(), Vec::new());
        project
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.definition.dir
    }

    /// Merges presets, the project's table and the user's settings.
    pub(crate) fn merge(&self, presets: &BTreeMap<String, Preset>, mut problems: Vec<Problem>) {
        let definition = &self.definition;
        let mut merged = serde_json::json!({});
        let mut sources = definition.sources.clone();
        add_presets(&definition.presets, presets, &mut merged, &mut BTreeSet::new());
        sources.extend(presets.values().map(|preset| preset.source.clone()));
        if definition.enabled == Enabled::Yes {
            files::overlay(&mut merged, definition.table.clone());
            files::overlay(&mut merged, definition.settings.clone());
        }
        let complete = definition.presets.is_empty() || !presets.is_empty() || !problems.is_empty();
        let (catalog, found) = Catalog::read(&merged, &sources);
        if complete {
            problems.extend(found);
        }
        let mut state = self.state.lock();
        state.catalog = Arc::new(catalog);
        state.merged = merged;
        state.presets = Fingerprint::of(presets.values().map(|preset| preset.source.path.clone()));
        state.problems = problems;
    }

    /// Returns whether its files are as they were read. Blocking.
    pub(crate) fn is_current(&self) -> bool {
        let presets = self.state.lock().presets.clone();
        self.definition.fingerprint.is_current() && presets.is_current()
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.state.lock().catalog.clone()
    }

    /// Returns which file and line name an environment first.
    pub(crate) fn names(&self, env: &str) -> Option<String> {
        let catalog = self.catalog();
        let uses = |action: &&Action| action.handlers.iter().any(|handler| handler.env == env);
        let action = catalog.actions.iter().find(uses)?;
        let sources = &self.definition.sources;
        let place = files::locate(sources, &["action", &action.name, "handlers"], "");
        Some(format!("{}:{}", place.file.display(), place.line?))
    }

    /// Returns the whole configuration, as handlers ask for it.
    pub(crate) fn raw_config(&self) -> Value {
        let merged = self.state.lock().merged.clone();
        self.definition.with_table(&merged)
    }

    pub(crate) fn problems(&self) -> Vec<Problem> {
        let mut problems = self.definition.problems.clone();
        problems.extend(self.state.lock().problems.iter().cloned());
        problems
    }

    /// Adds the actions that a runner has resolved. Actions that an earlier runner has resolved stay as they are.
    pub(crate) fn resolve(&self, metas: BTreeMap<String, Meta>) {
        let mut state = self.state.lock();
        for (source, meta) in metas {
            state.meta.entry(source).or_insert(meta);
        }
    }

    pub(crate) fn meta(&self, action: &Action) -> Option<Meta> {
        self.state.lock().meta.get(&action.source).cloned()
    }

    /// Returns the action of this name or import path.
    pub(crate) fn find(&self, asked: &str) -> Option<Action> {
        let catalog = self.catalog();
        let named = catalog.actions.iter().find(|action| action.name == asked);
        let sourced = || catalog.actions.iter().find(|action| action.source == asked);
        named
            .or_else(sourced)
            .cloned()
            .or_else(|| self.find_canonical(asked))
    }

    /// Returns the action with this canonical import path.
    pub(crate) fn find_canonical(&self, source: &str) -> Option<Action> {
        let catalog = self.catalog();
        let state = self.state.lock();
        let meta = |action: &&Action| state.meta.get(&action.source);
        let found = catalog
            .actions
            .iter()
            .find(|action| meta(action).is_some_and(|meta| meta.canonical_source == source));
        found.cloned()
    }

    /// Returns the import paths that stand for this canonical one.
    pub(crate) fn sources_of(&self, canonical: &str) -> Vec<String> {
        let state = self.state.lock();
        let same = state
            .meta
            .iter()
            .filter(|(_, meta)| meta.canonical_source == canonical);
        same.map(|(source, _)| source.clone()).collect()
    }

    /// Returns the environments of actions that no runner has resolved yet.
    pub(crate) fn unresolved_envs(&self) -> BTreeSet<String> {
        let catalog = self.catalog();
        let state = self.state.lock();
        let unresolved = catalog
            .actions
            .iter()
            .filter(|action| !state.meta.contains_key(&action.source));
        let handlers = unresolved.flat_map(|action| &action.handlers);
        handlers.map(|handler| handler.env.clone()).collect()
    }

    /// Returns why its actions cannot be run.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        let name = &self.definition.name;
        match self.definition.enabled {
            Enabled::Yes => Ok(()),
            Enabled::No => Err(RunError::Configuration(format!(
                "{name} does not use FineCode: add finecode to its dependency group dev_workspace"
            ))),
            Enabled::Invalid => {
                let problems: Vec<_> = self.problems().iter().map(Problem::to_string).collect();
                Err(RunError::Configuration(problems.join("; ")))
            }
        }
    }
}

/// Merges presets in their order, each over those that it names.
fn add_presets(
    names: &[String],
    presets: &BTreeMap<String, Preset>,
    merged: &mut Value,
    seen: &mut BTreeSet<String>,
) {
    for name in names {
        if let Some(preset) = presets.get(name)
            && seen.insert(name.clone())
        {
            add_presets(&preset.presets, presets, merged, seen);
            files::overlay(merged, preset.table.clone());
        }
    }
}
