//! The units of the Debian package: sound for systemd, and its command works where systemd would run it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use bobbin_testkit::{Client, Link};
use serde_json::json;
use tokio::process::Command;

use crate::support::{PATIENCE, Process, Workspace, not_tested, rich};

const UNIT: &str = include_str!("../../deploy/debian/bobbin@.service");
const SOCKET: &str = include_str!("../../deploy/debian/bobbin@.socket");

/// Makes the mounts that the unit asks systemd for, and becomes the unit's command as a user without rights.
///
/// All that may be written is below `/mnt`: the workspace, the state directory, a `/tmp` of its own.
const LIKE_SYSTEMD: &str = r#"
set -e
binary=$1; shift
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/tea /mnt/state
touch /mnt/bobbin
mount --bind "$binary" /mnt/bobbin
mount --bind /mnt/tea /mnt/tea
mount --bind /mnt/state /mnt/state
chmod 0700 /mnt/state
chown 65534:65534 /mnt/tea /mnt/state
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -o remount,bind,ro /mnt
mount -o remount,bind,ro /
cd /
exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all --no-new-privs env -i "$@"
"#;

/// Returns the values of a setting, with the specifiers of an instance for `/mnt/tea` put in.
fn values(name: &str) -> Vec<String> {
    let values = UNIT
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let values = values.map(|value| {
        value
            .replace("%I", "mnt/tea")
            .replace("/usr/bin/bobbin", "/mnt/bobbin")
            .replace("${PORT}", "0")
    });
    values.collect()
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test starts the binary it tests, and systemd's checker"
)]
async fn the_units_command_serves_and_undoes_where_all_else_is_read_only() {
    if !nix::unistd::geteuid().is_root() {
        println!("!! not tested: only root makes the mounts that systemd makes");
        return;
    }
    for setting in [
        "ProtectSystem=strict",
        "PrivateTmp=true",
        "NoNewPrivileges=true",
        "CapabilityBoundingSet=\n",
    ] {
        assert!(
            UNIT.contains(setting),
            "the mounts of this test are those of {setting}"
        );
    }
    assert_eq!(values("ReadWritePaths"), ["/mnt/tea"]);
    assert_eq!(values("StateDirectory"), ["bobbin"]);

    let mut command = Command::new("unshare");
    command
        .args([
            "--mount",
            "sh",
            "-c",
            LIKE_SYSTEMD,
            "sh",
            env!("CARGO_BIN_EXE_bobbin"),
        ])
        .arg("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .arg("HOME=/mnt/state")
        .args(values("ExecStart")[0].split(' '))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    let child = command.spawn().unwrap();
    let inside = PathBuf::from(format!("/proc/{}/root/mnt", child.id().unwrap()));
    let folders = inside.join("state/.local/state/bobbin/workspaces");
    let folder = async {
        loop {
            if let Some(folder) = std::fs::read_dir(&folders).ok().and_then(|mut all| all.next()) {
                return folder.unwrap().path();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let folder = tokio::time::timeout(PATIENCE, folder).await.unwrap();
    let server = Process::of(child, folder.join("bobbin.json"));

    let mut client = Client::ready(Link::web_socket(&server.address().await).await, "unit", rich()).await;
    let thread = client.start_thread().await;
    let turn = client.start_turn(&thread, "run `echo x > made; cat made`").await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    client.wait_for("turn/completed").await;
    assert_eq!(std::fs::read_to_string(inside.join("tea/made")).unwrap(), "x\n");

    let undone = client
        .call("turn/revert", json!({ "threadId": thread, "turnId": turn }))
        .await;
    assert_eq!(undone["files"], json!([{ "path": "made", "action": "removed" }]));
    assert!(!inside.join("tea/made").exists());
    assert!(server.terminate().await.success());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "systemd's checker is another program")]
fn systemds_checker_finds_nothing_in_the_unit() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("bobbin@srv-tea.service");
    std::fs::write(
        &unit,
        UNIT.replace("/usr/bin/bobbin", env!("CARGO_BIN_EXE_bobbin")),
    )
    .unwrap();
    let socket = folder.path().join("bobbin@srv-tea.socket");
    std::fs::write(&socket, SOCKET).unwrap();
    let output = match std::process::Command::new("systemd-analyze")
        .arg("verify")
        .args([&unit, &socket])
        .output()
    {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("!! not tested: systemd is not here");
            return;
        }
        output => output.unwrap(),
    };
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && words.is_empty(), "{words}");
    // In tenths: the unit says which settings are missing, and why.
    let exposure = std::process::Command::new("systemd-analyze")
        .args(["security", "--offline=yes", "--threshold=45"])
        .arg(&unit)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&exposure.stdout);
    assert!(exposure.status.success(), "{words}");
}

/// systemd's own tool binds a port, passes it to each server in turn, and holds it while none runs.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "systemd's tool is another program")]
async fn a_port_that_systemd_holds_gives_the_page_one_address_and_outlives_the_server() {
    let workspace = Workspace::new();
    workspace.configure(&json!({ "AppServer": { "WebSocket": { "SharedMachine": true } } }));
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    let served = workspace.bobbin(&[]);
    let mut command = Command::new("systemd-socket-activate");
    command
        .arg(format!("--listen={address}"))
        .args(["--setenv=HOME", "--setenv=BOBBIN_STATE"])
        .arg(env!("CARGO_BIN_EXE_bobbin"))
        // Another address than the one that is held, which counts.
        .args(["serve", "--listen", "ws://127.0.0.1:0"])
        .current_dir(workspace.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    for (name, value) in served.as_std().get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let child = match command.spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return not_tested("systemd is not here");
        }
        child => child.unwrap(),
    };
    // The first connection starts the server, as this tool becomes it.
    let knocking = async {
        while tokio::net::TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, knocking).await.unwrap();
    let server = Process::of(child, workspace.state_folder().join("bobbin.json"));
    let found = server.address().await;
    assert!(found.starts_with(&format!("ws://{address}/")), "{found}");
    let opened = workspace.run(&["open", "--print"]).await;
    let opened = String::from_utf8_lossy(&opened.stdout).into_owned();
    assert!(opened.starts_with(&format!("http://{address}/#")), "{opened}");
    let mut client = Client::ready(Link::web_socket(&found).await, "unit", rich()).await;
    let thread = client.start_thread().await;
    client
        .start_turn(
            &thread,
            "run `env | grep -c LISTEN_ > listen; ls -l /proc/self/fd | grep -c socket >> listen`",
        )
        .await;
    let asked = client.wait_for("item/approval/request").await;
    client.reply(&asked, json!({ "decision": "accept" })).await;
    client.wait_for("turn/completed").await;
    let seen = std::fs::read_to_string(workspace.path().join("listen")).unwrap();
    assert_eq!(
        seen, "0\n0\n",
        "a command has neither the variables nor the socket"
    );
    assert!(server.terminate().await.success());
}
