//! The tools of an agent, by name: permanent tools, and sources whose tools change.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use bobbin_agent_api::SystemClock;
use bobbin_agent_api::tool::{
    BuiltInTool, BuiltInTools, DeclaredTools, Effect, Tool, ToolSource, ToolSpec, TurnScope,
};
use bobbin_children::{Children, Environment, Shell};
use bobbin_model::{Json, Mode, SandboxProfile, ThreadId};
use bobbin_terminals::Terminals;
use futures_util::future::join_all;

use super::agents;
use super::apply_patch::ApplyPatch;
use super::ask_user::AskUser;
use super::blocking::FileWork;
use super::create_plan::CreatePlan;
use super::edit_file::EditFile;
use super::find_files::FindFiles;
use super::find_tools::FIND_TOOLS;
use super::grep_files::GrepFiles;
use super::read_file::ReadFile;
use super::sandbox::Sandbox;
use super::shell::{EXEC, ShellTool};
use super::terminal_tools;
use super::todos::Todos;
use super::view_image::ViewImage;
use super::view_skill::SKILL_VIEW;
use super::web_fetch::WebFetch;
use super::write_file::WriteFile;
use bobbin_files::Leftovers;
use bobbin_model::plan::CREATE_PLAN;

/// The tools of an agent. Cheap to clone.
#[derive(Clone, Default)]
pub struct ToolSet {
    tools: Arc<BTreeMap<Arc<str>, Arc<dyn Tool>>>,
    sources: Arc<[Arc<dyn ToolSource>]>,
    /// Temporary files of the tools that write.
    leftovers: Leftovers,
}

/// Returns the names of the built-in tools, those for subagents, terminals and skills among them.
pub fn built_in_names() -> impl Iterator<Item = &'static str> {
    static PLAIN: LazyLock<Vec<Arc<dyn Tool>>> = LazyLock::new(|| plain(&FileWork::new()));
    let made = PLAIN
        .iter()
        .chain(agents::TOOLS.iter())
        .map(|tool| &*tool.spec().name);
    made.chain(terminal_tools::NAMES)
        .chain([EXEC, FIND_TOOLS, SKILL_VIEW])
}

/// Makes the tools that need no process.
fn plain(work: &FileWork) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadFile::new(work.clone())),
        Arc::new(WriteFile::new(work.clone())),
        Arc::new(EditFile::new(work.clone())),
        Arc::new(ApplyPatch::new(work.clone())),
        Arc::new(FindFiles::new(work.clone())),
        Arc::new(GrepFiles::new(work.clone())),
        Arc::new(ViewImage::new(work.clone())),
        Arc::new(CreatePlan::new()),
        Arc::new(WebFetch::new()),
        Arc::new(Todos::write()),
        Arc::new(Todos::update()),
        Arc::new(AskUser::new()),
    ]
}

impl ToolSet {
    /// Returns a set of these tools; of two with one name, the later one is used.
    pub fn new(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self {
            tools: Arc::new(by_name(tools)),
            sources: Arc::default(),
            leftovers: Leftovers::default(),
        }
    }

    /// Returns the tools of every agent: files, search, plan, and `Exec`, whose commands `children` runs with the
    /// variables of `environment`.
    pub fn built_in(children: Children, environment: Environment, shell: Shell) -> Self {
        Self::sandboxed(children, environment, shell, Sandbox::default())
    }

    /// Returns the same tools, with commands confined by `sandbox`.
    pub fn sandboxed(children: Children, environment: Environment, shell: Shell, sandbox: Sandbox) -> Self {
        let terminals = Terminals::nowhere(children, Arc::new(SystemClock));
        Self::with_terminals(&terminals, environment, shell, sandbox)
    }

    /// Returns the same tools, with commands run by `terminals`: they can be left in the background, and further tools
    /// handle them there.
    pub fn with_terminals(
        terminals: &Terminals,
        environment: Environment,
        shell: Shell,
        sandbox: Sandbox,
    ) -> Self {
        let work = FileWork::new();
        let leftovers = work.leftovers().clone();
        let profile = sandbox.profile;
        let shell = ShellTool::new(terminals.clone(), environment, shell, sandbox);
        let for_terminals = terminals
            .can_run_in_background()
            .then(|| terminal_tools::all(terminals, profile));
        let tools = plain(&work).into_iter().chain([Arc::new(shell) as Arc<dyn Tool>]);
        Self {
            leftovers,
            ..Self::new(tools.chain(for_terminals.into_iter().flatten()))
        }
    }

    /// Records the names of temporary files in a directory, so that those left by a kill can be removed.
    pub fn note_leftovers_in(&self, directory: &Path) {
        self.leftovers.record_in(directory);
    }

    /// Adds a source. Of two tools with one name, a permanent one has precedence, then that of the earlier source.
    #[must_use]
    pub fn with_source(self, source: Arc<dyn ToolSource>) -> Self {
        let sources = self.sources.iter().cloned().chain([source]).collect();
        Self { sources, ..self }
    }

    /// Returns the set with the sandbox `profile`, for a Turn that does not use the configured one.
    #[must_use]
    pub fn in_sandbox(self, profile: Option<SandboxProfile>) -> Self {
        let Some(profile) = profile else { return self };
        let own = |tool: &Arc<dyn Tool>| tool.in_sandbox(profile).unwrap_or_else(|| tool.clone());
        let tools = self.tools.iter().map(|(name, tool)| (name.clone(), own(tool)));
        Self {
            tools: Arc::new(tools.collect()),
            ..self
        }
    }

    /// Adds permanent tools, except those whose name is taken.
    #[must_use]
    pub fn and(self, more: Vec<Arc<dyn Tool>>) -> Self {
        if more.is_empty() {
            return self;
        }
        let mut tools = by_name(more);
        tools.extend(self.tools.iter().map(|(name, tool)| (name.clone(), tool.clone())));
        Self {
            tools: Arc::new(tools),
            ..self
        }
    }

    /// Returns the set of the tools that a Thread has now; it never changes.
    #[must_use]
    pub fn now_of(&self, thread: &ThreadId) -> Self {
        if self.sources.is_empty() {
            return self.clone();
        }
        let hosted = self
            .sources
            .iter()
            .rev()
            .flat_map(|source| source.tools_of(thread));
        let mut tools = by_name(hosted);
        tools.extend(self.tools.iter().map(|(name, tool)| (name.clone(), tool.clone())));
        Self {
            tools: Arc::new(tools),
            sources: Arc::default(),
            leftovers: self.leftovers.clone(),
        }
    }

    /// Returns the tools that clients of the sources declared for a Turn.
    pub fn declared_for(&self, turn: &TurnScope<'_>) -> Vec<DeclaredTools> {
        let sources = self.sources.iter();
        sources.filter_map(|source| source.declared_for(turn)).collect()
    }

    /// Returns the instructions for models of the programs behind the sources, each with the program's name.
    pub fn instructions(&self) -> Vec<(String, Arc<str>)> {
        self.sources
            .iter()
            .flat_map(|source| source.instructions())
            .collect()
    }

    /// Returns the names of the programs that are starting in the sources.
    pub fn starting(&self) -> Vec<String> {
        self.sources.iter().flat_map(|source| source.starting()).collect()
    }

    /// Returns once no source is starting; see [`ToolSource::settled`].
    pub async fn settled(&self, tool: Option<&str>) {
        join_all(self.sources.iter().map(|source| source.settled(tool))).await;
    }

    /// Returns a permanent tool, or any tool of a set from [`ToolSet::now_of`].
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Returns its own tools, without those of sources, for lists.
    pub fn listed(&self) -> BuiltInTools {
        let specs = self.specs(Mode::Agent).into_iter();
        let listed = specs.map(|spec| BuiltInTool {
            in_plan_mode: is_allowed(&spec, Mode::Plan),
            name: spec.name,
            description: spec.description,
        });
        BuiltInTools(listed.collect())
    }

    /// Returns the descriptions of the tools that a mode allows, in order of their names. A set from
    /// [`ToolSet::now_of`] includes the tools of sources.
    pub fn specs(&self, mode: Mode) -> Vec<ToolSpec> {
        self.left_by(mode).cloned().collect()
    }

    /// Returns the names of the tools that a mode allows.
    pub fn names(&self, mode: Mode) -> impl Iterator<Item = &str> {
        self.left_by(mode).map(|spec| &*spec.name)
    }

    /// Returns the tools that are called by themselves after edits and that a mode allows, with their arguments.
    pub fn after_edits(&self, mode: Mode) -> impl Iterator<Item = (&Arc<str>, &Json)> {
        let allowed = self
            .tools
            .values()
            .filter(move |tool| tool.is_there() && is_allowed(tool.spec(), mode));
        allowed.filter_map(|tool| Some((&tool.spec().name, tool.after_edits()?)))
    }

    fn left_by(&self, mode: Mode) -> impl Iterator<Item = &ToolSpec> {
        self.tools
            .values()
            .filter(|tool| tool.is_there())
            .map(|tool| tool.spec())
            .filter(move |spec| is_allowed(spec, mode) && is_usual(spec, mode))
    }
}

fn by_name(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> BTreeMap<Arc<str>, Arc<dyn Tool>> {
    let named = tools.into_iter().map(|tool| (tool.spec().name.clone(), tool));
    named.collect()
}

/// Returns whether a mode offers a tool to the model: each mode has one tool that writes plans. The other ones can still be
/// called, because clients know them and older conversations have them.
fn is_usual(spec: &ToolSpec, mode: Mode) -> bool {
    match &*spec.name {
        CREATE_PLAN => mode == Mode::Plan,
        "TodoWrite" => mode == Mode::Agent,
        "UpdateTodos" => false,
        _ => true,
    }
}

/// Returns whether a mode allows a tool.
pub fn is_allowed(spec: &ToolSpec, mode: Mode) -> bool {
    mode == Mode::Agent || spec.effect != Effect::Writes
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}
