//! Servers that are reached over streamable HTTP.

use std::path::Path;
use std::time::Duration;

use bobbin_mcp::{HttpSpec, Launch, Secret, ServerSpec, TokenFile};
use bobbin_model::Reach;
use bobbin_model::ServerState::{Error, Ready, Starting};
use bobbin_testkit::tea_server;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

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
