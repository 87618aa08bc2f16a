//! `FindTools`: searches the tools of MCP servers, and loads those that the model chooses.
//!
//! Offered if the servers have more tools than one request should have, and while a server is starting: then a call waits
//! for it. Only the conversation records the loaded tools ([`FindTools::chosen`]). So they outlive a restart, and earlier
//! parts of a request never change.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use bobbin_agent_api::cut::head;
use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_agent_api::tool_name;
use bobbin_model::{Json, Mode, ThreadConfig, ThreadId};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::arguments::{decode, done, failed, spec};
use super::tool_set::ToolSet;

/// The tool's name.
pub const FIND_TOOLS: &str = "FindTools";
/// Most tools that one search returns (guess: a model chooses among fewer).
const MAX_FOUND: usize = 20;
/// Most bytes of a description in a search's result.
const MAX_DESCRIPTION: usize = 300;
/// Most tools that one call loads.
const MAX_LOADED: usize = 10;
/// Most servers that the tool's description names.
const MAX_SERVERS: usize = 64;
/// The weight of a word in a name; a word in a description has the weight 1.
const IN_NAME: usize = 3;

/// Searches the tools of MCP servers.
pub struct FindTools {
    spec: ToolSpec,
    all: ToolSet,
    thread: ThreadId,
}

#[derive(Debug, Default, Deserialize)]
struct Arguments {
    #[serde(default)]
    query: String,
    #[serde(default)]
    load: Vec<String>,
}

impl FindTools {
    /// Returns the search over the sources of `all`; `now` is the Thread's part of `all`.
    pub fn new(all: ToolSet, now: &ToolSet, thread: &ThreadId) -> Self {
        let mut servers: BTreeMap<&str, usize> = BTreeMap::new();
        for name in now.names(Mode::Agent) {
            if let Some((server, _)) = tool_name::parts(name) {
                *servers.entry(server).or_default() += 1;
            }
        }
        let servers = servers.iter().take(MAX_SERVERS);
        let servers: Vec<String> = servers
            .map(|(server, tools)| format!("{server} ({tools})"))
            .collect();
        let mut description = "Finds tools of MCP servers, which are not all listed here. Give `query` to search their names \
                               and descriptions, then `load` with the names that you need: you can call these in your \
                               next step."
            .to_owned();
        if !servers.is_empty() {
            description.push_str(" Servers, with how many tools: ");
            description.push_str(&servers.join(", "));
            description.push('.');
        }
        let starting = all.starting();
        if !starting.is_empty() {
            description.push_str(" Still starting, a search waits for them: ");
            description.push_str(&starting.join(", "));
            description.push('.');
        }
        let spec = spec(
            FIND_TOOLS,
            Effect::Reads,
            &description,
            &[],
            &serde_json::json!({
                "query": { "type": "string", "description": "Words to search for." },
                "load": {
                    "type": "array",
                    "items": { "type": "string" },
                    "maxItems": MAX_LOADED,
                    "description": "Names of tools, as a search returned them.",
                },
            }),
        );
        let thread = thread.clone();
        Self { spec, all, thread }
    }

    /// Returns the names of the tools that a call of this tool loads.
    pub fn chosen(arguments: &Json) -> Vec<String> {
        let arguments: Arguments = arguments.decode().unwrap_or_default();
        let mut names = arguments.load;
        names.truncate(MAX_LOADED);
        names
    }
}

impl Tool for FindTools {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let arguments: Arguments = decode(arguments)?;
        if arguments.query.trim().is_empty() && arguments.load.is_empty() {
            return Err(ToolRefusal::Unusable("give a query, or names to load".to_owned()));
        }
        if arguments.load.len() > MAX_LOADED {
            return Err(ToolRefusal::Unusable(format!(
                "load at most {MAX_LOADED} tools in one call"
            )));
        }
        Ok(Box::new(Prepared {
            arguments,
            all: self.all.clone(),
            thread: self.thread.clone(),
            mode: environment.mode,
            config: environment.config.clone(),
        }))
    }
}

struct Prepared {
    arguments: Arguments,
    all: ToolSet,
    thread: ThreadId,
    mode: Mode,
    config: Arc<ThreadConfig>,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => return failed("cancelled"),
                () = self.all.settled(None) => {}
            }
            let mut tools = self.all.now_of(&self.thread).specs(self.mode);
            tools.retain(|tool| tool_name::is_of_server(&tool.name) && self.config.offers(&tool.name));
            let (load, query) = (&self.arguments.load, &self.arguments.query);
            let (known, unknown): (Vec<&String>, Vec<&String>) = load
                .iter()
                .partition(|name| tools.iter().any(|tool| *tool.name == ***name));
            let mut lines = Vec::new();
            if !known.is_empty() {
                lines.push(format!("Loaded, call them now: {}", listed(&known)));
            }
            if !unknown.is_empty() {
                lines.push(format!("There are no tools of these names: {}", listed(&unknown)));
            }
            if !query.trim().is_empty() {
                lines.append(&mut found(&tools, query));
            }
            let starting = self.all.starting();
            if !starting.is_empty() {
                lines.push(format!(
                    "Still starting, search again later: {}",
                    starting.join(", ")
                ));
            }
            let text = lines.join("\n");
            if known.is_empty() && !unknown.is_empty() {
                failed(text)
            } else {
                done(text)
            }
        }
        .boxed()
    }
}

fn listed(names: &[&String]) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    names.join(", ")
}

/// Returns lines about the tools that a query finds, the best first.
fn found(tools: &[ToolSpec], query: &str) -> Vec<String> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split(|char: char| !char.is_alphanumeric()).collect();
    let score = |tool: &ToolSpec| -> usize {
        let (name, description) = (tool.name.to_lowercase(), tool.description.to_lowercase());
        let one = |word: &&str| {
            IN_NAME * usize::from(name.contains(*word)) + usize::from(description.contains(*word))
        };
        words.iter().filter(|word| !word.is_empty()).map(one).sum()
    };
    let mut scored: Vec<(usize, &ToolSpec)> = tools.iter().map(|tool| (score(tool), tool)).collect();
    scored.retain(|(score, _)| *score > 0);
    scored.sort_by_key(|(score, tool)| (Reverse(*score), tool.name.clone()));
    if scored.is_empty() {
        return vec![format!(
            "None of the {} tools has these words; try others.",
            tools.len()
        )];
    }
    let more = scored.len().saturating_sub(MAX_FOUND);
    let line = |(_, tool): &(usize, &ToolSpec)| {
        let description = head(&tool.description, MAX_DESCRIPTION).0.replace('\n', " ");
        format!("{}: {description}", tool.name)
    };
    let mut lines: Vec<String> = scored.iter().take(MAX_FOUND).map(line).collect();
    if more > 0 {
        lines.push(format!("and {more} more; use other words to see them"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: description.into(),
            input_schema: Json::of(&serde_json::json!({})).unwrap(),
            effect: Effect::Reads,
        }
    }

    #[test]
    fn names_count_more_than_descriptions_and_words_that_nothing_has_are_said_so() {
        let tools = [
            tool("mcp__git__log", "Shows commits"),
            tool("mcp__tea__brew", "Writes a log of tea\nand more"),
            tool("mcp__tea__pour", "Pours"),
        ];
        assert_eq!(
            found(&tools, "Log, commits"),
            [
                "mcp__git__log: Shows commits",
                "mcp__tea__brew: Writes a log of tea and more"
            ]
        );
        assert_eq!(
            found(&tools, "cup"),
            ["None of the 3 tools has these words; try others."]
        );
    }

    #[test]
    fn many_finds_are_cut() {
        let tools: Vec<ToolSpec> = (0..30).map(|n| tool(&format!("mcp__tea__t{n:02}"), "")).collect();
        let lines = found(&tools, "tea");
        assert_eq!(lines.len(), MAX_FOUND + 1);
        assert_eq!(lines.last().unwrap(), "and 10 more; use other words to see them");
    }
}
