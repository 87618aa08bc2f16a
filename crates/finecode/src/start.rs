//! Starting the process of a runner and finding how to reach it.
//!
//! A runner that answers the first request on standard output is reached there; one that announces a port is reached at
//! that port. Its output before that is stored for reports. Later output is read and dropped, since a full pipe would
//! block it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_children::{Children, Environment, Exit, Network, ProcessSpec};
use bobbin_finecode_wire::framed;
use bobbin_framing::Transport;
use bobbin_supervise::{Child, Confine, Ended, Failure, Line, Paced, Streams, causes, is_lasting};
use parking_lot::Mutex;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, ReadHalf, SimplexStream, WriteHalf, simplex,
};
use tokio::net::TcpStream;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::settings::{RunnerSettings, TransportChoice};

/// How long a runner may take to show how it is reached.
pub(crate) const DECISION: Duration = Duration::from_secs(30);
/// Lines of output that are stored for reports and for clients, and the longest of them.
const MAX_LINES: usize = 200;
const MAX_LINE: usize = 8 << 10;
/// Lines of each stream in a report.
const SHOWN_LINES: usize = 30;
/// Bytes of frames on their way from the pipe to the connection.
const FRAMES: usize = 256 << 10;
/// How long a runner may take to end by itself, and again once it is asked to.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// The last lines that a runner has printed, on both streams.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output {
    pub(crate) stdout: Lines,
    pub(crate) stderr: Lines,
}

/// The last lines of a stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<VecDeque<String>>>);

impl Lines {
    fn push(&self, line: &str) {
        let mut lines = self.0.lock();
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().iter().cloned().collect()
    }
}

/// Why a runner could not be started.
pub(crate) enum StartError {
    /// Its environment is not there.
    NoVenv(String),
    /// Anything else.
    Failed(Failure),
}

/// The process of a runner, with its pipes read.
pub(crate) struct Process {
    child: Child,
    _pump: AbortOnDropHandle<()>,
    found: mpsc::Receiver<RunnerSignal>,
    frames: Option<(ReadHalf<SimplexStream>, pipe::Sender)>,
    /// The stored output of the process.
    pub(crate) output: Output,
    debug: bool,
    ports: Ports,
}

/// The network with the ports that a runner announces.
enum Ports {
    /// The machine's loopback.
    Machine,
    /// The loopback of the runner's own network.
    Own(Network),
    /// None: the runner has no network, so a listener at such a port is another program.
    Nowhere,
}

/// The meaning of a runner's line on standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunnerSignal {
    /// Frames start.
    Frames,
    /// It serves at this port.
    Port(u16),
    /// It waits for a debugger at this address.
    Debugger(String),
}

/// The project, environment and confinement of a runner that is to start.
pub(crate) struct StartPlan<'a> {
    pub(crate) project: &'a Path,
    pub(crate) env: &'a str,
    pub(crate) settings: &'a RunnerSettings,
    pub(crate) environment: &'a Environment,
    /// Confines it.
    pub(crate) sandbox: Option<&'a dyn Confine>,
}

impl Process {
    /// Starts the process.
    pub(crate) async fn start(children: &Children, plan: &StartPlan<'_>) -> Result<Self, StartError> {
        let (program, arguments) = command(plan).await?;
        let mut environment = Environment::empty();
        for (name, value) in plan.environment.iter() {
            // An inherited environment of Python selects the wrong packages.
            if name != "VIRTUAL_ENV" && name != "PYTHONHOME" {
                environment.set(name, value);
            }
        }
        let process = ProcessSpec::new(program, plan.project, environment).args(arguments);
        let (process, ports) = confined(children, plan, process).await?;
        let output = Output::default();
        let stderr = output.stderr.clone();
        let sink = Box::new(move |line: Line<'_>| match line {
            Line::Text(text) => stderr.push(text),
            Line::Lost(count) => stderr.push(&format!("({count} lines are lost here)")),
        });
        let started = Child::start_lossy(children, process, sink).await;
        let (child, streams) = started.map_err(|error| {
            if let Some(sandbox) = plan.sandbox {
                sandbox.has_failed(&error);
            }
            StartError::Failed(Failure {
                problem: causes(&error),
                lasting: is_lasting(&error),
            })
        })?;
        let Streams {
            input,
            output: stdout,
        } = streams;
        let over_pipes = plan.settings.transport != Some(TransportChoice::Tcp);
        let (read, write) = simplex(FRAMES);
        let (announce, found) = mpsc::channel(4);
        let lines = output.stdout.clone();
        let frames = over_pipes.then_some(write);
        let pump = tokio::spawn(pump(BufReader::new(stdout), frames, announce, lines));
        Ok(Self {
            child,
            _pump: AbortOnDropHandle::new(pump),
            found,
            frames: over_pipes.then_some((read, input)),
            output,
            debug: plan.settings.debug == Some(true),
            ports,
        })
    }

    /// Returns its pipes as a transport, if it may be reached there. Once only.
    pub(crate) fn pipes(&mut self) -> Option<Transport> {
        let (read, input) = self.frames.take()?;
        Some(framed(read, input))
    }

    /// Waits until it shows how it is reached. `debugger` gets the address at which it waits for a debugger.
    pub(crate) async fn decide(&mut self, debugger: impl Fn(String)) -> Result<RunnerSignal, String> {
        let mut deadline = Box::pin(tokio::time::sleep(DECISION));
        let mut waits = true;
        loop {
            let found = tokio::select! {
                biased;
                found = self.found.recv() => found,
                () = self.child.lost() => None,
                () = &mut deadline, if waits => {
                    return Err(format!("did not show within {DECISION:?} how it is reached"));
                }
            };
            match found {
                Some(RunnerSignal::Debugger(address)) => {
                    // It serves once the debugger is there, which is up to the user.
                    waits = !self.debug;
                    debugger(address);
                }
                Some(found) => return Ok(found),
                None => return Err("ended before it could be reached".to_owned()),
            }
        }
    }

    /// Connects to a port that it has announced.
    pub(crate) async fn connect(&self, children: &Children, port: u16) -> Result<Transport, String> {
        let stream = match &self.ports {
            Ports::Machine => {
                let stream = TcpStream::connect(("127.0.0.1", port)).await;
                stream.map_err(|error| error.to_string())
            }
            Ports::Own(network) => {
                let stream = children.connect(network, port).await;
                stream.map_err(|error| causes(&error))
            }
            Ports::Nowhere => Err("it has no network in its sandbox".to_owned()),
        };
        let stream =
            stream.map_err(|why| format!("announced port {port}, where it cannot be reached: {why}"))?;
        // Only a matter of speed.
        drop(stream.set_nodelay(true));
        let (read, write) = stream.into_split();
        Ok(framed(read, write))
    }

    /// Returns once it has exited or floods.
    pub(crate) async fn lost(&mut self) {
        self.child.lost().await;
    }

    /// Ends it with everything that it started. Returns what it says about that, in lines.
    pub(crate) async fn end(self) -> String {
        let Ended { exit, flood, .. } = self.child.end(GRACE).await;
        let how = match (flood, exit) {
            (Some(stream), _) => format!("it flooded its {stream}"),
            (None, Some(Exit::Exited(code))) => format!("exit code {code}"),
            (None, Some(Exit::Signaled(signal))) => format!("ended by signal {signal}"),
            (None, Some(Exit::OverMemory(_) | Exit::TimedOut | Exit::Cancelled)) => "it was ended".to_owned(),
            (None, None) => "its exit was not seen".to_owned(),
        };
        let mut report = format!("({how})");
        for (name, lines) in [("stdout", &self.output.stdout), ("stderr", &self.output.stderr)] {
            let lines = lines.all();
            if !lines.is_empty() {
                report.push('\n');
                report.push_str(name);
                report.push(':');
            }
            for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
                report.push_str("\n  ");
                report.push_str(line);
            }
        }
        report
    }
}

/// Returns the process as its sandbox confines it, and where its ports are.
async fn confined(
    children: &Children,
    plan: &StartPlan<'_>,
    process: ProcessSpec,
) -> Result<(ProcessSpec, Ports), StartError> {
    let Some(sandbox) = plan.sandbox else {
        return Ok((process, Ports::Machine));
    };
    let process = sandbox.confine(process).await.map_err(|why| {
        let problem = format!("it cannot be confined as the agent's commands are: {why}");
        StartError::Failed(Failure::passing(problem))
    })?;
    let ports = match &process.confinement {
        None => Ports::Machine,
        Some(confinement) if confinement.reaches_machine() => Ports::Machine,
        Some(confinement) if confinement.plan.is_apart() => match children.network(confinement).await {
            Ok(network) => Ports::Own(network),
            Err(error) => {
                tracing::debug!(%error, env = plan.env, "a runner's network cannot be reached");
                Ports::Nowhere
            }
        },
        Some(_) => Ports::Nowhere,
    };
    let process = match &ports {
        Ports::Own(network) => process.in_network(network.clone()),
        Ports::Machine | Ports::Nowhere => process,
    };
    Ok((process, ports))
}

/// Returns the program and its arguments.
async fn command(plan: &StartPlan<'_>) -> Result<(PathBuf, Vec<String>), StartError> {
    let settings = plan.settings;
    let (program, mut arguments) = match settings.command.as_deref() {
        Some([program, arguments @ ..]) => (PathBuf::from(program), arguments.to_vec()),
        Some([]) => {
            let empty = Failure::lasting("its command in the settings of FineCode is empty");
            return Err(StartError::Failed(empty));
        }
        None => {
            let venv = plan.project.join(".venvs").join(plan.env);
            let python = venv.join("bin").join("python");
            check_venv(plan.env, &venv, &python).await?;
            let module = ["-m", "finecode_extension_runner.cli"];
            (python, module.map(str::to_owned).to_vec())
        }
    };
    arguments.push("start".to_owned());
    arguments.push(format!("--project-path={}", plan.project.display()));
    arguments.push(format!("--env-name={}", plan.env));
    if settings.debug == Some(true) {
        arguments.push("--debug".to_owned());
    }
    if settings.wal == Some(true) {
        arguments.push("--wal".to_owned());
    }
    Ok((program, arguments))
}

/// Checks that an environment is there, and is where it was made.
async fn check_venv(env: &str, venv: &Path, python: &Path) -> Result<(), StartError> {
    if tokio::fs::metadata(python).await.is_err() {
        return Err(StartError::NoVenv(format!(
            "its environment is not there: {} is missing; prepare the environment {env}, then run the action again",
            python.display()
        )));
    }
    let activate = venv.join("bin").join("activate");
    let (venv, env) = (venv.to_owned(), env.to_owned());
    let stale = tokio::task::spawn_blocking(move || {
        let text = bobbin_files::read_text(&activate, 64 << 10).ok()?;
        let recorded = text.lines().find_map(|line| {
            let line = line.trim();
            let line = line.strip_prefix("export ").unwrap_or(line);
            Some(
                line.strip_prefix("VIRTUAL_ENV=")?
                    .trim_matches(['"', '\''])
                    .to_owned(),
            )
        })?;
        let made = Path::new(&recorded);
        let same = made.canonicalize().ok() == venv.canonicalize().ok();
        (made.is_absolute() && !same).then(|| {
            format!(
                "its environment was made for {recorded} and has moved; prepare the environment {env} anew"
            )
        })
    });
    match stale.await {
        Ok(Some(problem)) => Err(StartError::Failed(Failure::lasting(problem))),
        Ok(None) | Err(_) => Ok(()),
    }
}

/// Reads standard output: lines until it is decided how the runner is reached, then frames or nothing.
async fn pump(
    mut output: BufReader<Paced<pipe::Receiver>>,
    mut frames: Option<WriteHalf<SimplexStream>>,
    found: mpsc::Sender<RunnerSignal>,
    lines: Lines,
) {
    let mut line = Vec::new();
    loop {
        line.clear();
        if !read_line(&mut output, &mut line).await {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if let Some(frames) = &mut frames
            && text
                .get(..15)
                .is_some_and(|name| name.eq_ignore_ascii_case("content-length:"))
        {
            // A full channel cannot be: at most a debugger was announced.
            drop(found.try_send(RunnerSignal::Frames));
            let header = format!("{text}\r\n");
            if frames.write_all(header.as_bytes()).await.is_ok() {
                drop(tokio::io::copy_buf(&mut output, frames).await);
            }
            return;
        }
        if let Some(port) = announced(text) {
            lines.push(text);
            drop(found.try_send(RunnerSignal::Port(port)));
            output.get_mut().drain();
            drop(tokio::io::copy_buf(&mut output, &mut tokio::io::sink()).await);
            return;
        }
        if let Some((_, address)) = text.split_once("Debug session: ") {
            drop(found.try_send(RunnerSignal::Debugger(address.trim().to_owned())));
        }
        if !text.is_empty() {
            lines.push(text);
        }
    }
}

/// Reads a line, of which a long one is cut. Returns whether there was one.
async fn read_line(output: &mut BufReader<Paced<pipe::Receiver>>, line: &mut Vec<u8>) -> bool {
    loop {
        let Ok(buffer) = output.fill_buf().await else {
            return false;
        };
        if buffer.is_empty() {
            return !line.is_empty();
        }
        let end = buffer.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        let room = MAX_LINE.saturating_sub(line.len());
        line.extend_from_slice(&buffer[..taken.min(room)]);
        output.consume(taken);
        if end.is_some() {
            return true;
        }
    }
}

/// Returns the port in `Serving on ('127.0.0.1', 4711)`.
fn announced(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("Serving on ('")?;
    let (_, rest) = rest.split_once("',")?;
    let (port, _) = rest.split_once(')')?;
    port.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_announcement_of_a_port_is_found_in_log_lines() {
        assert_eq!(announced("Serving on ('127.0.0.1', 40123)"), Some(40123));
        assert_eq!(announced("12:00 INFO Serving on ('0.0.0.0', 7) ok"), Some(7));
        for line in [
            "Serving on port 7",
            "Serving on ('127.0.0.1', x)",
            "Serving on ('127.0.0.1', 70000)",
        ] {
            assert_eq!(announced(line), None);
        }
    }
}
