//! The process of one hook: JSON in, text out, within its time.

use std::path::Path;
use std::time::Duration;

use crate::settings::{Hook, HookOrigin};
use bobbin_children::{ChildError, Children, Environment, Exit, ProcessSpec, Shell};
use bobbin_tools::{NotConfined, ProgramNeeds, ProgramSandbox};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::answer::Written;

/// Most bytes of an answer.
const MAX_OUTPUT: usize = 64 << 10;
/// Most bytes of the standard error.
const MAX_ERRORS: usize = 16 << 10;
/// Most bytes that are read at all. A hook that writes more is ended.
const MAX_READ: usize = 4 << 20;
/// How long a hook may take to end when it is asked to.
const GRACE: Duration = Duration::from_millis(500);

/// The surroundings of processes of hooks.
pub(crate) struct Surroundings {
    pub(crate) children: Children,
    pub(crate) environment: Environment,
    pub(crate) sandbox: ProgramSandbox,
}

/// Runs a hook's command line in a folder; `input` is what it reads.
///
/// # Errors
/// It was not run: why, as the end of a sentence.
pub(crate) async fn run(
    surroundings: &Surroundings,
    hook: &Hook,
    command: &str,
    root: &Path,
    input: Vec<u8>,
) -> Result<(Exit, Written), String> {
    let mut environment = surroundings.environment.clone();
    environment.set("CLAUDE_PROJECT_DIR", root);
    if let HookOrigin::Plugin(_, folder) = &hook.origin {
        environment.set("CLAUDE_PLUGIN_ROOT", &folder.root);
    }
    let spec = ProcessSpec::shell(&Shell::Posix, command, root, environment);
    let spec = match hook.origin {
        HookOrigin::User => spec,
        HookOrigin::Workspace(_) | HookOrigin::Plugin(..) => {
            let needs = ProgramNeeds::default();
            let confined = surroundings.sandbox.confine(root, spec, &needs).await;
            confined.map_err(|NotConfined { why, .. }| cannot_be_confined(&why))?
        }
    };
    let started = surroundings.children.start_piped(spec).await;
    let (mut child, pipes) = started.map_err(|error| {
        surroundings.sandbox.has_failed(&error);
        match error {
            ChildError::Confinement(why) => cannot_be_confined(&why),
            error => error.to_string(),
        }
    })?;
    let mut written = Written::default();
    let speaking = async {
        let mut stdin = pipes.input;
        let feeding = async move {
            // A hook need not read its input.
            drop(stdin.write_all(&input).await);
        };
        let output = read(pipes.output, MAX_OUTPUT);
        let errors = read(pipes.errors, MAX_ERRORS);
        let ended = async {
            let (output, errors) = tokio::join!(output, errors);
            child.exited().await;
            (output, errors)
        };
        tokio::pin!(feeding, ended);
        tokio::select! {
            ended = &mut ended => return ended,
            () = &mut feeding => {}
        }
        ended.await
    };
    let Ok((output, errors)) = timeout(hook.timeout, speaking).await else {
        drop(child.end(Duration::ZERO).await);
        return Ok((Exit::TimedOut, written));
    };
    let exit = child.end(GRACE).await.map_err(|error| error.to_string())?;
    written.output_cut = output.len() > MAX_OUTPUT;
    written.output = text(output, MAX_OUTPUT);
    written.errors = text(errors, MAX_ERRORS);
    Ok((exit, written))
}

fn cannot_be_confined(why: &str) -> String {
    format!("it cannot be confined: {why}")
}

/// Reads a stream to its end. Of a long one, `most` bytes and one more are returned; an endless one is cut off.
async fn read(mut pipe: pipe::Receiver, most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 8 << 10];
    let mut total = 0;
    // Leaving closes the pipe, which ends what still writes.
    while total < MAX_READ {
        match pipe.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(read) => {
                total += read;
                let wanted = (most + 1).saturating_sub(bytes.len()).min(read);
                bytes.extend_from_slice(&piece[..wanted]);
            }
        }
    }
    bytes
}

fn text(mut bytes: Vec<u8>, most: usize) -> String {
    bytes.truncate(most);
    String::from_utf8_lossy(&bytes).into_owned()
}
