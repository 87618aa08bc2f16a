//! Other offers of tool servers: resources as contexts, prompts as commands (sections 5, 6.3, 12, 13).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bobbin_agent_api::tool_server::{
    ConfiguredServer, LoginWishes, PromptArgument, ServerAccess, ServerPrompt, ServerReply, ServerResource,
    ToolServerConfig, ToolServerError, ToolServerNews, ToolServers,
};
use bobbin_agent_api::workspace_config::ConfigOwner;
use bobbin_core::Threads;
use bobbin_model::{Json, OfferedTool, Reach, ServerOrigin, ServerState, ToolServer};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use serde_json::{Value, json};

use crate::support::{Server, is_content, prompt, transcript, until};

/// A server with a menu and a prompt, and nothing else.
struct Pantry;

impl ToolServers for Pantry {
    fn servers(&self) -> Vec<Arc<ToolServer>> {
        Vec::new()
    }

    fn configured(&self) -> Vec<ConfiguredServer> {
        Vec::new()
    }

    fn start(&self, name: &str) -> Result<(), ToolServerError> {
        Err(ToolServerError::NotFound(name.to_owned()))
    }

    fn stop(&self, name: &str) -> Result<(), ToolServerError> {
        Err(ToolServerError::NotFound(name.to_owned()))
    }

    fn upsert(
        &self,
        config: ToolServerConfig,
        _: Option<ConfigOwner>,
        reply: ServerReply<ConfiguredServer>,
    ) -> BoxFuture<'_, ()> {
        reply(Err(ToolServerError::ReadOnly(config.name)));
        ready(()).boxed()
    }

    fn remove(&self, name: String, _: Option<ConfigOwner>, reply: ServerReply<()>) -> BoxFuture<'_, ()> {
        reply(Err(ToolServerError::NotFound(name)));
        ready(()).boxed()
    }

    fn test(
        &self,
        config: ToolServerConfig,
    ) -> BoxFuture<'_, Result<Result<usize, String>, ToolServerError>> {
        ready(Err(ToolServerError::NotFound(config.name))).boxed()
    }

    fn resources(&self) -> Vec<ServerResource> {
        vec![ServerResource {
            server: "pantry".to_owned(),
            uri: "tea://menu".to_owned(),
            name: "menu".to_owned(),
            description: "What there is.".to_owned(),
            mime_type: "text/plain".to_owned(),
        }]
    }

    fn prompts(&self) -> Vec<ServerPrompt> {
        vec![ServerPrompt {
            server: "pantry".to_owned(),
            name: "brew".to_owned(),
            description: "Asks for a cup.".to_owned(),
            arguments: vec![PromptArgument {
                name: "leaf".to_owned(),
                description: None,
                required: true,
            }],
        }]
    }

    fn read_resource<'a>(
        &'a self,
        server: &'a str,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<String, ToolServerError>> {
        let read = match (server, uri) {
            ("pantry", "tea://menu") => Ok("Assam, Darjeeling".to_owned()),
            _ => Err(ToolServerError::Invalid(format!("there is no {uri}"))),
        };
        ready(read).boxed()
    }

    fn fill_prompt<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        arguments: BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<String, ToolServerError>> {
        let filled = match arguments["leaf"].as_str() {
            "none" => Err(ToolServerError::Invalid("there is none".to_owned())),
            leaf => Ok(format!("Brew {leaf}.")),
        };
        ready(filled).boxed()
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}

async fn with_pantry() -> Server {
    let mut server = Server::start().await;
    server.tool_servers = Some(Arc::new(Pantry));
    server
}

#[tokio::test]
async fn resources_and_prompts_are_offered_and_reach_the_turn() {
    let server = with_pantry().await;
    let mut client = server.editor().await;
    let mut seen = Vec::new();
    let menu = json!({ "type": "mcpResource", "uri": "tea://menu", "name": "menu", "description": "",
        "mimeType": "", "server": "pantry" });
    for (method, params) in [
        ("chat/queryContext", json!({ "query": "MENU", "contexts": [] })),
        (
            "chat/queryContext",
            json!({ "query": "menu", "contexts": [menu] }),
        ),
        ("chat/queryCommands", json!({ "query": "brew" })),
    ] {
        seen.push(client.answer_to(method, params).await);
    }
    let gone = json!({ "type": "mcpResource", "uri": "tea://gone", "server": "pantry" });
    let attached = json!({ "chatId": "c", "message": "/pantry:brew assam", "contexts": [gone, menu] });
    let turn = prompt(&mut client, attached).await;
    // The pieces of the agent's text do not matter here.
    seen.extend(
        turn.into_iter()
            .filter(|one| one["params"]["role"] != "assistant"),
    );
    transcript!(server, seen);
    assert_eq!(
        server.attached("c").await,
        [
            "pantry:brew|Brew assam.",
            "tea://gone|The user attached this, but it was not read: there is no tea://gone.",
            "tea://menu|Assam, Darjeeling"
        ]
    );
}

/// A server whose state the test sets.
struct Kettle {
    threads: Arc<Threads>,
    state: Mutex<ServerState>,
    configured: Mutex<Vec<ConfiguredServer>>,
    wants_login: bool,
}

impl Kettle {
    fn becomes(&self, states: &[ServerState]) {
        for state in states {
            *self.state.lock().unwrap() = *state;
            for server in self.servers() {
                self.threads.broadcasts().send(ToolServerNews(server), 0);
            }
        }
    }

    fn known(name: &str) -> Result<(), ToolServerError> {
        if name == "kettle" {
            return Ok(());
        }
        Err(ToolServerError::NotFound(name.to_owned()))
    }
}

impl ToolServers for Kettle {
    fn servers(&self) -> Vec<Arc<ToolServer>> {
        let state = *self.state.lock().unwrap();
        let boil = OfferedTool {
            name: "boil".to_owned(),
            description: "Boils water.".to_owned(),
            input_schema: Json::of(&json!({ "type": "object" })).unwrap(),
            output_schema: None,
            offered_as: "mcp__kettle__boil".to_owned(),
            hints: bobbin_model::ToolHints::default(),
        };
        let tools: Vec<_> = (state == ServerState::Ready)
            .then_some(boil)
            .into_iter()
            .collect();
        vec![Arc::new(ToolServer {
            name: "kettle".to_owned(),
            enabled: true,
            reach: Reach::Stdio {
                command: "kettle".to_owned(),
                args: vec!["--quiet".to_owned()],
            },
            origin: ServerOrigin::User,
            read_only: false,
            state,
            wants_login: state == ServerState::Error && self.wants_login,
            problem: (state == ServerState::Error).then(|| "it boiled over".to_owned()),
            tools: tools.into(),
        })]
    }

    fn configured(&self) -> Vec<ConfiguredServer> {
        self.configured.lock().unwrap().clone()
    }

    fn start(&self, name: &str) -> Result<(), ToolServerError> {
        Self::known(name)?;
        self.becomes(&[ServerState::Starting, ServerState::Ready]);
        Ok(())
    }

    fn stop(&self, name: &str) -> Result<(), ToolServerError> {
        Self::known(name)?;
        self.becomes(&[ServerState::Idle]);
        Ok(())
    }

    fn upsert(
        &self,
        config: ToolServerConfig,
        _: Option<ConfigOwner>,
        reply: ServerReply<ConfiguredServer>,
    ) -> BoxFuture<'_, ()> {
        let mut all = self.configured.lock().unwrap();
        all.retain(|found| found.config.name != config.name);
        let read_only = config.name == "fixed";
        let configured = ConfiguredServer {
            config,
            origin: ServerOrigin::Workspace,
            read_only,
        };
        if read_only {
            reply(Err(ToolServerError::ReadOnly(configured.config.name)));
        } else {
            all.push(configured.clone());
            reply(Ok(configured));
        }
        ready(()).boxed()
    }

    fn remove(&self, name: String, _: Option<ConfigOwner>, reply: ServerReply<()>) -> BoxFuture<'_, ()> {
        let mut all = self.configured.lock().unwrap();
        let before = all.len();
        all.retain(|found| found.config.name != name);
        reply(if all.len() < before {
            Ok(())
        } else {
            Err(ToolServerError::NotFound(name))
        });
        ready(()).boxed()
    }

    fn test(
        &self,
        config: ToolServerConfig,
    ) -> BoxFuture<'_, Result<Result<usize, String>, ToolServerError>> {
        ready(Err(ToolServerError::NotFound(config.name))).boxed()
    }

    fn log_in<'a>(&'a self, name: &'a str, _: LoginWishes) -> BoxFuture<'a, Result<String, ToolServerError>> {
        let page = Self::known(name).map(|()| "https://kettle.example/authorize".to_owned());
        self.becomes(&[ServerState::Starting, ServerState::Ready]);
        ready(page).boxed()
    }

    fn log_out<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<bool, ToolServerError>> {
        ready(Err(ToolServerError::Invalid(format!("{name} is boiling")))).boxed()
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}

#[tokio::test]
async fn a_server_is_stopped_started_and_fails() {
    let mut server = Server::start().await;
    let kettle = Arc::new(Kettle {
        threads: server.threads.clone(),
        state: Mutex::new(ServerState::Ready),
        configured: Mutex::default(),
        wants_login: false,
    });
    server.tool_servers = Some(kettle.clone());
    let mut client = server.editor().await;
    let is = |status: &'static str| move |message: &Value| message["params"]["status"] == status;
    let mut seen = until(&mut client, is("running")).await;
    client.notify("mcp/stopServer", json!({ "name": "kettle" })).await;
    seen.extend(until(&mut client, is("stopped")).await);
    client.notify("mcp/stopServer", json!({ "name": "nobody" })).await;
    client
        .notify("mcp/startServer", json!({ "name": "kettle" }))
        .await;
    seen.extend(until(&mut client, is("running")).await);
    kettle.becomes(&[ServerState::Error]);
    seen.extend(until(&mut client, |message| message["method"] == "$/showMessage").await);
    transcript!(server, seen);
}

#[tokio::test]
async fn a_user_logs_in_at_a_server_that_wants_it() {
    let mut server = Server::start().await;
    server.tool_servers = Some(Arc::new(Kettle {
        threads: server.threads.clone(),
        state: Mutex::new(ServerState::Error),
        configured: Mutex::default(),
        wants_login: true,
    }));
    let mut client = server.editor().await;
    let is = |status: &'static str| move |message: &Value| message["params"]["status"] == status;
    until(&mut client, is("requires-auth")).await;
    let named = json!({ "name": "kettle" });
    client.notify("mcp/connectServer", named.clone()).await;
    let shown = |message: &Value| message["method"] == "$/showMessage";
    let seen = until(&mut client, shown).await;
    let said = seen.last().unwrap()["params"]["message"].as_str().unwrap();
    assert!(said.contains("https://kettle.example/authorize"), "{said}");
    client.notify("mcp/logoutServer", named).await;
    let seen = until(&mut client, shown).await;
    assert!(
        seen.last().unwrap().to_string().contains("is boiling"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn a_prompt_that_cannot_be_filled_in_says_why_and_asks_no_model() {
    let server = with_pantry().await;
    let mut client = server.editor().await;
    for (message, why) in [
        ("/pantry:brew", "needs leaf"),
        ("/pantry:brew none", "pantry:brew cannot be used: there is none"),
    ] {
        let seen = prompt(&mut client, json!({ "chatId": "c", "message": message })).await;
        let said = |one: &&Value| is_content(one, "text") && one["params"]["role"] == "system";
        let said = seen.iter().find(said).unwrap()["params"]["content"]["text"].to_string();
        assert!(said.contains(why), "{said}");
        assert!(!seen.iter().any(|one| one["params"]["role"] == "assistant"));
    }
}

#[tokio::test]
async fn a_client_of_a_later_version_reads_another_spelling() {
    let server = with_pantry().await;
    let mut client = server.editor().await;
    let asked = json!({ "query": "brew" });
    let first = client.call("chat/queryCommands", asked.clone()).await;
    assert_eq!(first["commands"][0]["type"], "mcp-prompt");
    // Unknown methods say nothing about the client's version.
    client.error("no/such", json!({})).await;
    client.notify("$/setTrace", json!({ "value": "off" })).await;
    let same = client.call("chat/queryCommands", asked.clone()).await;
    assert_eq!(same["commands"][0]["type"], "mcp-prompt");
    client.call("chat/list", json!({})).await;
    let later = client.call("chat/queryCommands", asked).await;
    assert_eq!(later["commands"][0]["type"], "mcpPrompt");
}

#[tokio::test]
async fn servers_are_added_changed_switched_off_and_removed() {
    let mut server = Server::start().await;
    let kettle = Arc::new(Kettle {
        threads: server.threads.clone(),
        state: Mutex::new(ServerState::Ready),
        configured: Mutex::default(),
        wants_login: false,
    });
    server.tool_servers = Some(kettle.clone());
    let mut client = server.editor().await;
    let config = || kettle.configured()[0].config.clone();
    let new =
        json!({ "name": "kettle", "command": "kettle", "args": ["--quiet"], "env": { "KEY": "secret" } });
    let added = client.call("mcp/addServer", new.clone()).await;
    assert_eq!(added["server"]["name"], "kettle");
    assert!(!added.to_string().contains("secret"));
    assert_eq!(
        client.call("mcp/addServer", new).await["error"]["code"],
        "already_exists"
    );
    client
        .call(
            "mcp/updateServer",
            json!({ "name": "kettle", "args": ["--loud"] }),
        )
        .await;
    let ServerAccess::Stdio {
        command, args, env, ..
    } = config().access
    else {
        panic!("{:?}", config());
    };
    assert_eq!(
        (&*command, args, env.0.len()),
        ("kettle", vec!["--loud".to_owned()], 1)
    );
    client
        .notify("mcp/disableServer", json!({ "name": "kettle" }))
        .await;
    client
        .call(
            "mcp/updateServer",
            json!({ "name": "kettle", "url": "https://tea.test/mcp" }),
        )
        .await;
    assert!(!config().enabled && matches!(config().access, ServerAccess::Http { .. }));
    client.notify("mcp/enableServer", json!({ "name": "none" })).await;
    let said = client.wait_for("$/showMessage").await;
    assert!(said["params"]["message"].as_str().unwrap().contains("none"));
    let both = json!({ "name": "x", "command": "x", "url": "https://x.test" });
    assert_eq!(
        client.call("mcp/addServer", both).await["error"]["code"],
        "invalid"
    );
    let fixed = json!({ "name": "fixed", "command": "x" });
    assert_eq!(
        client.call("mcp/addServer", fixed).await["error"]["code"],
        "read_only"
    );
    let removed = client.call("mcp/removeServer", json!({ "name": "kettle" })).await;
    assert_eq!(removed, json!({ "name": "kettle", "removed": true }));
    client.wait_for("tool/serverRemoved").await;
    let gone = client.call("mcp/removeServer", json!({ "name": "kettle" })).await;
    assert_eq!(gone["error"]["code"], "not_found");
}
