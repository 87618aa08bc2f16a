//! Values of the model as the wire shows them. Pure.

use bobbin_core::ThreadSummary;
use bobbin_model as model;
use bobbin_model::{ApprovalPolicy, ThreadId, TurnId, UnixMillis};
use bobbin_native_wire::Timestamp;
use bobbin_native_wire::item::payload::{
    ApprovalRequestPayload, ApprovalResponsePayload, CompactionMode, ErrorPayload, ItemPayload, MessageImage,
    NoticeTrigger, SystemNoticeKind, SystemNoticePayload, TextPayload, UserMessagePayload,
};
use bobbin_native_wire::item::tool_payload::{
    CommandExecutionPayload, CommandSource, ToolCallPayload, ToolExecutionPayload, ToolResultPayload,
};
use bobbin_native_wire::item::types::Item;
use bobbin_native_wire::item::usage::{ContextUsage, TokenUsage};
use bobbin_native_wire::item::user_input_types::{UserInputRequestPayload, UserInputResponsePayload};
use bobbin_native_wire::system::types::SystemEventKind;
use bobbin_native_wire::thread::config::ThreadConfiguration;
use bobbin_native_wire::thread::types;
use bobbin_native_wire::thread::types::Thread;
use bobbin_native_wire::turn::input_types::{
    CommandRefPart, FileRefPart, ImagePart, InputPart, LocalImagePart, SkillRefPart, TextPart,
};
use bobbin_native_wire::turn::queue_types::QueuedTurnInput;
use bobbin_native_wire::turn::types::{Turn, TurnInitiator};

use crate::groups::item::user_input;
use crate::groups::serving::dynamic;
use crate::groups::subagent;

/// The member of a stored configuration that no client sets.
const WORKTREE: &str = "worktree";

/// Returns a time in the wire's form.
pub fn time(at: UnixMillis) -> Timestamp {
    Timestamp(at.0)
}

/// Whether `toolExecution` Items are shown: only to clients that declared `toolExecutionLifecycle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolExecutions {
    Shown,
    Hidden,
}

impl ToolExecutions {
    pub(crate) fn shows(self, item: &model::Item) -> bool {
        self == Self::Shown || !matches!(item.body, model::ItemBody::ToolExecution { .. })
    }
}

/// Returns a Thread. The answers that have `turns` and `plan` add them.
pub fn thread(state: &model::ThreadState) -> Thread {
    let header = &state.header;
    let id = header.id.to_string();
    let cwd = cwd(header).to_owned();
    Thread {
        session_id: id.clone(),
        effective_workspace_path: cwd.clone(),
        runtime_workspace_roots: vec![cwd.clone()],
        cwd,
        ephemeral: false,
        worktree: header
            .config
            .as_ref()
            .and_then(|config| config.worktree.as_deref().cloned()),
        workspace_path: header.workspace_path.clone(),
        user_id: header.user_id.clone(),
        origin_channel: header.origin_channel.clone(),
        channel_context: header.channel_context.clone(),
        display_name: header.display_name.clone(),
        source: subagent::convert::source(&header.source),
        forked_from_id: header.metadata.get(bobbin_core::FORKED_FROM).cloned(),
        status: header.status,
        created_at: time(header.created_at),
        last_active_at: time(header.last_active_at),
        history_mode: header.history_mode,
        configuration: header.config.as_ref().and_then(config_out),
        metadata: header.metadata.clone(),
        runtime: state.runtime(),
        queued_inputs: queue(&id, &state.queue),
        turns: None,
        context_usage: Some(context(state.context)),
        plan: None,
        cost: None,
        id,
    }
}

/// Returns the folder in which the files, commands and git of a Thread work.
pub(crate) fn cwd(header: &model::ThreadHeader) -> &str {
    let config = header.config.as_ref();
    let moved = config.and_then(|config| config.workspace_override.as_ref());
    let worktree = || Some(&config?.worktree.as_ref()?.workspace_path);
    moved.or_else(worktree).unwrap_or(&header.workspace_path)
}

pub(crate) fn summary(summary: ThreadSummary) -> types::ThreadSummary {
    let header = summary.header;
    types::ThreadSummary {
        id: header.id.to_string(),
        user_id: header.user_id,
        workspace_path: header.workspace_path,
        origin_channel: header.origin_channel,
        channel_context: header.channel_context,
        display_name: header.display_name,
        source: subagent::convert::source(&header.source),
        status: header.status,
        created_at: time(header.created_at),
        last_active_at: time(header.last_active_at),
        turn_count: summary.turn_count.into(),
        runtime: Some(summary.runtime),
        metadata: header.metadata,
    }
}

pub(crate) fn context(usage: model::ContextUsage) -> ContextUsage {
    ContextUsage {
        tokens: usage.tokens,
        context_window: usage.window.tokens,
        auto_compact_threshold: usage.window.compact_at,
        warning_threshold: usage.window.warning(),
        error_threshold: usage.window.error(),
        percent_left: usage.window.left(usage.tokens),
    }
}

pub(crate) fn context_note(note: model::ContextNote) -> SystemEventKind {
    match note {
        model::ContextNote::Warning => SystemEventKind::CompactWarning,
        model::ContextNote::Error => SystemEventKind::CompactError,
        model::ContextNote::Compacting => SystemEventKind::Compacting,
        model::ContextNote::Compacted => SystemEventKind::Compacted,
        model::ContextNote::CompactSkipped => SystemEventKind::CompactSkipped,
        model::ContextNote::CompactFailed => SystemEventKind::CompactFailed,
    }
}

pub(crate) fn queue(thread: &str, queue: &[model::QueuedInput]) -> Vec<QueuedTurnInput> {
    queue.iter().map(|entry| queued(thread, entry)).collect()
}

pub(crate) fn queued(thread: &str, entry: &model::QueuedInput) -> QueuedTurnInput {
    QueuedTurnInput {
        id: entry.id.to_string(),
        thread_id: thread.to_owned(),
        native_input_parts: entry.native.iter().map(part).collect(),
        materialized_input_parts: entry
            .native
            .iter()
            .map(|native| part(&native.materialized()))
            .collect(),
        display_text: model::input::display_text(&entry.native),
        sender: entry.sender.clone(),
        actor: entry.features.actor.person().cloned(),
        client_user_message_id: entry.client_message_id.clone(),
        status: entry.status,
        created_at: time(entry.created_at),
        ready_after_turn_id: entry.ready_after.map(|turn| turn.to_string()),
    }
}

fn part(part: &model::InputPart) -> InputPart {
    use model::InputPart as Part;
    match part.clone() {
        Part::Text { text } => InputPart::Text(TextPart { text }),
        Part::CommandRef {
            name,
            args_text,
            raw_text,
            ..
        } => InputPart::CommandRef(CommandRefPart {
            name,
            args_text,
            raw_text,
        }),
        Part::SkillRef { name, .. } => InputPart::SkillRef(SkillRefPart { name }),
        Part::FileRef { path, display_path } => InputPart::FileRef(FileRefPart { path, display_path }),
        Part::Image { url } => InputPart::Image(ImagePart { url, file_name: None }),
        Part::LocalImage {
            path,
            mime_type,
            file_name,
        } => InputPart::LocalImage(LocalImagePart {
            path,
            mime_type,
            file_name,
        }),
        // The protocol has no part for attached text; it is shown as a reference to its source.
        Part::Context { label, .. } => InputPart::FileRef(FileRefPart {
            path: label,
            display_path: None,
        }),
    }
}

/// Returns a Turn with the Items that this client shows.
pub(crate) fn turn(thread: &ThreadId, turn: &model::Turn, shown: ToolExecutions) -> Turn {
    let items = turn
        .items
        .iter()
        .filter(|known| shown.shows(known))
        .map(|known| item_of(turn, known));
    Turn {
        id: turn.id.to_string(),
        thread_id: thread.to_string(),
        status: turn.status,
        items: Some(items.collect()),
        started_at: time(turn.started_at),
        completed_at: turn.completed_at.map(time),
        token_usage: Some(turn.usage)
            // Only final figures are shown (03 §1.1).
            .filter(|usage| turn.completed_at.is_some() && !usage.is_zero())
            .map(|usage| TokenUsage {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                total_tokens: usage.total(),
                cached_input_tokens: known(usage.cached_input_tokens),
                reasoning_output_tokens: known(usage.reasoning_output_tokens),
            }),
        cost: turn.completed_at.and_then(|_| cost(turn.cost_micros)),
        files_changed: (turn.files_changed > 0).then_some(turn.files_changed),
        files_undone: turn.files_undone.then_some(true),
        error: turn.error.clone(),
        origin_channel: turn.origin_channel.clone(),
        initiator: initiator(turn),
    }
}

/// Returns a figure, or `None` for zero, which messages leave out.
pub(crate) fn known(figure: u64) -> Option<u64> {
    (figure > 0).then_some(figure)
}

/// Returns an amount in the currency of the prices.
#[expect(
    clippy::cast_precision_loss,
    reason = "amounts with more than 15 digits are never shown"
)]
pub(crate) fn units(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Returns a cost in the currency of the prices, or `None` for zero.
pub(crate) fn cost(micros: u64) -> Option<f64> {
    known(micros).map(units)
}

/// Returns the initiator of a Turn, as far as its first message says.
fn initiator(turn: &model::Turn) -> Option<TurnInitiator> {
    let message = turn.items.iter().find_map(|item| match &item.body {
        model::ItemBody::UserMessage(message) => Some(message),
        _ => None,
    })?;
    let sender = message.sender.as_ref();
    Some(TurnInitiator {
        channel_name: message.channel_name.clone()?,
        user_id: sender.map(|sender| sender.sender_id.clone()),
        user_name: sender.map(|sender| sender.sender_name.clone()),
        user_role: sender.and_then(|sender| sender.sender_role.clone()),
        channel_context: message.channel_context.clone(),
        group_id: sender.and_then(|sender| sender.group_id.clone()),
    })
}

/// Returns an Item of a whole Turn. Results of earlier records get the name of their tool from their call.
pub(crate) fn item_of(turn: &model::Turn, known: &model::Item) -> Item {
    let mut shown = item(turn.id, known);
    if let ItemPayload::ToolResult(result) = &mut shown.payload
        && result.tool_name.is_empty()
        && let Some(name) = model::called_tool(&turn.items, &result.call_id)
    {
        name.clone_into(&mut result.tool_name);
        name.clone_into(&mut result.provider_flat_name);
    }
    shown
}

pub(crate) fn item(turn: TurnId, item: &model::Item) -> Item {
    Item {
        id: item.id.to_string(),
        turn_id: turn.to_string(),
        status: item.status,
        created_at: time(item.created_at),
        completed_at: item.completed_at.map(time),
        payload: payload(&item.body),
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each kind of Item")]
fn payload(body: &model::ItemBody) -> ItemPayload {
    use model::ItemBody as Body;
    match body.clone() {
        Body::UserMessage(message) => ItemPayload::UserMessage(user_message(message)),
        Body::AgentMessage { text } => ItemPayload::AgentMessage(TextPayload { text }),
        Body::Reasoning { text } => ItemPayload::ReasoningContent(TextPayload { text }),
        Body::ToolCall {
            tool_name,
            call_id,
            arguments,
            arguments_text,
            // State of the model's provider, which clients do not need.
            kept: _,
        } => ItemPayload::ToolCall(ToolCallPayload {
            provider_flat_name: tool_name.clone(),
            tool_name,
            call_id,
            arguments,
            arguments_text,
        }),
        Body::ToolResult {
            call_id,
            result,
            success,
            tool_name,
            ..
        } => {
            let tool_name = tool_name.unwrap_or_default();
            ItemPayload::ToolResult(ToolResultPayload {
                call_id,
                provider_flat_name: tool_name.clone(),
                tool_name,
                result,
                success,
            })
        }
        Body::DynamicToolCall(call) => dynamic::call(*call),
        Body::CommandExecution(run) => ItemPayload::CommandExecution(command(run)),
        Body::ToolExecution {
            call_id,
            tool_name,
            status,
            success,
            duration_ms,
            result_preview,
            error_message,
        } => ItemPayload::ToolExecution(ToolExecutionPayload {
            call_id,
            tool_name,
            status,
            success,
            duration_ms,
            result_preview,
            error_message,
        }),
        Body::ApprovalRequest {
            approval_type,
            operation,
            target,
            request_id,
            scope_key,
            reason,
            call_id,
        } => ItemPayload::ApprovalRequest(ApprovalRequestPayload {
            approval_type,
            operation,
            target,
            request_id: request_id.to_string(),
            scope_key,
            reason,
            call_id,
        }),
        Body::ApprovalResponse {
            request_id,
            approved,
            decision,
            actor,
        } => ItemPayload::ApprovalResponse(ApprovalResponsePayload {
            request_id: request_id.to_string(),
            approved,
            decision,
            actor: actor.map(|actor| *actor),
        }),
        Body::UserInputRequest(asked) => ItemPayload::UserInputRequest(UserInputRequestPayload {
            request_id: asked.request_id.to_string(),
            call_id: asked.call_id,
            is_blocking: asked.blocking,
            questions: user_input::questions(&asked.inquiry),
        }),
        Body::UserInputResponse { request_id, answer } => {
            ItemPayload::UserInputResponse(UserInputResponsePayload {
                request_id: request_id.to_string(),
                response: user_input::answers(answer),
            })
        }
        Body::Compaction(done) => ItemPayload::SystemNotice(SystemNoticePayload {
            kind: SystemNoticeKind::Compacted,
            trigger: match done.trigger {
                model::CompactionTrigger::Auto => NoticeTrigger::Auto,
                model::CompactionTrigger::Reactive => NoticeTrigger::Reactive,
                model::CompactionTrigger::Manual => NoticeTrigger::Manual,
            },
            mode: Some(CompactionMode::Partial),
            tokens_before: Some(done.tokens_before),
            tokens_after: Some(done.tokens_after),
            percent_left_after: Some(done.left_after),
            cleared_tool_results: Some(done.cleared_results),
            source_thread_id: None,
        }),
        Body::Forked { source } => ItemPayload::SystemNotice(SystemNoticePayload {
            kind: SystemNoticeKind::Forked,
            trigger: NoticeTrigger::None,
            mode: Some(CompactionMode::None),
            tokens_before: Some(0),
            tokens_after: Some(0),
            percent_left_after: Some(0.0),
            cleared_tool_results: Some(0),
            source_thread_id: Some(source.to_string()),
        }),
        Body::Error { message, code, fatal } => ItemPayload::Error(ErrorPayload { message, code, fatal }),
    }
}

fn user_message(message: model::item::UserMessage) -> UserMessagePayload {
    let text = message.text().into_owned();
    let (sender, trigger) = (message.sender, message.trigger);
    UserMessagePayload {
        text,
        materialized_input_parts: Some(
            message
                .native
                .iter()
                .map(|native| part(&native.materialized()))
                .collect(),
        ),
        native_input_parts: Some(message.native.iter().map(part).collect()),
        delivery_mode: Some(message.delivery),
        client_user_message_id: message.client_message_id,
        sender_id: sender.as_ref().map(|sender| sender.sender_id.clone()),
        sender_name: sender.as_ref().map(|sender| sender.sender_name.clone()),
        sender_role: sender.as_ref().and_then(|sender| sender.sender_role.clone()),
        group_id: sender.and_then(|sender| sender.group_id),
        actor: message.actor,
        channel_name: message.channel_name,
        channel_context: message.channel_context,
        images: Some(images(&message.native)).filter(|images| !images.is_empty()),
        trigger_kind: trigger.as_ref().map(|trigger| trigger.kind),
        trigger_label: trigger.as_ref().and_then(|trigger| trigger.label.clone()),
        trigger_ref_id: trigger.and_then(|trigger| trigger.ref_id),
    }
}

/// Returns the pictures of a message that are files on the server's disk.
fn images(parts: &[model::InputPart]) -> Vec<MessageImage> {
    let images = parts.iter().filter_map(|part| match part.clone() {
        model::InputPart::LocalImage {
            path,
            mime_type,
            file_name,
        } => Some(MessageImage {
            path,
            mime_type,
            file_name,
        }),
        _ => None,
    });
    images.collect()
}

fn command(run: model::item::CommandExecution) -> CommandExecutionPayload {
    CommandExecutionPayload {
        command: run.command,
        working_directory: run.working_directory,
        source: if run.sandboxed {
            CommandSource::Sandbox
        } else {
            CommandSource::Host
        },
        held_by: (!run.held_by.is_empty()).then_some(run.held_by),
        status: run.status,
        aggregated_output: run.aggregated_output,
        exit_code: run.exit_code.map(Into::into),
        duration_ms: run.duration_ms,
        call_id: Some(run.call_id),
        session_id: run.session_id,
        output_path: run.output_path,
        original_output_chars: run.original_output_chars,
        truncated: run.truncated.then_some(true),
        background_reason: run.background_reason.map(|reason| reason.name().to_owned()),
    }
}

/// Converts by JSON: both types have one JSON object, and each retains the other's unknown members.
///
/// Clients that know only the first three policies see the nearest of them.
fn config_out(config: &model::ThreadConfig) -> Option<ThreadConfiguration> {
    let mut config: ThreadConfiguration = serde_json::from_value(serde_json::to_value(config).ok()?).ok()?;
    // Shown as a member of the Thread.
    config.extra.remove(WORKTREE);
    config.approval_policy = config.approval_policy.map(|policy| match policy {
        ApprovalPolicy::Ask | ApprovalPolicy::Sandboxed | ApprovalPolicy::AskWrites => {
            ApprovalPolicy::Default
        }
        ApprovalPolicy::Refuse => ApprovalPolicy::Interrupt,
        known => known,
    });
    Some(config)
}

pub(crate) fn config_in(config: &ThreadConfiguration) -> Option<model::ThreadConfig> {
    let mut config = serde_json::to_value(config).ok()?;
    config.as_object_mut()?.remove(WORKTREE);
    serde_json::from_value(config).ok()
}
