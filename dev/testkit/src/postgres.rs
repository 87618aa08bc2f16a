//! A PostgreSQL of its own for tests, from the programs of the system.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test without its database fails"
)]

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Where Linux distributions install the programs, one folder a version.
const PROGRAMS: &str = "/usr/lib/postgresql";

/// Ends the server and removes its files once its parent has ended in any way: then its input ends.
const WARDEN: &str =
    r#"read -r _; pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid"; rm -rf "$1""#;

/// A running PostgreSQL, on a socket in a temporary folder. It ends with this process at the latest.
#[derive(Debug)]
pub struct Postgres {
    folder: PathBuf,
    programs: PathBuf,
    is_durable: bool,
    /// Has the other end of its input.
    warden: Child,
}

impl Postgres {
    /// Returns the server that all tests of this process share. `None` where PostgreSQL is not installed.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
        SHARED.get_or_init(Self::start).as_ref()
    }

    /// Starts a server that forgets commits when the machine fails, which is fast.
    pub fn start() -> Option<Self> {
        Self::start_with(false)
    }

    /// Starts a server whose commits wait for the disk, for measuring.
    pub fn start_durable() -> Option<Self> {
        Self::start_with(true)
    }

    fn start_with(is_durable: bool) -> Option<Self> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("pg").tempdir().unwrap().keep();
        let warden = command("sh")
            .args(["-c", WARDEN, "sh"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self {
            folder,
            programs,
            is_durable,
            warden,
        };
        if let Some((user, group)) = other_user() {
            std::os::unix::fs::chown(&server.folder, Some(user), Some(group)).unwrap();
        }
        // Another language than the ids': an order by it would be seen.
        let arguments = ["-U", "bobbin", "-A", "trust", "-E", "UTF8", "-N", "-D"];
        let language = ["--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en"];
        let data = server.folder.join("data");
        let made = server.run("initdb", |initdb| {
            initdb.args(arguments).arg(&data).args(language)
        });
        if made.is_err() {
            let made = server.run("initdb", |initdb| initdb.args(arguments).arg(&data));
            made.expect("a folder of data");
        }
        server.resume();
        Some(server)
    }

    /// Makes a database, and returns its address.
    pub fn database(&self, name: &str) -> String {
        let made = self.run("createdb", |createdb| {
            createdb
                .arg("-h")
                .arg(&self.folder)
                .args(["-U", "bobbin", "-w", name])
        });
        made.expect("a database");
        self.address(name)
    }

    /// Returns the address of a database.
    pub fn address(&self, name: &str) -> String {
        format!(
            "postgres://bobbin@localhost/{name}?host={}",
            self.folder.display()
        )
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    /// Runs a statement in a database, and returns its rows as text.
    pub fn query(&self, name: &str, statement: &str) -> String {
        let done = self.run("psql", |psql| {
            psql.arg("-h")
                .arg(&self.folder)
                .args([
                    "-U",
                    "bobbin",
                    "-w",
                    "-X",
                    "-q",
                    "-A",
                    "-t",
                    "-v",
                    "ON_ERROR_STOP=1",
                    "-d",
                    name,
                ])
                .args(["-c", statement])
        });
        done.expect("a statement that works")
    }

    /// Stops the server at once, as a failing machine does; its connections end.
    pub fn interrupt(&self) {
        self.control(&["-m", "immediate", "stop"]);
    }

    /// Starts the server again.
    pub fn resume(&self) {
        let mut options = format!("-k {} -c listen_addresses=''", self.folder.display());
        if !self.is_durable {
            options.push_str(" -F");
        }
        self.control(&["-o", &options, "start"]);
    }

    fn control(&self, arguments: &[&str]) {
        let data = self.folder.join("data");
        let log = self.folder.join("log");
        let done = self.run("pg_ctl", |pg_ctl| {
            pg_ctl
                .arg("-D")
                .arg(&data)
                .arg("-l")
                .arg(&log)
                .arg("-w")
                .args(arguments)
        });
        done.expect("a server that obeys");
    }

    /// Runs a program of PostgreSQL, as another user if this one is root, whom it refuses.
    fn run(&self, program: &str, with: impl FnOnce(&mut Command) -> &mut Command) -> io::Result<String> {
        let program = self.programs.join(program);
        let mut command = match other_user() {
            Some((user, group)) => {
                let mut setpriv = command("setpriv");
                setpriv
                    .args([
                        format!("--reuid={user}"),
                        format!("--regid={group}"),
                        "--clear-groups".to_owned(),
                    ])
                    .arg(program);
                setpriv
            }
            None => self::command(program),
        };
        // A file: the server inherits it, and a reader of a pipe would wait for the server's end.
        let said = self.folder.join("said");
        let output = std::fs::File::create(&said)?;
        with(&mut command)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let status = command.status()?;
        let said = std::fs::read_to_string(said)?;
        if status.success() {
            Ok(said)
        } else {
            Err(io::Error::other(said))
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.warden.stdin.take());
        drop(self.warden.wait());
    }
}

#[expect(clippy::disallowed_methods, reason = "a program of this test alone")]
fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

/// Returns the folder with the programs of the newest version.
fn programs() -> Option<PathBuf> {
    let versions = Path::new(PROGRAMS).read_dir().ok()?;
    let version = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let folders = versions.flatten().map(|entry| entry.path());
    let newest = folders
        .filter(|folder| version(folder).is_some())
        .max_by_key(version)?;
    let programs = newest.join("bin");
    programs.join("initdb").exists().then_some(programs)
}

/// Returns the user and group that the server runs as, if this process is root's.
fn other_user() -> Option<(u32, u32)> {
    let is_root = nix::unistd::Uid::effective().is_root();
    let user = is_root
        .then(|| nix::unistd::User::from_name("postgres").ok().flatten())
        .flatten()?;
    Some((user.uid.as_raw(), user.gid.as_raw()))
}
