//! The command line that managers use, and the process around a program.
//!
//! `start --project-path=DIR --env-name=ENV [--debug] [--wal] [--log-level=L]`, and `version`. A manager starts it as
//! `python -m finecode_extension_runner.cli start …`, so the words before the command are skipped.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::PathBuf;
use std::time::SystemTime;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use bobbin_finecode_wire::framed;

use crate::{Dialect, Program, Setup, serve};

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// Serve.
    Start {
        /// The directory of the project.
        project: PathBuf,
        /// The environment.
        env: String,
        /// Whether a log of runs is written.
        wal: bool,
        /// Whether it announces a port instead of serving its own pipes.
        port: bool,
        /// How it answers; by default as documented over pipes, and as current managers expect it over a port.
        dialect: Option<Dialect>,
        /// Whether it answers in both spellings.
        both: bool,
    },
    /// Print the version.
    Version,
}

/// A command line that cannot be used, and the exit code for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Usage(String);

impl CommandLine {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// A sentence for the user; the process should exit with 2.
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, Usage> {
        let (mut project, mut env, mut wal, mut port, mut both) = (None, None, false, false, false);
        let mut dialect = None;
        let mut command = None;
        for argument in arguments {
            let argument = argument.to_string_lossy().into_owned();
            let (name, value) = argument.split_once('=').unwrap_or((&argument, ""));
            match name {
                "start" | "version" => command = Some(argument),
                // The names that an interpreter is given.
                _ if command.is_none() => {}
                "--project-path" => project = Some(PathBuf::from(value)),
                "--env-name" => env = Some(value.to_owned()),
                "--wal" => wal = true,
                "--port" => port = true,
                "--dialect" if value == "both" => both = true,
                "--dialect" => {
                    let named = Dialect::from_name(value);
                    dialect = Some(named.ok_or_else(|| Usage(format!("there is no dialect {value:?}")))?);
                }
                "--debug" | "--trace" | "--log-level" => {}
                _ => return Err(Usage(format!("there is no option {name}"))),
            }
        }
        if command.as_deref() == Some("version") {
            return Ok(Self::Version);
        }
        let missing = |what: &str| {
            Usage(format!(
                "usage: start --project-path=DIR --env-name=ENV ({what} is missing)"
            ))
        };
        command.ok_or_else(|| missing("start"))?;
        let project = project.ok_or_else(|| missing("--project-path"))?;
        if !project.is_dir() {
            return Err(Usage(format!("{} is not a directory", project.display())));
        }
        let env = env.ok_or_else(|| missing("--env-name"))?;
        Ok(Self::Start {
            project,
            env,
            wal,
            port,
            dialect,
            both,
        })
    }
}

/// Serves a program as the command line says. Returns once its manager is gone; the process should end then.
///
/// # Errors
/// Its pipes or its port do not work.
pub async fn run(program: Program, command: CommandLine) -> std::io::Result<()> {
    let mut out = tokio::io::stdout();
    let CommandLine::Start {
        project,
        env,
        wal,
        port,
        dialect,
        both,
    } = command
    else {
        let version = concat!("FineCode Extension Runner ", env!("CARGO_PKG_VERSION"), "\n");
        out.write_all(version.as_bytes()).await?;
        return out.flush().await;
    };
    let wal = wal
        .then(|| {
            let path = project.join(".venvs").join(&env).join("runs.jsonl");
            #[expect(
                clippy::disallowed_methods,
                reason = "a runner is a process of its own, without a clock"
            )]
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let file = OpenOptions::new().create(true).append(true).open(path)?;
            std::io::Result::Ok((file, now.unwrap_or_default()))
        })
        .transpose()?;
    let by_transport = if port {
        Dialect::Current
    } else {
        Dialect::Documented
    };
    let setup = Setup {
        project,
        env,
        dialect: dialect.unwrap_or(by_transport),
        both,
        wal,
    };
    let transport = if port {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        out.write_all(format!("Serving on ('127.0.0.1', {port})\n").as_bytes())
            .await?;
        out.flush().await?;
        let (stream, _) = listener.accept().await?;
        let (read, write) = stream.into_split();
        framed(read, write)
    } else {
        framed(tokio::io::stdin(), out)
    };
    serve(program, setup, transport)
        .await
        .map_err(std::io::Error::other)
}
