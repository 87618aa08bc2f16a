//! A server in memory with external channels, and clients that are their adapters.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent::AgentEngine;
use bobbin_agent_api::channel::{AdapterProcess, ChannelConfig, ChannelTransport};
use bobbin_agent_api::model::{Message, Model, ModelError, ModelReply, ModelRequest, ModelSink};
use bobbin_agent_api::policy::NoRules;
use bobbin_agent_api::{Features, Services};
use bobbin_channels::settings::{self, DeclaredChannel};
use bobbin_channels::{Channels, GROUPS, Host, Modules, Surroundings};
use bobbin_children::{Children, Environment};
use bobbin_core::Threads;
use bobbin_framing::{Limits, Transport};
use bobbin_model::InputPart;
use bobbin_native::Endpoint;
use bobbin_native::group::Groups;
use bobbin_offline::Offline;
use bobbin_testkit::{Client, Link, TestWorkspace};
use bobbin_tools::ToolSet;
use bobbin_workspace::{StateDirectory, TrustFile, TrustRecord};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// Address that the server's own adapters get; the tests connect over memory instead.
pub(crate) const ADDRESS: &str = "ws://127.0.0.1:1/ws?token=t";

/// The offline model, which fails if a message says `fail: WHY`.
struct Failing;

impl Model for Failing {
    fn history_turns(&self, model: Option<&str>) -> u32 {
        Offline.history_turns(model)
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let why = request.messages.last().and_then(|message| match message {
            Message::User { parts } => parts.iter().find_map(|part| match part {
                InputPart::Text { text } => text.strip_prefix("fail: ").map(str::to_owned),
                _ => None,
            }),
            _ => None,
        });
        match why {
            Some(why) => std::future::ready(Err(ModelError::Failed(why))).boxed(),
            None => Offline.respond(request, sink),
        }
    }
}

pub(crate) struct Server {
    _workspace: TestWorkspace,
    _state: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) channels: Arc<Channels>,
    pub(crate) native: Arc<bobbin_native::Server>,
}

/// Returns a channel whose adapter connects by itself.
pub(crate) fn by_itself(name: &str) -> ChannelConfig {
    ChannelConfig {
        name: name.to_owned(),
        enabled: true,
        transport: ChannelTransport::WebSocket,
    }
}

/// Returns a channel whose adapter is this shell script.
pub(crate) fn script(name: &str, script: &str) -> ChannelConfig {
    ChannelConfig {
        name: name.to_owned(),
        enabled: true,
        transport: ChannelTransport::Subprocess(AdapterProcess {
            command: "/bin/sh".to_owned(),
            args: vec!["-c".to_owned(), script.to_owned()],
            ..AdapterProcess::default()
        }),
    }
}

/// Returns a channel that its user trusts.
pub(crate) fn trusted(config: ChannelConfig, root: &Path) -> DeclaredChannel {
    let mut declared = settings::of_folder(config, root, &TrustRecord::default());
    declared.trusted = true;
    declared
}

impl Server {
    pub(crate) async fn start(channels: Vec<ChannelConfig>) -> Self {
        Self::with(|root| channels.into_iter().map(|config| trusted(config, root)).collect()).await
    }

    pub(crate) async fn with(channels: impl FnOnce(&Path) -> Vec<DeclaredChannel>) -> Self {
        let workspace = TestWorkspace::default();
        let state = tempfile::tempdir().unwrap();
        let root = workspace.path().canonicalize().unwrap();
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/bin:/bin");
        let place = Surroundings {
            root: root.clone(),
            environment,
            temporary: state.path().to_owned(),
            policy: Arc::new(NoRules),
            modules: Some(Modules {
                folder: root.join("modules"),
                node: "/bin/sh".to_owned(),
                run_as_node: true,
            }),
        };
        let host = Host::new(Children::new(None), place);
        let trust = TrustFile::of(&StateDirectory::at(state.path()), &root);
        let tools = ToolSet::default().with_source(host.clone());
        let engine = AgentEngine::new(Arc::new(Failing), tools);
        let threads: Arc<Threads> = workspace.open_with(Arc::new(engine), |_| {}).await;
        let broadcasts = threads.broadcasts().clone();
        let channels = Channels::new(host.clone(), trust, channels(&root), broadcasts);
        channels.begin(&threads);
        let services = Services {
            channels: Some(host.clone()),
            others: Features::default().with(channels.clone()),
            ..Services::default()
        };
        let groups = Groups::of(&[bobbin_native::GROUPS, GROUPS]);
        let native = Arc::new(bobbin_native::Server::new(threads, services, groups));
        host.begin(&native, Some(ADDRESS.to_owned()));
        Self {
            _workspace: workspace,
            _state: state,
            root,
            channels,
            native,
        }
    }

    pub(crate) fn link(&self) -> Link {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let transport = Transport::lines(reader, writer, Limits::default());
        // The task ends with its client.
        let serving = bobbin_native::serve(
            transport,
            Endpoint::WebSocket {
                is_private: true,
                actor: bobbin_model::Actor::Owner,
            },
            self.native.clone(),
        );
        tokio::spawn(serving);
        let (reader, writer) = tokio::io::split(far);
        Link::lines(reader, writer)
    }

    pub(crate) async fn client(&self) -> Client {
        Client::ready(self.link(), "test", json!({})).await
    }

    /// Connects the adapter of a channel. The adapter has joined when this returns.
    pub(crate) async fn adapter(&self, channel: &str, mut capability: Value) -> Client {
        capability["channelName"] = json!(channel);
        let mut adapter = Client::ready(self.link(), channel, json!({ "channelAdapter": capability })).await;
        // Requests are served in order.
        adapter.call("channel/status", json!({})).await;
        adapter
    }

    /// Waits until the status of a channel is as wanted, and returns it.
    pub(crate) async fn status(
        &self,
        client: &mut Client,
        name: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let looking = async {
            loop {
                let status = client.call("channel/status", json!({})).await;
                let channels = status["channels"].as_array().unwrap();
                let found = channels.iter().find(|channel| channel["name"] == name).cloned();
                if let Some(found) = found.filter(&wanted) {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        };
        let patience = Duration::from_mins(1);
        tokio::time::timeout(patience, looking)
            .await
            .expect("the status does not come")
    }
}

/// Advances the time at once.
pub(crate) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Asks a client to send a text to a chat, and returns the id of the request.
pub(crate) async fn send(client: &mut Client, channel: &str, message: Value) -> i64 {
    let params = json!({ "channel": channel, "target": "roof:7", "message": message });
    client.request("channel/send", params).await
}

/// Starts a Thread of a chat and returns its id.
pub(crate) async fn chat(adapter: &mut Client, channel: &str, chat: &str) -> String {
    let identity = json!({ "channelName": channel, "userId": "u-3", "channelContext": chat });
    let started = adapter
        .call("thread/start", json!({ "identity": identity }))
        .await;
    started["thread"]["id"].as_str().unwrap().to_owned()
}

/// Sends a message in a Thread, as the user of a chat.
pub(crate) async fn say(adapter: &mut Client, thread: &str, text: &str) {
    let sender = json!({ "senderId": "u-3", "senderName": "Mika", "groupId": "roof:7" });
    let input = json!([{ "type": "text", "text": text }]);
    let params = json!({ "threadId": thread, "input": input, "sender": sender });
    adapter.call("turn/start", params).await;
}
