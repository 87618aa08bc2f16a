//! What a server writes to its log.

use serde_json::Value;

use crate::support::Workspace;

/// Runs one prompt with a log and returns the log.
async fn log(workspace: &Workspace, more: &[&str]) -> String {
    let args = [&["exec", "--approve"], more, &["run `echo sesame-4711`"]].concat();
    let output = workspace.run(&args).await;
    assert!(output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test]
async fn each_step_of_a_turn_has_a_line_without_its_texts() {
    let workspace = Workspace::new();
    let text = log(&workspace, &["--log", "info"]).await;
    for line in [
        "client connected client=\"bobbin-exec\"",
        "turn started",
        "model_request{provider=\"offline\" model=\"offline\"}: ",
        "tool_call{tool=\"Exec\"}: ",
        "turn ended",
        "outcome=\"completed\"",
        "connection ended",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let logged = text.lines().filter(|line| line.contains(" INFO "));
    assert!(logged.clone().count() >= 6, "{text}");
    assert!(
        logged
            .clone()
            .all(|line| !line.contains("sesame") && line.contains("bobbin")),
        "{text}"
    );
}

#[tokio::test]
async fn at_the_usual_level_there_is_nothing_to_say() {
    let workspace = Workspace::new();
    let text = log(&workspace, &[]).await;
    assert!(!text.contains("INFO") && !text.contains("turn started"), "{text}");
}

#[tokio::test]
async fn a_log_can_be_json_in_a_file_of_its_day() {
    let workspace = Workspace::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bobbin.log");
    let text = log(
        &workspace,
        &[
            "--log",
            "info",
            "--log-format",
            "json",
            "--log-file",
            path.to_str().unwrap(),
        ],
    )
    .await;
    assert!(!text.contains("turn started"), "{text}");
    let files: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1);
    let lines = std::fs::read_to_string(&files[0]).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ended = lines.iter().find(|line| line["message"] == "turn ended").unwrap();
    assert_eq!(ended["outcome"], "completed");
    let connected = lines.iter().find(|line| line["message"] == "client connected");
    assert_eq!(connected.unwrap()["client"], "bobbin-exec");
    // The last line is there, though the process ended at once.
    assert!(lines.iter().any(|line| line["message"] == "connection ended"));
}
