//! The Items of a Turn as cells of the transcript. The Items of one call become one cell, and calls that only look become one
//! row.

use std::collections::HashMap;

use bobbin_client::{ItemState, TurnState};
use bobbin_model::{CommandStatus, Decision, ExecutionStatus, Json, TurnStatus};
use bobbin_native_wire::item::content::ContentItem;
use bobbin_native_wire::item::payload::{ItemPayload, SystemNoticeKind, SystemNoticePayload};
use bobbin_native_wire::item::tool_payload::CommandExecutionPayload;
use serde_json::Value;

/// A part of the transcript.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub(crate) body: Body,
    /// Whether it is final.
    pub(crate) is_done: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    /// A user's message, with its author if that is another channel's.
    User {
        text: String,
        pictures: usize,
    },
    /// The agent's words.
    Agent(String),
    /// The agent's thoughts, and how long they took in seconds.
    Thought {
        text: String,
        seconds: Option<u64>,
    },
    /// A call.
    Call(Box<Call>),
    /// Calls that only look.
    Looks(Vec<Call>),
    /// An operation that was refused and is none of a call that is shown.
    Refused(String),
    /// A model's question, and the answer.
    Asked {
        question: String,
        answer: Option<String>,
    },
    Notice {
        text: String,
        is_bad: bool,
    },
    /// The end of a Turn.
    End(Box<Ended>),
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) state: CallState,
    pub(crate) command: Option<CommandExecutionPayload>,
    pub(crate) result: Option<String>,
    pub(crate) millis: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallState {
    /// It is written, waits or runs.
    Open,
    Done,
    Failed,
    /// A user, or nobody in time, has refused it.
    Refused,
    Cancelled,
    /// Its command goes on in a background terminal.
    Background,
}

/// How a Turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ended {
    pub(crate) status: TurnStatus,
    pub(crate) error: Option<String>,
    pub(crate) seconds: u64,
    pub(crate) input: u64,
    pub(crate) cached: u64,
    pub(crate) output: u64,
    pub(crate) cost: Option<f64>,
    pub(crate) files: Option<u32>,
}

impl Call {
    fn new(id: &str, tool: &str) -> Self {
        Self {
            id: id.to_owned(),
            tool: tool.to_owned(),
            arguments: Value::Null,
            state: CallState::Open,
            command: None,
            result: None,
            millis: None,
        }
    }

    /// Whether it only looks.
    fn looks(&self) -> bool {
        matches!(self.tool.as_str(), "ReadFile" | "GrepFiles" | "FindFiles")
    }

    pub(crate) fn argument(&self, name: &str) -> &str {
        self.arguments[name].as_str().unwrap_or_default()
    }

    pub(crate) fn path(&self) -> &str {
        ["path", "filePath"]
            .iter()
            .find_map(|name| self.arguments[*name].as_str())
            .unwrap_or_default()
    }

    /// Returns the output of a command, or the result.
    pub(crate) fn text(&self) -> Option<&str> {
        let output = self
            .command
            .as_ref()
            .map(|command| command.aggregated_output.as_str());
        output.or(self.result.as_deref())
    }

    /// Returns a verb and its object.
    pub(crate) fn subject(&self) -> (String, String) {
        let within = |pattern: &str| match self.path() {
            "" => pattern.to_owned(),
            path => format!("{pattern} in {path}").trim().to_owned(),
        };
        let (verb, object) = match self.tool.as_str() {
            "ReadFile" => ("Read", self.path().to_owned()),
            "WriteFile" => ("Write", self.path().to_owned()),
            "EditFile" => ("Edit", self.path().to_owned()),
            "ApplyPatch" => ("Patch", patched(self.patch())),
            "Exec" => {
                let command = self.command.as_ref().map(|command| command.command.as_str());
                (
                    "Run",
                    command.unwrap_or_else(|| self.argument("command")).to_owned(),
                )
            }
            "GrepFiles" => ("Search", within(self.argument("pattern"))),
            "FindFiles" => ("Find", within(self.argument("pattern"))),
            "WebFetch" => ("Fetch", self.argument("url").to_owned()),
            "WebSearch" => ("Search the web", self.argument("query").to_owned()),
            "ViewImage" => ("Look at", self.path().to_owned()),
            "ViewSkill" => ("Read skill", self.argument("name").to_owned()),
            "CreatePlan" | "UpdateTodos" | "TodoWrite" => ("Plan", self.argument("title").to_owned()),
            "AskUser" => ("Ask you", self.argument("question").to_owned()),
            "WaitAgent" => ("Wait for agents", self.argument("agentNickname").to_owned()),
            "SpawnAgent" => {
                let name = self.argument("agentNickname");
                let name = if name.is_empty() {
                    self.argument("agentPrompt")
                } else {
                    name
                };
                ("Start agent", name.to_owned())
            }
            tool => {
                let mut members = self.arguments.as_object().into_iter().flatten();
                let first = members.find_map(|(_, value)| value.as_str());
                let named = tool.strip_prefix("mcp__").and_then(|name| name.split_once("__"));
                let verb = match named {
                    Some((server, tool)) => format!("{server}: {tool}"),
                    None => tool.to_owned(),
                };
                return (verb, first.unwrap_or_default().to_owned());
            }
        };
        (verb.to_owned(), object)
    }

    fn patch(&self) -> &str {
        match self.argument("patch") {
            "" => self.argument("input"),
            patch => patch,
        }
    }
}

/// Returns the files of a patch as one text.
fn patched(patch: &str) -> String {
    let marks = [
        "*** Update File: ",
        "*** Add File: ",
        "*** Delete File: ",
        "+++ b/",
    ];
    let file = |line: &str| {
        marks
            .iter()
            .find_map(|mark| line.strip_prefix(mark).map(str::to_owned))
    };
    let files: Vec<String> = patch.lines().filter_map(file).collect();
    match files.as_slice() {
        [first, rest @ ..] if rest.len() > 1 => format!("{first} and {} more", rest.len()),
        files => files.join(", "),
    }
}

/// The cells of a Turn while they are made.
#[derive(Default)]
struct Maker {
    cells: Vec<Cell>,
    /// Places of calls, by their ids.
    calls: HashMap<String, usize>,
    /// Operations of open approvals and the calls that wait, by the ids of the approvals.
    operations: HashMap<String, (String, Option<String>)>,
    /// Places of a model's questions, by their ids.
    questions: HashMap<String, usize>,
}

/// Returns the cells of a Turn, in order.
pub(crate) fn of_turn(turn: &TurnState) -> Vec<Cell> {
    let mut maker = Maker::default();
    for item in &turn.items {
        maker.item(item);
    }
    let mut cells = joined(maker.cells);
    if turn.has_ended() {
        for cell in &mut cells {
            cell.is_done = true;
            stop(&mut cell.body);
        }
        cells.push(Cell {
            body: Body::End(Box::new(ended(turn))),
            is_done: true,
        });
    }
    cells
}

impl Maker {
    fn push(&mut self, body: Body, is_done: bool) {
        self.cells.push(Cell { body, is_done });
    }

    fn call(&mut self, id: &str, tool: &str) -> &mut Call {
        let place = *self.calls.entry(id.to_owned()).or_insert_with(|| {
            self.cells.push(Cell {
                body: Body::Call(Box::new(Call::new(id, tool))),
                is_done: false,
            });
            self.cells.len() - 1
        });
        let Body::Call(call) = &mut self.cells[place].body else {
            unreachable!("places of calls are those of calls");
        };
        if call.tool.is_empty() {
            tool.clone_into(&mut call.tool);
        }
        call
    }

    fn item(&mut self, state: &ItemState) {
        let item = &state.item;
        let is_done = state.is_complete();
        match &item.payload {
            ItemPayload::UserMessage(message) => {
                let text = match &message.trigger_label {
                    Some(label) if message.text.is_empty() => label.clone(),
                    _ => message.text.clone(),
                };
                let text = match &message.actor {
                    Some(person) => format!("{person}: {text}"),
                    None => text,
                };
                let pictures = message.images.as_ref().map_or(0, Vec::len);
                self.push(Body::User { text, pictures }, is_done);
            }
            ItemPayload::AgentMessage(message) => {
                // Also without a text, so that no later cell changes its place.
                self.push(Body::Agent(message.text.clone()), is_done);
            }
            ItemPayload::ReasoningContent(thought) => {
                let seconds = item
                    .completed_at
                    .map(|end| (end.0 - item.created_at.0).max(0).unsigned_abs() / 1000);
                let text = thought.text.clone();
                self.push(Body::Thought { text, seconds }, is_done);
            }
            ItemPayload::ToolCall(_)
            | ItemPayload::ToolExecution(_)
            | ItemPayload::ToolResult(_)
            | ItemPayload::CommandExecution(_)
            | ItemPayload::DynamicToolCall(_)
            | ItemPayload::PluginFunctionCall(_) => self.item_of_call(state),
            ItemPayload::ApprovalRequest(_)
            | ItemPayload::ApprovalResponse(_)
            | ItemPayload::UserInputRequest(_)
            | ItemPayload::UserInputResponse(_) => self.item_of_question(state),
            ItemPayload::Error(error) => {
                // The Turn's end says a fatal one again.
                if !error.fatal {
                    let text = error.message.clone();
                    self.push(Body::Notice { text, is_bad: true }, true);
                }
            }
            ItemPayload::SystemNotice(notice) => {
                let text = notice_text(notice);
                self.push(Body::Notice { text, is_bad: false }, true);
            }
            // The call shows its change.
            ItemPayload::FileChange(_) => {}
            ItemPayload::Unknown { kind, .. } => {
                let text = format!("an item of a newer server: {kind}");
                self.push(Body::Notice { text, is_bad: false }, is_done);
            }
        }
    }

    fn item_of_call(&mut self, state: &ItemState) {
        let item = &state.item;
        let is_done = state.is_complete();
        match &item.payload {
            ItemPayload::ToolCall(payload) => {
                let call = self.call(&payload.call_id, &payload.tool_name);
                payload.tool_name.clone_into(&mut call.tool);
                call.arguments = value(payload.arguments.as_ref());
            }
            ItemPayload::ToolExecution(payload) => {
                let call = self.call(&payload.call_id, &payload.tool_name);
                call.millis = payload.duration_ms;
                if payload.status == ExecutionStatus::Cancelled && call.state == CallState::Open {
                    call.state = CallState::Cancelled;
                }
            }
            ItemPayload::ToolResult(payload) => {
                let call = self.call(&payload.call_id, &payload.tool_name);
                call.result = Some(payload.result.clone());
                if call.state == CallState::Open {
                    call.state = state_of(payload.success);
                }
                self.finish(&payload.call_id);
            }
            ItemPayload::CommandExecution(payload) => {
                let id = payload.call_id.as_deref().unwrap_or(&item.id);
                let call = self.call(id, "Exec");
                call.millis = payload.duration_ms;
                call.state = match payload.status {
                    CommandStatus::InProgress => CallState::Open,
                    CommandStatus::Backgrounded => CallState::Background,
                    CommandStatus::Completed if payload.exit_code.unwrap_or_default() == 0 => CallState::Done,
                    CommandStatus::Cancelled | CommandStatus::Killed => CallState::Cancelled,
                    _ => CallState::Failed,
                };
                call.command = Some(payload.clone());
                if is_done {
                    self.finish(id);
                }
            }
            ItemPayload::DynamicToolCall(payload) => {
                let result = payload
                    .error_message
                    .clone()
                    .or_else(|| content(payload.content_items.as_deref()));
                self.whole_call(
                    &payload.call_id,
                    &payload.tool_name,
                    payload.arguments.as_ref(),
                    result,
                );
                self.end_call(&payload.call_id, is_done, payload.success);
            }
            ItemPayload::PluginFunctionCall(payload) => {
                let result = payload
                    .error_message
                    .clone()
                    .or_else(|| content(payload.content_items.as_deref()));
                let arguments = payload.arguments.as_ref();
                self.whole_call(&payload.call_id, &payload.function_name, arguments, result);
                self.end_call(&payload.call_id, is_done, payload.success);
            }
            _ => {}
        }
    }

    fn item_of_question(&mut self, state: &ItemState) {
        match &state.item.payload {
            ItemPayload::ApprovalRequest(request) => {
                let asked = (request.operation.clone(), request.call_id.clone());
                self.operations.insert(request.request_id.clone(), asked);
            }
            ItemPayload::ApprovalResponse(response) => {
                let asked = self.operations.remove(&response.request_id).unwrap_or_default();
                if matches!(response.decision, Decision::Decline | Decision::Cancel) {
                    self.refuse(asked);
                }
            }
            ItemPayload::UserInputRequest(request) => {
                let questions = request.questions.iter().map(|one| one.question.as_str());
                let question = questions.collect::<Vec<_>>().join("\n");
                self.questions
                    .insert(request.request_id.clone(), self.cells.len());
                self.push(
                    Body::Asked {
                        question,
                        answer: None,
                    },
                    false,
                );
            }
            ItemPayload::UserInputResponse(response) => {
                let texts = response
                    .response
                    .answers
                    .values()
                    .flat_map(|answer| answer.answers.iter());
                let said = texts.map(String::as_str).collect::<Vec<_>>().join(", ");
                if let Some(cell) = self
                    .questions
                    .get(&response.request_id)
                    .map(|place| &mut self.cells[*place])
                {
                    if let Body::Asked { answer, .. } = &mut cell.body {
                        *answer = Some(said);
                    }
                    cell.is_done = true;
                }
            }
            _ => {}
        }
    }

    /// Marks the call that was refused, or shows the operation if the call is not shown.
    fn refuse(&mut self, (operation, call): (String, Option<String>)) {
        let place = call.and_then(|id| self.calls.get(&id));
        match place.map(|place| &mut self.cells[*place].body) {
            Some(Body::Call(call)) => call.state = CallState::Refused,
            _ => self.push(Body::Refused(operation), true),
        }
    }

    fn whole_call(&mut self, id: &str, tool: &str, arguments: Option<&Json>, result: Option<String>) {
        let call = self.call(id, tool);
        call.arguments = value(arguments);
        call.result = result;
    }

    fn end_call(&mut self, id: &str, is_done: bool, is_success: bool) {
        if is_done {
            self.call(id, "").state = state_of(is_success);
            self.finish(id);
        }
    }

    /// Makes a call's cell final.
    fn finish(&mut self, id: &str) {
        if let Some(place) = self.calls.get(id) {
            self.cells[*place].is_done = true;
        }
    }
}

/// Joins neighbouring calls that only look into one row. The last row is not final as long as it can grow.
fn joined(cells: Vec<Cell>) -> Vec<Cell> {
    let mut shown: Vec<Cell> = Vec::with_capacity(cells.len());
    for cell in cells {
        match cell.body {
            Body::Call(call) if call.looks() => match shown.last_mut() {
                Some(Cell {
                    body: Body::Looks(calls),
                    is_done,
                }) => {
                    *is_done = *is_done && cell.is_done;
                    calls.push(*call);
                }
                _ => shown.push(Cell {
                    body: Body::Looks(vec![*call]),
                    is_done: cell.is_done,
                }),
            },
            body => shown.push(Cell { body, ..cell }),
        }
    }
    if let Some(Cell {
        body: Body::Looks(_),
        is_done,
    }) = shown.last_mut()
    {
        *is_done = false;
    }
    shown
}

/// Makes calls that have no result cancelled ones: their Turn has ended.
fn stop(body: &mut Body) {
    let calls: &mut [Call] = match body {
        Body::Call(call) => std::slice::from_mut(call.as_mut()),
        Body::Looks(calls) => calls,
        _ => return,
    };
    for call in calls.iter_mut().filter(|call| call.state == CallState::Open) {
        call.state = CallState::Cancelled;
    }
}

fn ended(turn: &TurnState) -> Ended {
    let usage = turn.turn.token_usage.unwrap_or_default();
    let end = turn.turn.completed_at.unwrap_or(turn.turn.started_at);
    Ended {
        status: turn.turn.status,
        error: turn.turn.error.clone(),
        seconds: (end.0 - turn.turn.started_at.0).max(0).unsigned_abs() / 1000,
        input: usage.input_tokens,
        cached: usage.cached_input_tokens.unwrap_or_default(),
        output: usage.output_tokens,
        cost: turn.turn.cost,
        files: turn.turn.files_changed,
    }
}

fn state_of(is_success: bool) -> CallState {
    if is_success {
        CallState::Done
    } else {
        CallState::Failed
    }
}

fn value(json: Option<&Json>) -> Value {
    json.and_then(|json| serde_json::from_str(json.get()).ok())
        .unwrap_or_default()
}

fn content(items: Option<&[ContentItem]>) -> Option<String> {
    let texts = items?.iter().filter_map(|item| match item {
        ContentItem::Text(part) => Some(part.text.as_str()),
        ContentItem::Image(_) => None,
    });
    Some(texts.collect::<Vec<_>>().join("\n"))
}

fn notice_text(notice: &SystemNoticePayload) -> String {
    match notice.kind {
        SystemNoticeKind::Forked => "Copied from another thread up to here.".to_owned(),
        SystemNoticeKind::MemoryConsolidated => "The agent's memory was tidied.".to_owned(),
        SystemNoticeKind::Compacted => match (notice.tokens_before, notice.tokens_after) {
            (Some(before), Some(after)) => {
                format!("The earlier conversation was summarized for the model ({before} to {after} tokens).")
            }
            _ => "The earlier conversation was summarized for the model.".to_owned(),
        },
    }
}
