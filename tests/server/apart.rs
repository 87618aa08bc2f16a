//! Commands whose network, `/tmp` and shared memory are their own: what works in there, and what of the machine does not
//! answer.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

use bobbin_model::Json;
use bobbin_sandbox::{Files, Profile};
use bobbin_tools::Sandbox;
use serde_json::json;
use tokio::time::timeout;

use crate::held_place::{OPEN, Place, STRICT};
use crate::sandbox_attempts::{ATTEMPT, NAME, OBJECT};
use crate::support::PATIENCE;

const READ_ONLY: Profile = Profile {
    files: Files::ReadOnly,
    ..STRICT
};

impl Place {
    /// Returns a sandbox in which this test can be started again.
    async fn apart(&self, profile: Profile) -> Option<Sandbox> {
        let mut sandbox = self.held(profile).await?;
        let this = std::env::current_exe().unwrap();
        sandbox.show.push(this.parent().unwrap().to_owned());
        Some(sandbox)
    }

    /// Tries something in the sandbox; whether it was held.
    async fn is_apart_from(&self, sandbox: &Sandbox, attempt: &str, object: &Path) -> bool {
        let command = trying(attempt, object);
        let text = self.run(sandbox, &command).await.text;
        println!("{text}");
        was_held(attempt, &text)
    }
}

/// Returns the command that starts this test again to try something.
fn trying(attempt: &str, object: &Path) -> String {
    let this = std::env::current_exe().unwrap();
    format!(
        "{ATTEMPT}='{attempt}' {OBJECT}='{}' '{}' {NAME} --exact --nocapture",
        object.display(),
        this.display()
    )
}

fn was_held(attempt: &str, text: &str) -> bool {
    let held = text.contains(&format!("{attempt}: held: "));
    let done = text.contains(&format!("{attempt}: did it"));
    assert!(held != done, "{text}");
    held
}

#[tokio::test]
async fn commands_of_one_thread_reach_each_other_and_those_of_another_do_not() {
    let place = Place::new();
    let Some(sandbox) = place.apart(STRICT).await else {
        return;
    };
    let tool = place.shell(&sandbox).await;
    let run = async |thread: &str, command: &str| {
        let arguments = Json::of(&json!({ "command": command })).unwrap();
        let prepared = tool.prepare(&arguments, &place.environment()).unwrap();
        prepared.run(Place::context_of(thread)).await.text
    };
    let said = place.work.join("address");
    nix::unistd::mkfifo(&said, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let serve = trying("serve one", &said);
    // Reading the pipe waits until the server listens.
    let address = tokio::task::spawn_blocking(move || std::fs::read_to_string(said).unwrap());
    let speak = async {
        let address = PathBuf::from(address.await.unwrap());
        let connect = trying("connect", &address);
        let other = run("other", &connect).await;
        assert!(was_held("connect", &other), "{other}");
        let same = run("one", &connect).await;
        assert!(!was_held("connect", &same), "{same}");
    };
    let served = timeout(PATIENCE, async { tokio::join!(run("one", &serve), speak).0 });
    let served = served.await.unwrap();
    assert!(!was_held("serve one", &served), "{served}");
    // A command starts with its own processes and no one else's, in the same network as before.
    let network = "readlink /proc/self/ns/net";
    let first = run("one", network).await;
    assert_eq!(first, run("one", network).await);
    assert_ne!(first, run("other", network).await);
}

#[tokio::test]
async fn a_command_serves_itself_on_its_own_loopback() {
    let place = Place::new();
    let Some(sandbox) = place.apart(STRICT).await else {
        return;
    };
    let nothing = Path::new("");
    assert!(!place.is_apart_from(&sandbox, "serve itself", nothing).await);
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = PathBuf::from(tcp.local_addr().unwrap().to_string());
    // A name has no address here, so `connect` is given numbers: ours, and one far away.
    for outside in [
        tcp.as_path(),
        Path::new("192.0.2.1:80"),
        Path::new("[2001:db8::1]:80"),
    ] {
        assert!(
            place.is_apart_from(&sandbox, "connect", outside).await,
            "{}",
            outside.display()
        );
    }
}

#[tokio::test]
async fn no_socket_of_the_machine_answers_a_command() {
    let place = Place::new();
    let (elsewhere, host) = (tempfile::tempdir_in("/tmp").unwrap(), place.top.join("home"));
    std::fs::create_dir_all(place.work.join("deep/er")).unwrap();
    std::fs::create_dir(&host).unwrap();
    let mut paths: Vec<PathBuf> = [
        place.work.join("server"),
        place.work.join("deep/er/server"),
        host.join("agent"),
        elsewhere.path().join("X0"),
    ]
    .into();
    // Only root may listen there.
    let run = Path::new("/run").join(format!("bobbin-test-{}", std::process::id()));
    if nix::unistd::geteuid().is_root() {
        paths.push(run.clone());
    }
    let listening: Vec<_> = paths
        .iter()
        .map(|path| UnixListener::bind(path).unwrap())
        .collect();
    let datagrams = host.join("log");
    let _datagrams = UnixDatagram::bind(&datagrams).unwrap();
    let name = format!("bobbin-test-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();

    for profile in [STRICT, READ_ONLY] {
        let Some(sandbox) = place.apart(profile).await else {
            drop(std::fs::remove_file(&run));
            return;
        };
        for path in paths.iter().chain([&datagrams]) {
            let held = place.is_apart_from(&sandbox, "local socket", path).await;
            assert!(held, "{profile}: {}", path.display());
            let held = place.is_apart_from(&sandbox, "message from a pair", path).await;
            assert!(held, "{profile}: {}", path.display());
        }
        let held = place
            .is_apart_from(&sandbox, "abstract socket", Path::new(&name))
            .await;
        assert!(held, "{profile}");
        // All that this machine has, ours included.
        let list = std::fs::read_to_string("/proc/net/unix").unwrap();
        let all: Vec<_> = list
            .lines()
            .filter_map(|line| Some(&line[line.find(" /")? + 1..]))
            .collect();
        assert!(all.len() > paths.len());
        let file = place.work.join("list");
        std::fs::write(&file, all.join("\n")).unwrap();
        assert!(
            place.is_apart_from(&sandbox, "any local socket", &file).await,
            "{profile}"
        );
    }
    // They are there all the same, and a user can name one.
    let Some(mut sandbox) = place.apart(STRICT).await else {
        return;
    };
    sandbox.write.push(paths[2].clone());
    assert!(!place.is_apart_from(&sandbox, "local socket", &paths[2]).await);
    drop(listening);
    drop(std::fs::remove_file(&run));
}

#[tokio::test]
async fn temporary_files_of_commands_are_their_own_and_last() {
    let place = Place::new();
    let theirs = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let name = theirs.path().display();
    for (profile, start) in [(STRICT, ""), (READ_ONLY, "a")] {
        let Some(sandbox) = place.held(profile).await else {
            return;
        };
        let command = format!(
            "cat /tmp/a; echo a > /tmp/a; cat {name}; cd $(mktemp -d) && git rev-parse --show-toplevel; pwd"
        );
        let text = place.run(&sandbox, &command).await.text;
        assert!(text.starts_with(&format!("exit code 0\n{start}")), "{text}");
        assert!(
            text.contains("not a git repository") && text.contains("No such file"),
            "{text}"
        );
        let made = text.lines().last().unwrap();
        assert!(made.starts_with("/tmp/tmp."), "{text}");
        assert!(!Path::new(made).exists() && !Path::new("/tmp/a").exists());
    }
    assert_eq!(
        std::fs::read_to_string(place.top.join("temporary/a")).unwrap(),
        "a\n"
    );
    // With the network of the machine, `/tmp` is the machine's too.
    if let Some(sandbox) = place.held(OPEN).await {
        let text = place
            .run(&sandbox, &format!("cat {name} && echo $TMPDIR"))
            .await
            .text;
        assert!(
            text.ends_with(&format!("{}\n", place.top.join("temporary").display())),
            "{text}"
        );
    }
}
