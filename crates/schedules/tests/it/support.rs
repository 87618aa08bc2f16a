//! A server in memory with scheduled jobs, and control of its time.

use std::sync::Arc;

use bobbin_agent_api::channel::{ChannelDelivery, ChatAddress, ChatMessage, Delivered, DeliveryError};
use bobbin_agent_api::trust::{TrustChange, TrustError, TrustStatus, WorkspaceTrust};
use bobbin_agent_api::{Features, Services};
use bobbin_core::{Settings, Threads};
use bobbin_framing::{Limits, Transport};
use bobbin_model::Json;
use bobbin_native::Endpoint;
use bobbin_native::group::Groups;
use bobbin_prompts::{Machine, Prompts};
use bobbin_schedules::{ByClock, Schedules, Surroundings};
use bobbin_store::ScheduleStore as _;
use bobbin_store::Store as _;
use bobbin_store_sqlite::{Options, SqliteStore};
use bobbin_testkit::{Client, Link, ScriptEngine, TestWorkspace};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Mutex;

pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const HOUR: i64 = 60 * MINUTE;

/// A core with jobs.
pub(crate) struct Server {
    pub(crate) workspace: TestWorkspace,
    pub(crate) threads: Arc<Threads>,
    pub(crate) engine: ScriptEngine,
    pub(crate) chats: Arc<Chats>,
    store: Arc<SqliteStore>,
    schedules: Schedules,
    policy: bobbin_model::ApprovalPolicy,
}

/// The user's decision about the folder.
struct Said {
    trusted: bool,
}

impl WorkspaceTrust for Said {
    fn status(&self) -> BoxFuture<'_, Result<TrustStatus, TrustError>> {
        let trusted = self.trusted;
        let status = TrustStatus {
            trusted,
            ..TrustStatus::default()
        };
        async move { Ok(status) }.boxed()
    }

    fn set(&self, _: TrustChange) -> BoxFuture<'_, Result<TrustStatus, TrustError>> {
        async { Err(TrustError::Changed) }.boxed()
    }

    fn notice(&self) -> BoxFuture<'_, Option<String>> {
        async { None }.boxed()
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(bobbin_model::ApprovalPolicy::Default).await
    }

    /// Starts a server whose workspace has this approval policy.
    pub(crate) async fn with(policy: bobbin_model::ApprovalPolicy) -> Self {
        Self::open(TestWorkspace::default(), policy, true).await
    }

    /// Starts a server in a folder that its user does not trust.
    pub(crate) async fn untrusted() -> Self {
        let policy = bobbin_model::ApprovalPolicy::AutoApprove;
        Self::open(TestWorkspace::default(), policy, false).await
    }

    async fn open(workspace: TestWorkspace, policy: bobbin_model::ApprovalPolicy, trusted: bool) -> Self {
        let path = workspace.path().join("schedule.db");
        let store = Arc::new(SqliteStore::open(&path, Options::default()).await.unwrap());
        let schedules = Schedules::new(store.clone());
        let engine = ScriptEngine::default().with_tools(schedules.tools());
        let change = |settings: &mut Settings| settings.approval_policy = policy.into();
        let threads = workspace.open_with(Arc::new(engine.clone()), change).await;
        let chats = Arc::new(Chats::default());
        let surroundings = Surroundings {
            by_clock: ByClock::Runs,
            threads: threads.clone(),
            channels: Some(chats.clone()),
            trust: Some(Arc::new(Said { trusted })),
        };
        schedules.begin(surroundings).await.unwrap();
        Self {
            workspace,
            threads,
            engine,
            chats,
            store,
            schedules,
            policy,
        }
    }

    /// Ends the server, lets time pass, and starts it again.
    pub(crate) async fn restart_after(self, millis: i64) -> Self {
        self.threads.stop().await;
        self.store.close().await;
        self.workspace.clock.advance(millis);
        Self::open(self.workspace, self.policy, true).await
    }

    pub(crate) fn link(&self) -> Link {
        let root = self.threads.settings().workspace.clone();
        let prompts = Prompts::new(root, None, Machine::default());
        let services = Services {
            version: "0.0.0",
            prompts: Some(Arc::new(prompts)),
            slash: self.schedules.slash(),
            others: self.schedules.offer(Features::default()),
            ..Services::default()
        };
        let groups = Groups::of(&[bobbin_native::GROUPS, bobbin_schedules::GROUPS]);
        let server = Arc::new(bobbin_native::Server::new(self.threads.clone(), services, groups));
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(near);
        let transport = Transport::lines(reader, writer, Limits::default());
        // The task ends with its client.
        tokio::spawn(bobbin_native::serve(transport, Endpoint::Stdio, server));
        let (reader, writer) = tokio::io::split(far);
        Link::lines(reader, writer)
    }

    pub(crate) async fn client(&self) -> Client {
        Client::ready(self.link(), "test", json!({ "approvalSupport": true })).await
    }

    /// Advances the clock and makes the owner look at it.
    pub(crate) async fn pass(&self, client: &mut Client, millis: i64) {
        self.workspace.clock.advance(millis);
        self.look(client).await;
    }

    /// Makes the owner look at the clock. It looks after each order, and executes the second order after that look.
    pub(crate) async fn look(&self, client: &mut Client) {
        for _ in 0..2 {
            client.call("cron/list", json!({})).await;
        }
    }

    /// Returns the number of stored entries.
    pub(crate) async fn stored(&self) -> usize {
        self.store.schedule().await.unwrap().len()
    }

    /// Writes messages as text, with ids and times replaced, those of jobs too.
    pub(crate) fn redact(&self, messages: &[Value], jobs: &[&str]) -> String {
        let text = bobbin_testkit::redacted(messages, &self.threads.settings().workspace);
        jobs.iter().fold(text, |text, job| text.replace(job, "JOB"))
    }
}

/// Lets an agent make a job with its tool, and returns the tool's result.
pub(crate) async fn add(client: &mut Client, thread: &str, arguments: &Value) -> Value {
    client.start_turn(thread, &format!("use Cron {arguments}")).await;
    let result = client
        .find("the tool's result", |message| {
            message["method"] == "item/completed" && message["params"]["item"]["type"] == "toolResult"
        })
        .await;
    client.wait_for("turn/completed").await;
    let text = result["params"]["item"]["payload"]["result"].as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

/// Returns all jobs, off or on.
pub(crate) async fn jobs(client: &mut Client) -> Vec<Value> {
    let listed = client.call("cron/list", json!({ "includeDisabled": true })).await;
    listed["jobs"].as_array().unwrap().clone()
}

/// Chats that accept every message.
#[derive(Default)]
pub(crate) struct Chats(pub(crate) Mutex<Vec<(String, String, String, String)>>);

impl ChannelDelivery for Chats {
    fn channels(&self) -> Vec<String> {
        vec!["pigeon".to_owned()]
    }

    fn deliver(
        &self,
        to: ChatAddress,
        message: ChatMessage,
        metadata: Option<Json>,
    ) -> BoxFuture<'_, Result<Delivered, DeliveryError>> {
        async move {
            let ChatMessage::Text(text) = message else {
                return Ok(Delivered::default());
            };
            let metadata = metadata
                .map(|metadata| metadata.get().to_owned())
                .unwrap_or_default();
            let mut sent = self.0.lock().await;
            sent.push((to.channel, to.target, text, metadata));
            Ok(Delivered::default())
        }
        .boxed()
    }
}
