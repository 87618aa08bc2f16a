//! `SpawnAgent`, `WaitAgent`, `SendInput`, `CloseAgent`, `ResumeAgent`: the tools for a Thread's subagents.
//!
//! The tools only call [`SubAgents`], which decides the rights, the number and the end of subagents. The tools change
//! nothing by themselves, so plan mode has them too: a subagent of a Thread in plan mode is in plan mode. Threads that may
//! have subagents get them; a configuration with `allowList` must name them (AppServer protocol 02 §2.4).

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bobbin_agent_api::sub_agent::{
    EXPLORER, Report, Spawn, SubAgentError, SubAgentStatus, SubAgents, WORKER,
};
use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal, ToolSpec,
};
use bobbin_model::{Json, ThreadConfig};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::arguments::{decode, done, failed, spec};

/// Most bytes of a task or of a further input (guess: longer text belongs in a file).
const MAX_INPUT: usize = 64 << 10;
/// Longest nickname, in characters.
const MAX_NICKNAME: usize = 64;
/// Most subagents named in one call.
const MAX_NAMES: usize = 64;
/// Longest waiting time that a call may request, in seconds.
const MAX_WAIT: u64 = 24 * 3600;

const SPAWN: &str = "SpawnAgent";
const WAIT: &str = "WaitAgent";
const SEND: &str = "SendInput";
const CLOSE: &str = "CloseAgent";
const RESUME: &str = "ResumeAgent";

/// The tools. All Turns share them, because making their schemas is costly.
pub(super) static TOOLS: LazyLock<[Arc<dyn Tool>; 5]> = LazyLock::new(|| {
    [Kind::Spawn, Kind::Wait, Kind::Send, Kind::Close, Kind::Resume]
        .map(|kind| Arc::new(AgentTool::new(kind, &[])) as Arc<dyn Tool>)
});

/// Returns the tools for subagents that a Thread may have.
pub fn agent_tools(sub_agents: &dyn SubAgents, config: &ThreadConfig) -> Vec<Arc<dyn Tool>> {
    if !sub_agents.may_spawn() {
        return Vec::new();
    }
    let profiles = sub_agents.profiles();
    let tools = TOOLS.iter().cloned().map(|tool| {
        if profiles.is_empty() || &*tool.spec().name != SPAWN {
            return tool;
        }
        Arc::new(AgentTool::new(Kind::Spawn, &profiles))
    });
    tools
        .filter(|tool| is_listed(config, &tool.spec().name))
        .collect()
}

/// Returns whether a Thread's configuration offers a tool: any without `allowList`, otherwise those on the list.
fn is_listed(config: &ThreadConfig, name: &str) -> bool {
    let text = |member: &str| config.extra.get(member).and_then(|value| value.as_str());
    if text("agentControlToolAccess") != Some("allowList") {
        return true;
    }
    let list = config.extra.get("allowedAgentControlTools");
    let names = list.and_then(|list| list.as_array()).into_iter().flatten();
    names
        .filter_map(|listed| listed.as_str())
        .any(|listed| listed.trim().eq_ignore_ascii_case(name))
}

/// The kind of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Spawn,
    Wait,
    Send,
    Close,
    Resume,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Spawn => SPAWN,
            Self::Wait => WAIT,
            Self::Send => SEND,
            Self::Close => CLOSE,
            Self::Resume => RESUME,
        }
    }

    /// Returns the tool's spec. `profiles` are the names of profiles, each with its purpose.
    fn spec(self, profiles: &[(String, String)]) -> ToolSpec {
        let agent = json!({ "type": "string", "description": "Its id or nickname." });
        let (description, required, mut properties): (_, &[&str], _) = match self {
            Self::Spawn => (
                "Starts a subagent: another agent with a conversation of its own, in the same workspace and under the same \
                 rules. It knows nothing of this conversation but the prompt. Use it for a part of the work that stands by \
                 itself, several of them for parts that can go on at the same time, which must not change the same files. \
                 Returns at once; WaitAgent gives its answer. It is stopped when your turn ends.",
                &["agentPrompt"],
                json!({
                    "agentPrompt": { "type": "string", "description": "The task, with all that it needs to know." },
                    "agentNickname": { "type": "string", "description": "A short name for users, and for the other calls." },
                    "agentRole": {
                        "type": "string",
                        "enum": [WORKER, EXPLORER],
                        "description": "explorer only looks and changes nothing; worker (the default) may do what you may.",
                    },
                }),
            ),
            Self::Wait => (
                "Waits until subagents have done what they were given, and returns their answers.",
                &[],
                json!({
                    "agents": {
                        "type": "array",
                        "items": agent,
                        "description": "Their ids or nicknames; all of this turn when left out.",
                    },
                    "timeoutSeconds": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MAX_WAIT,
                        "description": "How long to wait at most; until they have ended when left out.",
                    },
                }),
            ),
            Self::Send => (
                "Gives a subagent more to do, or sends a message to one that is running. It remembers what it did before.",
                &["agent", "input"],
                json!({ "agent": agent, "input": { "type": "string", "description": "The message." } }),
            ),
            Self::Close => (
                "Closes a subagent that is not needed any more; what it does is stopped.",
                &["agent"],
                json!({ "agent": agent }),
            ),
            Self::Resume => (
                "Opens a closed subagent again, so that SendInput can give it more to do.",
                &["agent"],
                json!({ "agent": agent }),
            ),
        };
        if self == Self::Spawn && !profiles.is_empty() {
            properties["profile"] = profile_property(profiles);
        }
        spec(self.name(), Effect::Reads, description, required, &properties)
    }
}

fn profile_property(profiles: &[(String, String)]) -> serde_json::Value {
    let about = profiles.iter().map(|(name, about)| format!("{name}: {about}"));
    let about: Vec<String> = about.collect();
    json!({
        "type": "string",
        "enum": profiles.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "description": format!("Which agent it is; the default agent when left out. {}", about.join(" ")),
    })
}

/// One of the tools.
#[derive(Debug)]
struct AgentTool {
    kind: Kind,
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpawnArguments {
    agent_prompt: String,
    #[serde(default)]
    agent_nickname: Option<String>,
    #[serde(default)]
    agent_role: Option<String>,
    #[serde(default)]
    profile: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WaitArguments {
    #[serde(default)]
    agents: Vec<String>,
    #[serde(default)]
    timeout_seconds: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct SendArguments {
    agent: String,
    input: String,
}

#[derive(Debug, Deserialize)]
struct AgentArguments {
    agent: String,
}

/// A call with valid arguments.
#[derive(Debug)]
enum AgentRequest {
    Spawn(SpawnArguments),
    Wait(WaitArguments),
    Send(SendArguments),
    Close(String),
    Resume(String),
}

impl AgentTool {
    fn new(kind: Kind, profiles: &[(String, String)]) -> Self {
        let spec = kind.spec(profiles);
        Self { kind, spec }
    }
}

impl Tool for AgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn runs_alone(&self) -> bool {
        // Subagents that earlier calls start exist only after these calls; starts can run together.
        self.kind != Kind::Spawn
    }

    fn must_end(&self) -> bool {
        self.kind != Kind::Wait
    }

    fn found_interrupted(
        &self,
        _arguments: &Json,
        call: &str,
        agents: Arc<dyn SubAgents>,
    ) -> Option<BoxFuture<'static, String>> {
        let (kind, call) = (self.kind, call.to_owned());
        Some(interrupted(kind, call, agents).boxed())
    }

    fn prepare(
        &self,
        arguments: &Json,
        _environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let request = match self.kind {
            Kind::Spawn => AgentRequest::Spawn(spawn(decode(arguments)?)?),
            Kind::Wait => {
                let wait: WaitArguments = decode(arguments)?;
                if wait.agents.len() > MAX_NAMES {
                    return Err(ToolRefusal::Unusable(format!(
                        "at most {MAX_NAMES} subagents can be named"
                    )));
                }
                AgentRequest::Wait(wait)
            }
            Kind::Send => {
                let send: SendArguments = decode(arguments)?;
                text("input", &send.input)?;
                AgentRequest::Send(send)
            }
            Kind::Close => AgentRequest::Close(decode::<AgentArguments>(arguments)?.agent),
            Kind::Resume => AgentRequest::Resume(decode::<AgentArguments>(arguments)?.agent),
        };
        Ok(Box::new(Prepared(request)))
    }
}

fn spawn(mut arguments: SpawnArguments) -> Result<SpawnArguments, ToolRefusal> {
    text("agentPrompt", &arguments.agent_prompt)?;
    if let Some(role) = arguments
        .agent_role
        .as_deref()
        .filter(|role| ![WORKER, EXPLORER].contains(role))
    {
        return Err(ToolRefusal::Unusable(format!(
            "there is no role {role:?}; there are {WORKER:?} and {EXPLORER:?}"
        )));
    }
    arguments.agent_nickname = arguments
        .agent_nickname
        .map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|name| !name.is_empty());
    let long = |name: &String| name.chars().count() > MAX_NICKNAME;
    if arguments.agent_nickname.as_ref().is_some_and(long) {
        return Err(ToolRefusal::Unusable(format!(
            "a nickname has at most {MAX_NICKNAME} characters"
        )));
    }
    Ok(arguments)
}

fn text(name: &str, text: &str) -> Result<(), ToolRefusal> {
    if text.trim().is_empty() {
        return Err(ToolRefusal::Unusable(format!("{name} must not be empty")));
    }
    if text.len() > MAX_INPUT {
        return Err(ToolRefusal::Unusable(format!(
            "{name} has more than {MAX_INPUT} bytes; put it into a file and name that"
        )));
    }
    Ok(())
}

struct Prepared(AgentRequest);

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            run(self.0, &context)
                .await
                .map_or_else(|error| failed(error.to_string()), done)
        }
        .boxed()
    }
}

async fn run(request: AgentRequest, context: &CallContext) -> Result<String, SubAgentError> {
    let agents = &context.agents;
    match request {
        AgentRequest::Spawn(wanted) => {
            let request = Spawn {
                prompt: wanted.agent_prompt,
                nickname: wanted.agent_nickname,
                role: wanted.agent_role,
                profile: wanted.profile.filter(|name| !name.trim().is_empty()),
                call: context.origin.call.clone(),
            };
            let started = agents.spawn(request).await?;
            Ok(format!(
                "started {started}; it is running, and WaitAgent gives its answer"
            ))
        }
        AgentRequest::Wait(WaitArguments {
            agents: names,
            timeout_seconds,
        }) => {
            let limit = timeout_seconds.map(|seconds| Duration::from_secs(seconds.clamp(1, MAX_WAIT)));
            let reports = agents.wait(&names, limit, &context.cancel).await?;
            if reports.is_empty() {
                return Ok("no subagent was running in this turn; those of before can be named".to_owned());
            }
            Ok(listed(&reports))
        }
        AgentRequest::Send(SendArguments { agent, input }) => {
            let given = agents.send(&agent, input).await?;
            Ok(format!(
                "given to {given}; it is running, and WaitAgent gives its answer"
            ))
        }
        AgentRequest::Close(agent) => {
            let closed = agents.close(&agent).await?;
            Ok(format!("{closed} is closed"))
        }
        AgentRequest::Resume(agent) => {
            let open = agents.resume(&agent).await?;
            Ok(format!("{open} is open; SendInput gives it more to do"))
        }
    }
}

/// Returns the result of a call that ran when the server stopped.
async fn interrupted(kind: Kind, call: String, agents: Arc<dyn SubAgents>) -> String {
    const BEGAN: &str =
        "interrupted_by_restart: the server stopped while this call ran, and it was not run again";
    let known = match kind {
        Kind::Spawn => agents.of_call(&call).await,
        Kind::Wait | Kind::Send | Kind::Close | Kind::Resume => agents.open().await,
    };
    match known {
        Ok(reports) if reports.is_empty() && kind == Kind::Spawn => {
            format!("{BEGAN}; no subagent was started")
        }
        Ok(reports) if reports.is_empty() => format!("{BEGAN}; no subagent is open"),
        Ok(reports) if kind == Kind::Spawn => {
            format!(
                "{BEGAN}; the subagent was started all the same\n\n{}",
                listed(&reports)
            )
        }
        Ok(reports) => format!("{BEGAN}; the open subagents are\n\n{}", listed(&reports)),
        Err(error) => format!("{BEGAN}; the subagents are not known: {error}"),
    }
}

fn listed(reports: &[Report]) -> String {
    let listed: Vec<String> = reports.iter().map(one).collect();
    listed.join("\n\n")
}

fn one(report: &Report) -> String {
    let closed = if report.closed { ", and closed" } else { "" };
    match &report.status {
        SubAgentStatus::Running => format!("{report}: still running{closed}"),
        SubAgentStatus::Asking => format!("{report}: still running, waiting for the user's approval{closed}"),
        SubAgentStatus::Finished(said) if said.is_empty() => {
            format!("{report}: finished without a word{closed}")
        }
        SubAgentStatus::Finished(said) => format!("{report}: finished{closed}\n{said}"),
        SubAgentStatus::Failed(why) => format!("{report}: failed{closed}\n{why}"),
        SubAgentStatus::Cancelled => format!("{report}: was stopped before it had finished{closed}"),
        SubAgentStatus::Idle => format!("{report}: has nothing to do{closed}"),
        SubAgentStatus::Gone => format!("{report}: is deleted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Workspace;

    fn refusal(kind: Kind, arguments: &serde_json::Value) -> Option<String> {
        let workspace = Workspace::new();
        let prepared =
            AgentTool::new(kind, &[]).prepare(&Workspace::json(arguments), &workspace.environment());
        prepared.err().map(|refusal| refusal.to_string())
    }

    #[test]
    fn arguments_that_cannot_be_used_say_why() {
        let long = "x".repeat(MAX_INPUT + 1);
        for (kind, arguments, part) in [
            (Kind::Spawn, json!({ "agentPrompt": " " }), "must not be empty"),
            (Kind::Spawn, json!({ "agentPrompt": long }), "put it into a file"),
            (
                Kind::Spawn,
                json!({ "agentPrompt": "p", "agentRole": "boss" }),
                "there is no role \"boss\"",
            ),
            (
                Kind::Spawn,
                json!({ "agentPrompt": "p", "agentNickname": "n".repeat(65) }),
                "at most 64",
            ),
            (Kind::Wait, json!({ "agents": vec!["a"; 65] }), "at most 64"),
            (
                Kind::Send,
                json!({ "agent": "a", "input": "" }),
                "must not be empty",
            ),
            (Kind::Close, json!({}), "not usable"),
        ] {
            let said = refusal(kind, &arguments).unwrap_or_default();
            assert!(said.contains(part), "{said}");
        }
        for (kind, arguments) in [
            (
                Kind::Spawn,
                json!({ "agentPrompt": "p", "agentNickname": "a  b", "agentRole": "explorer" }),
            ),
            (Kind::Wait, json!({})),
            (Kind::Resume, json!({ "agent": "a" })),
        ] {
            assert_eq!(refusal(kind, &arguments), None);
        }
    }

    #[test]
    fn only_waiting_is_let_go_of() {
        let let_go: Vec<_> = TOOLS.iter().filter(|tool| !tool.must_end()).collect();
        let names: Vec<_> = let_go.iter().map(|tool| &*tool.spec().name).collect();
        assert_eq!(names, [WAIT]);
    }

    #[test]
    fn an_allow_list_names_the_tools_there_are() {
        let config = |text: &str| -> ThreadConfig { serde_json::from_str(text).unwrap() };
        let listed =
            config(r#"{"agentControlToolAccess":"allowList","allowedAgentControlTools":["spawnagent"]}"#);
        assert!(is_listed(&listed, SPAWN) && !is_listed(&listed, WAIT));
        assert!(is_listed(&config("{}"), WAIT));
    }

    #[tokio::test]
    async fn where_no_turn_runs_there_are_no_subagents() {
        let workspace = Workspace::new();
        let arguments = Workspace::json(&json!({ "agentPrompt": "p" }));
        let prepared = AgentTool::new(Kind::Spawn, &[]).prepare(&arguments, &workspace.environment());
        let output = prepared.unwrap().run(Workspace::context()).await;
        assert_eq!(output.text, "this thread cannot have subagents: no turn runs");
        assert!(!output.success);
    }
}
