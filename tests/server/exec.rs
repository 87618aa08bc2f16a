//! `bobbin exec`: one prompt from a script.

use crate::support::Workspace;

#[tokio::test]
async fn a_listing_ends_with_0() {
    let workspace = Workspace::new();
    std::fs::write(workspace.path().join("kettle.txt"), "hot").unwrap();
    let output = workspace.run(&["exec", "run `ls -la`"]).await;
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stdout.contains("kettle.txt"), "{stdout}");
}

#[tokio::test]
async fn a_refused_approval_an_unknown_option_and_a_busy_workspace_have_their_own_codes() {
    let workspace = Workspace::new();
    let refused = workspace.run(&["exec", "run `touch one`"]).await;
    let unknown = workspace.run(&["exec", "--no-such-option", "hi"]).await;
    // A server that only speaks on its stdio cannot be joined.
    let (_server, link) = workspace.stdio();
    let mut client = bobbin_testkit::Client::new(link);
    let info = serde_json::json!({ "clientInfo": { "name": "x", "version": "1" } });
    client.call("initialize", info).await;
    let busy = workspace.run(&["exec", "hi"]).await;
    let codes = [&refused, &unknown, &busy].map(|output| output.status.code().unwrap());
    assert!(
        !codes.contains(&0) && codes[0] != codes[1] && codes[1] != codes[2] && codes[0] != codes[2],
        "{codes:?}"
    );
    assert!(!workspace.path().join("one").exists());
    for output in [&refused, &busy] {
        let said = String::from_utf8_lossy(&output.stderr);
        let complaints = said.lines().filter(|line| line.starts_with("bobbin: ")).count();
        assert_eq!(complaints, 1, "{said}");
    }
}

#[tokio::test]
async fn it_joins_the_running_server() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("watcher").await;
    let output = workspace.run(&["exec", "say hello there"]).await;
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("hello there"));
    // Somebody connected to that server hears of its thread.
    client.wait_for("thread/started").await;
}
