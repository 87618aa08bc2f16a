//! Logins at servers over HTTP, with a small authorization server.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bobbin_mcp::{HttpSpec, Launch, Login, OAuthClient, Secret, ServerSpec, TokenFile};
use bobbin_model::Reach;
use bobbin_model::ServerState::{Error, Ready};
use bobbin_testkit::kiosk::Kiosk;
use serde_json::json;

use crate::support::Bench;

fn server(kiosk: &Kiosk, directory: &Path) -> HttpSpec {
    HttpSpec {
        url: kiosk.url(),
        bearer: None,
        headers: Vec::new(),
        tokens: TokenFile::of(directory, "Pantry", &kiosk.url()),
    }
}

fn spec(bench: &Bench, server: &HttpSpec) -> ServerSpec {
    ServerSpec {
        reach: Reach::Http {
            url: server.url.clone(),
        },
        launch: Launch::Http(Box::new(server.clone())),
        ..bench.shell("")
    }
}

async fn log_in(kiosk: &Kiosk, server: &HttpSpec) -> String {
    log_in_as(kiosk, server, None).await
}

/// Logs in. Returns the page that the user was sent to.
async fn log_in_as(kiosk: &Kiosk, server: &HttpSpec, client: Option<OAuthClient>) -> String {
    let login = Login::start(server, client).await.unwrap();
    let link = login.link().to_owned();
    let finishing = tokio::spawn(login.finish());
    let page = kiosk.browse(&link, "/callback", "code=leaf&state=STATE").await;
    assert!(page.contains("logged in"), "{page}");
    finishing.await.unwrap().unwrap();
    link
}

fn asked(link: &str, name: &str) -> String {
    let link = reqwest::Url::parse(link).unwrap();
    let mut pairs = link.query_pairs();
    let found = pairs.find(|(known, _)| known == name);
    found.map(|(_, value)| value.into_owned()).unwrap_or_default()
}

fn client(id: &str, secret: Option<&str>) -> OAuthClient {
    OAuthClient {
        id: id.to_owned(),
        secret: secret.map(|secret| Secret(secret.to_owned())),
    }
}

fn tokens_in(directory: &Path) -> Vec<std::fs::DirEntry> {
    let files = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    let is_json = |file: &std::fs::DirEntry| file.path().extension().is_some_and(|it| it == "json");
    files.filter(is_json).collect()
}

#[tokio::test]
async fn a_login_is_stored_for_its_owner_presented_and_refreshed() {
    let directory = tempfile::tempdir().unwrap();
    let logins = directory.path().join("logins");
    let (kiosk, serving) = Kiosk::open().await;
    let server = server(&kiosk, &logins);
    let mut bench = Bench::new();
    bench.host.set(spec(&bench, &server)).unwrap();
    let seen = bench.until(Error).await;
    let problem = seen.last().unwrap().problem.clone().unwrap();
    assert!(problem.contains("bobbin mcp login pantry"), "{problem}");
    assert!(seen.last().unwrap().wants_login);

    // This token is over before it is used.
    kiosk.give_for(1);
    log_in(&kiosk, &server).await;
    kiosk.give_for(3600);
    let files = tokens_in(&logins);
    assert_eq!(files.len(), 1);
    let mode = files[0].metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mode = logins.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    assert!(bench.host.start("pantry"));
    let seen = bench.until(Ready).await;
    assert_eq!(seen.last().unwrap().tools.len(), 1);
    assert!(!seen.last().unwrap().wants_login);
    assert_eq!((kiosk.given(), kiosk.registered()), (2, 1));
    let sold = bench.call("sell", json!({})).await;
    assert_eq!((sold.text.as_str(), sold.success), ("sold", true));

    // Another server process reads the refreshed token.
    let mut other = Bench::new();
    other.host.set(spec(&other, &server)).unwrap();
    other.until(Ready).await;
    assert_eq!(kiosk.given(), 2);
    other.host.end().await;

    // From now on no token counts.
    kiosk.close();
    let failed = bench.call("sell", json!({})).await;
    assert!(failed.text.contains("bobbin mcp login pantry"), "{}", failed.text);
    assert!(bench.host.stop("pantry") && bench.host.start("pantry"));
    let seen = bench.until(Error).await;
    let problem = seen.last().unwrap().problem.clone().unwrap();
    assert!(
        problem.contains("it wants a new login: the last is over; run `bobbin mcp login pantry`"),
        "{problem}"
    );
    bench.host.end().await;

    assert!(server.tokens.remove().unwrap());
    assert!(!server.tokens.remove().unwrap());
    serving.abort();
}

#[tokio::test]
async fn answers_of_other_pages_do_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let (kiosk, serving) = Kiosk::open().await;
    let server = server(&kiosk, directory.path());
    let login = Login::start(&server, None).await.unwrap();
    let link = login.link().to_owned();
    let finishing = tokio::spawn(login.finish());
    // A browser that only opens a connection does not delay the login.
    let port = reqwest::Url::parse(&link).unwrap();
    let port = port
        .query_pairs()
        .find(|(name, _)| name == "redirect_uri")
        .unwrap()
        .1;
    let port = reqwest::Url::parse(&port).unwrap().port().unwrap();
    let _idle = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    for (path, answer) in [
        ("/callback", "code=leaf&state=other"),
        ("/callback", "error=access_denied"),
        ("/callback/more", "code=leaf&state=STATE"),
        ("/", "code=leaf&state=STATE"),
        ("//elsewhere/callback", "code=bad&state="),
    ] {
        let page = kiosk.browse(&link, path, answer).await;
        assert!(page.starts_with("HTTP/1.1 404"), "{path} {answer}: {page}");
    }
    assert!(
        Login::start(&server, None)
            .await
            .err()
            .unwrap()
            .contains("already")
    );
    let page = kiosk.browse(&link, "/callback", "code=leaf&state=STATE").await;
    assert!(page.contains("logged in"), "{page}");
    finishing.await.unwrap().unwrap();
    assert!(
        tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err(),
        "the port is closed"
    );
    log_in(&kiosk, &server).await;
    serving.abort();
}

#[tokio::test]
async fn a_login_that_is_refused_or_has_no_server_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let (kiosk, serving) = Kiosk::open().await;
    let server = server(&kiosk, directory.path());
    for (answer, word) in [
        (
            "error=access_denied&error_description=not+you&state=STATE",
            "access_denied: not you",
        ),
        ("code=old&state=STATE", "tokens"),
        ("state=STATE", "tokens"),
    ] {
        let login = Login::start(&server, None).await.unwrap();
        let link = login.link().to_owned();
        let finishing = tokio::spawn(login.finish());
        let page = kiosk.browse(&link, "/callback", answer).await;
        assert!(page.contains("failed"), "{page}");
        let why = finishing.await.unwrap().unwrap_err();
        assert!(why.contains(word), "{why}");
    }
    assert!(tokens_in(directory.path()).is_empty());
    serving.abort();
    assert!(serving.await.is_err());
    assert!(Login::start(&server, None).await.is_err());
}

#[tokio::test]
async fn a_known_client_is_not_registered() {
    let directory = tempfile::tempdir().unwrap();
    let (kiosk, serving) = Kiosk::open().await;
    let server = server(&kiosk, directory.path());
    let login = Login::start(&server, Some(client("ours", None))).await.unwrap();
    assert!(login.link().contains("client_id=ours"), "{}", login.link());
    assert_eq!(kiosk.registered(), 0);
    serving.abort();
}

#[tokio::test]
async fn a_login_asks_for_what_the_challenge_of_a_post_names() {
    let directory = tempfile::tempdir().unwrap();
    let (kiosk, serving) = Kiosk::open().await;
    let server = server(&kiosk, directory.path());
    let login = Login::start(&server, None).await.unwrap();
    assert_eq!(asked(login.link(), "scope"), "buy");
    serving.abort();
}

#[tokio::test]
async fn a_login_that_lacks_a_scope_is_said_so_and_the_next_asks_for_it() {
    for method in ["tools/call", "tools/list"] {
        let directory = tempfile::tempdir().unwrap();
        let (kiosk, serving) = Kiosk::open().await;
        let server = server(&kiosk, directory.path());
        log_in(&kiosk, &server).await;
        kiosk.demand(method, "sell");
        let mut bench = Bench::new();
        bench.host.set(spec(&bench, &server)).unwrap();
        let said = if method == "tools/call" {
            bench.until(Ready).await;
            let failed = bench.call("sell", json!({})).await;
            assert!(!failed.success);
            failed.text
        } else {
            let seen = bench.until(Error).await;
            assert!(seen.last().unwrap().wants_login);
            seen.last().unwrap().problem.clone().unwrap()
        };
        assert!(
            said.contains("wants a login that allows more (scope sell); run `bobbin mcp login pantry`"),
            "{said}"
        );
        assert_eq!(asked(&log_in(&kiosk, &server).await, "scope"), "buy sell");
        assert!(bench.host.stop("pantry") && bench.host.start("pantry"));
        bench.until(Ready).await;
        let sold = bench.call("sell", json!({})).await;
        assert_eq!((sold.text.as_str(), sold.success), ("sold", true));
        // A later login asks again for scopes that were granted before.
        assert_eq!(asked(&log_in(&kiosk, &server).await, "scope"), "buy sell");
        bench.host.end().await;
        serving.abort();
    }
}

#[tokio::test]
async fn a_client_with_a_secret_logs_in_refreshes_and_is_remembered() {
    let directory = tempfile::tempdir().unwrap();
    let (kiosk, serving) = Kiosk::open().await;
    let server = server(&kiosk, directory.path());
    kiosk.accept_only("ours", "hush");
    let why = Login::start(&server, None).await.err().unwrap();
    assert!(why.contains("--client-id"), "{why}");

    // This token is over before it is used.
    kiosk.give_for(1);
    log_in_as(&kiosk, &server, Some(client("ours", Some("hush")))).await;
    kiosk.give_for(3600);
    let mut bench = Bench::new();
    bench.host.set(spec(&bench, &server)).unwrap();
    bench.until(Ready).await;
    assert_eq!(kiosk.given(), 2);
    bench.host.end().await;

    let link = log_in(&kiosk, &server).await;
    assert_eq!(
        (asked(&link, "client_id").as_str(), kiosk.registered()),
        ("ours", 0)
    );
    assert!(!link.contains("hush"), "{link}");
    serving.abort();
}

#[tokio::test]
async fn another_authorization_server_gets_another_client() {
    let directory = tempfile::tempdir().unwrap();
    let (kiosk, serving) = Kiosk::open().await;
    let server = server(&kiosk, directory.path());
    kiosk.accept_only("ours", "hush");
    // This token is over before it is used.
    kiosk.give_for(1);
    log_in_as(&kiosk, &server, Some(client("ours", Some("hush")))).await;
    kiosk.give_for(3600);
    kiosk.move_authority();
    let mut bench = Bench::new();
    bench.host.set(spec(&bench, &server)).unwrap();
    assert!(bench.until(Error).await.last().unwrap().wants_login);
    assert_eq!(kiosk.given(), 1, "nothing is refreshed there");

    let link = log_in(&kiosk, &server).await;
    assert_eq!(
        (asked(&link, "client_id").as_str(), kiosk.registered()),
        ("bobbin-1", 1)
    );
    bench.host.start("pantry");
    bench.until(Ready).await;
    bench.host.end().await;
    serving.abort();
}

#[tokio::test]
async fn a_browser_is_sent_to_web_pages_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (kiosk, serving) = Kiosk::open().await;
    let server = server(&kiosk, directory.path());
    for page in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "vscode://evil.example/x",
        "http://tea.example/authorize",
        "http://169.254.169.254/authorize",
        "https://user@tea.example/authorize",
    ] {
        kiosk.send_browsers_to(page);
        let refused = Login::start(&server, None).await;
        let why = refused.err().unwrap_or_else(|| panic!("{page} is offered"));
        assert!(why.contains("no page of a login"), "{page}: {why}");
    }
    for page in [
        "https://tea.example/authorize",
        "http://localhost:1/authorize",
        "http://[::1]:1/authorize",
    ] {
        kiosk.send_browsers_to(page);
        let login = Login::start(&server, None).await.unwrap();
        assert!(login.link().starts_with(page), "{}", login.link());
    }
    serving.abort();
}

#[tokio::test]
async fn silent_connections_hold_up_no_answer() {
    let directory = tempfile::tempdir().unwrap();
    let (kiosk, serving) = Kiosk::open().await;
    let server = server(&kiosk, directory.path());
    let login = Login::start(&server, None).await.unwrap();
    let link = login.link().to_owned();
    let finishing = tokio::spawn(login.finish());
    let (_, back) = link.split_once("127.0.0.1%3A").unwrap();
    let port: u16 = back.split('%').next().unwrap().parse().unwrap();
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap());
    }
    let browsed = kiosk.browse(&link, "/callback", "code=leaf&state=STATE");
    let page = tokio::time::timeout(std::time::Duration::from_secs(3), browsed).await;
    assert!(page.expect("an answer at once").contains("logged in"));
    finishing.await.unwrap().unwrap();
    serving.abort();
}
