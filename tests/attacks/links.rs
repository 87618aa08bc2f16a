//! A folder that brings links in place of the files that Bobbin reads and writes there.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::lab::{Bubblewrap, Lab};

const SECRET: &str = "dckr_pat_VICTIM";

/// A home with a login of another program, and a folder with a link to that.
fn lab(link: &str, target: &str) -> Lab {
    let lab = Lab::new(Bubblewrap::Off);
    let login = json!({ "auths": { "tea.example": { "auth": SECRET } }, "mcpServers": { "tea": { "command": SECRET } } });
    std::fs::create_dir_all(lab.home().join(".docker")).unwrap();
    std::fs::write(lab.home().join(".docker/config.json"), login.to_string()).unwrap();
    let place = lab.work().join(link);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    symlink(target, place).unwrap();
    lab
}

/// Each way to bring the link, as a clone below the home can.
const WAYS: [(&str, &str); 3] = [
    (".craft/config.json", "../../home/.docker/config.json"),
    (".craft", "../home/.docker"),
    (".mcp.json", "../home/.docker/config.json"),
];

fn assert_no_secret_below(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            assert_no_secret_below(&entry.path());
        } else if entry.file_type().unwrap().is_file() {
            let text = std::fs::read(entry.path()).unwrap();
            let text = String::from_utf8_lossy(&text);
            assert!(!text.contains(SECRET), "{}: {text}", entry.path().display());
        }
    }
}

#[tokio::test]
async fn a_configuration_that_is_a_link_is_named_and_not_read() {
    for (link, target) in WAYS {
        let lab = lab(link, target);
        for args in [&["doctor"][..], &["mcp", "list"], &["exec", "say hi"]] {
            let output = lab.run(args).await;
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert!(
                !said.contains("auths") && !said.contains(SECRET),
                "{link}: {said}"
            );
            assert!(
                args[0] != "doctor" || said.contains("it is a link"),
                "{link}: {said}"
            );
        }
    }
}

#[tokio::test]
async fn no_change_copies_what_a_link_leads_to_into_the_folder() {
    for (link, target) in WAYS {
        let lab = lab(link, target);
        let login = std::fs::read(lab.home().join(".docker/config.json")).unwrap();
        let added = lab.run(&["mcp", "add", "kettle", "--here", "--", "true"]).await;
        if link != ".mcp.json" {
            let said = String::from_utf8_lossy(&added.stderr);
            assert!(
                !added.status.success() && said.contains("a link"),
                "{link}: {said}"
            );
        }
        let server = lab.serve().await;
        let mut client = server.client().await;
        for (method, params) in [
            ("workspace/config/update", json!({ "model": "offline" })),
            ("workspace/config/update", json!({ "model": "no/such:provider" })),
            (
                "mcp/upsert",
                json!({ "server": { "name": "pot", "transport": "stdio", "command": "true" } }),
            ),
        ] {
            let answer = client.answer_to(method, params).await;
            assert!(!answer.to_string().contains(SECRET), "{link}: {answer}");
        }
        server.kill().await;
        assert_no_secret_below(&lab.work());
        assert!(lab.work().join(link).is_symlink(), "{link}");
        assert_eq!(
            std::fs::read(lab.home().join(".docker/config.json")).unwrap(),
            login
        );
    }
}

#[tokio::test]
async fn a_plugin_that_is_not_installed_leaves_no_directory_behind_a_link() {
    let lab = lab(".craft", "../home/.docker");
    lab.write(
        "tea/.claude-plugin/plugin.json",
        r#"{"name":"tea","version":"1.0.0"}"#,
    );
    let output = lab.run(&["plugin", "install", "./tea"]).await;
    assert!(!output.status.success());
    assert!(!lab.home().join(".docker/plugins").exists());
}

#[tokio::test]
async fn files_that_options_name_are_not_written_through_a_link_of_the_folder() {
    let lab = Lab::new(Bubblewrap::Off);
    let profile = lab.home().join(".bashrc");
    std::fs::write(&profile, "mine").unwrap();
    std::fs::create_dir(lab.home().join("bin")).unwrap();
    symlink(&profile, lab.work().join("out.txt")).unwrap();
    symlink(lab.home().join("bin"), lab.work().join("out")).unwrap();
    symlink(lab.home().join("new"), lab.work().join("dangling")).unwrap();
    let inside = lab.work().join("out.txt");
    for path in [
        "out.txt",
        "./out.txt",
        "out/../out.txt",
        "out/new",
        "dangling",
        inside.to_str().unwrap(),
    ] {
        for option in ["--output-last-message", "--log-file"] {
            let output = lab.run(&["exec", option, path, "say evil"]).await;
            let said = String::from_utf8_lossy(&output.stderr);
            // The name of a log gets a date, so that only links of directories matter.
            if option == "--log-file" && !path.starts_with("out/") {
                continue;
            }
            assert!(
                !output.status.success() && said.contains("a link"),
                "{option} {path}: {said}"
            );
        }
    }
    symlink(&profile, lab.work().join("log.2099-01-01")).unwrap();
    let output = lab.run(&["exec", "--log-file", "log", "say evil"]).await;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("a link"), "{said}");
    assert_eq!(std::fs::read_to_string(&profile).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(lab.home().join("bin")).unwrap().count(), 0);
    assert!(!lab.home().join("new").exists());
    // A link of the user's own, and what is no link.
    symlink("notes.txt", lab.home().join("mine")).unwrap();
    let mine = lab.home().join("mine");
    for path in [mine.to_str().unwrap(), "plain.txt", "/dev/null"] {
        let output = lab.run(&["exec", "--output-last-message", path, "say tea"]).await;
        assert!(
            output.status.success(),
            "{path}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    for path in [lab.home().join("notes.txt"), lab.work().join("plain.txt")] {
        assert!(
            std::fs::read_to_string(&path).unwrap().contains("tea"),
            "{}",
            path.display()
        );
    }
}
