//! The tools an agent has, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bobbin_children::{Children, Environment, Shell};
use bobbin_core::tool::{Effect, Tool, ToolSpec};
use bobbin_model::Mode;

use super::blocking::FileWork;
use super::create_plan::CreatePlan;
use super::edit_file::EditFile;
use super::list_files::ListFiles;
use super::read_file::ReadFile;
use super::search::Search;
use super::shell::ShellTool;
use super::write_file::WriteFile;

/// The tools an agent has. Cheap to clone; never changes.
#[derive(Clone, Default)]
pub struct ToolSet {
    tools: Arc<BTreeMap<&'static str, Arc<dyn Tool>>>,
}

impl ToolSet {
    /// Returns a set of these tools; of two with one name the later stays.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self {
            tools: Arc::new(tools.into_iter().map(|tool| (tool.spec().name, tool)).collect()),
        }
    }

    /// Returns the tools every agent has: files, search, plan, and `shell`, whose commands `children` runs
    /// with the variables of `environment`.
    pub fn built_in(children: Children, environment: Environment, shell: Shell) -> Self {
        let work = FileWork::new();
        Self::new([
            Arc::new(ShellTool::new(children, environment, shell)) as Arc<dyn Tool>,
            Arc::new(ReadFile::new(work.clone())),
            Arc::new(WriteFile::new(work.clone())),
            Arc::new(EditFile::new(work.clone())),
            Arc::new(ListFiles::new(work.clone())),
            Arc::new(Search::new(work)),
            Arc::new(CreatePlan::new()),
        ])
    }

    /// Returns a tool.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Returns what a model is told of the tools that a mode leaves it, in order of their names.
    pub fn specs(&self, mode: Mode) -> Vec<ToolSpec> {
        self.left_by(mode).cloned().collect()
    }

    /// Returns the names of the tools that a mode leaves.
    pub(crate) fn names(&self, mode: Mode) -> impl Iterator<Item = &'static str> {
        self.left_by(mode).map(|spec| spec.name)
    }

    fn left_by(&self, mode: Mode) -> impl Iterator<Item = &ToolSpec> {
        self.tools
            .values()
            .map(|tool| tool.spec())
            .filter(move |spec| is_allowed(spec, mode))
    }
}

/// Whether a mode leaves a tool to the model.
pub(crate) fn is_allowed(spec: &ToolSpec, mode: Mode) -> bool {
    mode == Mode::Agent || spec.effect == Effect::Reads
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}
