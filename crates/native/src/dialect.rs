//! The native dialect as one connection speaks it.

use std::collections::HashSet;
use std::sync::Arc;

use bobbin_core::{Encoded, Frame, WireMessage};
use bobbin_model::{
    Actor, Approval, ApprovalKind, Decision, Json, Need, Question, QuestionAnswer, ThreadId, TurnFeatures,
    TurnStatus,
};
use bobbin_native_wire::handshake::capabilities::{AcpExtensions, ClientCapabilities};
use bobbin_native_wire::handshake::types::{ClientInfo, InitializeParams};
use bobbin_native_wire::item::approval::{ApprovalRequestParams, ApprovalRequestResult};
use bobbin_native_wire::thread::types::Thread;
use bobbin_native_wire::turn::types::Turn;
use bobbin_peer::{CallError, PeerHandle};
use bobbin_session::{Dialect, LogSource};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::channels::Channels;
use crate::convert::{self, ToolExecutions};
use crate::encode::{self, Kind, Numbers};
use crate::group::{Direction, Groups};
use crate::groups::item::{ITEM_APPROVAL_REQUEST, user_input};
use crate::groups::thread::THREAD_STARTED;

/// Name of DotCraft's terminal client. It switches its user to each Thread that a `thread/started` names, so it is sent
/// only those that it has started.
const ENTERS_STARTED: &str = "dotcraft-tui";
/// Names of DotCraft's clients that users work in.
const PERSONS: &[&str] = &["dotcraft-desktop", "dotcraft-tui"];

/// One client's side of the handshake.
pub(crate) struct Native {
    client: ClientInfo,
    capabilities: ClientCapabilities,
    /// On whose behalf the client acts.
    actor: Actor,
    opted_out: HashSet<String>,
    channels: Channels,
    groups: Arc<Groups>,
}

impl Native {
    pub(crate) fn new(mut params: InitializeParams, groups: Arc<Groups>, actor: Actor) -> Self {
        limit(&mut params.capabilities, &actor);
        let mut opted_out: HashSet<String> = params
            .capabilities
            .opt_out_notification_methods
            .iter()
            .cloned()
            .collect();
        let unwanted = groups.unwanted(&params.capabilities);
        opted_out.extend(unwanted.into_iter().map(str::to_owned));
        let hidden = groups
            .methods()
            .filter(|method| method.direction == Direction::Notification && !actor.may(method.need));
        opted_out.extend(hidden.map(|method| method.name.to_owned()));
        // The adapter's own name takes precedence (03 §1.1).
        let adapter = params.capabilities.channel_name();
        let own = match (adapter, &params.capabilities.acp_extensions) {
            (Some(name), _) => name,
            (None, Some(_)) => "acp".to_owned(),
            (None, None) => "cli".to_owned(),
        };
        Self {
            channels: Channels::new(own),
            actor,
            client: params.client_info,
            capabilities: params.capabilities,
            opted_out,
            groups,
        }
    }

    pub(crate) fn tool_executions(&self) -> ToolExecutions {
        if self.capabilities.tool_execution_lifecycle {
            ToolExecutions::Shown
        } else {
            ToolExecutions::Hidden
        }
    }

    /// Returns the features that this client offers the Turns it starts.
    pub(crate) fn features(&self) -> TurnFeatures {
        TurnFeatures {
            command_execution: self.capabilities.command_execution_streaming,
            tool_execution: self.capabilities.tool_execution_lifecycle,
            approvals: self.capabilities.approval_support,
            person: self.is_person(),
            actor: self.actor.clone(),
            ..TurnFeatures::default()
        }
    }

    /// Whether a person starts the Turns of this client: as it declares, or as its name and capabilities imply. Never
    /// for the adapter of a chat.
    fn is_person(&self) -> bool {
        let known = || self.editor().is_some() || PERSONS.contains(&self.client.name.as_str());
        self.capabilities.channel_adapter.is_none() && self.capabilities.person.unwrap_or_else(known)
    }

    /// Returns the functions that this client serves as an editor.
    pub(crate) fn editor(&self) -> Option<&AcpExtensions> {
        self.capabilities.acp_extensions.as_ref()
    }

    pub(crate) fn name(&self) -> &str {
        &self.client.name
    }

    /// Returns the channels that this client's Turns come through.
    pub(crate) fn channels(&self) -> &Channels {
        &self.channels
    }

    /// Returns the capabilities that this client declared.
    pub(crate) fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    /// Whether this client gets the notifications of a method.
    pub(crate) fn wants_notification(&self, method: &str) -> bool {
        !self.opted_out.contains(method)
    }

    /// Whether this client reads Threads by event numbers.
    pub(crate) fn numbers(&self) -> bool {
        self.capabilities.event_cursors
    }

    /// Returns a Thread as this client's answers show it. The policy is unchanged if the client knows all policies.
    pub(crate) fn thread(&self, state: &bobbin_model::ThreadState) -> Thread {
        let mut thread = convert::thread(state);
        let config = state.header.config.as_ref();
        if let Some(shown) = thread.configuration.as_mut()
            && self.capabilities.sandboxed_policy
        {
            shown.approval_policy = config.and_then(|config| config.approval_policy);
        }
        thread
    }

    /// Returns a Turn as this client's answers show it. A client without event numbers finds the running Turn by its
    /// status `running`, so a Turn that waits for an answer has that status there too.
    pub(crate) fn turn(&self, thread: &ThreadId, turn: &bobbin_model::Turn) -> Turn {
        let mut turn = convert::turn(thread, turn, self.tool_executions());
        let waits = matches!(
            turn.status,
            TurnStatus::WaitingApproval | TurnStatus::WaitingInput
        );
        if waits && !self.numbers() {
            turn.status = TurnStatus::Running;
        }
        turn
    }

    fn kind(&self, source: LogSource) -> Kind {
        Kind {
            tool_executions: self.tool_executions(),
            // News of a Thread that is not followed do not say how much of the Thread the client has.
            numbers: if self.numbers() && source == LogSource::Thread {
                Numbers::Shown
            } else {
                Numbers::Hidden
            },
        }
    }
}

impl Dialect for Native {
    fn slot(&self, source: LogSource) -> usize {
        self.kind(source).slot()
    }

    fn encode(&self, frame: &Frame, source: LogSource) -> Encoded {
        encode::encode(frame, self.kind(source), &self.groups)
    }

    fn wants(&self, message: &WireMessage, thread: &ThreadId) -> bool {
        let is_foreign = message.method == THREAD_STARTED && !self.channels.has_started(thread);
        self.wants_notification(message.method) && !(is_foreign && self.client.name == ENTERS_STARTED)
    }

    fn approves(&self) -> bool {
        self.capabilities.approval_support && self.actor.may(Need::Approve)
    }

    fn is_asked(&self) -> bool {
        self.capabilities.answers_questions()
    }

    /// Only DotCraft's desktop does, recognized by its browser. It can be busy longer than any short wait, and requests
    /// children after it has read the Thread.
    fn drops_early_questions(&self) -> bool {
        self.capabilities.browser_use.is_some()
    }

    fn asks_one_by_one(&self) -> bool {
        self.capabilities.is_today()
    }

    fn actor(&self) -> Actor {
        self.actor.clone()
    }

    fn client_name(&self) -> String {
        self.client.name.clone()
    }

    fn inquire<'a>(
        &'a self,
        peer: &'a PeerHandle,
        question: &'a Question,
    ) -> BoxFuture<'a, Option<QuestionAnswer>> {
        user_input::ask(peer, question).boxed()
    }

    fn ask<'a>(
        &'a self,
        peer: &'a PeerHandle,
        thread: &'a ThreadId,
        approval: &'a Approval,
    ) -> BoxFuture<'a, Option<Decision>> {
        async move {
            let mut params = request(thread, approval, &self.actor);
            // Adapters show only the operation and the reason in a chat.
            if approval.scope.kind == ApprovalKind::File && self.capabilities.channel_name().is_some() {
                let reason = params.reason.iter().map(String::as_str);
                let shown: Vec<&str> = std::iter::once(&*params.target).chain(reason).collect();
                params.reason = Some(shown.join(": "));
            }
            match peer.call_raw(ITEM_APPROVAL_REQUEST, &params, None).await {
                Ok(result) => Some(ApprovalRequestResult::read(Some(&result)).decision),
                // An error is no answer of a client of today (07 §5). Of others it is a no (04 §5).
                Err(CallError::Remote(_)) if self.capabilities.is_today() => None,
                Err(CallError::Remote(_)) => Some(Decision::Decline),
                Err(
                    CallError::ShutDown | CallError::TimedOut(_) | CallError::Send(_) | CallError::Decode(_),
                ) => None,
            }
        }
        .boxed()
    }
}

/// Takes the capabilities away that are [declared](crate::groups::handshake::DECLARED) to need more than the actor's role:
/// a client whose user may not answer is not asked, and serves nothing that the role does not cover.
fn limit(capabilities: &mut ClientCapabilities, actor: &Actor) {
    if !actor.may(Need::Approve) {
        capabilities.user_input_support = false;
        // Present all the same: presence shows how old a client is.
        if capabilities.request_user_input_support.is_some() {
            capabilities.request_user_input_support = Some(false);
        }
        if capabilities.mcp_elicitation.is_some() {
            capabilities.mcp_elicitation = Json::of(&false).ok();
        }
    }
    if !actor.may(Need::Prompt) {
        capabilities.person = Some(false);
        capabilities.acp_extensions = None;
        capabilities.node_repl = None;
        capabilities.browser_use = None;
    }
    if !actor.may(Need::Own) {
        capabilities.channel_adapter = None;
    }
}

fn request(thread: &ThreadId, approval: &Approval, actor: &Actor) -> ApprovalRequestParams {
    use Decision::{Accept, AcceptForSession, Cancel, Decline};
    let decisions = match (
        approval.scope.may_be_granted(),
        approval.scope.may_be_remembered(),
    ) {
        (false, _) => Some(vec![Accept, Decline, Cancel]),
        (true, false) => Some(vec![Accept, AcceptForSession, Decline, Cancel]),
        // An answer for ever is a rule of the workspace.
        (true, true) if !actor.may(Need::Own) => Some(vec![Accept, AcceptForSession, Decline, Cancel]),
        (true, true) => None,
    };
    ApprovalRequestParams {
        thread_id: thread.to_string(),
        turn_id: approval.turn.to_string(),
        item_id: approval.item.to_string(),
        request_id: approval.id.to_string(),
        approval_type: approval.scope.kind,
        operation: approval.scope.operation.clone(),
        target: approval.scope.target.clone(),
        scope_key: approval.scope.session_key(),
        always_scope_key: approval.scope.standing_key(),
        confined: approval.scope.sandboxed,
        reason: Some(approval.reason.clone()).filter(|reason| !reason.is_empty()),
        available_decisions: decisions,
        expires_at: convert::time(approval.expires_at),
        call_id: Some(approval.call_id.clone()),
    }
}
