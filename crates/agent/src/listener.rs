//! Records a model's reply as Items while it streams in.
//!
//! Order (AppServer protocol 03 §7): at most one message or reasoning is open; a call is opened without arguments and
//! completed with all of them.
//!
//! Invariant: **a completed message at the end of a Turn's record means that the reply is complete.** A call is opened
//! before the message in front of it is completed. Reasoning is opened in the commit that completes the message in
//! front of it. Of a reply that was cut, this module completes nothing: the Turn's end completes the open Items.

use std::collections::HashSet;
use std::sync::Arc;

use bobbin_agent_api::TurnGone;
use bobbin_core::engine::{OpenItem, TurnContext};
use bobbin_model::{DynamicToolCall, ItemBody, Json};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::one_item::{OpenCall, call_key, single_item_call};
use super::web_search;
use bobbin_agent_api::model::{Call, ModelError, ModelEvent, ModelSink, WebSearch};
use bobbin_tools::ToolSet;

/// Most bytes of one reply, arguments included (guess: a hundred times a usual reply).
const MAX_REPLY_BYTES: usize = 16 << 20;
/// Most calls in one reply.
const MAX_CALLS: usize = 128;

/// Records one reply.
pub(super) struct Listener<'a> {
    /// Its number among the replies of the Turn with calls.
    number: usize,
    turn: &'a TurnContext,
    /// Call ids that this Turn has used.
    ids: &'a mut HashSet<String>,
    tools: &'a ToolSet,
    prose: Option<(Prose, OpenItem)>,
    text: String,
    calls: Vec<Made>,
    /// State that the provider needs back, until a call takes it.
    provider_state: Option<Json>,
    bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prose {
    Message,
    Reasoning,
}

/// A call of the reply.
struct Made {
    /// The model's own id.
    key: String,
    /// Tool name and the call's id in this Turn.
    named: Arc<(String, String)>,
    text: String,
    /// `None` once it is complete, and for a single-Item call.
    item: Option<OpenItem>,
    arguments: Option<Json>,
    /// State that the provider needs back with this call.
    provider_state: Option<Json>,
    /// The Item of a single-Item call, until it is opened.
    one_item: Option<DynamicToolCall>,
    open: Option<OpenCall>,
}

/// A reply, as it is recorded.
pub(super) struct Heard {
    /// The text.
    pub(super) text: String,
    /// The calls, in order.
    pub(super) calls: Vec<Call>,
    /// The single-Item calls among them, by their ids.
    pub(super) open: Vec<(String, OpenCall)>,
}

impl<'a> Listener<'a> {
    pub(super) fn new(
        turn: &'a TurnContext,
        ids: &'a mut HashSet<String>,
        tools: &'a ToolSet,
        number: usize,
    ) -> Self {
        Self {
            turn,
            number,
            ids,
            tools,
            prose: None,
            text: String::new(),
            calls: Vec::new(),
            provider_state: None,
            bytes: 0,
        }
    }

    /// Returns whether the reply is empty so far.
    pub(super) fn heard_nothing(&self) -> bool {
        self.bytes == 0 && self.calls.is_empty()
    }

    /// Completes the open Items and returns the reply.
    pub(super) async fn finish(mut self) -> Result<Heard, TurnGone> {
        // As with other calls, the message in front of them is completed after they are opened.
        for call in self.calls.iter_mut().filter(|call| call.one_item.is_some()) {
            call.complete(self.turn, &mut self.provider_state).await?;
        }
        self.complete_prose().await?;
        for call in &mut self.calls {
            call.complete(self.turn, &mut self.provider_state).await?;
        }
        let mut heard = Heard {
            text: self.text,
            calls: Vec::with_capacity(self.calls.len()),
            open: Vec::new(),
        };
        for made in self.calls {
            let id = made.named.1.clone();
            heard.open.extend(made.open.map(|open| (id.clone(), open)));
            heard.calls.push(Call {
                id,
                tool: made.named.0.clone(),
                arguments: made.arguments,
                provider_state: made.provider_state,
            });
        }
        Ok(heard)
    }

    async fn take(&mut self, event: ModelEvent) -> Result<(), ModelError> {
        match event {
            ModelEvent::Reasoning(text) => self.prose(Prose::Reasoning, text).await,
            ModelEvent::Text(text) => self.prose(Prose::Message, text).await,
            ModelEvent::CallStarted { id, tool } => self.start_call(id, tool).await,
            ModelEvent::CallArguments { id, text } => self.arguments(&id, text).await,
            ModelEvent::Waiting(text) => Ok(self.turn.show_waiting(None, &text).await?),
            ModelEvent::Note { code, text } => {
                // The note is no part of the reply: a refusal after it still concerns the whole request.
                let note = ItemBody::Error {
                    message: text,
                    code: code.to_owned(),
                    fatal: false,
                };
                Ok(self.turn.add(note).await?)
            }
            ModelEvent::CallEnded { id } => {
                let (turn, mut state) = (self.turn, self.provider_state.take());
                if let Some(call) = self.call(&id) {
                    call.complete(turn, &mut state).await?;
                }
                self.provider_state = state;
                Ok(())
            }
            ModelEvent::WebSearch(search) => self.search(&search).await,
            ModelEvent::ProviderState(state) => {
                self.grow(state.get().len())?;
                self.provider_state = Some(state);
                Ok(())
            }
        }
    }

    async fn prose(&mut self, kind: Prose, text: String) -> Result<(), ModelError> {
        if text.is_empty() {
            return Ok(());
        }
        self.grow(text.len())?;
        if self.prose.as_ref().is_none_or(|(open, _)| *open != kind) {
            // The open Item is completed and the next opened in one commit.
            let body = match kind {
                Prose::Message => ItemBody::AgentMessage { text: String::new() },
                Prose::Reasoning => ItemBody::Reasoning { text: String::new() },
            };
            self.prose = Some((kind, self.turn.open(body).await?));
        }
        if kind == Prose::Message {
            self.text.push_str(&text);
        }
        if let Some((_, item)) = &self.prose {
            item.text(text).await?;
        }
        Ok(())
    }

    async fn complete_prose(&mut self) -> Result<(), TurnGone> {
        match self.prose.take() {
            Some((_, item)) => item.complete(None).await,
            None => Ok(()),
        }
    }

    async fn start_call(&mut self, key: String, tool: String) -> Result<(), ModelError> {
        if self.calls.len() == MAX_CALLS {
            return Err(ModelError::Failed(format!(
                "The model made more than {MAX_CALLS} calls at once."
            )));
        }
        if let Some(known) = self.tools.get(&tool)
            && let Some(declared) = known.declared()
        {
            let id = self.fresh_id(&call_key(&key, declared));
            let one_item = single_item_call(&**known, &id, self.number);
            self.calls.push(Made {
                key,
                named: Arc::new((tool, id)),
                text: String::new(),
                item: None,
                arguments: None,
                provider_state: None,
                one_item,
                open: None,
            });
            return Ok(());
        }
        let id = self.fresh_id(&key);
        let body = ItemBody::ToolCall {
            tool_name: tool.clone(),
            call_id: id.clone(),
            arguments: None,
            arguments_text: None,
            kept: None,
        };
        let item = self.turn.open(body).await?;
        self.complete_prose().await?;
        self.calls.push(Made {
            key,
            named: Arc::new((tool, id)),
            text: String::new(),
            item: Some(item),
            arguments: None,
            provider_state: None,
            one_item: None,
            open: None,
        });
        Ok(())
    }

    /// Records a search that the provider has made. As with a call, the message in front of it is completed after it is
    /// opened.
    async fn search(&mut self, search: &WebSearch) -> Result<(), ModelError> {
        let pages = search.found.iter();
        self.grow(search.query.len() + pages.map(|page| page.url.len() + page.title.len()).sum::<usize>())?;
        let id = self.fresh_id("web_search");
        let item = web_search::open(self.turn, &id, search).await?;
        self.complete_prose().await?;
        item.complete(None).await?;
        Ok(self.turn.add(web_search::result(id, search)).await?)
    }

    /// Returns the model's id of a call, or a new id made from it if the Turn has used that id.
    fn fresh_id(&mut self, key: &str) -> String {
        let base = if key.is_empty() { "call" } else { key };
        let mut id = base.to_owned();
        let mut count = 2;
        while !self.ids.insert(id.clone()) {
            id = format!("{base}_{count}");
            count += 1;
        }
        id
    }

    async fn arguments(&mut self, key: &str, text: String) -> Result<(), ModelError> {
        self.grow(text.len())?;
        let Some(call) = self.call(key) else { return Ok(()) };
        if call.one_item.is_some() {
            // Arguments are shown when they are complete (03 §5.8).
            call.text.push_str(&text);
        } else if let Some(item) = &call.item {
            call.text.push_str(&text);
            item.arguments(&call.named, text).await?;
        }
        Ok(())
    }

    fn call(&mut self, key: &str) -> Option<&mut Made> {
        self.calls.iter_mut().rev().find(|call| call.key == key)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes += bytes;
        if self.bytes > MAX_REPLY_BYTES {
            return Err(ModelError::Failed(format!(
                "The model's reply is longer than {MAX_REPLY_BYTES} bytes."
            )));
        }
        Ok(())
    }
}

impl ModelSink for Listener<'_> {
    fn event(&mut self, event: ModelEvent) -> BoxFuture<'_, Result<(), ModelError>> {
        self.take(event).boxed()
    }
}

impl Made {
    /// Completes the call; the first one takes the state.
    async fn complete(&mut self, turn: &TurnContext, state: &mut Option<Json>) -> Result<(), TurnGone> {
        if let Some(mut call) = self.one_item.take() {
            self.arguments = object(&self.text);
            self.provider_state = state.take();
            call.kept.clone_from(&self.provider_state);
            self.open = Some(OpenCall::open(turn, call, self.arguments.clone()).await?);
            return Ok(());
        }
        let Some(item) = self.item.take() else {
            return Ok(());
        };
        self.arguments = object(&self.text);
        self.provider_state = state.take();
        let body = ItemBody::ToolCall {
            tool_name: self.named.0.clone(),
            call_id: self.named.1.clone(),
            arguments: self.arguments.clone(),
            arguments_text: self.arguments.is_none().then(|| self.text.clone()),
            kept: self.provider_state.clone(),
        };
        item.complete(Some(body)).await
    }
}

/// Returns argument text as an object. Models write no text for tools without arguments: that is an empty object.
fn object(text: &str) -> Option<Json> {
    let text = match text.trim() {
        "" => "{}",
        text => text,
    };
    Json::object(text)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn only_objects_are_arguments() {
        assert_eq!(object(" ").unwrap().get(), "{}");
        assert_eq!(object(" {\"a\": 1} ").unwrap().get(), "{\"a\": 1}");
        for text in ["[]", "1", "\"x\"", "null", "{\"a\":", "{} {}"] {
            assert!(object(text).is_none(), "{text}");
        }
    }
}
