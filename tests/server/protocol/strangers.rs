//! The clients of `docs/protocol/examples`, which use no library.

use std::path::Path;
use std::process::Output;

use tokio::process::Command;

use crate::support::{PATIENCE, Workspace};

/// Runs an example, if its program is on this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "the example is a program of another language"
)]
async fn run(
    program: &str,
    options: &[&str],
    example: &str,
    workspace: &Workspace,
    url: &str,
) -> Option<Output> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol/examples");
    let mut command = Command::new(program);
    command
        .args(options)
        .arg(examples.join(example))
        .arg("run `touch cup`")
        .current_dir(workspace.path())
        .env("HOME", workspace.path())
        .env("BOBBIN_STATE", workspace.state())
        .env("BOBBIN", env!("CARGO_BIN_EXE_bobbin"))
        .env("BOBBIN_URL", url)
        .kill_on_drop(true);
    match tokio::time::timeout(PATIENCE, command.output()).await.unwrap() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("!! not tested: {program}: {error}");
            None
        }
    }
}

fn check(workspace: &Workspace, output: &Output) {
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        said.contains("allowed: touch cup") && said.ends_with("\ncompleted\n"),
        "{said}"
    );
    assert!(workspace.path().join("cup").exists());
}

#[tokio::test]
async fn a_client_over_stdio_without_a_library_has_a_command_run() {
    let workspace = Workspace::new();
    if let Some(output) = run("python3", &[], "client.py", &workspace, "").await {
        check(&workspace, &output);
    }
}

#[tokio::test]
async fn a_client_over_a_web_socket_without_a_library_has_a_command_run() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let url = server.address().await;
    // Before version 22, Node has WebSockets behind an option.
    let options = ["--no-warnings", "--experimental-websocket"];
    if let Some(output) = run("node", &options, "client.mjs", &workspace, &url).await {
        check(&workspace, &output);
    }
}
