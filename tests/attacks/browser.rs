//! The page in a browser: who gets a secret or a ticket, how long they count, and what other pages can do with ours.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bobbin_testkit::{Client, Link};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::lab::{Bubblewrap, Lab, PATIENCE, Server};

fn authority(server: &Server) -> &str {
    let rest = server.address.strip_prefix("ws://").unwrap();
    rest.split('/').next().unwrap()
}

/// An answer of HTTP.
struct Answer {
    status: u16,
    head: String,
    body: Value,
    text: String,
}

/// Sends a request with these header lines, and `Host` if none of them is one.
async fn ask(server: &Server, first: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let stream = TcpStream::connect(authority(server)).await.unwrap();
    ask_through(stream, authority(server), first, headers, body).await
}

async fn ask_through(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    host: &str,
    first: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut request = format!(
        "{first} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    if !headers.iter().any(|(name, _)| *name == "Host") {
        request.extend(["Host: ", host, "\r\n"]);
    }
    for (name, value) in headers {
        request.extend([*name, ": ", *value, "\r\n"]);
    }
    request.extend(["\r\n", body]);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // An end of TLS without a word is an end.
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    drop(read.unwrap());
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    Answer {
        status: head[9..12].parse().unwrap(),
        head: head.to_ascii_lowercase(),
        body: serde_json::from_str(body).unwrap_or_default(),
        text: body.to_owned(),
    }
}

/// Posts as the page does.
async fn post(server: &Server, path: &str, secret: &str, body: &Value) -> Answer {
    let origin = format!("http://{}", authority(server));
    let bearer = format!("Bearer {secret}");
    let headers = [("Origin", origin.as_str()), ("Authorization", &bearer)];
    ask(server, &format!("POST {path}"), &headers, &body.to_string()).await
}

/// Returns a code as a user reads it.
async fn code(lab: &Lab) -> String {
    let output = lab.run(&["open", "--print"]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, code) = text.trim().split_once('#').expect("an address with a code");
    code.to_owned()
}

async fn secret(lab: &Lab, server: &Server) -> String {
    let entered = post(server, "/page/session", "", &json!({ "code": code(lab).await })).await;
    assert_eq!(entered.status, 200, "{}", entered.body);
    entered.body["secret"].as_str().unwrap().to_owned()
}

async fn ticket(server: &Server, secret: &str) -> String {
    let given = post(server, "/page/ticket", secret, &json!({})).await;
    assert_eq!(given.status, 200, "{}", given.body);
    given.body["ticket"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_code_lets_one_browser_in_and_its_ticket_opens_one_socket() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let code = code(&lab).await;
    let entered = post(&server, "/page/session", "", &json!({ "code": code })).await;
    assert_eq!(entered.status, 200);
    assert!(entered.head.contains("cache-control: no-store"));
    let again = post(&server, "/page/session", "", &json!({ "code": code })).await;
    assert_eq!((again.status, &again.body["reason"]), (401, &json!("code")));
    let secret = entered.body["secret"].as_str().unwrap();
    let ticket = ticket(&server, secret).await;
    let address = format!("{}?ticket={ticket}", server.address);
    let mut client = Client::ready(Link::web_socket(&address).await, "page", json!({})).await;
    client.start_thread().await;
    for (path, status) in [
        (format!("/ws?ticket={ticket}"), 401),
        (format!("/ws?ticket={secret}"), 401),
        (format!("/ws?token={secret}"), 401),
        (format!("/metrics?ticket={ticket}"), 401),
    ] {
        assert_eq!(
            ask(&server, &format!("GET {path}"), &[], "").await.status,
            status,
            "{path}"
        );
    }
    // The token is none of the browser's secrets.
    let token = server.token.as_deref().unwrap();
    assert_eq!(post(&server, "/page/ticket", token, &json!({})).await.status, 401);
    assert_eq!(post(&server, "/page/ticket", "", &json!({})).await.status, 401);
    let listen = format!("ws://{}", authority(&server));
    server.kill().await;
    let server = lab.serve_by(lab.bobbin(&["serve", "--listen", &listen])).await;
    self::ticket(&server, secret).await;
    server.kill().await;
}

#[tokio::test]
async fn codes_are_guessed_as_slowly_as_tokens() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let until = Instant::now() + Duration::from_secs(3);
    let guessing = (0..32).map(|guesser| {
        let server = &server;
        async move {
            let mut guesses = 0;
            while Instant::now() < until {
                let guess = json!({ "code": format!("{guesser:05}{guesses:05}") });
                assert_eq!(post(server, "/page/session", "", &guess).await.status, 401);
                guesses += 1;
            }
            guesses
        }
    });
    let entering = async {
        let start = Instant::now();
        secret(&lab, &server).await;
        start.elapsed()
    };
    let (guesses, took) = tokio::join!(futures_util::future::join_all(guessing), entering);
    let guesses: u32 = guesses.into_iter().sum();
    assert!(guesses < 500, "{guesses} guesses in three seconds");
    assert!(took < PATIENCE, "a right code does not wait: {took:?}");
    server.kill().await;
}

#[tokio::test]
async fn no_other_page_gets_a_secret_or_a_ticket() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let secret = secret(&lab, &server).await;
    let code = json!({ "code": code(&lab).await }).to_string();
    let own = authority(&server).to_owned();
    let port = own.rsplit(':').next().unwrap();
    let bearer = format!("Bearer {secret}");
    let own_origin = format!("http://{own}");
    let rebound = format!("attacker.example:{port}");
    let rebound_origin = format!("http://{rebound}");
    let other_port = "http://127.0.0.1:5173";
    for headers in [
        vec![],
        vec![("Origin", "https://attacker.example")],
        vec![("Origin", "null")],
        vec![("Origin", other_port)],
        vec![
            ("Origin", own_origin.as_str()),
            ("Origin", "https://attacker.example"),
        ],
        vec![("Host", rebound.as_str()), ("Origin", rebound_origin.as_str())],
        vec![("Host", rebound.as_str()), ("Origin", own_origin.as_str())],
    ] {
        let mut headers = headers;
        headers.push(("Authorization", &bearer));
        for (path, body) in [("/page/session", code.as_str()), ("/page/ticket", "")] {
            let refused = ask(&server, &format!("POST {path}"), &headers, body).await;
            assert_eq!(refused.status, 403, "{path} {headers:?}");
            assert!(!refused.head.contains("access-control"), "{path}");
        }
    }
    // The code was not used up by any of them.
    let headers = [("Origin", own_origin.as_str())];
    assert_eq!(
        ask(&server, "POST /page/session", &headers, &code).await.status,
        200
    );
    // Neither path answers a page that only wants to look.
    for path in ["/page/session", "/page/ticket"] {
        assert_eq!(ask(&server, &format!("GET {path}"), &[], "").await.status, 405);
    }
    server.kill().await;
}

#[tokio::test]
async fn the_page_is_in_no_frame_and_loads_nothing_from_elsewhere() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let page = ask(&server, "GET /", &[], "").await;
    assert_eq!(page.status, 200);
    for line in [
        "default-src 'none'",
        "script-src 'self';",
        "style-src 'self';",
        "connect-src 'self';",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cross-origin-opener-policy: same-origin",
        "cross-origin-resource-policy: same-origin",
    ] {
        assert!(page.head.contains(line), "{line}: {}", page.head);
    }
    assert!(!page.head.contains("set-cookie") && !page.head.contains("access-control"));
    let rebound = [("Host", "attacker.example")];
    assert_eq!(ask(&server, "GET /", &rebound, "").await.status, 403);
    let foreign = [("Origin", "https://attacker.example")];
    assert_eq!(ask(&server, "GET /", &foreign, "").await.status, 403);
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/assets/../../x",
        "/SOURCES.sha256",
        "/index.html/",
    ] {
        assert_eq!(
            ask(&server, &format!("GET {path}"), &[], "").await.status,
            401,
            "{path}"
        );
    }
    server.kill().await;
}

#[tokio::test]
async fn a_revoked_browser_is_cut_off_and_stays_out() {
    let lab = Lab::new(Bubblewrap::Off);
    let server = lab.serve().await;
    let (goes, stays) = (secret(&lab, &server).await, secret(&lab, &server).await);
    let mut clients = Vec::new();
    for secret in [&goes, &stays] {
        let address = format!("{}?ticket={}", server.address, ticket(&server, secret).await);
        clients.push(Client::ready(Link::web_socket(&address).await, "page", json!({})).await);
    }
    let unused = ticket(&server, &goes).await;
    let listed = lab.run(&["devices", "--json"]).await;
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    // Another process, which has never heard of the server.
    assert!(lab.run(&["devices", "revoke", id]).await.status.success());
    let cut = async { while clients[0].next().await.is_some() {} };
    tokio::time::timeout(PATIENCE, cut)
        .await
        .expect("the socket ends");
    let path = format!("GET /ws?ticket={unused}");
    assert_eq!(ask(&server, &path, &[], "").await.status, 401);
    assert_eq!(post(&server, "/page/ticket", &goes, &json!({})).await.status, 401);
    clients[1].start_thread().await;
    // And over the wire.
    clients[1].request("device/revoke", json!({})).await;
    let cut = async { while clients[1].next().await.is_some() {} };
    tokio::time::timeout(PATIENCE, cut)
        .await
        .expect("the socket ends");
    server.kill().await;
}

/// Posts as the page does that is at this origin.
async fn post_from(server: &Server, origin: &str, path: &str, secret: &str, body: &Value) -> Answer {
    let (_, host) = origin.split_once("://").unwrap();
    let bearer = format!("Bearer {secret}");
    let headers = [("Host", host), ("Origin", origin), ("Authorization", &bearer)];
    ask(server, &format!("POST {path}"), &headers, &body.to_string()).await
}

/// Returns what `bobbin open` opens: the page's origin, and a code.
async fn opened(lab: &Lab) -> (String, String) {
    let output = lab.run(&["open", "--print"]).await;
    let text = String::from_utf8(output.stdout).unwrap();
    let (page, code) = text.trim().split_once("/#").expect("an address with a code");
    (page.to_owned(), code.to_owned())
}

fn shared(lab: &Lab) {
    lab.configure(&json!({ "AppServer": { "WebSocket": { "SharedMachine": true } } }));
}

#[tokio::test]
async fn where_others_have_accounts_a_browser_gets_in_at_a_name_of_this_listener_alone() {
    let lab = Lab::new(Bubblewrap::Off);
    shared(&lab);
    let server = lab.serve().await;
    let port = authority(&server).rsplit(':').next().unwrap().to_owned();
    let (page, code) = opened(&lab).await;
    let name = page.strip_prefix("http://").unwrap();
    assert!(name.ends_with(&format!(".localhost:{port}")), "{page}");
    assert!(
        server.address.starts_with("ws://127.0.0.1:"),
        "programs go on as ever"
    );
    // What a browser asks at an address that others can have too.
    let code = json!({ "code": code });
    for host in ["127.0.0.1", "localhost", "[::1]", "aaaaaaaaaaaaaaaa.localhost"] {
        let other = format!("http://{host}:{port}");
        for path in ["/page/session", "/page/ticket"] {
            let refused = post_from(&server, &other, path, "", &code).await;
            assert_eq!(refused.status, 403, "{other}{path}");
        }
        let host = format!("{host}:{port}");
        let sign = ask(&server, "GET /", &[("Host", &host)], "").await;
        assert_eq!(sign.status, 403, "{host}");
        assert!(!sign.head.contains("set-cookie"));
        for given in [&sign.head, &sign.text] {
            assert!(!given.contains(name) && !given.contains("<script"), "{given}");
        }
        let asset = ask(&server, "GET /icon.svg", &[("Host", &host)], "").await;
        assert_eq!(asset.status, 403, "{host}");
    }
    // The code is still there for the page itself.
    let entered = post_from(&server, &page, "/page/session", "", &code).await;
    assert_eq!(entered.status, 200, "{}", entered.body);
    let secret = entered.body["secret"].as_str().unwrap().to_owned();
    let given = post_from(&server, &page, "/page/ticket", &secret, &json!({})).await;
    assert_eq!(given.status, 200, "{}", given.body);
    let address = format!(
        "{}?ticket={}",
        server.address,
        given.body["ticket"].as_str().unwrap()
    );
    let mut client = Client::ready(Link::web_socket(&address).await, "page", json!({})).await;
    let listed = client.call("device/list", json!({})).await;
    assert_eq!(listed["devices"].as_array().unwrap().len(), 1);
    drop(client);
    // A program that has the secret, and forges what a browser sends.
    for other in [
        format!("http://127.0.0.1:{port}"),
        format!("http://localhost:{port}"),
    ] {
        assert_eq!(
            post_from(&server, &other, "/page/ticket", &secret, &json!({}))
                .await
                .status,
            403
        );
    }
    server.kill().await;
    // The next server has another name, and the secret counts nowhere.
    let listen = format!("ws://127.0.0.1:{port}");
    let server = lab.serve_by(lab.bobbin(&["serve", "--listen", &listen])).await;
    let (next, code) = opened(&lab).await;
    assert_ne!(next, page);
    for origin in [&page, &next] {
        let refused = post_from(&server, origin, "/page/ticket", &secret, &json!({})).await;
        assert!(
            [401, 403].contains(&refused.status),
            "{origin}: {}",
            refused.status
        );
    }
    let listed = lab.run(&["devices", "--json"]).await;
    assert_eq!(
        serde_json::from_slice::<Value>(&listed.stdout).unwrap(),
        json!([])
    );
    let code = json!({ "code": code });
    assert_eq!(
        post_from(&server, &next, "/page/session", "", &code).await.status,
        200
    );
    server.kill().await;
}

#[tokio::test]
async fn a_stranger_on_the_other_loopback_address_is_not_asked_in_our_place() {
    let lab = Lab::new(Bubblewrap::Off);
    shared(&lab);
    let Ok(stranger) = tokio::net::TcpListener::bind("[::1]:0").await else {
        return println!("!! not tested: there is no IPv6 here");
    };
    let port = stranger.local_addr().unwrap().port();
    let listen = format!("ws://127.0.0.1:{port}");
    let refused = lab.run(&["serve", "--listen", &listen]).await;
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains(&format!("[::1]:{port}")), "{text}");
    drop(stranger);
    let server = lab.serve_by(lab.bobbin(&["serve", "--listen", &listen])).await;
    let taken = tokio::net::TcpListener::bind(("::1", port)).await;
    assert!(taken.is_err(), "both addresses are the server's");
    let asked = TcpStream::connect(("::1", port)).await.unwrap();
    let (page, _) = opened(&lab).await;
    let host = page.strip_prefix("http://").unwrap();
    assert_eq!(ask_through(asked, host, "GET /", &[], "").await.status, 200);
    server.kill().await;
}

#[tokio::test]
async fn where_others_have_accounts_localhost_is_no_name_of_an_open_address() {
    let lab = Lab::new(Bubblewrap::Off);
    shared(&lab);
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let listen = format!("ws://0.0.0.0:{port}");
    let server = lab.serve_by(lab.bobbin(&["serve", "--listen", &listen])).await;
    let (page, code) = opened(&lab).await;
    assert_eq!(page, format!("http://127.0.0.1:{port}"));
    // A browser looks at [::1] first, where a stranger can listen and read what `localhost` has stored.
    let code = json!({ "code": code });
    for host in ["localhost", "[::1]"] {
        let other = format!("http://{host}:{port}");
        for path in ["/page/session", "/page/ticket"] {
            let refused = post_at(port, &other, path, &code).await;
            assert_eq!(refused.status, 403, "{other}{path}");
        }
    }
    assert_eq!(post_at(port, &page, "/page/session", &code).await.status, 200);
    server.kill().await;
}

/// Posts to a listener on all addresses, with the host that `origin` names.
async fn post_at(port: u16, origin: &str, path: &str, body: &Value) -> Answer {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let host = origin.strip_prefix("http://").unwrap();
    let headers = [("Origin", origin)];
    ask_through(stream, host, &format!("POST {path}"), &headers, &body.to_string()).await
}

#[tokio::test]
async fn a_secret_counts_for_the_page_that_it_was_given_to() {
    let lab = Lab::new(Bubblewrap::Off);
    lab.configure(&json!({ "AppServer": { "AllowedHosts": ["tea.example"], "AllowedOrigins": ["https://tea.example"] } }));
    let server = lab.serve().await;
    let secret = secret(&lab, &server).await;
    ticket(&server, &secret).await;
    let bearer = format!("Bearer {secret}");
    let headers = [
        ("Host", "tea.example"),
        ("Origin", "https://tea.example"),
        ("Authorization", bearer.as_str()),
    ];
    assert_eq!(ask(&server, "POST /page/ticket", &headers, "").await.status, 401);
    server.kill().await;
}

#[tokio::test]
async fn where_others_have_accounts_and_there_is_tls_browsers_use_it() {
    let lab = Lab::new(Bubblewrap::Off);
    shared(&lab);
    let (trusted, files) = certificate(&lab);
    let [cert, key] = files.each_ref().map(|file| file.to_str().unwrap());
    let listen = [
        "serve",
        "--listen",
        "ws://127.0.0.1:0",
        "--tls-cert",
        cert,
        "--tls-key",
        key,
    ];
    let server = lab.serve_by(lab.bobbin(&listen)).await;
    let (page, code) = opened(&lab).await;
    assert_eq!(page, format!("https://{}", authority(&server)));
    let code = json!({ "code": code });
    assert_eq!(post(&server, "/page/session", "", &code).await.status, 403);
    assert_eq!(get_trusting(&server, &trusted).await.unwrap().status, 401);
    server.client().await.start_thread().await;
    server.kill().await;
}

/// Writes a certificate for `tea.example` with its key; returns it and the options that name both.
fn certificate(lab: &Lab) -> (CertificateDer<'static>, [PathBuf; 2]) {
    let made = rcgen::generate_simple_self_signed(["tea.example".to_owned()]).unwrap();
    let files = ["tea.pem", "tea.key"].map(|name| lab.home().join(name));
    std::fs::write(&files[0], made.cert.pem()).unwrap();
    std::fs::write(&files[1], made.signing_key.serialize_pem()).unwrap();
    for file in &files {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    lab.hand_over();
    (made.cert.der().clone(), files)
}

/// Gets the page over TLS, as a browser that trusts this certificate alone. `None` where it is shown another one.
async fn get_trusting(server: &Server, certificate: &CertificateDer<'static>) -> Option<Answer> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(authority(server)).await.unwrap();
    let name = ServerName::try_from("tea.example").unwrap();
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .ok()?;
    let own = format!("https://{}", authority(server));
    let headers = [("Origin", own.as_str())];
    let answer = ask_through(stream, authority(server), "POST /page/ticket", &headers, "");
    Some(answer.await)
}

#[tokio::test]
async fn tls_serves_the_page_and_renews_its_certificate() {
    let lab = Lab::new(Bubblewrap::Off);
    let (first, files) = certificate(&lab);
    let [cert, key] = files.each_ref().map(|file| file.to_str().unwrap());
    let listen = [
        "serve",
        "--listen",
        "ws://127.0.0.1:0",
        "--tls-cert",
        cert,
        "--tls-key",
        key,
    ];
    let server = lab.serve_by(lab.bobbin(&listen)).await;
    // Our own origin is the encrypted one there.
    assert_eq!(get_trusting(&server, &first).await.unwrap().status, 401);
    // Programs of this machine go on without TLS.
    secret(&lab, &server).await;
    let (second, _) = certificate(&lab);
    assert_eq!(get_trusting(&server, &second).await.unwrap().status, 401);
    assert!(get_trusting(&server, &first).await.is_none());
    server.kill().await;
    std::fs::write(&files[1], "no key").unwrap();
    let refused = lab.run(&listen).await;
    assert_eq!(refused.status.code(), Some(1));
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("tea.key has no private key"), "{text}");
}
