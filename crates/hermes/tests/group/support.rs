//! A server in memory with the group of this crate.

use std::sync::Arc;

use bobbin_agent_api::{Features, Services, SystemClock};
use bobbin_children::{Children, Environment};
use bobbin_core::Threads;
use bobbin_framing::{Limits, Transport};
use bobbin_hermes::group::{GROUPS, announce};
use bobbin_hermes::{Entry, ExtensionSpec, Host, Surroundings};
use bobbin_native::Endpoint;
use bobbin_native::group::Groups;
use bobbin_testkit::{Client, Link, ScriptEngine, TestWorkspace};
use serde_json::{Value, json};

pub(crate) struct Server {
    _workspace: TestWorkspace,
    pub(crate) threads: Arc<Threads>,
    pub(crate) host: Arc<Host>,
    native: Arc<bobbin_native::Server>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let workspace = TestWorkspace::default();
        let threads = workspace
            .open_with(Arc::new(ScriptEngine::default()), |_| {})
            .await;
        let host = Host::new(
            Children::new(None),
            Arc::new(SystemClock),
            announce(threads.broadcasts().clone()),
            None,
        );
        let host = Arc::new(host);
        let services = Services {
            others: Features::default().with(host.clone()),
            ..Services::default()
        };
        let groups = Groups::of(&[bobbin_native::GROUPS, GROUPS]);
        let native = bobbin_native::Server::new(threads.clone(), services, groups);
        Self {
            _workspace: workspace,
            threads,
            host,
            native: Arc::new(native),
        }
    }

    /// Connects a client with these abilities of `hermesUi`, if any.
    pub(crate) async fn client(&self, shows: Option<Value>) -> Client {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let transport = Transport::lines(reader, writer, Limits::default());
        tokio::spawn(bobbin_native::serve(
            transport,
            Endpoint::Stdio,
            self.native.clone(),
        ));
        let (reader, writer) = tokio::io::split(far);
        let capabilities = shows.map_or(json!({}), |shows| json!({ "extensions": { "hermesUi": shows } }));
        Client::ready(Link::lines(reader, writer), "test", capabilities).await
    }

    /// Starts a Thread and returns its id.
    pub(crate) async fn thread(&self, client: &mut Client) -> String {
        let workspace = self.threads.settings().workspace.clone();
        let identity = json!({ "channelName": "test", "userId": "u", "workspacePath": workspace });
        let started = client.call("thread/start", json!({ "identity": identity })).await;
        started["thread"]["id"].as_str().unwrap().to_owned()
    }

    /// Runs a shell script as an extension.
    pub(crate) fn run(&self, directory: &std::path::Path, script: &str) {
        let path = directory.join("extension.sh");
        std::fs::write(&path, script).unwrap();
        let mut environment = Environment::empty();
        environment.set("PATH", "/usr/bin:/bin");
        let place = Surroundings {
            cwd: directory.to_owned(),
            environment,
            data: directory.join("data"),
            version: "0.0.0",
        };
        let entry = Entry {
            path: "/bin/sh".to_owned(),
            args: vec![path.to_str().unwrap().to_owned()],
            enabled: true,
            ..Entry::default()
        };
        self.host
            .load(vec![ExtensionSpec::new(entry, 0, &place)])
            .unwrap();
    }
}
