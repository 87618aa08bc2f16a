//! One shell, and the task that owns its process and its terminal.
//!
//! The owner reads at most [`BATCH`] bytes every [`PACE`], so a fast writer (`yes`) takes little of the processor. While the
//! owner does not read, the writer waits for the kernel's buffer. Output goes to the [`Screen`].

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bobbin_children::{Exit, PipedChild, Terminal, TerminalSize};
use bobbin_native_wire::RpcError;
use bobbin_peer::Responder;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::handlers::Attached;
use crate::screen::Screen;
use crate::types::{ShellInfo, ShellWriteResult};

/// Most bytes that are read at once.
const BATCH: usize = 32 << 10;
/// The time between two reads: 4 MB a second, which browsers can show, and no delay that a user who types feels.
const PACE: Duration = Duration::from_millis(8);
/// How long a shell may take to end after a hang-up, and then after a request to end.
const GRACE: Duration = Duration::from_millis(500);
/// The longest wait for the rest of the output once all processes are gone.
const REST: Duration = Duration::from_secs(1);
/// Texts that wait to be typed; others are refused.
const WAITING: usize = 16;

pub(crate) struct Shell {
    pub(crate) id: String,
    pub(crate) screen: Screen,
    program: String,
    cwd: PathBuf,
    thread: Option<String>,
    size: watch::Sender<TerminalSize>,
    typed: mpsc::Sender<Typed>,
    closing: CancellationToken,
    /// The connection whose terminal answers questions in the output.
    answers: Mutex<Weak<Attached>>,
}

/// Text to type, and the receiver of the answer.
struct Typed(Vec<u8>, Responder);

impl Shell {
    /// Returns a shell, and the work of its owner, which returns the exit code.
    pub(crate) fn new(
        program: String,
        cwd: PathBuf,
        thread: Option<String>,
        (child, terminal, size): (PipedChild, Terminal, TerminalSize),
    ) -> (Arc<Self>, impl Future<Output = Option<i32>> + Send + 'static) {
        let (typed, receiver) = mpsc::channel(WAITING);
        let shell = Arc::new(Self {
            id: format!("shell_{}", uuid::Uuid::new_v4().simple()),
            screen: Screen::new(),
            program,
            cwd,
            thread,
            size: watch::Sender::new(size),
            typed,
            closing: CancellationToken::new(),
            answers: Mutex::default(),
        });
        let run = run(shell.clone(), child, terminal, receiver);
        (shell, run)
    }

    pub(crate) fn info(&self) -> ShellInfo {
        let size = *self.size.borrow();
        ShellInfo {
            id: self.id.clone(),
            program: self.program.clone(),
            cwd: self.cwd.display().to_string(),
            thread_id: self.thread.clone(),
            columns: size.columns,
            rows: size.rows,
        }
    }

    pub(crate) fn resize(&self, size: TerminalSize) {
        self.size.send_replace(size);
    }

    /// Types text after what waits already. Answers once the terminal has all of it.
    pub(crate) fn write(&self, text: Vec<u8>, responder: Responder) {
        if let Err(refused) = self.typed.try_send(Typed(text, responder)) {
            let Typed(_, responder) = refused.into_inner();
            let why = "The program in this terminal does not read what is typed. Try again later, or close the terminal.";
            bobbin_native::client::refuse(responder, RpcError::invalid_request(why));
        }
    }

    /// Notes a connection whose terminal answers from now on: it opened the shell, or its user types.
    pub(crate) fn typed_by(&self, connection: &Arc<Attached>) {
        if connection.has(&self.id) {
            *self.answers.lock() = Arc::downgrade(connection);
        }
    }

    /// Returns whether the terminal of a connection answers. Without such a connection, the first one that answers is it.
    pub(crate) fn is_answered_by(&self, connection: &Arc<Attached>) -> bool {
        let mut answers = self.answers.lock();
        let other = answers.upgrade().filter(|other| !Arc::ptr_eq(other, connection));
        if other.is_some_and(|other| other.has(&self.id)) {
            return false;
        }
        *answers = Arc::downgrade(connection);
        true
    }

    pub(crate) fn close(&self) {
        self.closing.cancel();
    }
}

/// Owns a shell from its start until everything of it is gone.
async fn run(
    shell: Arc<Shell>,
    mut child: PipedChild,
    terminal: Terminal,
    typed: mpsc::Receiver<Typed>,
) -> Option<i32> {
    let is_closed = tokio::select! {
        biased;
        () = shell.closing.cancelled() => true,
        () = child.exited() => false,
        // No program has the terminal open any more, so none can be reached by it.
        () = show(&terminal, &shell.screen) => true,
        never = write(&terminal, typed) => never,
        never = resize(&terminal, shell.size.subscribe()) => never,
    };
    let exit = if is_closed {
        // Hangs up.
        drop(terminal);
        child.end(GRACE).await
    } else {
        let exit = child.end(Duration::ZERO).await;
        drop(timeout(REST, show(&terminal, &shell.screen)).await);
        exit
    };
    match exit {
        Ok(Exit::Exited(code)) => Some(code),
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(shell = shell.id, %error, "how a shell ended is not known");
            None
        }
    }
}

/// Reads the terminal until no program has it open.
async fn show(terminal: &Terminal, screen: &Screen) {
    let mut buffer = vec![0; BATCH];
    loop {
        match terminal.read(&mut buffer).await {
            Ok(count) if count > 0 => screen.add(buffer.get(..count).unwrap_or_default()),
            Ok(_) => return,
            Err(error) => return tracing::warn!(%error, "a terminal cannot be read"),
        }
        sleep(PACE).await;
    }
}

/// Types what comes.
async fn write<N>(terminal: &Terminal, mut typed: mpsc::Receiver<Typed>) -> N {
    while let Some(Typed(text, responder)) = typed.recv().await {
        match terminal.write_all(&text).await {
            Ok(()) => responder.ok(ShellWriteResult {}),
            Err(error) => {
                let why = format!("This cannot be typed: {error}.");
                bobbin_native::client::refuse(responder, RpcError::invalid_request(why));
            }
        }
    }
    std::future::pending().await
}

/// Gives the terminal each new size.
async fn resize<N>(terminal: &Terminal, mut size: watch::Receiver<TerminalSize>) -> N {
    while size.changed().await.is_ok() {
        let size = *size.borrow_and_update();
        if let Err(error) = terminal.resize(size) {
            tracing::debug!(%error, "a terminal took no size");
        }
    }
    std::future::pending().await
}
