//! Calls of servers' tools outside of any Turn, at a client's request (AppServer protocol 07 §7.4).
//!
//! The same rules, policy and hooks decide as in a Turn. There is no Turn in which users could be asked, so a call that
//! would need their answer is refused, with the next step. Nothing of it is recorded in the Thread or can be undone.

use std::sync::Arc;

use bobbin_agent_api::cut::head;
use bobbin_agent_api::hook::{HookEvent, HookInput, HookReport, HookSaid, Hooks};
use bobbin_agent_api::model::Call;
use bobbin_agent_api::outside::{OutsideAnswer, OutsideCall, OutsideCalls, OutsideError};
use bobbin_agent_api::permission::permission_of;
use bobbin_agent_api::tool::{CallContext, OutputSink, Permission, ToolEnvironment};
use bobbin_agent_api::tool_server::ToolServers;
use bobbin_core::Threads;
use bobbin_model::{Decision, ThreadId, ThreadState, TurnFeatures};
use bobbin_tools::ToolSet;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::call::prepare;
use super::hooks::with_hook;

/// Most bytes of a result that hooks get.
const MAX_HEARD: usize = 64 << 10;

/// The id of a call in hooks.
const CALL: &str = "outside";

/// Runs calls of servers' tools outside of Turns.
pub struct CallsOutside {
    threads: Arc<Threads>,
    servers: Arc<dyn ToolServers>,
    hooks: Option<Arc<dyn Hooks>>,
}

/// Takes output of a call that has no terminal view.
struct Unshown;

impl OutputSink for Unshown {
    fn write(&self, _: String) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

impl CallsOutside {
    /// Returns the calls of the servers' tools for Threads.
    pub fn new(threads: Arc<Threads>, servers: Arc<dyn ToolServers>, hooks: Option<Arc<dyn Hooks>>) -> Self {
        Self {
            threads,
            servers,
            hooks,
        }
    }

    async fn run(&self, asked: OutsideCall) -> Result<OutsideAnswer, OutsideError> {
        let tool = self.servers.tool(&asked.server, &asked.tool)?;
        let state = &asked.thread;
        let environment = self
            .threads
            .settings()
            .environment_of(state.header.config.as_ref(), &asked.features);
        let call = Call {
            id: CALL.to_owned(),
            tool: tool.spec().name.to_string(),
            arguments: Some(asked.arguments),
            provider_state: None,
        };
        let refused = |why: &str| Ok(OutsideAnswer::Refused(why.to_owned()));
        let prepared = match prepare(&environment, &ToolSet::new([tool]), &call).await {
            Ok(prepared) => prepared,
            Err(why) if why.refused => return refused(&why.text),
            Err(why) => return Err(OutsideError::Unusable(why.text)),
        };
        let hooks = CallHooks {
            hooks: self.hooks.as_ref(),
            thread: &state.header.id,
            environment: &environment,
            call: &call,
        };
        let said = hooks.ask(HookEvent::PreToolUse, Map::new()).await;
        if let Some(HookSaid { hook, text }) = said.blocked.or(said.ends) {
            return refused(&format!("refused: {hook}: {text}"));
        }
        let permission = with_hook(
            permission_of(&environment, &call.tool, &*prepared),
            said.asks,
            &call.tool,
        );
        if let Some(why) = self.refusal(state, &asked.features, permission).await {
            return refused(&why);
        }
        let mut context = CallContext::alone(asked.cancel, Arc::new(Unshown));
        context.origin.thread = state.header.id.clone();
        context.questions = asked.questions;
        tracing::info!(thread = %state.header.id, tool = call.tool, "a client calls a tool");
        let called = prepared.run_whole(asked.meta, context).await;
        let answer = called.unwrap_or_else(|| Err("the tool is of no server".to_owned()));
        let (text, success) = match &answer {
            Ok(answer) => (answer.text.as_str(), answer.success),
            Err(why) => (why.as_str(), false),
        };
        let (text, _) = head(text, MAX_HEARD);
        let heard = json!({ "content": text, "success": success });
        let heard = Map::from_iter([("tool_response".to_owned(), heard)]);
        hooks.ask(HookEvent::PostToolUse, heard).await;
        match answer {
            Ok(answer) => Ok(OutsideAnswer::Whole(answer.json)),
            Err(why) => Err(OutsideError::Failed(why)),
        }
    }

    /// Returns why a call that needs a permission is refused; `None` if it may run.
    async fn refusal(
        &self,
        state: &ThreadState,
        features: &TurnFeatures,
        permission: Permission,
    ) -> Option<String> {
        let Permission::Ask { scope, reason } = permission else {
            return None;
        };
        let config = state.header.config.as_ref();
        let own = self.threads.settings().approval_policy_of(config, features);
        let parent = state
            .header
            .source
            .sub_agent()
            .map(|source| source.parent.clone());
        let policy = self.threads.strictest_policy(own, parent).await;
        let known = self
            .threads
            .standing_answer(state, &scope, policy, &features.actor);
        match known.await {
            Some(decision) if decision.approves() => None,
            Some(Decision::Decline) => Some(format!(
                "refused: {reason} The approval policy of this thread refuses such calls."
            )),
            _ => Some(format!(
                "refused: {reason} That needs an approval, and outside of a turn nobody is asked. Have the agent call it \
                 and approve it for the session, or allow the tool by a rule."
            )),
        }
    }
}

impl OutsideCalls for CallsOutside {
    fn call(&self, call: OutsideCall) -> BoxFuture<'_, Result<OutsideAnswer, OutsideError>> {
        self.run(call).boxed()
    }
}

/// The hooks of one call.
struct CallHooks<'a> {
    hooks: Option<&'a Arc<dyn Hooks>>,
    thread: &'a ThreadId,
    environment: &'a ToolEnvironment,
    call: &'a Call,
}

impl CallHooks<'_> {
    /// Asks the hooks of an event. No model hears their texts.
    async fn ask(&self, event: HookEvent, mut members: Map<String, Value>) -> HookReport {
        let Some(hooks) = self.hooks.filter(|hooks| hooks.has(event, &self.call.tool)) else {
            return HookReport::default();
        };
        let arguments = self.call.arguments.as_ref();
        let arguments = arguments.and_then(|arguments| arguments.decode::<Value>().ok());
        members.insert("tool_input".to_owned(), arguments.unwrap_or_default());
        members.insert("tool_use_id".to_owned(), self.call.id.clone().into());
        let report = hooks
            .run(HookInput {
                event,
                subject: self.call.tool.clone(),
                thread: self.thread.clone(),
                root: self.environment.root.clone(),
                mode: self.environment.mode,
                members,
            })
            .await;
        for note in &report.notes {
            tracing::info!(note, "a hook says something about a client's call");
        }
        report
    }
}
