//! Who may connect: pages of other origins, names of others that point here, other users of this machine, guesses.

use std::fmt::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::files::written;
use crate::lab::{Bubblewrap, Lab, PATIENCE, Server};

/// Asks for an upgrade with these headers; returns the status.
async fn upgrade(server: &Server, target: &str, headers: &[(&str, &str)]) -> u16 {
    let authority = authority(server);
    let mut stream = TcpStream::connect(&authority).await.unwrap();
    let mut head = format!(
        "GET {target} HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    );
    if !headers.iter().any(|(name, _)| *name == "Host") {
        write!(head, "Host: {authority}\r\n").unwrap();
    }
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    stream.write_all((head + "\r\n").as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    let read = stream.read_exact(&mut answer);
    tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer)[9..12].parse().unwrap()
}

fn authority(server: &Server) -> String {
    let rest = server.address.strip_prefix("ws://").unwrap();
    rest.split('/').next().unwrap().to_owned()
}

fn target(server: &Server) -> String {
    let token = server.token.as_deref().unwrap_or_default();
    format!("/ws?token={token}")
}

#[tokio::test]
async fn another_local_user_gets_nothing_without_the_token() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    for path in ["/ws", "/eca", "/ws?token=", "/ws?token=null"] {
        assert_eq!(upgrade(&server, path, &[]).await, 401, "{path}");
    }
    assert_eq!(upgrade(&server, &target(&server), &[]).await, 101);
    let token = lab.state().join("token");
    let file = std::fs::metadata(&token).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    assert_eq!(file.uid(), std::fs::metadata(lab.home()).unwrap().uid());
    assert!(server.token.as_ref().unwrap().len() >= 43);
    let printed = lab.run(&["token"]).await;
    assert_eq!(
        String::from_utf8(printed.stdout).unwrap().trim(),
        server.token.as_deref().unwrap()
    );
    server.kill().await;
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused_even_with_the_token() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let (target, authority) = (target(&server), authority(&server));
    let port = authority.rsplit(':').next().unwrap();
    let own = format!("http://{authority}");
    assert_eq!(upgrade(&server, &target, &[("Origin", &own)]).await, 101);
    let foreign = [
        "https://attacker.example".to_owned(),
        "null".to_owned(),
        "http://localhost:5173".to_owned(),
        "http://127.0.0.1:5173".to_owned(),
        "http://127.0.0.1".to_owned(),
        format!("http://127.0.0.2:{port}"),
        format!("https://{authority}"),
        "http://[::1].evil.example".to_owned(),
        "http://localhost:80.evil.example".to_owned(),
        format!("http://{authority}.evil.example"),
        format!("http://{authority}@evil.example"),
        format!("{own}/"),
        String::new(),
    ];
    for origin in &foreign {
        let status = upgrade(&server, &target, &[("Origin", origin)]).await;
        assert_eq!(status, 403, "{origin}");
    }
    let twice = [("Origin", own.as_str()), ("Origin", "https://attacker.example")];
    assert_eq!(upgrade(&server, &target, &twice).await, 403);
    server.kill().await;
}

#[tokio::test]
async fn a_name_that_was_pointed_here_is_refused_even_with_the_token() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let (target, authority) = (target(&server), authority(&server));
    let port = authority.rsplit(':').next().unwrap();
    for host in [
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        format!("[::1]:{port}"),
    ] {
        assert_eq!(upgrade(&server, &target, &[("Host", &host)]).await, 101, "{host}");
    }
    for host in [
        format!("attacker.example:{port}"),
        "[::1].evil.example".to_owned(),
        format!("[::1].evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("0.0.0.0:{port}"),
        format!("8.8.8.8:{port}"),
        "localhost:65536".to_owned(),
        "localhost.evil.example:1".to_owned(),
        String::new(),
    ] {
        assert_eq!(upgrade(&server, &target, &[("Host", &host)]).await, 403, "{host}");
    }
    // The near end of a tunnel has another port.
    for host in ["localhost:1", "127.0.0.1", "[::1]:5173"] {
        assert_eq!(upgrade(&server, &target, &[("Host", host)]).await, 101, "{host}");
        assert_eq!(upgrade(&server, "/ws", &[("Host", host)]).await, 401, "{host}");
        assert_eq!(
            upgrade(&server, "/metrics", &[("Host", host)]).await,
            403,
            "{host}"
        );
        assert_eq!(
            upgrade(&server, "/page/ticket", &[("Host", host)]).await,
            403,
            "{host}"
        );
        let own = format!("http://{host}");
        let same = [("Host", host), ("Origin", &own)];
        assert_eq!(upgrade(&server, &target, &same).await, 101, "{host}");
        let other = [("Host", host), ("Origin", "http://localhost:2")];
        assert_eq!(upgrade(&server, &target, &other).await, 403, "{host}");
    }
    server.kill().await;
}

#[tokio::test]
async fn a_workspace_sets_neither_the_token_nor_who_else_may_connect() {
    let lab = Lab::new(Bubblewrap::Off);
    let hostile = json!({ "AppServer": {
        "WebSocket": { "Token": "evil" },
        "AllowedOrigins": ["https://attacker.example"],
        "AllowedHosts": ["attacker.example"],
    }});
    lab.write(".craft/config.json", &hostile.to_string());
    let server = lab.serve().await;
    assert_eq!(upgrade(&server, "/ws?token=evil", &[]).await, 401);
    let target = target(&server);
    let origin = [("Origin", "https://attacker.example")];
    assert_eq!(upgrade(&server, &target, &origin).await, 403);
    let host = [("Host", "attacker.example")];
    assert_eq!(upgrade(&server, &target, &host).await, 403);
    server.kill().await;
}

#[tokio::test]
async fn the_users_own_file_allows_an_origin_and_a_host_exactly() {
    let lab = Lab::new(Bubblewrap::Off);
    lab.configure(&json!({ "AppServer": {
        "AllowedOrigins": ["https://tea.example"],
        "AllowedHosts": ["tea.example"],
    }}));
    let server = lab.serve().await;
    let target = target(&server);
    let both = [("Origin", "https://tea.example"), ("Host", "tea.example")];
    assert_eq!(upgrade(&server, &target, &both).await, 101);
    for (origin, host) in [
        ("http://tea.example:81", "tea.example"),
        ("https://tea.example", "tea.example:81"),
        ("https://tea.example.evil.example", "tea.example"),
    ] {
        let both = [("Origin", origin), ("Host", host)];
        assert_eq!(upgrade(&server, &target, &both).await, 403, "{origin} {host}");
    }
    server.kill().await;
}

#[tokio::test]
async fn guesses_are_slow_and_hold_up_nobody_with_the_token() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let until = Instant::now() + Duration::from_secs(3);
    let guessing = (0..32).map(|guesser| {
        let server = &server;
        async move {
            let mut guesses = 0;
            while Instant::now() < until {
                let guess = format!("/ws?token=guess-{guesser}-{guesses}");
                assert_eq!(upgrade(server, &guess, &[]).await, 401);
                guesses += 1;
            }
            guesses
        }
    });
    let entering = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let start = Instant::now();
        assert_eq!(upgrade(&server, &target(&server), &[]).await, 101);
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    };
    let (guesses, ()) = tokio::join!(futures_util::future::join_all(guessing), entering);
    let guesses: u32 = guesses.into_iter().sum();
    assert!(guesses < 500, "{guesses} guesses in three seconds");
    server.kill().await;
}

/// Guesses of a crowd: some wait for their late answers, the others come again at once.
#[tokio::test]
async fn a_crowd_of_guessers_keeps_nobody_with_the_token_out_and_fills_no_log() {
    let lab = Lab::new(Bubblewrap::Off);
    let log = lab.home().join("log");
    std::fs::create_dir(&log).unwrap();
    let file = log.join("bobbin.log");
    let listen = [
        "serve",
        "--listen",
        "ws://127.0.0.1:0",
        "--log-file",
        file.to_str().unwrap(),
    ];
    let server = lab.serve_by(lab.bobbin(&listen)).await;
    let until = Instant::now() + Duration::from_secs(6);
    let guessing = (0..500).map(|guesser| {
        let server = &server;
        async move {
            while Instant::now() < until {
                let stream = TcpStream::connect(authority(server)).await;
                let Ok(mut stream) = stream else { continue };
                let guess = format!(
                    "GET /ws?token=guess-{guesser} HTTP/1.1\r\nHost: {}\r\n\r\n",
                    authority(server)
                );
                // One that is dropped comes again, as one that is answered.
                if stream.write_all(guess.as_bytes()).await.is_ok() {
                    drop(stream.read(&mut [0; 256]).await);
                }
            }
        }
    });
    let entering = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut slowest = Duration::ZERO;
        for _ in 0..50 {
            let start = Instant::now();
            assert_eq!(upgrade(&server, &target(&server), &[]).await, 101);
            slowest = slowest.max(start.elapsed());
        }
        slowest
    };
    let (_, slowest) = tokio::join!(futures_util::future::join_all(guessing), entering);
    assert!(slowest < Duration::from_secs(3), "{slowest:?}");
    server.kill().await;
    // The file's name ends with its day.
    let logs = std::fs::read_dir(&log).unwrap().map(|file| file.unwrap().path());
    let lines: usize = logs
        .map(|file| std::fs::read_to_string(file).unwrap().lines().count())
        .sum();
    assert!((1..100).contains(&lines), "{lines} lines");
}

#[tokio::test]
async fn a_token_file_that_others_can_read_or_that_is_a_link_is_refused() {
    let lab = Lab::new(Bubblewrap::Off);
    let made = lab.run(&["token"]).await;
    assert!(made.status.success(), "{made:?}");
    let token = lab.state().join("token");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o640)).unwrap();
    let said = lab.run(&["token"]).await;
    assert!(!said.status.success() && said.stdout.is_empty(), "{said:?}");
    assert!(
        String::from_utf8_lossy(&said.stderr).contains("chmod 600"),
        "{said:?}"
    );
    std::fs::remove_file(&token).unwrap();
    let secret = lab.home().join("secret");
    std::fs::write(&secret, "a secret of another kind, long enough").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&secret, &token).unwrap();
    let said = lab.run(&["token"]).await;
    assert!(!said.status.success() && said.stdout.is_empty(), "{said:?}");
}

#[tokio::test]
async fn a_weak_token_is_refused_where_other_machines_can_reach() {
    let lab = Lab::new(Bubblewrap::Off);
    let open = [
        "serve",
        "--listen",
        "ws://0.0.0.0:0",
        "--token",
        "fifteen-letters",
    ];
    let said = lab.run(&open).await;
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    assert!(String::from_utf8_lossy(&said.stderr).contains("16"), "{said:?}");
    lab.configure(&json!({ "AppServer": { "WebSocket": { "Token": "" } } }));
    let said = lab.run(&["serve", "--listen", "ws://0.0.0.0:0"]).await;
    assert_eq!(said.status.code(), Some(1), "{said:?}");
}

/// Connects to a socket as a client that knows its path, and asks to be let in.
const JOIN: &str = r#"
import json, os, socket, sys
os.chdir(sys.argv[1])
s = socket.socket(socket.AF_UNIX)
s.connect("server.sock")
s.settimeout(5)
params = {"processId": None, "workspaceFolders": [], "capabilities": {}}
hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
s.sendall(f"Content-Length: {len(hello)}\r\n\r\n{hello}".encode())
if b"serverInfo" in s.recv(65536): print("JO" + "INED")
"#;

#[tokio::test]
async fn a_command_with_network_does_not_join_an_editor() {
    for bubblewrap in Bubblewrap::all() {
        let lab = Lab::new(bubblewrap);
        lab.configure(&json!({
            "Sandbox": { "Network": true, "Bubblewrap": if bubblewrap == Bubblewrap::Off { "off" } else { "require" } },
        }));
        lab.write("join.py", JOIN);
        // The editor's workspace is another one, so that the command below is not the editor's own.
        let other = lab.work().join("other");
        std::fs::create_dir_all(other.join(".craft")).unwrap();
        let mut command = lab.bobbin(&["eca"]);
        let mut editor = command.stdin(Stdio::piped()).spawn().unwrap();
        let folders = json!([{ "uri": format!("file://{}", other.display()), "name": "other" }]);
        let hello = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "processId": null, "workspaceFolders": folders, "capabilities": {} },
        });
        let hello = hello.to_string();
        let mut stdin = editor.stdin.take().unwrap();
        let message = format!("Content-Length: {}\r\n\r\n{hello}", hello.len());
        stdin.write_all(message.as_bytes()).await.unwrap();
        let mut answer = [0; 512];
        let read = editor.stdout.as_mut().unwrap().read(&mut answer);
        assert!(tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap() > 0);
        let socket = find(&lab.state(), "server.sock").expect("further editors can join");
        let key = std::fs::read(find(&lab.state(), "server.sock.key").unwrap()).unwrap();
        let key: Vec<String> = key[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let key = key.join(" ");
        let folder = socket.parent().unwrap();
        let attack = format!("run `python3 join.py '{}' 2>&1`", folder.display());
        let output = lab.run(&["exec", "--approve", &attack]).await;
        let text = written(&output);
        assert!(!text.contains("JOINED"), "{bubblewrap:?}: {text}");
        let read = format!("run `od -An -tx1 '{}/server.sock.key' 2>&1`", folder.display());
        let text = written(&lab.run(&["exec", "--approve", &read]).await);
        assert!(!text.contains(&key), "{bubblewrap:?}: {text}");
        // It would be answered with the key: a second editor joins.
        let mut command = lab.bobbin(&["eca"]);
        let mut second = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = second.stdin.take().unwrap();
        stdin.write_all(message.as_bytes()).await.unwrap();
        let read = second.stdout.as_mut().unwrap().read(&mut answer);
        let count = tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
        let text = String::from_utf8_lossy(&answer[..count]);
        assert!(text.contains("Content-Length"), "{text}");
        drop((second, stdin));
        editor.kill().await.unwrap();
    }
}

/// Returns where a file of this name is.
fn find(top: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(top).ok()?;
    let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let here = paths.iter().find(|path| path.ends_with(name)).cloned();
    here.or_else(|| {
        paths
            .iter()
            .filter(|path| path.is_dir())
            .find_map(|path| find(path, name))
    })
}
