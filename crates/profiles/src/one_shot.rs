//! One Turn of a subagent that is a command line: the "model" that makes its one call, and the tool that runs it.
//!
//! The call is one of `Exec`, so that it is judged, asked about, recorded and shown as any command. Values that the line
//! does not have (variables, standard input) come from the profile when the call is prepared.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::cut::head_and_tail;
use bobbin_agent_api::model::{
    Message, Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, ModelUsage, Stop,
};
use bobbin_agent_api::tool::{
    CallContext, CommandLine, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput,
    ToolRefusal, ToolSpec, Touches,
};
use bobbin_model::input::display_text;
use bobbin_model::{ApprovalPolicy, Json, TokenUsage};
use bobbin_tools::{CommandRequest, Commands};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;
use serde_json::value::RawValue;

use crate::command::{self, Parts};
use crate::output;
use crate::settings::{InputMode, ProfileDefinition, TrustLevel};

/// The tool that the call is of.
const TOOL: &str = "Exec";
/// When a run is killed whose profile does not say.
const TIME_LIMIT: Duration = Duration::from_mins(30);
/// Bytes of output that are read where the profile does not say.
const OUTPUT: u64 = 1 << 20;
/// Bytes of the output of a run that failed.
const FAILED: usize = 8 << 10;

/// One Turn of a subagent that is a command line.
pub(crate) struct OneShot {
    /// The profile's name.
    pub(crate) name: String,
    pub(crate) definition: ProfileDefinition,
    pub(crate) commands: Commands,
    /// The approval policy of the Thread.
    pub(crate) approvals: ApprovalPolicy,
    /// Variables of the server that it gets.
    pub(crate) passed: Vec<(String, OsString)>,
    /// The file for its answer: as the command sees it, and where it is.
    pub(crate) file: Option<(String, PathBuf)>,
    pub(crate) state: Mutex<State>,
}

/// The state that changes while the Turn runs.
#[derive(Default)]
pub(crate) struct State {
    /// The task of the command.
    pub(crate) task: String,
    /// The session that it goes on with.
    pub(crate) session: Option<String>,
    /// Whether it goes on with its sessions.
    pub(crate) resumes: bool,
    /// The tokens that the last run used.
    pub(crate) usage: Option<TokenUsage>,
}

impl OneShot {
    fn line(&self) -> String {
        let state = self.state.lock();
        let parts = Parts {
            task: &state.task,
            session: state.session.as_deref(),
            approvals: self.approvals,
            file: self.file.as_ref().map(|(seen, _)| seen.as_str()),
        };
        command::line(&self.definition, &parts)
    }

    fn max_output(&self) -> u64 {
        self.definition.max_output_bytes.unwrap_or(OUTPUT)
    }

    fn request(&self, command: String) -> CommandRequest {
        let definition = &self.definition;
        let mut variables = self.passed.clone();
        let set = definition.env.iter().flatten();
        variables.extend(set.map(|(name, value)| (name.clone(), value.into())));
        let mut input = None;
        let task = self.state.lock().task.clone();
        match (
            definition.input_mode.unwrap_or_default(),
            &definition.input_env_key,
        ) {
            (InputMode::Env, Some(name)) => variables.push((name.clone(), task.into())),
            (InputMode::Stdin, _) => input = Some(task.into_bytes()),
            (InputMode::Arg | InputMode::ArgTemplate | InputMode::Env, _) => {}
        }
        CommandRequest {
            command,
            variables,
            input,
            outside_sandbox: is_outside(definition),
            time_limit: definition.timeout.map_or(TIME_LIMIT, Duration::from_secs),
            captured_bytes: usize::try_from(self.max_output()).unwrap_or(usize::MAX),
        }
    }

    /// Makes the result of a run that of the subagent: its answer, or why there is none. Blocks on the disk.
    fn read(&self, mut output: ToolOutput) -> ToolOutput {
        let Some(end) = &output.command else {
            // It did not run, and the text says why.
            return output;
        };
        let read = self.definition.read_output_file != Some(false);
        let file = self.file.as_ref().filter(|_| read && output.success);
        let answer = file.and_then(|(_, path)| read_file(path, self.max_output()));
        if let Some((_, path)) = &self.file
            && self.definition.delete_output_file_after_read != Some(false)
        {
            // There may be none.
            drop(std::fs::remove_file(path));
        }
        let name = &self.name;
        if !output.success {
            let said = head_and_tail(&output.text, FAILED);
            output.text = format!("The command of the subagent profile {name} failed: {said}");
            return output;
        }
        let reading = output::read(&self.definition, &end.output, answer);
        let session = {
            let mut state = self.state.lock();
            state.usage = reading.usage;
            if state.resumes && reading.session.is_some() {
                state.session = reading.session;
            }
            state.session.clone()
        };
        match reading.answer {
            Ok(answer) => output.text = output::result(&answer, session.as_deref()),
            Err(why) => {
                let bound = if end.truncated {
                    format!(", of which {} bytes are read (maxOutputBytes)", self.max_output())
                } else {
                    String::new()
                };
                let said = head_and_tail(&end.output, FAILED);
                output.success = false;
                output.text =
                    format!("The answer of the subagent profile {name} is missing: {why}{bound}\n{said}");
            }
        }
        output
    }
}

/// Whether the commands of a profile run outside of the sandbox.
pub(crate) fn is_outside(definition: &ProfileDefinition) -> bool {
    definition.trust_level == Some(TrustLevel::Trusted)
}

/// Reads a file that a command may have written. Links are not followed: they could lead where the command may not read.
fn read_file(path: &std::path::Path, most: u64) -> Option<String> {
    let file = bobbin_files::open_file(path).ok()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Asks for the run, and says its answer.
pub(crate) struct OneShotModel(pub(crate) Arc<OneShot>);

impl Model for OneShotModel {
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
            let answered = request
                .messages
                .iter()
                .rposition(|message| matches!(message, Message::Result { .. }));
            let answer = answered.and_then(|at| match &request.messages[at] {
                Message::Result { text, success, .. } => Some((text, *success)),
                Message::User { .. } | Message::Agent { .. } => None,
            });
            let unanswered = &request.messages[answered.map_or(0, |at| at + 1)..];
            let task = unanswered.iter().filter_map(|message| match message {
                Message::User { parts } => Some(display_text(parts)),
                Message::Agent { .. } | Message::Result { .. } => None,
            });
            let task: Vec<String> = task.collect();
            match answer {
                Some((why, false)) => return Err(ModelError::Failed(why.clone())),
                Some((text, true)) => {
                    let (answer, _) = output::split(text);
                    sink.event(ModelEvent::Text(answer.to_owned())).await?;
                }
                None => {}
            }
            if !task.is_empty() {
                self.0.state.lock().task = task.join("\n\n");
                let calls = request
                    .messages
                    .iter()
                    .filter(|message| matches!(message, Message::Agent { .. }));
                let id = format!("call_{}_{}", request.turn.0, calls.count() + 1);
                let arguments = json!({ "command": self.0.line() }).to_string();
                for event in [
                    ModelEvent::CallStarted {
                        id: id.clone(),
                        tool: TOOL.to_owned(),
                    },
                    ModelEvent::CallArguments {
                        id: id.clone(),
                        text: arguments,
                    },
                    ModelEvent::CallEnded { id },
                ] {
                    sink.event(event).await?;
                }
            }
            let usage = self.0.state.lock().usage.take();
            Ok(ModelReply {
                stop: Stop::Done,
                usage: usage.map(|tokens| ModelUsage {
                    tokens,
                    context_tokens: 0,
                    cost_micros: None,
                }),
            })
        }
        .boxed()
    }
}

/// Runs the command of a Turn.
pub(crate) struct OneShotTool {
    run: Arc<OneShot>,
    spec: ToolSpec,
}

impl OneShotTool {
    pub(crate) fn new(run: Arc<OneShot>) -> Self {
        let spec = ToolSpec {
            name: TOOL.into(),
            description: "Runs the command of the profile.".into(),
            input_schema: Json::from_raw(RawValue::NULL.to_owned()),
            effect: Effect::Writes,
        };
        Self { run, spec }
    }
}

impl Tool for OneShotTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: serde_json::Value = arguments.decode().unwrap_or_default();
        let command = arguments["command"].as_str().unwrap_or_default().to_owned();
        let call = self
            .run
            .commands
            .prepare(self.run.request(command), environment)?;
        let run = self.run.clone();
        Ok(Box::new(PreparedRun { call, run }))
    }
}

struct PreparedRun {
    call: Box<dyn PreparedCall>,
    run: Arc<OneShot>,
}

impl PreparedCall for PreparedRun {
    fn permission(&self) -> Permission {
        match self.call.permission() {
            Permission::Ask { scope, reason } => Permission::Ask {
                scope,
                reason: format!("It is the subagent profile {}. {reason}", self.run.name),
            },
            Permission::Free => Permission::Free,
        }
    }

    fn command(&self) -> Option<CommandLine> {
        self.call.command()
    }

    fn touches(&self) -> Touches {
        self.call.touches()
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let output = self.call.run(context).await;
            let run = self.run;
            let read = tokio::task::spawn_blocking(move || run.read(output)).await;
            read.unwrap_or_else(|error| ToolOutput {
                text: format!("what the command has said cannot be read: {error}"),
                ..ToolOutput::default()
            })
        }
        .boxed()
    }
}
