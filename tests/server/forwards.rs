//! Ports of a Thread's commands on the machine's loopback: the way in, and its end.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::held_place::{Place, STRICT};
use crate::support::{PATIENCE, Workspace, rich};
use crate::terminals::start;

/// Says on which port it listens, and greets whoever connects by the line that they send.
const SERVER: &str = r#"
use IO::Socket::INET;
$| = 1;
my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1", LocalPort => 0) or die;
print $s->sockport, "\n";
while (my $c = $s->accept) { print $c "hello ", scalar <$c>; close $c }
"#;

fn capabilities() -> Value {
    let mut capabilities = rich();
    capabilities["backgroundTerminals"] = json!(true);
    capabilities["extensions"] = json!({ "forward": true });
    capabilities
}

/// Returns what the server says to a line, or nothing where nobody answers.
async fn greeting(address: &str, name: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let mut said = String::new();
    let speaking = async {
        stream.write_all(format!("{name}\n").as_bytes()).await.ok()?;
        stream.read_to_string(&mut said).await.ok()
    };
    timeout(PATIENCE, speaking).await.unwrap();
    Some(said)
}

async fn server_port(server: &crate::support::Process) -> u16 {
    let address = server.address().await;
    let port = address.rsplit(':').next().unwrap();
    port.split('/').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_forwarded_port_leads_to_a_server_of_the_thread_until_its_client_leaves() {
    if Place::new().held(STRICT).await.is_none() {
        return;
    }
    let workspace = Workspace::new();
    std::fs::write(workspace.path().join("server.pl"), SERVER).unwrap();
    let server = workspace.web_socket();
    let mut owner = server.client_with("owner", capabilities()).await;
    let thread = owner.start_thread().await;
    let early = json!({ "threadId": thread, "port": 80 });
    let early = owner.error("forward/start", early).await;
    assert_eq!(early["data"]["reason"], "noNetwork");
    let (terminal, _) = start(&mut owner, &thread, "perl server.pl").await;
    let read = json!({ "sessionId": terminal, "waitMs": 300 });
    let mut port = String::new();
    while !port.ends_with('\n') {
        let read = owner.call("terminal/read", read.clone()).await;
        assert_eq!(read["terminal"]["status"], "running", "{read}");
        port = read["terminal"]["output"].as_str().unwrap().to_owned();
    }
    let port: u16 = port.trim().parse().unwrap();
    let here = format!("127.0.0.1:{port}");
    assert_eq!(greeting(&here, "nobody").await, None, "it is in another network");

    // By the method: for as long as the connection is there.
    let wanted = json!({ "threadId": thread, "port": port });
    let forward = owner.call("forward/start", wanted.clone()).await["forward"].clone();
    let address = forward["address"].as_str().unwrap().to_owned();
    assert_eq!(address, here, "the same port, since it is free");
    assert_eq!(greeting(&address, "Ada").await.as_deref(), Some("hello Ada\n"));
    // A browser is answered at the Thread's own name alone.
    let name = thread.to_lowercase().replace('_', "-");
    let browsed = |host: &str| {
        let head = format!("GET / HTTP/1.1\r\nHost: {host}:{port}\r\nSec-Fetch-Mode: navigate\r\n\r");
        let address = address.clone();
        async move { greeting(&address, &head).await.unwrap() }
    };
    for host in ["127.0.0.1", "localhost"] {
        let refused = browsed(host).await;
        assert!(
            refused.starts_with("HTTP/1.1 421 ") && !refused.contains("hello"),
            "{refused}"
        );
    }
    let own = browsed(&format!("{name}.localhost")).await;
    assert!(own.starts_with("hello GET /"), "{own}");
    let mut other = server.client_with("other", capabilities()).await;
    let listed = other.call("forward/list", json!({ "threadId": thread })).await;
    assert_eq!(listed, json!({ "forwards": [forward] }));
    assert_eq!(forward["url"], format!("http://{name}.localhost:{port}/"));
    let of_page: u16 = server_port(&server).await;
    for to in [9100, of_page] {
        let refused = json!({ "threadId": thread, "port": port, "to": to });
        let refused = owner.error("forward/start", refused).await;
        assert_eq!(refused["data"]["reason"], "pagePort", "{refused}");
    }
    let moved = owner
        .call("forward/start", json!({ "threadId": thread, "port": 9100 }))
        .await;
    assert_ne!(moved["forward"]["address"], "127.0.0.1:9100");
    let stop = json!({ "forwardId": moved["forward"]["forwardId"] });
    owner.call("forward/stop", stop).await;
    other.wait_for("forward/ended").await;
    let taken = json!({ "threadId": thread, "port": port, "to": port });
    let taken = other.error("forward/start", taken).await;
    assert_eq!(taken["data"]["reason"], "portNotFree");
    drop(owner);
    let ended = other.wait_for("forward/ended").await;
    assert_eq!(ended["params"]["forward"], forward);
    assert_eq!(greeting(&address, "late").await, None);

    // By the command: until it is interrupted.
    let mut command = workspace.bobbin(&["forward", &thread, &port.to_string()]);
    let mut command = command.stderr(Stdio::inherit()).spawn().unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(command.stdout.take().unwrap());
    timeout(PATIENCE, said.read_line(&mut line))
        .await
        .unwrap()
        .unwrap();
    assert!(line.starts_with(&format!("http://{name}.localhost:")), "{line}");
    let (_, address) = line.split_once("for programs ").unwrap();
    let address = address.split(';').next().unwrap();
    assert_eq!(
        greeting(address, "Bo").await.as_deref(),
        Some("hello Bo\n"),
        "{line}"
    );
    let id = nix::unistd::Pid::from_raw(i32::try_from(command.id().unwrap()).unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(
        timeout(PATIENCE, command.wait())
            .await
            .unwrap()
            .unwrap()
            .success()
    );
    other.wait_for("forward/ended").await;

    // By the method: until the Thread is archived. What serves ends with it.
    other.call("forward/start", wanted).await;
    other.call("thread/archive", json!({ "threadId": thread })).await;
    other.wait_for("forward/ended").await;
    assert!(server.terminate().await.success());
}
