//! The engine that the core starts for each Turn.

use std::fmt;
use std::sync::Arc;

use bobbin_agent_api::hook::Hooks;
use bobbin_agent_api::undo::Undo;
use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_model::ContextWindow;
use bobbin_prompts::Prompts;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::AgentSettings;
use super::git_states::GitStates;
use super::past::PastTurns;
use super::titles::Titles;
use super::turn::TurnRun;
use bobbin_agent_api::model::Model;
use bobbin_tools::{Git, ToolSet};

/// Runs Turns with one model and one set of tools.
pub struct AgentEngine {
    model: Arc<dyn Model>,
    tools: ToolSet,
    settings: Arc<AgentSettings>,
    undo: Option<Arc<dyn Undo>>,
    prompts: Option<Arc<Prompts>>,
    past: Arc<PastTurns>,
    git: Option<Arc<GitStates>>,
    titles: Option<Arc<Titles>>,
    hooks: Option<Arc<dyn Hooks>>,
}

impl AgentEngine {
    /// Returns an engine.
    pub fn new(model: Arc<dyn Model>, tools: ToolSet) -> Self {
        Self {
            model,
            tools,
            settings: Arc::default(),
            undo: None,
            prompts: None,
            past: Arc::default(),
            git: None,
            titles: None,
            hooks: None,
        }
    }

    /// Has hooks asked at moments of Turns.
    #[must_use]
    pub fn with_hooks(self, hooks: Option<Arc<dyn Hooks>>) -> Self {
        Self { hooks, ..self }
    }

    /// Has titles of Threads written.
    #[must_use]
    pub fn with_titles(self, titles: Option<Arc<Titles>>) -> Self {
        Self { titles, ..self }
    }

    /// Gives models the state of the repository, as git says it.
    #[must_use]
    pub fn with_git(self, git: Git) -> Self {
        Self {
            git: Some(Arc::new(GitStates::new(git))),
            ..self
        }
    }

    /// Replaces the settings.
    #[must_use]
    pub fn with_settings(self, settings: AgentSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            ..self
        }
    }

    /// Records the changes of Turns in files, so that they can be undone.
    #[must_use]
    pub fn with_undo(self, undo: Option<Arc<dyn Undo>>) -> Self {
        Self { undo, ..self }
    }

    /// Adds the skills that the model is offered.
    #[must_use]
    pub fn with_prompts(self, prompts: Option<Arc<Prompts>>) -> Self {
        Self { prompts, ..self }
    }
}

impl Engine for AgentEngine {
    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        self.model.window(model)
    }

    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let run = TurnRun::new(
            self.model.clone(),
            self.tools.clone().in_sandbox(turn.at_start().features.sandbox),
            self.settings.clone(),
            self.undo.clone(),
            turn.clone(),
        )
        .with_prompts(self.prompts.clone())
        .with_past(self.past.clone())
        .with_git(self.git.clone())
        .with_hooks(self.hooks.clone());
        let titles = self.titles.clone();
        async move {
            Box::pin(run.run()).await?;
            if let Some(titles) = titles {
                titles.after(&turn).await;
            }
            Ok(())
        }
        .boxed()
    }
}

impl fmt::Debug for AgentEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentEngine")
            .field("tools", &self.tools)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
