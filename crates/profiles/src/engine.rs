//! The engine of Turns whose subagent may be a command line.

use std::ffi::OsString;
use std::sync::Arc;

use bobbin_agent::{AgentEngine, AgentSettings};
use bobbin_agent_api::undo::Undo;
use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_model::{ContextWindow, ItemBody, SubAgentRuntime};
use bobbin_tools::{Commands, ToolSet};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::configured::Profiles;
use crate::one_shot::{OneShot, OneShotModel, OneShotTool, State, is_outside};
use crate::output;

/// Finished Turns in which a session is looked for.
const TURNS: u32 = 16;

/// Runs each Turn with another engine, and those of subagents that are command lines by itself.
pub struct ProfileEngine<E> {
    /// The engine of all other Turns.
    pub engine: E,
    /// The profiles.
    pub profiles: Arc<Profiles>,
    /// Runs the commands.
    pub commands: Commands,
    /// The variables of the server.
    pub variables: Arc<[(OsString, OsString)]>,
    /// The limits of a Turn.
    pub settings: AgentSettings,
    /// Records what commands change in files.
    pub undo: Option<Arc<dyn Undo>>,
}

impl<E: Engine> Engine for ProfileEngine<E> {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let source = turn.header().source.sub_agent();
        let profile = source.and_then(|source| source.profile.as_ref());
        let name = profile
            .filter(|profile| profile.runtime == SubAgentRuntime::CliOneshot)
            .map(|profile| profile.name.clone());
        let Some(name) = name else {
            return self.engine.run(turn);
        };
        let prepared = prepare(
            name,
            self.profiles.clone(),
            self.commands.clone().in_sandbox(turn.at_start().features.sandbox),
            self.variables.clone(),
            turn.clone(),
        );
        let (settings, undo) = (self.settings.clone(), self.undo.clone());
        async move {
            let run = Arc::new(prepared.await?);
            let tool = Arc::new(OneShotTool::new(run.clone()));
            let engine = AgentEngine::new(Arc::new(OneShotModel(run)), ToolSet::new([tool as _]))
                .with_settings(settings)
                .with_undo(undo);
            engine.run(turn).await
        }
        .boxed()
    }

    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        self.engine.window(model)
    }
}

/// Returns the run of a Turn, by what its profile says now.
async fn prepare(
    name: String,
    profiles: Arc<Profiles>,
    commands: Commands,
    variables: Arc<[(OsString, OsString)]>,
    turn: TurnContext,
) -> Result<OneShot, EngineFailure> {
    let definition = profiles.to_run(&name).await.map_err(EngineFailure::Failed)?;
    let resumes = definition.supports_resume == Some(true) && profiles.resumes();
    let mut state = State {
        resumes,
        ..State::default()
    };
    if resumes {
        let before = turn.history(turn.turn(), TURNS).await;
        let before = before.map_err(|error| EngineFailure::Failed(error.to_string()))?;
        let mut results = before.iter().flat_map(|turn| &turn.items).rev();
        state.session = results.find_map(|item| match &item.body {
            ItemBody::ToolResult { result, .. } => output::split(result).1.map(ToOwned::to_owned),
            _ => None,
        });
    }
    let said = turn.at_start().turn.items.iter().rev();
    let mut said = said.filter_map(|item| match &item.body {
        ItemBody::UserMessage(message) => Some(message.text().into_owned()),
        _ => None,
    });
    state.task = said.next().unwrap_or_default();
    let environment = turn.environment();
    let passed = variables.iter().filter_map(|(name, value)| {
        let wanted = definition.env_passthrough.iter().flatten();
        let name = wanted.into_iter().find(|wanted| name == wanted.as_str())?;
        Some((name.clone(), value.clone()))
    });
    let passed = passed.collect();
    let mut file = None;
    if definition.output_file_arg_template.is_some() {
        // The same for each run of the Turn: the line may be on record.
        let own = format!("answer-{}-{}", turn.thread(), turn.turn());
        let (root, places) = (environment.root.clone(), commands.clone());
        let outside = is_outside(&definition);
        let found = tokio::task::spawn_blocking(move || places.temporary(&root, outside)).await;
        let found = found.ok().flatten().ok_or_else(|| {
            let why = "its answer goes to a file (outputFileArgTemplate), and the sandbox lets it write none";
            EngineFailure::Failed(format!("The subagent profile {name} cannot run: {why}."))
        })?;
        let (seen, here) = found;
        file = Some((seen.join(&own).to_string_lossy().into_owned(), here.join(own)));
    }
    Ok(OneShot {
        approvals: environment.approvals,
        name,
        definition,
        commands,
        passed,
        file,
        state: Mutex::new(state),
    })
}
