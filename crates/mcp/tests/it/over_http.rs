//! Servers that are reached over streamable HTTP.

use std::path::Path;
use std::time::Duration;

use bobbin_mcp::{HttpSpec, Launch, Secret, ServerSpec, TokenFile};
use bobbin_model::Reach;
use bobbin_model::ServerState::{Error, Ready, Starting};
use bobbin_testkit::tea_server;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, states};

fn at(bench: &Bench, url: &str, headers: &[(&str, &str)]) -> ServerSpec {
    let headers = headers.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
    ServerSpec {
        reach: Reach::Http { url: url.to_owned() },
        launch: Launch::Http(Box::new(HttpSpec {
            url: url.to_owned(),
            bearer: Some("hunter2".to_owned()),
            headers: headers.collect(),
            tokens: TokenFile::of(Path::new("/nowhere"), "pantry", url),
        })),
        secrets: vec![Secret("hunter2".to_owned())],
        ..bench.shell("")
    }
}

#[tokio::test]
async fn its_tools_are_offered_called_and_followed() {
    let mut bench = Bench::new();
    let (url, serving) = tea_server::listen().await;
    bench.host.set(at(&bench, &url, &[("X-Shelf", "2")])).unwrap();
    assert_eq!(states(&bench.until(Ready).await), [Starting, Ready]);
    let steeped = bench.call("steep", json!({ "minutes": 5 })).await;
    assert_eq!(
        (steeped.text.as_str(), steeped.success),
        ("steeped for 5 minutes", true)
    );
    bench.call("grow", json!({})).await;
    assert_eq!(bench.next().await.tools.len(), 7);
    bench.host.end().await;
    serving.abort();
}

/// Serves one answer to each request, by its method and body. Returns a receiver of the requests.
async fn answering(
    answer: impl Fn(&str, &Value) -> Option<String> + Clone + Send + 'static,
) -> (String, mpsc::Receiver<String>, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (tell, requests) = mpsc::channel(100);
    let serving = tokio::spawn(async move {
        let mut open = JoinSet::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (answer, tell) = (answer.clone(), tell.clone());
            open.spawn(async move {
                let request = read_request(&mut stream).await;
                let body = request.split_once("\r\n\r\n").unwrap().1;
                let body = serde_json::from_str(body).unwrap_or_default();
                let line = request.lines().next().unwrap_or_default().to_owned();
                tell.send(request).await.unwrap();
                match answer(&line, &body) {
                    Some(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
                    None => std::future::pending().await,
                }
            });
        }
    });
    (url, requests, serving)
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = String::new();
    let length = |request: &str| {
        let (head, body) = request.split_once("\r\n\r\n")?;
        let head = head.to_lowercase();
        let wanted = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        Some(body.len() >= wanted.map_or(0, |wanted| wanted.parse().unwrap()))
    };
    while length(&request) != Some(true) {
        let mut bytes = [0; 8 << 10];
        let read = stream.read(&mut bytes).await.unwrap();
        assert!(read > 0, "a whole request");
        request.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
    }
    request
}

fn http(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Answers as a server of revision 2026-07-28 that knows no other.
fn modern(line: &str, asked: &Value) -> Option<String> {
    if !line.starts_with("POST") {
        return Some(http("405 Method Not Allowed", ""));
    }
    let complete = |mut result: Value| {
        let members = result.as_object_mut().unwrap();
        members.entry("resultType").or_insert(json!("complete"));
        Some(http(
            "200 OK",
            &json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string(),
        ))
    };
    match asked["method"].as_str().unwrap_or_default() {
        "server/discover" => complete(json!({
            "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
        })),
        "tools/list" => complete(json!({
            "ttlMs": 0, "cacheScope": "private",
            "tools": [{ "name": "pour", "inputSchema": { "type": "object", "properties": {
                "cup": { "type": "string", "x-mcp-header": "Cup" } } } }],
        })),
        "tools/call" if asked["params"]["inputResponses"].is_null() => complete(json!({
            "resultType": "input_required", "requestState": "half",
            "inputRequests": { "where": { "method": "roots/list" } },
        })),
        "tools/call" => complete(json!({ "content": [{ "type": "text",
            "text": format!("{} {}", asked["params"]["requestState"], asked["params"]["inputResponses"]) }] })),
        method if method.starts_with("notifications/") => Some(http("202 Accepted", "")),
        _ => Some(http(
            "400 Bad Request",
            &json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -32022, "message": "Unsupported protocol version",
                "data": { "supported": ["2026-07-28"] } } })
            .to_string(),
        )),
    }
}

#[tokio::test]
async fn one_without_a_handshake_gets_the_headers_and_answers_of_its_revision() {
    let mut bench = Bench::new().with_root("/tea");
    let (url, mut requests, serving) = answering(modern).await;
    bench.host.set(at(&bench, &url, &[])).unwrap();
    assert_eq!(states(&bench.until(Ready).await), [Starting, Ready]);
    let poured = bench.call("pour", json!({ "cup": "blue" })).await;
    assert_eq!(
        poured.text, r#""half" {"where":{"roots":[{"uri":"file:///tea"}]}}"#,
        "{}",
        poured.text
    );
    bench.host.end().await;
    serving.abort();
    let mut methods = Vec::new();
    while let Ok(request) = requests.try_recv() {
        let request = request.to_lowercase();
        assert!(request.contains("mcp-protocol-version: 2026-07-28"), "{request}");
        let method = request.lines().find_map(|line| line.strip_prefix("mcp-method: "));
        methods.push(method.unwrap_or_default().to_owned());
        if method == Some("tools/call") {
            assert!(
                request.contains("mcp-name: pour") && request.contains("mcp-param-cup: blue"),
                "{request}"
            );
        }
    }
    assert_eq!(
        methods,
        ["server/discover", "tools/list", "tools/call", "tools/call"]
    );
}

#[tokio::test]
async fn a_client_gets_a_whole_result_of_a_stream_and_what_is_known_of_a_json_answer() {
    let mut bench = Bench::new();
    let (url, _requests, serving) = answering(|line, asked| {
        let result = match asked["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                "serverInfo": { "name": "kiosk", "version": "1" } }),
            "tools/list" => json!({ "tools": [
                { "name": "flow", "inputSchema": { "type": "object" } },
                { "name": "drop", "inputSchema": { "type": "object" } },
            ] }),
            "tools/call" => json!({ "content": [{ "type": "text", "text": "tea", "mint": 1 }], "steam": [],
                "_meta": { "from": asked["params"]["_meta"]["from"] } }),
            "server/discover" => return Some(http("404 Not Found", "")),
            _ if line.starts_with("POST") => return Some(http("202 Accepted", "")),
            _ => return Some(http("405 Method Not Allowed", "")),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
        if asked["params"]["name"] != "flow" {
            return Some(http("200 OK", &answer.to_string()));
        }
        let event = format!("data: {answer}\n\n");
        Some(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{event}",
            event.len()
        ))
    })
    .await;
    bench.host.set(at(&bench, &url, &[])).unwrap();
    assert_eq!(states(&bench.until(Ready).await), [Starting, Ready]);
    let known = json!({ "content": [{ "type": "text", "text": "tea" }], "_meta": { "from": "desk" } });
    let mut all = known.clone();
    all["content"][0]["mint"] = json!(1);
    all["steam"] = json!([]);
    for (tool, expected) in [("flow", all), ("drop", known)] {
        let answer = bench
            .whole(tool, &json!({}), &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(answer.json.decode::<Value>().unwrap(), expected, "{tool}");
        assert_eq!((answer.text.as_str(), answer.success), ("tea", true));
    }
    bench.host.end().await;
    serving.abort();
}

#[tokio::test]
async fn one_that_never_answers_discovery_gets_the_handshake() {
    let mut bench = Bench::new();
    let (url, _requests, serving) = answering(|line, asked| {
        let result = match asked["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "protocolVersion": "2025-06-18", "capabilities": {},
                "serverInfo": { "name": "kiosk", "version": "1" } }),
            "server/discover" => return None,
            _ if line.starts_with("POST") => return Some(http("202 Accepted", "")),
            _ => return Some(http("405 Method Not Allowed", "")),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
        Some(http("200 OK", &answer.to_string()))
    })
    .await;
    let mut spec = at(&bench, &url, &[]);
    spec.start_timeout = Duration::from_secs(2);
    bench.host.set(spec).unwrap();
    assert_eq!(states(&bench.until(Ready).await), [Starting, Ready]);
    bench.host.end().await;
    serving.abort();
}

#[tokio::test]
async fn one_that_is_not_there_is_said_and_tried_again() {
    let mut bench = Bench::new();
    let (url, serving) = tea_server::listen().await;
    serving.abort();
    assert!(serving.await.unwrap_err().is_cancelled());
    bench.host.set(at(&bench, &url, &[])).unwrap();
    let seen = bench.until(Error).await;
    let problem = seen.last().unwrap().problem.clone().unwrap();
    assert!(
        problem.contains("cannot be reached") && problem.contains("started again in 1 s"),
        "{problem}"
    );
    assert!(!problem.contains("hunter2"), "{problem}");
    bench.host.end().await;
}

#[tokio::test]
async fn a_header_that_cannot_be_sent_is_said_without_its_value() {
    let mut bench = Bench::new();
    bench
        .host
        .set(at(&bench, "http://127.0.0.1:9/mcp", &[("X-Shelf", "a\nb")]))
        .unwrap();
    let seen = bench.until(Error).await;
    let problem = seen.last().unwrap().problem.clone().unwrap();
    assert_eq!(problem, "the value of X-Shelf cannot be sent");
    bench.host.end().await;
}

#[tokio::test]
async fn one_that_goes_away_fails_the_call_and_holds_nobody() {
    let mut bench = Bench::new();
    let (url, serving) = tea_server::listen().await;
    let mut spec = at(&bench, &url, &[]);
    spec.call_timeout = Duration::from_secs(5);
    bench.host.set(spec).unwrap();
    bench.until(Ready).await;
    serving.abort();
    assert!(serving.await.unwrap_err().is_cancelled());
    let failed = bench.call("steep", json!({ "minutes": 1 })).await;
    assert!(!failed.success, "{}", failed.text);
    bench.host.end().await;
}

#[tokio::test]
async fn one_that_wants_a_login_is_said_so_and_not_tried_again() {
    for challenge in ["", "WWW-Authenticate: Bearer\r\n"] {
        let mut bench = Bench::new();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 8 << 10];
                let _ = stream.read(&mut request).await.unwrap();
                let answer = format!(
                    "HTTP/1.1 401 Unauthorized\r\n{challenge}Content-Length: 0\r\nConnection: close\r\n\r\n"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let mut spec = at(&bench, &url, &[]);
        if let Launch::Http(http) = &mut spec.launch {
            http.bearer = None;
        }
        bench.host.set(spec).unwrap();
        let seen = bench.until(Error).await;
        let problem = seen.last().unwrap().problem.clone().unwrap();
        assert!(problem.starts_with("it wants a login"), "{problem}");
        assert!(!problem.contains("started again"), "{problem}");
        bench.host.end().await;
        serving.abort();
    }
}
