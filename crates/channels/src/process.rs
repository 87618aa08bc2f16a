//! Adapters that the server starts, on their pipes or with a connection of their own (AppServer protocol 06 §B2 and §B9).
//!
//! Such an adapter is a client although it is the server's child process. Its start succeeds once it has finished its
//! handshake as the adapter of its channel. It has a clean environment and dies with the server.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bobbin_agent_api::channel::{AdapterProcess, ChannelTransport};
use bobbin_children::ProcessSpec;
use bobbin_framing::{Limits, Transport};
use bobbin_native::Endpoint;
use bobbin_supervise::{Child, Ended, Failure, Paced, Service, Status, Streams, causes, is_lasting};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::adapter::Adapter;
use crate::host::Host;
use crate::settings::{DeclaredChannel, fingerprint};

/// Time limit for an adapter's handshake and for a new connection (a guess: an interpreter and its imports).
const START: Duration = Duration::from_secs(30);
/// Time for an adapter to end by itself, and again after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// Longest line of an adapter, in bytes (01 §2).
const LINE_BYTES: usize = 16 << 20;
/// Variable that has an Electron program run as Node.
const RUN_AS_NODE: &str = "ELECTRON_RUN_AS_NODE";
/// Variable with the channel's name.
const CHANNEL: &str = "BOBBIN_CHANNEL";
/// Variable with the address at which an adapter connects, with the token.
const URL: &str = "BOBBIN_CHANNEL_URL";

/// The adapter of one channel, as a supervised service.
pub(crate) struct AdapterService {
    host: Weak<Host>,
    declared: DeclaredChannel,
}

/// A running adapter.
pub(crate) struct Running {
    child: Child,
    adapter: Arc<Adapter>,
    /// The task that serves its pipes, or reads its output.
    reading: AbortOnDropHandle<()>,
    /// Its standard input, if it is not served on it. Closing it asks the adapter to end.
    input: Option<pipe::Sender>,
}

impl AdapterService {
    pub(crate) fn new(host: Weak<Host>, declared: DeclaredChannel) -> Self {
        Self { host, declared }
    }

    fn channel(&self) -> &str {
        &self.declared.config.name
    }

    fn spec(&self, host: &Host, process: &AdapterProcess, connects: bool) -> Result<ProcessSpec, Failure> {
        let place = host.surroundings();
        let mut environment = place.environment.clone();
        environment.set(CHANNEL, self.channel());
        if connects {
            let address = host.address().ok_or_else(|| {
                Failure::lasting(
                    "it is to connect to the server, which does not listen: start it with --listen",
                )
            })?;
            environment.set(URL, address);
        }
        for (name, value) in &process.env.0 {
            environment.set(name, value);
        }
        let directory = place
            .root
            .join(process.working_directory.as_deref().unwrap_or_default());
        let Some(module) = &process.builtin_module else {
            let spec = ProcessSpec::new(&process.command, directory, environment);
            return Ok(spec.args(&process.args));
        };
        let modules = place.modules.as_ref().ok_or_else(|| {
            Failure::lasting(
                "it is a built-in module, and DOTCRAFT_MODULES_DIR of this server names no folder of them",
            )
        })?;
        if modules.run_as_node {
            environment.set(RUN_AS_NODE, "1");
        }
        let spec = ProcessSpec::new(&modules.node, directory, environment);
        let module = modules.folder.join(module).to_string_lossy().into_owned();
        Ok(spec.args(std::iter::once(&module).chain(&process.args)))
    }

    /// Returns the texts that no log may have.
    fn secrets(host: &Host, process: &AdapterProcess) -> Vec<String> {
        let values = process.env.0.values().cloned();
        let token = host.address().and_then(|address| address.split_once("token="));
        values.chain(token.map(|(_, token)| token.to_owned())).collect()
    }

    /// Checks that the folder's files are still those that its user trusts.
    async fn check(&self, host: &Host) -> Result<(), Failure> {
        let (declared, root) = (self.declared.clone(), host.surroundings().root.clone());
        let unchanged =
            tokio::task::spawn_blocking(move || declared.is_unchanged(|config| fingerprint(config, &root)))
                .await;
        if unchanged.unwrap_or_default() {
            return Ok(());
        }
        Err(Failure::lasting(
            "a file that its command line names has changed since you trusted it; `bobbin trust` shows it",
        ))
    }

    /// Serves an adapter on its pipes. Returns the identity of its start, and the task.
    fn serve_pipes(
        &self,
        host: &Host,
        Streams { input, output }: Streams,
    ) -> Result<(Arc<str>, AbortOnDropHandle<()>), Failure> {
        let server = host.server().ok_or_else(|| Failure::lasting("the server ends"))?;
        let limits = Limits::default().with_max_body_bytes(LINE_BYTES);
        let start: Arc<str> = self.channel().into();
        let serving = bobbin_native::serve(
            Transport::lines(output, input, limits),
            Endpoint::Adapter(start.clone()),
            server,
        );
        Ok((start, AbortOnDropHandle::new(tokio::spawn(serving))))
    }

    /// Waits for the adapter of this start to join its channel.
    async fn joined(&self, host: &Host, start: Option<&Arc<str>>) -> Option<Arc<Adapter>> {
        let mut here = host.watch(self.channel())?;
        let is_it = |adapter: &Adapter| match start {
            Some(start) => adapter.start.as_ref().is_some_and(|own| Arc::ptr_eq(own, start)),
            None => adapter.is_there(),
        };
        let found = here
            .wait_for(|here| here.as_ref().is_some_and(|adapter| is_it(adapter)))
            .await;
        found.ok()?.clone()
    }
}

impl Service for AdapterService {
    type Handle = ();
    type Connection = Running;

    fn name(&self) -> &str {
        self.channel()
    }

    async fn start(&self) -> Result<((), Running), Failure> {
        let gone = || Failure::lasting("the server ends");
        let host = self.host.upgrade().ok_or_else(gone)?;
        let transport = &self.declared.config.transport;
        let connects = matches!(transport, ChannelTransport::ManagedWebSocket(_));
        let process = transport
            .process()
            .ok_or_else(|| Failure::lasting("nothing is to be started"))?;
        let spec = self.spec(&host, process, connects)?;
        self.check(&host).await?;
        let secrets = Self::secrets(&host, process);
        let logs = host.logs(self.channel()).ok_or_else(gone)?;
        let hear = logs.sink(secrets.clone());
        let started = Child::start_heard(&host.children, spec, self.channel(), hear).await;
        let (mut child, streams) = started.map_err(|error| Failure {
            problem: causes(&error),
            lasting: is_lasting(&error),
        })?;
        let (start, reading, input) = if connects {
            let Streams { input, output } = streams;
            let reading = log_output(self.channel().to_owned(), output, logs.sink(secrets));
            let reading = tokio::spawn(reading);
            (None, AbortOnDropHandle::new(reading), Some(input))
        } else {
            let (start, serving) = self.serve_pipes(&host, streams)?;
            (Some(start), serving, None)
        };
        let joined = tokio::select! {
            biased;
            joined = timeout(START, self.joined(&host, start.as_ref())) => {
                joined.map_err(|_| format!("it has not come as the adapter of the channel within {START:?}"))
            }
            () = child.lost() => Err("it ended before it had come as the adapter of the channel".to_owned()),
        };
        let why = match joined {
            Ok(Some(adapter)) => {
                let running = Running {
                    child,
                    adapter,
                    reading,
                    input,
                };
                return Ok(((), running));
            }
            Ok(None) => "the channel was removed".to_owned(),
            Err(why) => why,
        };
        drop(input);
        let ended = child.end(GRACE).await;
        drop(reading);
        Err(failure(
            host.problem(self.channel()).filter(|_| start.is_some()),
            why,
            &ended,
        ))
    }

    async fn serve(&self, running: &mut Running, _: &(dyn Fn(()) + Sync)) {
        let is_piped = running.adapter.start.is_some();
        let lost = async {
            loop {
                running.adapter.closed().await;
                if is_piped {
                    return;
                }
                // It may have lost only its connection.
                let Some(host) = self.host.upgrade() else { return };
                match timeout(START, self.joined(&host, None)).await {
                    Ok(Some(adapter)) => running.adapter = adapter,
                    Ok(None) | Err(_) => return,
                }
            }
        };
        tokio::select! {
            biased;
            () = running.child.lost() => {}
            () = lost => {}
        }
    }

    async fn end(&self, running: Running) -> Failure {
        // Closing the connection and its input asks the adapter to end.
        running.adapter.close();
        drop(running.input);
        let served = running.adapter.closed();
        drop(timeout(GRACE, served).await);
        let ended = running.child.end(GRACE).await;
        drop(timeout(GRACE, running.reading).await);
        failure(None, "it ended by itself".to_owned(), &ended)
    }

    fn changed(&self, status: Status<'_, ()>) {
        let Some(host) = self.host.upgrade() else { return };
        let problem = match status {
            Status::Waiting { problem, pause } => {
                Some(format!("{problem}; it is started again in {} s", pause.as_secs()))
            }
            Status::Failed(problem) => Some(format!(
                "{problem}; it is not started again until the channel is configured anew"
            )),
            Status::Running(()) => None,
            // A successor may be running already.
            Status::Added | Status::Starting | Status::Stopped | Status::Removed => return,
        };
        host.note_problem(self.channel(), problem);
    }
}

fn failure(rejected: Option<String>, why: String, ended: &Ended) -> Failure {
    if let Some(stream) = ended.flood {
        return Failure::lasting(format!("it was stopped: it floods its {stream}"));
    }
    let why = rejected
        .filter(|rejected| rejected.starts_with("its adapter was rejected"))
        .unwrap_or(why);
    let said = ended
        .errors
        .last()
        .map_or_else(String::new, |said| format!(": {said}"));
    Failure::passing(format!("{why}{said}"))
}

/// Copies an adapter's output to the log.
async fn log_output(channel: String, output: Paced<pipe::Receiver>, mut hear: impl FnMut(&str)) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        tracing::debug!(channel, line, "an adapter writes");
        hear(&line);
    }
}
