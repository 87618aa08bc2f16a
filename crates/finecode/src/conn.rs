//! A connection to a runner, as callers use it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bobbin_peer::{CallError, PeerHandle, Phase};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::edits::ClientId;
use crate::error::LogHint;
use crate::host::{Event, Inner, UserMessage};
use crate::settings::Speech;
use crate::wire::Metas;

/// How long a runner may take for small answers.
pub(crate) const SMALL: Duration = Duration::from_secs(10);
/// How long a runner may take to import its actions and to build what they need.
pub(crate) const CONFIGURE: Duration = Duration::from_mins(2);
/// The answer that asks for a new environment.
const REINSTALL: i64 = -32001;

/// Receives the values of a token, in order and on the connection's reader.
pub(crate) type Route = Arc<dyn Fn(&str) + Send + Sync>;

/// A run that is active on a runner.
pub(crate) struct Active {
    id: u64,
    pub(crate) cancel: CancellationToken,
    pub(crate) client: Option<ClientId>,
}

/// The signs of life of a runner.
struct Signs {
    /// When the last one came, or the last run started.
    last: Instant,
    /// How many of its questions Bobbin has yet to answer.
    owed: usize,
}

/// A question of a runner that is not answered yet.
pub(crate) struct Owed<'a>(&'a Conn);

impl Drop for Owed<'_> {
    fn drop(&mut self) {
        let mut signs = self.0.signs.lock();
        signs.owed -= 1;
        signs.last = Instant::now();
    }
}

/// A connection to a runner, as callers use it.
pub(crate) struct Conn {
    pub(crate) project: PathBuf,
    pub(crate) project_name: String,
    pub(crate) env: String,
    pub(crate) peer: PeerHandle,
    pub(crate) speech: Speech,
    /// Longest silence during a run; `None` for a runner that a debugger may stop.
    pub(crate) longest_silence: Option<Duration>,
    routes: Mutex<HashMap<u64, Route>>,
    active: Mutex<Vec<Active>>,
    signs: Mutex<Signs>,
    log_file: Mutex<Option<String>>,
    configured: Mutex<Option<Value>>,
    given_up: CancellationToken,
    pub(crate) checking: AtomicBool,
}

impl Conn {
    pub(crate) fn new(
        project: PathBuf,
        project_name: String,
        env: String,
        peer: PeerHandle,
        speech: Speech,
        longest_silence: Option<Duration>,
    ) -> Self {
        Self {
            project,
            project_name,
            env,
            peer,
            speech,
            longest_silence,
            routes: Mutex::default(),
            active: Mutex::default(),
            signs: Mutex::new(Signs {
                last: Instant::now(),
                owed: 0,
            }),
            log_file: Mutex::default(),
            configured: Mutex::default(),
            given_up: CancellationToken::new(),
            checking: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.is_cancelled()
    }

    /// Returns once its runner is to be ended.
    pub(crate) async fn gave_up(&self) {
        self.given_up.cancelled().await;
    }

    /// Returns whether it can be used.
    pub(crate) fn is_usable(&self) -> bool {
        self.peer.phase() == Phase::Active && !self.given_up.is_cancelled()
    }

    /// Has its runner ended; the next use starts another.
    pub(crate) fn give_up(&self) {
        self.given_up.cancel();
    }

    /// Sends users a message about this runner.
    pub(crate) fn note(&self, inner: &Inner, text: String) {
        inner.announce(Event::Message(UserMessage {
            project: self.project.clone(),
            env: self.env.clone(),
            level: "INFO".to_owned(),
            text,
        }));
    }

    pub(crate) fn log(&self) -> LogHint {
        LogHint(self.log_file.lock().clone())
    }

    pub(crate) fn route(&self, token: u64, route: Route) {
        self.routes.lock().insert(token, route);
    }

    pub(crate) fn unroute(&self, token: u64) {
        self.routes.lock().remove(&token);
    }

    /// Hands on a value. One for an unknown token is late, and is dropped.
    pub(crate) fn deliver(&self, token: &Value, value: &str) {
        self.signs.lock().last = Instant::now();
        let number = token.as_u64().or_else(|| token.as_str()?.parse().ok());
        let route = number.and_then(|token| self.routes.lock().get(&token).cloned());
        if let Some(route) = route {
            route(value);
        }
    }

    pub(crate) fn enter(&self, id: u64, cancel: CancellationToken, client: Option<ClientId>) {
        self.signs.lock().last = Instant::now();
        self.active.lock().push(Active { id, cancel, client });
    }

    /// Takes note of a question. The runner is not silent until the value is dropped.
    pub(crate) fn owes(&self) -> Owed<'_> {
        self.signs.lock().owed += 1;
        Owed(self)
    }

    /// Returns how long the runner has given no sign of life. It owes none while each of its runs may be waiting for an
    /// answer of Bobbin's.
    pub(crate) fn silence(&self) -> Duration {
        let runs = self.active.lock().len();
        let signs = self.signs.lock();
        if signs.owed >= runs {
            Duration::ZERO
        } else {
            signs.last.elapsed()
        }
    }

    pub(crate) fn leave(&self, id: u64) {
        self.active.lock().retain(|active| active.id != id);
    }

    /// Returns the cancellation of the one run that is active here. With more of them it is not known which one asks.
    pub(crate) fn sole_run(&self) -> Option<CancellationToken> {
        match self.active.lock().as_slice() {
            [one] => Some(one.cancel.clone()),
            _ => None,
        }
    }

    /// Returns the client of all runs that are active here, if it is one.
    pub(crate) fn client(&self) -> Option<ClientId> {
        let active = self.active.lock();
        let first = active.first()?.client?;
        active
            .iter()
            .all(|run| run.client == Some(first))
            .then_some(first)
    }

    /// Configures the runner, unless it has this configuration, and learns its actions.
    pub(crate) async fn configure(self: &Arc<Self>, inner: &Inner) -> Result<(), String> {
        let project = inner.project(&self.project).map_err(|error| error.to_string())?;
        let config = project.catalog().runner_config(&self.env);
        if self.configured.lock().as_ref() == Some(&config) {
            return Ok(());
        }
        let params = json!({
            "workingDir": self.project, "projectName": project.definition.name,
            "projectDefPath": project.definition.path, "config": config,
        });
        match self
            .peer
            .call_with_timeout::<Value>("finecodeRunner/updateConfig", &params, CONFIGURE)
            .await
        {
            Ok(_) => {}
            Err(CallError::Remote(error)) if error.code == REINSTALL => {
                return Err(format!(
                    "its environment must be installed anew ({}); then restart the runner",
                    error.message
                ));
            }
            Err(CallError::TimedOut(limit)) => {
                return Err(format!(
                    "did not take its configuration within {} s: look for a handler or a service that does not get ready",
                    limit.as_secs()
                ));
            }
            Err(error) => return Err(format!("it refused its configuration: {}", explained(&error))),
        }
        *self.configured.lock() = Some(config);
        match self
            .peer
            .call_with_timeout::<Metas>("finecodeRunner/resolveActionMeta", json!({}), CONFIGURE)
            .await
        {
            Ok(Metas::Wrapped { actions, .. } | Metas::Flat(actions)) => project.resolve(actions),
            Ok(Metas::Nothing) => {}
            Err(error) => tracing::debug!(%error, env = self.env, "a runner does not resolve its actions"),
        }
        inner.documents.show(self);
        Ok(())
    }

    pub(crate) async fn greet(self: &Arc<Self>, inner: &Inner) -> Result<(), String> {
        // Only for the sake of the log's path.
        let info = self
            .peer
            .call_with_timeout::<Value>("finecodeRunner/getInfo", json!({}), SMALL);
        match info.await {
            Ok(info) => *self.log_file.lock() = info["logFilePath"].as_str().map(str::to_owned),
            Err(error) => tracing::debug!(%error, env = self.env, "a runner does not say where its log is"),
        }
        self.configure(inner).await
    }
}

/// Returns what the other side said, or why it said nothing.
pub(crate) fn explained(error: &CallError) -> String {
    match error {
        CallError::Remote(error) => error.message.clone().into_owned(),
        other => other.to_string(),
    }
}

/// Checks in the background that a runner still answers, after a call to it was cancelled.
pub(crate) async fn check(conn: Arc<Conn>) {
    let answer = conn
        .peer
        .call_with_timeout::<Value>("finecodeRunner/getInfo", json!({}), SMALL);
    if matches!(answer.await, Err(CallError::TimedOut(_))) {
        tracing::warn!(env = conn.env, project = %conn.project.display(), "a runner does not answer after a cancellation");
        conn.give_up();
    }
    conn.checking.store(false, Ordering::Relaxed);
}

/// The directory of a preset's package.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PackagePath {
    pub(crate) package_path: PathBuf,
}

/// The payload schemas of actions, by name; `None` for actions that cannot be imported.
pub(crate) type Schemas = BTreeMap<String, Option<Value>>;
