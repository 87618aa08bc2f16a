//! A command that a user types, as a Turn without a model.
//!
//! It is recorded as a call of `Exec`, so that clients show it, undo has its changes, and the next request to a model
//! contains it. It runs in the sandbox of the Thread and is not asked about: the user has written it. A rule that refuses it
//! counts.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::model::{
    Message, Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, Stop,
};
use bobbin_agent_api::tool::{
    CallContext, CommandLine, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput,
    ToolRefusal, ToolSpec, Touches,
};
use bobbin_agent_api::undo::Undo;
use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_model::item::USER_COMMAND_CALL;
use bobbin_model::{ContextWindow, Json};
use bobbin_tools::{CommandRequest, Commands, ToolSet};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use serde_json::value::RawValue;

use crate::{AgentEngine, AgentSettings};

/// The tool that the call is of.
const TOOL: &str = "Exec";
/// The time after which a command is killed. Users stop theirs.
const TIME_LIMIT: Duration = Duration::from_hours(1);
/// Bytes of output that the record and the model get.
const OUTPUT: usize = 1 << 20;

/// Runs the commands that users type, and all other Turns with another engine.
pub struct UserCommands<E> {
    /// The engine of all other Turns.
    pub engine: E,
    /// Runs the commands.
    pub commands: Commands,
    /// The limits of a Turn.
    pub settings: AgentSettings,
    /// Records what commands change in files.
    pub undo: Option<Arc<dyn Undo>>,
}

impl<E: Engine> Engine for UserCommands<E> {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let features = &turn.at_start().features;
        let Some(line) = features.command.clone() else {
            return self.engine.run(turn);
        };
        let tool = UserCommand {
            commands: self.commands.clone().in_sandbox(features.sandbox),
            spec: ToolSpec {
                name: TOOL.into(),
                description: "Runs the user's command.".into(),
                input_schema: Json::from_raw(RawValue::NULL.to_owned()),
                effect: Effect::Commands,
            },
        };
        let engine = AgentEngine::new(Arc::new(Typist { line }), ToolSet::new([Arc::new(tool) as _]))
            .with_settings(self.settings.clone())
            .with_undo(self.undo.clone());
        engine.run(turn)
    }

    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        self.engine.window(model)
    }
}

/// Asks for the command, once.
struct Typist {
    line: String,
}

impl Model for Typist {
    fn history_turns(&self, _: Option<&str>) -> u32 {
        0
    }

    fn is_offline(&self, _: Option<&str>) -> bool {
        true
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        async move {
            let has_run = |message: &Message| matches!(message, Message::Result { .. });
            if !request.messages.iter().any(has_run) {
                let id = format!("{USER_COMMAND_CALL}{}", request.turn.0);
                for event in [
                    ModelEvent::CallStarted {
                        id: id.clone(),
                        tool: TOOL.to_owned(),
                    },
                    ModelEvent::CallArguments {
                        id: id.clone(),
                        text: json!({ "command": self.line }).to_string(),
                    },
                    ModelEvent::CallEnded { id },
                ] {
                    sink.event(event).await?;
                }
            }
            Ok(ModelReply {
                stop: Stop::Done,
                usage: None,
            })
        }
        .boxed()
    }
}

/// Runs the command.
struct UserCommand {
    commands: Commands,
    spec: ToolSpec,
}

impl Tool for UserCommand {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: serde_json::Value = arguments.decode().unwrap_or_default();
        let request = CommandRequest {
            command: arguments["command"]
                .as_str()
                .unwrap_or_default()
                .trim()
                .to_owned(),
            variables: Vec::new(),
            input: Some(Vec::new()),
            outside_sandbox: false,
            time_limit: TIME_LIMIT,
            captured_bytes: OUTPUT,
        };
        let call = self.commands.prepare(request, environment)?;
        Ok(Box::new(Typed(call)))
    }
}

/// A command that needs no permission.
struct Typed(Box<dyn PreparedCall>);

impl PreparedCall for Typed {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn command(&self) -> Option<CommandLine> {
        self.0.command()
    }

    fn touches(&self) -> Touches {
        self.0.touches()
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        self.0.run(context)
    }
}
