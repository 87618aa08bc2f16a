//! The tools of adapters, for the agent (AppServer protocol 06 §B5).
//!
//! The agent treats them like the tools of any client: it checks arguments against the schema, asks as declared, and records
//! one Item. A Turn uses the connection that it started with: a call is never sent to a later adapter, and never repeated.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::client::{
    Answered, ClientFailure, ClientToolCall, Editor, ThreadClient, ThreadClients,
};
use bobbin_agent_api::tool::{DeclaredTools, Tool, ToolSource, TurnScope};
use bobbin_model::ToolAnswer;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::adapter::{Adapter, Failure};
use crate::group::EXT_CHANNEL_TOOL_CALL;
use crate::group::wire::{ChannelToolCallParams, ChannelToolContext};
use crate::host::Host;

/// Time limit for a tool of an adapter (04).
const LIMIT: Duration = Duration::from_secs(20);
/// Longest wait of a call until its notifications are written.
const FLUSH_LIMIT: Duration = Duration::from_secs(10);

impl ToolSource for Host {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    fn declared_for(&self, turn: &TurnScope<'_>) -> Option<DeclaredTools> {
        let adapter = self.adapter(turn.channel)?;
        if adapter.can.tools.is_empty() {
            return None;
        }
        let tools = adapter.can.tools.clone();
        let sender = turn.sender;
        let context = ChannelToolContext {
            channel_name: adapter.channel.to_string(),
            channel_context: turn.channel_context.map(str::to_owned),
            sender_id: sender.map(|sender| sender.sender_id.clone()),
            group_id: sender.and_then(|sender| sender.group_id.clone()),
        };
        let client = Arc::new(ForTurn { adapter, context });
        Some(DeclaredTools {
            tools,
            clients: ThreadClients::only(client, turn.thread.clone()),
        })
    }
}

/// The adapter as the client of one Turn.
struct ForTurn {
    adapter: Arc<Adapter>,
    context: ChannelToolContext,
}

impl ForTurn {
    /// Whether the chat of a call is known.
    fn has_chat(&self) -> bool {
        let ChannelToolContext {
            channel_context,
            sender_id,
            group_id,
            ..
        } = &self.context;
        [channel_context, sender_id, group_id]
            .into_iter()
            .any(Option::is_some)
    }
}

impl ThreadClient for ForTurn {
    fn is_there(&self) -> bool {
        self.adapter.is_there()
    }

    fn run_tool(&self, call: ClientToolCall) -> BoxFuture<'_, Answered<ToolAnswer>> {
        async move {
            if self.adapter.can.chat_tools.contains(&call.tool) && !self.has_chat() {
                return Ok(ToolAnswer {
                    error_code: Some("MissingChatContext".to_owned()),
                    error_message: Some("this tool works for a chat, and the Turn is of none".to_owned()),
                    ..ToolAnswer::default()
                });
            }
            // The call's Item is sent first. An adapter that does not read is called anyway, and times out.
            let flushed = self.adapter.session().flushed(&call.thread);
            drop(tokio::time::timeout(FLUSH_LIMIT, flushed).await);
            let params = ChannelToolCallParams {
                thread_id: call.thread.to_string(),
                turn_id: call.turn.to_string(),
                call_id: call.call_id,
                tool: call.tool,
                arguments: call.arguments,
                context: self.context.clone(),
            };
            let asked = self.adapter.ask(EXT_CHANNEL_TOOL_CALL, params, LIMIT).await;
            let answer = asked.map_err(|failure| match failure {
                Failure::Gone => ClientFailure::Gone,
                Failure::Refused(why) => ClientFailure::Refused(why),
                Failure::Unusable(why) => ClientFailure::Unusable(why),
                Failure::Late(limit) => ClientFailure::Late(limit),
            })?;
            bobbin_native::tool_answer(answer).map_err(ClientFailure::Unusable)
        }
        .boxed()
    }

    fn editor(&self) -> Option<&dyn Editor> {
        None
    }
}
