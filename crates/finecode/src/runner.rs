//! One runner: its connection, and its life as a supervised service.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bobbin_finecode_wire::Dialect;
use bobbin_framing::Transport;
use bobbin_peer::{Batches, CallError, ParseErrorReply, Peer, PeerOptions, VersionCheck};
use bobbin_supervise::{Failure, Restart, Service, Status};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::back;
use crate::conn::{CONFIGURE, Conn, explained};
use crate::host::{Event, Inner, UserMessage};
use crate::info::{RunnerInfo, RunnerState};
use crate::settings::{RunnerSettings, Speech};
use crate::start::{DECISION, Output, Process, RunnerSignal, StartError, StartPlan};

/// How long a runner may take to answer `initialize`.
const INITIALIZE: Duration = Duration::from_secs(20);
/// The time after which users are notified which step a start waits for.
const NOTICE: Duration = Duration::from_secs(2);
/// How long it may take to answer `shutdown`, and to close its connection.
const SHUTDOWN: Duration = Duration::from_secs(5);
const CLOSE: Duration = Duration::from_secs(1);

/// A runner as a service.
pub(crate) struct Runner {
    name: String,
    pub(crate) project: PathBuf,
    pub(crate) env: String,
    inner: Weak<Inner>,
    /// How the next failure is shown.
    failure: Mutex<fn(String) -> RunnerState>,
    state: Mutex<(RunnerState, Option<String>)>,
    pub(crate) output: Mutex<Output>,
}

/// The values that the task of a runner owns.
pub(crate) struct Connection {
    peer: Peer,
    conn: Arc<Conn>,
    process: Process,
}

impl Runner {
    pub(crate) fn new(name: String, project: PathBuf, env: String, inner: Weak<Inner>) -> Self {
        Self {
            name,
            project,
            env,
            inner,
            failure: Mutex::new(RunnerState::Failed),
            state: Mutex::new((RunnerState::Stopped, None)),
            output: Mutex::default(),
        }
    }

    pub(crate) fn info(&self) -> RunnerInfo {
        let (state, log_file) = self.state.lock().clone();
        RunnerInfo {
            project: self.project.clone(),
            env: self.env.clone(),
            sandboxed: self.inner.upgrade().is_some_and(|inner| inner.sandbox.is_some()),
            state,
            log_file,
        }
    }

    fn make(
        &self,
        inner: &Arc<Inner>,
        transport: Transport,
        settings: &RunnerSettings,
        usual: Dialect,
    ) -> Result<(Peer, Arc<Conn>), Failure> {
        let speech = Speech::new(settings, usual);
        let longest = Duration::from_secs(inner.settings.limits.silent_seconds);
        let longest_silence = (settings.debug != Some(true)).then_some(longest);
        let options = PeerOptions {
            batches: Batches::Reject,
            version_check: VersionCheck::Lenient,
            parse_error_reply: ParseErrorReply::Never,
            ..PeerOptions::default()
        };
        let project_name = inner.project(&self.project);
        let project_name = project_name.map(|project| project.definition.name.clone());
        let mut made = None;
        let peer = Peer::start(transport, options, |peer| {
            let project_name = project_name.unwrap_or_default();
            let conn = Arc::new(Conn::new(
                self.project.clone(),
                project_name,
                self.env.clone(),
                peer,
                speech,
                longest_silence,
            ));
            made = Some(conn.clone());
            back::handlers(&self.inner, &conn)
        });
        let peer = peer.map_err(|error| Failure::lasting(error.to_string()))?;
        made.map(|conn| (peer, conn))
            .ok_or_else(|| Failure::lasting("its connection was not made"))
    }

    /// Greets the runner over its pipes or its port.
    async fn reach(
        &self,
        inner: &Arc<Inner>,
        settings: &RunnerSettings,
        process: &mut Process,
    ) -> Result<(Peer, Arc<Conn>), Failure> {
        let debugger = |address| {
            inner.announce(Event::Debugger {
                project: self.project.clone(),
                env: self.env.clone(),
                address,
            });
        };
        let params = initialize(inner, &self.project);
        let failed = |how: String| Failure::passing(how);
        let over_pipes = process
            .pipes()
            .map(|pipes| self.make(inner, pipes, settings, Dialect::Documented))
            .transpose()?;
        let (peer, conn, answer) = match over_pipes {
            Some((peer, conn)) => {
                // Written at once: a runner that speaks over its pipes shows itself by answering.
                let mut asked = Box::pin(peer.call::<Value>("initialize", &params));
                let decided = tokio::select! {
                    biased;
                    found = process.decide(debugger) => Ok(found.map_err(failed)?),
                    answer = &mut asked => Err(answer),
                };
                match decided {
                    Ok(RunnerSignal::Port(port)) => {
                        drop(asked);
                        drop(peer);
                        self.reach_port(inner, settings, process, port, &params).await?
                    }
                    Ok(RunnerSignal::Frames | RunnerSignal::Debugger(_)) => {
                        let answer = timeout(INITIALIZE, &mut asked).await;
                        drop(asked);
                        (peer, conn, answer)
                    }
                    Err(answer) => {
                        drop(asked);
                        (peer, conn, Ok(answer))
                    }
                }
            }
            None => match process.decide(debugger).await.map_err(failed)? {
                RunnerSignal::Port(port) => self.reach_port(inner, settings, process, port, &params).await?,
                RunnerSignal::Frames | RunnerSignal::Debugger(_) => {
                    return Err(failed("announced no port".to_owned()));
                }
            },
        };
        let answer = match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(CallError::ShutDown)) => {
                return Err(failed("ended before it could be reached".to_owned()));
            }
            Ok(Err(error)) => return Err(failed(format!("refused the greeting: {}", explained(&error)))),
            Err(_) => {
                return Err(failed(format!(
                    "did not answer the greeting within {INITIALIZE:?}"
                )));
            }
        };
        if answer.pointer("/capabilities/executeCommandProvider").is_some() {
            return Err(Failure::lasting(
                "is a published package (0.3 or 0.4.0a1) that has none of the methods that are needed; \
                 install a newer finecode_extension_runner in its environment",
            ));
        }
        Ok((peer, conn))
    }

    /// Waits for a step of a start. Users are notified of the step if it takes long.
    async fn noting<T>(&self, inner: &Inner, waits: String, step: impl Future<Output = T>) -> T {
        let mut step = pin!(step);
        tokio::select! {
            biased;
            done = &mut step => return done,
            () = tokio::time::sleep(NOTICE) => {}
        }
        inner.announce(Event::Message(UserMessage {
            project: self.project.clone(),
            env: self.env.clone(),
            level: "INFO".to_owned(),
            text: waits,
        }));
        step.await
    }

    async fn reach_port(
        &self,
        inner: &Arc<Inner>,
        settings: &RunnerSettings,
        process: &Process,
        port: u16,
        params: &Value,
    ) -> Result<
        (
            Peer,
            Arc<Conn>,
            Result<Result<Value, CallError>, tokio::time::error::Elapsed>,
        ),
        Failure,
    > {
        let transport = process.connect(&inner.children, port).await;
        let transport = transport.map_err(Failure::passing)?;
        let (peer, conn) = self.make(inner, transport, settings, Dialect::Current)?;
        let answer = timeout(INITIALIZE, peer.call("initialize", params)).await;
        Ok((peer, conn, answer))
    }

    async fn connect(
        &self,
        inner: &Arc<Inner>,
        settings: &RunnerSettings,
        process: &mut Process,
    ) -> Result<(Peer, Arc<Conn>), Failure> {
        let reaching = self.reach(inner, settings, process);
        let waits = format!(
            "has not shown yet how it is reached; Bobbin waits {} s",
            DECISION.as_secs()
        );
        let (peer, conn) = self.noting(inner, waits, reaching).await?;
        peer.try_notify("initialized", json!({}))
            .map_err(|error| Failure::passing(error.to_string()))?;
        let waits = format!("still loads its actions; Bobbin waits {} s", CONFIGURE.as_secs());
        let greeted = tokio::select! {
            biased;
            greeted = self.noting(inner, waits, conn.greet(inner)) => greeted,
            () = process.lost() => Err("ended while it was configured".to_owned()),
        };
        greeted.map_err(Failure::passing)?;
        Ok((peer, conn))
    }
}

impl Service for Runner {
    type Handle = Arc<Conn>;
    type Connection = Connection;

    fn name(&self) -> &str {
        &self.name
    }

    fn restart(&self) -> Restart {
        Restart::Never
    }

    async fn start(&self) -> Result<(Arc<Conn>, Connection), Failure> {
        *self.failure.lock() = RunnerState::Failed;
        let inner = self.inner.upgrade();
        let inner = inner.ok_or_else(|| Failure::lasting("the server ends"))?;
        let settings = inner.runner_settings(&self.project, &self.env);
        let plan = StartPlan {
            project: &self.project,
            env: &self.env,
            settings: &settings,
            environment: &inner.environment,
            sandbox: inner.sandbox.as_deref(),
        };
        let mut process = match Process::start(&inner.children, &plan).await {
            Ok(process) => process,
            Err(StartError::NoVenv(problem)) => {
                *self.failure.lock() = RunnerState::NoVenv;
                let project = inner.project(&self.project).ok();
                let named = project.and_then(|project| project.names(&self.env));
                let named = named.map_or_else(String::new, |place| format!("; {place} names it"));
                return Err(Failure::lasting(problem + &named));
            }
            Err(StartError::Failed(failure)) => return Err(failure),
        };
        *self.output.lock() = process.output.clone();
        match self.connect(&inner, &settings, &mut process).await {
            Ok((peer, conn)) => {
                *self.failure.lock() = RunnerState::Exited;
                Ok((conn.clone(), Connection { peer, conn, process }))
            }
            Err(Failure { problem, lasting }) => {
                let report = process.end().await;
                // A certain problem is reported without the runner's output.
                let problem = if lasting {
                    problem
                } else {
                    format!("{problem} {report}")
                };
                Err(Failure { problem, lasting })
            }
        }
    }

    async fn serve(&self, connection: &mut Connection, _: &(dyn Fn(Arc<Conn>) + Sync)) {
        tokio::select! {
            () = connection.process.lost() => {}
            () = connection.peer.closed() => {}
            () = connection.conn.gave_up() => {}
        }
    }

    async fn end(&self, connection: Connection) -> Failure {
        let Connection { peer, conn, process } = connection;
        if let Some(inner) = self.inner.upgrade() {
            inner.documents.forget(&conn);
        }
        let stuck = conn.is_given_up();
        if !stuck {
            // A runner that does not answer is ended all the same.
            drop(peer.call_with_timeout::<Value>("shutdown", (), SHUTDOWN).await);
            drop(peer.try_notify("exit", ()));
        }
        // Early revisions leave only when the connection is closed.
        drop(timeout(CLOSE, peer.shutdown()).await);
        drop(peer);
        let report = process.end().await;
        let how = if stuck {
            "it did not answer and was ended"
        } else {
            "it stopped"
        };
        Failure::passing(format!("{how} {report}"))
    }

    fn changed(&self, status: Status<'_, Arc<Conn>>) {
        let (state, log_file) = match status {
            Status::Added => return,
            Status::Starting => (RunnerState::Initializing, None),
            Status::Running(conn) => (RunnerState::Running, conn.log().0),
            Status::Waiting { problem, .. } | Status::Failed(problem) => {
                let failed = *self.failure.lock();
                (failed(problem), None)
            }
            Status::Stopped | Status::Removed => (RunnerState::Stopped, None),
        };
        *self.state.lock() = (state, log_file);
        if let Some(inner) = self.inner.upgrade() {
            inner.announce(Event::Runner(self.info()));
        }
    }
}

fn initialize(inner: &Inner, project: &std::path::Path) -> Value {
    let name = project
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    // In a sandbox our process is not seen, and a runner that looks for it would end.
    let process = inner.sandbox.is_none().then(std::process::id);
    json!({
        "processId": process,
        "clientInfo": { "name": "FineCode_WorkspaceManager", "version": inner.version },
        "capabilities": {},
        "workspaceFolders": [{ "uri": uri_of(project), "name": name }],
        "trace": "verbose",
    })
}

/// Returns the `file:` address of a path.
fn uri_of(path: &std::path::Path) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const PATH: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'/')
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    format!("file://{}", utf8_percent_encode(&path.to_string_lossy(), PATH))
}
