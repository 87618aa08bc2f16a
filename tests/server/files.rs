//! The files of the workspace over the wire, on the whole binary.

use serde_json::{Value, json};

use crate::support::Workspace;

/// The entries of a listed directory, a line each.
fn lines(listed: &Value) -> Vec<String> {
    let entries = listed["entries"].as_array().unwrap().iter();
    entries
        .map(|entry| {
            let slash = if entry["isDirectory"] == true { "/" } else { "" };
            let ignored = if entry["ignored"] == true { " ignored" } else { "" };
            format!("{}{slash}{ignored}", entry["name"].as_str().unwrap())
        })
        .collect()
}

#[tokio::test]
async fn a_folder_is_listed_read_and_searched() {
    let workspace = Workspace::new();
    let root = workspace.path();
    std::fs::create_dir_all(root.join("src/kettle")).unwrap();
    std::fs::create_dir_all(root.join("out")).unwrap();
    std::fs::create_dir_all(root.join(".git")).unwrap();
    for (name, text) in [
        ("src/kettle/lid.rs", "// Opens.\nfn open_lid() {}\n"),
        ("src/a.rs", "fn close() {}\n"),
        ("out/lid.o", "open_lid"),
        (".gitignore", "out\n"),
        (".env", "KEY=open_lid\n"),
    ] {
        std::fs::write(root.join(name), text).unwrap();
    }
    std::fs::write(root.join("pot.png"), b"\x89PNG\r\n\x1a\nrest").unwrap();
    std::fs::write(root.join("raw.bin"), b"\xff\0\x01").unwrap();
    std::fs::write(root.join("long.txt"), "ä".repeat(1 << 20)).unwrap();
    let running = workspace.web_socket();
    let mut client = running.client("ada").await;

    let listed = client.call("workspace/files/list", json!({})).await;
    let expected = [
        "out/ ignored",
        "src/",
        ".env",
        ".gitignore",
        "long.txt",
        "pot.png",
        "raw.bin",
    ];
    assert_eq!(lines(&listed), expected);
    let listed = client
        .call("workspace/files/list", json!({ "path": "src" }))
        .await;
    assert_eq!(lines(&listed), ["kettle/", "a.rs"]);

    let read = client
        .call("workspace/files/read", json!({ "path": "src/a.rs" }))
        .await;
    let real = root.canonicalize().unwrap().join("src/a.rs");
    assert_eq!(
        read,
        json!({ "path": "src/a.rs", "absolutePath": real, "size": 14, "text": "fn close() {}\n", "truncated": false })
    );
    let picture = client
        .call("workspace/files/read", json!({ "path": "pot.png" }))
        .await;
    assert_eq!(
        (&picture["mediaType"], &picture["data"]),
        (&json!("image/png"), &json!("iVBORw0KGgpyZXN0"))
    );
    let raw = client
        .call("workspace/files/read", json!({ "path": "raw.bin" }))
        .await;
    assert!(
        raw["text"].is_null() && raw["data"].is_null() && raw["size"] == 3,
        "{raw}"
    );
    let long = client
        .call("workspace/files/read", json!({ "path": "long.txt" }))
        .await;
    assert_eq!(
        (long["text"].as_str().unwrap().len(), &long["truncated"]),
        (1 << 20, &json!(true))
    );

    let found = client
        .call("workspace/files/grep", json!({ "query": "open_lid" }))
        .await;
    assert_eq!(
        found,
        json!({ "matches": [{ "path": "src/kettle/lid.rs", "line": 2, "text": "fn open_lid() {}" }], "truncated": false })
    );
    let found = client
        .call("workspace/files/grep", json!({ "query": "opens" }))
        .await;
    assert_eq!(found["matches"][0]["line"], 1);
    let found = client
        .call("workspace/files/grep", json!({ "query": "OPENS" }))
        .await;
    assert_eq!(found["matches"], json!([]));
}

#[tokio::test]
async fn nothing_outside_of_the_folder_and_nothing_that_rules_hide_is_shown() {
    let workspace = Workspace::new();
    workspace.configure(&json!({ "Permissions": { "Rules": [{ "Action": "deny", "Path": "vault/**" }] } }));
    let root = workspace.path();
    for folder in ["vault", ".git", ".craft"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    for name in ["vault/recipe", ".git/config", ".craft/notes", ".env", "id_rsa"] {
        std::fs::write(root.join(name), "tea leaves\n").unwrap();
    }
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "tea leaves\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), root.join("out")).unwrap();
    std::os::unix::fs::symlink(root.join(".git/config"), root.join("settings")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", root.join("zero")).unwrap();
    let running = workspace.web_socket();
    let mut client = running.client("ada").await;
    let secret = outside.path().join("secret");
    for path in [
        "vault/recipe",
        ".git/config",
        ".craft/notes",
        ".env",
        "out/secret",
        "settings",
        "zero",
        "../x",
        "/etc/passwd",
        "missing",
        "",
        secret.to_str().unwrap(),
    ] {
        let answer = client
            .answer_to("workspace/files/read", json!({ "path": path }))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{path}: {answer}");
        assert!(!answer.to_string().contains("leaves"), "{answer}");
    }
    for path in ["out", ".git", "..", "/"] {
        let answer = client
            .answer_to("workspace/files/list", json!({ "path": path }))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{path}: {answer}");
    }
    let found = client
        .call("workspace/files/grep", json!({ "query": "leaves" }))
        .await;
    assert_eq!(found["matches"], json!([]), "{found}");
    for query in ["", " ", "a\nb"] {
        let answer = client
            .answer_to("workspace/files/grep", json!({ "query": query }))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{query:?}");
    }
}

#[tokio::test]
async fn a_file_is_put_into_the_folder() {
    let workspace = Workspace::new();
    let root = workspace.path();
    for directory in [".git", "src"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    std::fs::write(root.join("src/lid.rs"), "old").unwrap();
    std::os::unix::fs::symlink(root.join(".git"), root.join("alias")).unwrap();
    std::os::unix::fs::symlink("/tmp", root.join("away")).unwrap();
    let running = workspace.web_socket();
    let mut client = running.client("ada").await;

    let put = json!({ "path": "src/new/pot.txt", "data": "dGVh", "clientRequestId": "one" });
    for _ in 0..2 {
        let written = client.call("workspace/files/write", put.clone()).await;
        assert_eq!(written, json!({ "path": "src/new/pot.txt" }));
    }
    assert_eq!(std::fs::read(root.join("src/new/pot.txt")).unwrap(), b"tea");

    for (path, data, why) in [
        (
            "src/lid.rs",
            "dGVh",
            "src/lid.rs is there already. Choose another name.",
        ),
        (".git/hooks/x", "dGVh", "belongs to git or to the server."),
        ("alias/x", "dGVh", "belongs to git or to the server."),
        (
            "src/.craft/config.json",
            "dGVh",
            "belongs to git or to the server.",
        ),
        ("../x", "dGVh", "lies outside of the folder."),
        ("away/x", "dGVh", "lies outside of the folder."),
        (".vscode/tasks.json", "dGVh", "is a file that other programs run"),
        ("x", "?", "'data' is not base64."),
        ("x", &"AAAA".repeat((2 << 20) / 3 + 1), "A file may have 2 MiB."),
    ] {
        let params = json!({ "path": path, "data": data });
        let error = client.error("workspace/files/write", params).await;
        let message = error["data"]["detail"].as_str().unwrap_or_default();
        assert!(
            error["code"] == -32602 && message.contains(why),
            "{path}: {error}"
        );
    }
    assert_eq!(std::fs::read(root.join("src/lid.rs")).unwrap(), b"old");
}
