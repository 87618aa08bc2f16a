//! An engine that does what the prompt says, one line at a time:
//!
//! | line | effect |
//! |---|---|
//! | `say TEXT` | an agent message, streamed word by word |
//! | `think TEXT` | reasoning, likewise |
//! | `stream N` | an agent message of N pieces `0 1 2 …` |
//! | `ask COMMAND` | a shell call that needs approval; the effect is a line in [`ScriptEngine::effects`] |
//! | `call COMMAND` | the same without approval |
//! | `preview COMMAND` | the same with approval, after a preview of what it would do to the file `pot` |
//! | `reach ADDRESS` | the same with an approval of something beyond this machine |
//! | `deny COMMAND` | a call that a rule forbids: it is refused and does not run |
//! | `use TOOL JSON` | a call of a tool that [`ScriptEngine::with_tools`] has for the Thread, or the word that it is not there |
//! | `flood MIB` | a call whose result has that many MiB |
//! | `spawn NAME LINE; LINE …` | a subagent that is given these lines |
//! | `join` | waits for the subagents and says what they said |
//! | `plan TITLE` | a plan of one step |
//! | `usage IN OUT` | tokens |
//! | `diff PATH` | a file change |
//! | `retry TEXT` | the status line of a pause before a retry |
//! | `listen` | takes the guidance that has come and says it |
//! | `wait` | waits for [`ScriptEngine::release`] |
//! | `hang` | waits for the interrupt |
//! | `fail TEXT`, `panic TEXT` | ends the Turn badly |
//!
//! Like every engine it goes on from what is recorded: a call whose effect may have begun is never repeated.
//! Prose is said again.

use std::sync::Arc;

use bobbin_agent_api::sub_agent::{Spawn, SubAgentStatus};
use bobbin_agent_api::tool::{OutputSink, ToolSource};
use bobbin_core::engine::{Ask, Billed, Engine, EngineFailure, TurnContext};
use bobbin_model::turn::FileChangeStatus;
use bobbin_model::{
    ApprovalKind, CallPreview, FileChange, ItemBody, ItemStatus, Json, Plan, Scope, Todo, TokenUsage,
    TurnDiff,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// See the module's page.
#[derive(Clone)]
pub struct ScriptEngine {
    effects: Arc<Mutex<Vec<String>>>,
    /// Where effects are written besides, to be seen after this process.
    ledger: Option<Arc<std::path::Path>>,
    gate: Arc<Semaphore>,
    tools: Option<Arc<dyn ToolSource>>,
}

impl Default for ScriptEngine {
    fn default() -> Self {
        Self {
            effects: Arc::default(),
            ledger: None,
            gate: Arc::new(Semaphore::new(0)),
            tools: None,
        }
    }
}

impl ScriptEngine {
    /// Returns the effects of all calls so far, in order.
    pub fn effects(&self) -> Vec<String> {
        self.effects.lock().clone()
    }

    /// Returns an engine whose effects are also lines of a file, one a call.
    pub fn with_ledger(path: &std::path::Path) -> Self {
        Self {
            ledger: Some(path.into()),
            ..Self::default()
        }
    }

    /// Returns the engine with tools that it can `use`.
    #[must_use]
    pub fn with_tools(self, source: Arc<dyn ToolSource>) -> Self {
        let tools = Some(source);
        Self { tools, ..self }
    }

    #[expect(
        clippy::expect_used,
        reason = "a test whose effects cannot be written cannot go on"
    )]
    fn effect(&self, command: &str) {
        use std::io::Write;
        self.effects.lock().push(command.to_owned());
        if let Some(path) = &self.ledger {
            let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
            writeln!(opened.expect("the ledger opens"), "{command}").expect("the ledger is written");
        }
    }

    /// Lets one `wait` go on.
    pub fn release(&self) {
        self.gate.add_permits(1);
    }
}

impl Engine for ScriptEngine {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let engine = self.clone();
        async move {
            let prompt = match turn.at_start().turn.items.first().map(|item| &item.body) {
                Some(ItemBody::UserMessage(message)) => message.text().into_owned(),
                _ => String::new(),
            };
            for item in turn.at_start().open_items() {
                bobbin_core::engine::OpenItem::resume(&turn, item)
                    .complete(None)
                    .await?;
            }
            for (n, line) in prompt.lines().enumerate() {
                engine.line(&turn, n, line.trim()).await?;
            }
            Ok(())
        }
        .boxed()
    }
}

async fn spawn(turn: &TurnContext, n: usize, line: &str) -> Result<(), EngineFailure> {
    let (name, task) = line.split_once(' ').unwrap_or((line, "say nothing"));
    let request = Spawn {
        prompt: task.replace("; ", "\n"),
        nickname: Some(name.to_owned()),
        role: None,
        profile: None,
        call: format!("call_{n}"),
    };
    let agents = turn.sub_agents();
    let started = agents.spawn(request).await;
    started
        .map(drop)
        .map_err(|error| EngineFailure::Failed(error.to_string()))
}

async fn join(turn: &TurnContext) -> Result<(), EngineFailure> {
    let agents = turn.sub_agents();
    let reports = agents.wait(&[], None, turn.cancelled()).await;
    let reports = reports.map_err(|error| EngineFailure::Failed(error.to_string()))?;
    let said = reports.iter().map(|report| match &report.status {
        SubAgentStatus::Finished(said) => said.clone(),
        other => format!("{other:?}"),
    });
    let said = said.collect::<Vec<_>>().join(" | ");
    prose(turn, ItemBody::AgentMessage { text: String::new() }, vec![said]).await
}

impl ScriptEngine {
    #[expect(clippy::panic, reason = "a prompt asks for it, to see what the server does")]
    async fn line(&self, turn: &TurnContext, n: usize, line: &str) -> Result<(), EngineFailure> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "say" => prose(turn, ItemBody::AgentMessage { text: String::new() }, words(rest)).await,
            "think" => prose(turn, ItemBody::Reasoning { text: String::new() }, words(rest)).await,
            "stream" => {
                let count = rest.parse().unwrap_or(0u32);
                let pieces = (0..count).map(|piece| format!("{piece} ")).collect();
                prose(turn, ItemBody::AgentMessage { text: String::new() }, pieces).await
            }
            "deny" => deny(turn, n, rest).await,
            "ask" => self.call(turn, n, rest, Some(ApprovalKind::Shell), None).await,
            "reach" => {
                self.call(turn, n, rest, Some(ApprovalKind::RemoteResource), None)
                    .await
            }
            "preview" => {
                self.call(turn, n, rest, Some(ApprovalKind::Shell), Some(preview()))
                    .await
            }
            "call" => self.call(turn, n, rest, None, None).await,
            "both" => self.both(turn, n, rest).await,
            "break" => ended_call(turn, n, rest, false).await,
            "linger" => ended_call(turn, n, rest, true).await,
            "flood" => flood(turn, n, rest.parse().unwrap_or(1)).await,
            "use" => self.use_tool(turn, n, rest).await,
            "spawn" => spawn(turn, n, rest).await,
            "join" => join(turn).await,
            "plan" => {
                let todo = Todo {
                    id: "one".to_owned(),
                    content: rest.to_owned(),
                    priority: bobbin_model::plan::TodoPriority::Medium,
                    status: bobbin_model::plan::TodoStatus::Pending,
                };
                Ok(turn
                    .plan(Plan {
                        title: rest.to_owned(),
                        todos: vec![todo],
                        ..Plan::default()
                    })
                    .await?)
            }
            "retry" => Ok(turn.show_waiting(None, rest).await?),
            "usage" => bill(turn, rest).await,
            "diff" => {
                let file = FileChange {
                    path: rest.to_owned(),
                    old_path: None,
                    status: FileChangeStatus::Added,
                    additions: 1,
                    deletions: 0,
                };
                let diff = format!("--- /dev/null\n+++ b/{rest}\n@@ -0,0 +1 @@\n+hello\n");
                Ok(turn
                    .diff(TurnDiff {
                        diff,
                        files: vec![file],
                        truncated: false,
                    })
                    .await?)
            }
            "listen" => {
                for item in turn.guidance().await? {
                    if let ItemBody::UserMessage(said) = item.body {
                        prose(
                            turn,
                            ItemBody::AgentMessage { text: String::new() },
                            vec![said.text().into_owned()],
                        )
                        .await?;
                    }
                }
                Ok(())
            }
            "wait" => {
                tokio::select! {
                    permit = self.gate.acquire() => if let Ok(permit) = permit { permit.forget() },
                    () = turn.cancelled().cancelled() => {}
                }
                Ok(())
            }
            "hang" => {
                turn.cancelled().cancelled().await;
                Ok(())
            }
            "fail" => Err(EngineFailure::Failed(rest.to_owned())),
            "panic" => panic!("{rest}"),
            _ => prose(turn, ItemBody::AgentMessage { text: String::new() }, words(line)).await,
        }
    }

    /// Two calls of one answer; each waits for its own word.
    async fn both(&self, turn: &TurnContext, n: usize, rest: &str) -> Result<(), EngineFailure> {
        let (one, other) = rest.split_once(", ").unwrap_or((rest, rest));
        let kind = Some(ApprovalKind::Shell);
        let (first, second) = tokio::join!(
            self.call(turn, n, one, kind, None),
            self.call(turn, n + 100, other, kind, None)
        );
        first.and(second)
    }

    async fn use_tool(&self, turn: &TurnContext, n: usize, line: &str) -> Result<(), EngineFailure> {
        let (name, arguments) = line.split_once(' ').unwrap_or((line, "{}"));
        let tools = self
            .tools
            .iter()
            .flat_map(|source| source.tools_of(turn.thread()));
        let Some(tool) = tools.into_iter().find(|tool| &*tool.spec().name == name) else {
            let text = format!("there is no tool {name}");
            return prose(turn, ItemBody::AgentMessage { text: String::new() }, vec![text]).await;
        };
        let call_id = format!("call_{n}");
        let arguments = Json::object(arguments).ok_or(EngineFailure::Failed("no object".to_owned()))?;
        turn.add(ItemBody::ToolCall {
            tool_name: name.to_owned(),
            call_id: call_id.clone(),
            arguments: Some(arguments.clone()),
            arguments_text: None,
            kept: None,
        })
        .await?;
        let prepared = tool.prepare(&arguments, turn.environment());
        let prepared = prepared.map_err(|refusal| EngineFailure::Failed(refusal.to_string()))?;
        turn.start_call(&call_id).await?;
        let context = turn.call_context(&call_id, turn.cancelled().clone(), Arc::new(Unheard));
        let output = prepared.run(context).await;
        Ok(turn
            .add(ItemBody::ToolResult {
                call_id,
                result: output.text,
                success: output.success,
                refused: output.refused,
                seen: Vec::new(),
                pictures: Vec::new(),
                change: None,
                tool_name: None,
            })
            .await?)
    }

    async fn call(
        &self,
        turn: &TurnContext,
        n: usize,
        command: &str,
        ask: Option<ApprovalKind>,
        preview: Option<CallPreview>,
    ) -> Result<(), EngineFailure> {
        let call_id = format!("call_{n}");
        let begun = turn.at_start();
        if begun.result_of(&call_id).is_some() {
            return Ok(());
        }
        let known = begun
            .pending_calls()
            .any(|(known, item)| known == call_id && item.status == ItemStatus::Completed);
        if begun.started_calls.contains(&call_id) {
            let result = "interrupted_by_restart".to_owned();
            return Ok(turn
                .add(ItemBody::ToolResult {
                    call_id,
                    result,
                    success: false,
                    refused: false,
                    seen: Vec::new(),
                    pictures: Vec::new(),
                    change: None,
                    tool_name: None,
                })
                .await?);
        }
        if !known {
            let arguments = Json::of(&serde_json::json!({ "command": command })).ok();
            let tool_name = "Exec".to_owned();
            turn.add(ItemBody::ToolCall {
                tool_name,
                call_id: call_id.clone(),
                arguments,
                arguments_text: None,
                kept: None,
            })
            .await?;
        }
        if let Some(preview) = preview {
            turn.preview(&call_id, preview).await?;
        }
        if let Some(kind) = ask {
            let root = turn.environment().root.to_string_lossy().into_owned();
            let scope = Scope::new(kind, command, root);
            let reason = "The agent wants to run a command.".to_owned();
            let decision = turn
                .ask(Ask {
                    call_id: call_id.clone(),
                    scope,
                    reason,
                })
                .await?;
            if !decision.approves() {
                let result = "not allowed".to_owned();
                return Ok(turn
                    .add(ItemBody::ToolResult {
                        call_id,
                        result,
                        success: false,
                        refused: true,
                        seen: Vec::new(),
                        pictures: Vec::new(),
                        change: None,
                        tool_name: None,
                    })
                    .await?);
            }
        }
        turn.start_call(&call_id).await?;
        self.effect(command);
        Ok(turn
            .add(ItemBody::ToolResult {
                call_id,
                result: "done".to_owned(),
                success: true,
                refused: false,
                seen: Vec::new(),
                pictures: Vec::new(),
                change: None,
                tool_name: None,
            })
            .await?)
    }
}

/// What a call that is previewed would do.
fn preview() -> CallPreview {
    CallPreview {
        path: "/srv/teapot/pot".to_owned(),
        diff: "@@ -0,0 +1 @@\n+hot".to_owned(),
        additions: 1,
        deletions: 0,
    }
}

/// Takes output that nobody looks at.
struct Unheard;

impl OutputSink for Unheard {
    fn write(&self, _: String) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

/// A call that a rule forbids: the model is told, nothing runs.
async fn deny(turn: &TurnContext, n: usize, command: &str) -> Result<(), EngineFailure> {
    let call_id = format!("call_{n}");
    let arguments = Json::of(&serde_json::json!({ "command": command })).ok();
    let tool_name = "Exec".to_owned();
    turn.add(ItemBody::ToolCall {
        tool_name,
        call_id: call_id.clone(),
        arguments,
        arguments_text: None,
        kept: None,
    })
    .await?;
    let result = "a rule forbids this".to_owned();
    Ok(turn
        .add(ItemBody::ToolResult {
            call_id,
            result,
            success: false,
            refused: true,
            seen: Vec::new(),
            pictures: Vec::new(),
            change: None,
            tool_name: None,
        })
        .await?)
}

/// A call with a very large result.
async fn flood(turn: &TurnContext, n: usize, mib: usize) -> Result<(), EngineFailure> {
    let call_id = format!("call_{n}");
    turn.add(ItemBody::ToolCall {
        tool_name: "flood".to_owned(),
        call_id: call_id.clone(),
        arguments: Json::of(&serde_json::json!({})).ok(),
        arguments_text: None,
        kept: None,
    })
    .await?;
    turn.start_call(&call_id).await?;
    Ok(turn
        .add(ItemBody::ToolResult {
            call_id,
            result: "x".repeat(mib << 20),
            success: true,
            refused: false,
            seen: Vec::new(),
            pictures: Vec::new(),
            change: None,
            tool_name: None,
        })
        .await?)
}

/// A model call: tokens read and written, and what they cost.
async fn bill(turn: &TurnContext, rest: &str) -> Result<(), EngineFailure> {
    let mut numbers = rest.split(' ').map(|word| word.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    let usage = TokenUsage::of(next(), next());
    Ok(turn
        .usage(Billed {
            usage,
            context_tokens: usage.input_tokens,
            window: None,
            cost_micros: next(),
        })
        .await?)
}

/// A call that fails, or one that runs until its Turn is stopped and has a result all the same.
async fn ended_call(turn: &TurnContext, n: usize, command: &str, lingers: bool) -> Result<(), EngineFailure> {
    let call_id = format!("call_{n}");
    let arguments = Json::of(&serde_json::json!({ "command": command })).ok();
    let tool_name = "Exec".to_owned();
    turn.add(ItemBody::ToolCall {
        tool_name,
        call_id: call_id.clone(),
        arguments,
        arguments_text: None,
        kept: None,
    })
    .await?;
    turn.start_call(&call_id).await?;
    if lingers {
        turn.cancelled().cancelled().await;
    }
    let result = format!("{command}: it broke");
    Ok(turn
        .add(ItemBody::ToolResult {
            call_id,
            result,
            success: false,
            refused: false,
            seen: Vec::new(),
            pictures: Vec::new(),
            change: None,
            tool_name: None,
        })
        .await?)
}

async fn prose(turn: &TurnContext, body: ItemBody, pieces: Vec<String>) -> Result<(), EngineFailure> {
    let item = turn.open(body).await?;
    for piece in pieces {
        item.text(piece).await?;
    }
    Ok(item.complete(None).await?)
}

fn words(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}
