//! Chooses the tools that a request to the model offers.
//!
//! All that the mode and the Thread allow, but of MCP servers with many tools only those that the conversation uses:
//! the model searches the others ([`FindTools`]). Loaded tools come last, in the order of their loading, so that a
//! request has the same beginning as the one before. Nothing is stored: the conversation says what it uses.

use std::sync::Arc;

use bobbin_agent_api::TurnGone;
use bobbin_agent_api::model::{Call, Message};
use bobbin_agent_api::policy::Judgement;
use bobbin_agent_api::tool::{ToolEnvironment, ToolSpec};
use bobbin_agent_api::tool_name::is_of_server;
use bobbin_tools::{ASK_USER, FIND_TOOLS, FindTools, ToolSet, VIEW_IMAGE};

use super::turn::TurnRun;
use super::web_search::WEB_SEARCH;

/// Most tools of servers that each request carries (guess: what two or three servers have).
const MAX_TOOLS: usize = 40;
/// Most bytes of their descriptions and schemas (guess: 5,000 tokens).
const MAX_BYTES: usize = 20 << 10;

impl TurnRun {
    /// Takes the tools that there are now, with the search where it is needed.
    pub(super) fn take_tools(&mut self) {
        let now = self.all_tools.now_of(self.turn.thread());
        let has_many = self.has_many(&now);
        self.tools = if has_many || !self.all_tools.starting().is_empty() {
            let search = FindTools::new(self.all_tools.clone(), &now, self.turn.thread());
            now.and(vec![Arc::new(search)])
        } else {
            now
        };
    }

    /// Waits for servers that are just starting and could have the tools that these calls name.
    pub(super) async fn await_tools(&mut self, calls: &[Call]) -> Result<(), TurnGone> {
        let missing = calls.iter().filter(|call| self.tools.get(&call.tool).is_none());
        let missing: Vec<&str> = missing.map(|call| call.tool.as_str()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        for tool in missing {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Err(TurnGone),
                () = self.all_tools.settled(Some(tool)) => {}
            }
        }
        // Others have started while the model replied.
        self.take_tools();
        Ok(())
    }

    /// Returns the tools that the model is offered.
    pub(super) fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = offered(&self.tools, self.turn.environment());
        if !self.turn.can_inquire() {
            specs.retain(|spec| *spec.name != *ASK_USER);
        }
        let model = self.turn.environment().config.model.as_deref();
        if !self.model.sees_pictures(model) {
            specs.retain(|spec| *spec.name != *VIEW_IMAGE);
        }
        if self.has_many(&self.tools) {
            return with_used_only(specs, &self.messages);
        }
        specs
    }

    /// Whether servers have more tools than each request should carry.
    fn has_many(&self, tools: &ToolSet) -> bool {
        let environment = self.turn.environment();
        if !self.settings.tool_search || !environment.config.offers(FIND_TOOLS) {
            return false;
        }
        let (mut count, mut bytes) = (0, 0);
        for spec in offered(tools, environment) {
            if is_of_server(&spec.name) {
                count += 1;
                bytes += spec.description.len() + spec.input_schema.get().len();
            }
        }
        count > MAX_TOOLS || bytes > MAX_BYTES
    }
}

/// Returns the tools that the mode and the Thread's own lists allow.
fn offered(tools: &ToolSet, environment: &ToolEnvironment) -> Vec<ToolSpec> {
    let mut specs = tools.specs(environment.mode);
    specs.retain(|spec| environment.config.offers(&spec.name));
    specs
}

/// Whether the model's provider may search the web. A question before each search is impossible, since the provider searches
/// while it answers: a rule that asks refuses.
pub(super) fn searches_web(environment: &ToolEnvironment) -> bool {
    let said = environment.policy.tool(WEB_SEARCH);
    environment.config.offers(WEB_SEARCH) && said.is_none_or(|ruling| ruling.judgement == Judgement::Allow)
}

/// Returns the tools without those of servers that the conversation does not use; the others of servers at the end.
fn with_used_only(specs: Vec<ToolSpec>, messages: &[Message]) -> Vec<ToolSpec> {
    let (of_servers, mut offered): (Vec<ToolSpec>, Vec<ToolSpec>) =
        specs.into_iter().partition(|spec| is_of_server(&spec.name));
    for name in used(messages) {
        if offered.iter().all(|spec| *spec.name != *name)
            && let Some(spec) = of_servers.iter().find(|spec| *spec.name == *name)
        {
            offered.push(spec.clone());
        }
    }
    offered
}

/// Returns the names of tools that a conversation has loaded or called, the first use first.
fn used(messages: &[Message]) -> impl Iterator<Item = String> {
    let calls = messages.iter().flat_map(|message| match message {
        Message::Agent { calls, .. } => calls.as_slice(),
        Message::User { .. } | Message::Result { .. } => &[],
    });
    calls.flat_map(|call| match (&call.arguments, call.tool.as_str()) {
        (Some(arguments), FIND_TOOLS) => FindTools::chosen(arguments),
        (_, tool) => vec![tool.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::tool::Effect;
    use bobbin_model::Json;
    use serde_json::{Value, json};

    use super::*;

    fn called(tool: &str, arguments: &Value) -> Message {
        let call = Call {
            id: "c".to_owned(),
            tool: tool.to_owned(),
            arguments: Some(Json::of(arguments).unwrap()),
            provider_state: None,
        };
        Message::Agent {
            text: String::new(),
            calls: vec![call],
        }
    }

    #[test]
    fn a_conversation_has_the_tools_that_it_loaded_or_called_in_that_order() {
        let names = [
            "ReadFile",
            "mcp__a__one",
            "mcp__a__two",
            "mcp__b__three",
            "z_of_a_client",
        ];
        let specs = names.map(|name| ToolSpec {
            name: name.into(),
            description: "".into(),
            input_schema: Json::of(&json!({})).unwrap(),
            effect: Effect::Reads,
        });
        let mut messages = vec![called(
            FIND_TOOLS,
            &json!({ "load": ["mcp__b__three", "mcp__a__gone"] }),
        )];
        let names = |messages: &[Message]| -> Vec<String> {
            let left = with_used_only(specs.to_vec(), messages);
            left.iter().map(|spec| spec.name.to_string()).collect()
        };
        assert_eq!(names(&[]), ["ReadFile", "z_of_a_client"]);
        assert_eq!(names(&messages), ["ReadFile", "z_of_a_client", "mcp__b__three"]);
        messages.push(called("mcp__a__one", &json!({})));
        messages.push(called("mcp__b__three", &json!({})));
        assert_eq!(
            names(&messages),
            ["ReadFile", "z_of_a_client", "mcp__b__three", "mcp__a__one"]
        );
    }
}
