//! The workspace's git repository over the wire, on the whole binary.

use serde_json::{Value, json};

use crate::support::Workspace;

/// A repository with one commit on `main`, whose commits have an author.
fn repository() -> Workspace {
    let workspace = Workspace::new();
    workspace.git(&["init", "-q", "-b", "main"]);
    for (name, value) in [("user.name", "Mika"), ("user.email", "mika@example.org")] {
        workspace.git(&["config", name, value]);
    }
    write(&workspace, "boil.txt", "90\n");
    write(&workspace, "old.txt", "x\n");
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "-qm", "Boil"]);
    workspace
}

fn write(workspace: &Workspace, name: &str, text: &str) {
    std::fs::write(workspace.path().join(name), text).unwrap();
}

/// The changed files of a status, a line each.
fn changed(status: &Value) -> Vec<String> {
    let files = status["files"].as_array().unwrap().iter();
    files
        .map(|file| {
            let staged = if file["staged"] == true { " staged" } else { "" };
            format!(
                "{} {}{staged}",
                file["path"].as_str().unwrap(),
                file["state"].as_str().unwrap()
            )
        })
        .collect()
}

#[tokio::test]
async fn a_change_is_seen_compared_and_committed() {
    let workspace = repository();
    workspace.git(&["branch", "green"]);
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let status = client.call("git/status", json!({})).await;
    let head = workspace.git(&["rev-parse", "HEAD"]);
    assert_eq!(
        status,
        json!({ "repository": true, "branch": "main", "head": head, "ahead": 0, "behind": 0, "files": [], "truncated": false })
    );

    write(&workspace, "boil.txt", "95\n");
    write(&workspace, "new tea.txt", "green\n");
    workspace.git(&["rm", "-q", "old.txt"]);
    let status = client.call("git/status", json!({})).await;
    let expected = [
        "boil.txt modified",
        "new tea.txt untracked",
        "old.txt deleted staged",
    ];
    assert_eq!(changed(&status), expected);
    let diff = client.call("git/diff", json!({})).await;
    let text = diff["diff"].as_str().unwrap();
    for part in [
        "-90\n+95\n",
        "+++ b/new tea.txt\t\n@@ -0,0 +1 @@\n+green\n",
        "deleted file",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let diff = client.call("git/diff", json!({ "paths": ["boil.txt"] })).await;
    assert!(!diff["diff"].as_str().unwrap().contains("tea"), "{diff}");

    let chosen = json!({ "message": "Boil hotter\n\nGreen needs it.", "paths": ["boil.txt", "new tea.txt"] });
    let made = client.call("git/commit", chosen).await;
    assert_eq!(made["commit"], workspace.git(&["rev-parse", "HEAD"]));
    let shown = workspace.git(&["show", "--format=%an: %s", "--name-only", "HEAD"]);
    assert_eq!(shown, "Mika: Boil hotter\n\nboil.txt\nnew tea.txt");
    let status = client.call("git/status", json!({})).await;
    assert_eq!(
        changed(&status),
        ["old.txt deleted staged"],
        "what was not chosen waits"
    );

    let branches = client.call("git/branches", json!({})).await;
    let current = |branch: &Value| branch["current"] == true && branch["label"] == "main";
    let other = |branch: &Value| branch["current"] == false && branch["name"] == "refs/heads/green";
    let branches = branches["branches"].as_array().unwrap();
    assert!(
        branches.len() == 2 && branches.iter().any(current) && branches.iter().any(other),
        "{branches:?}"
    );
    let diff = client
        .call("git/diff", json!({ "base": "refs/heads/green" }))
        .await;
    assert!(diff["diff"].as_str().unwrap().contains("+95"), "{diff}");
}

#[tokio::test]
async fn files_that_were_removed_or_moved_are_committed_and_a_merge_is_left_alone() {
    let workspace = repository();
    workspace.git(&["mv", "boil.txt", "kettle.txt"]);
    workspace.git(&["rm", "-q", "old.txt"]);
    write(&workspace, "new.txt", "1\n");
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let status = client.call("git/status", json!({})).await;
    let paths: Vec<&str> = status["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["boil.txt", "kettle.txt", "new.txt", "old.txt"]);
    client
        .call("git/commit", json!({ "message": "Tidy", "paths": paths }))
        .await;
    assert_eq!(
        workspace.git(&["ls-tree", "--name-only", "HEAD"]),
        "kettle.txt\nnew.txt"
    );
    assert_eq!(workspace.git(&["status", "--porcelain", "--", ":!.craft"]), "");

    for (branch, text) in [("green", "80\n"), ("black", "100\n")] {
        workspace.git(&["checkout", "-q", "-B", branch, "main"]);
        write(&workspace, "kettle.txt", text);
        workspace.git(&["commit", "-qam", branch]);
    }
    // It ends with an error, since it conflicts.
    workspace.git(&["config", "alias.clash", "!git merge green >&2 || true"]);
    workspace.git(&["clash"]);
    let before = workspace.git(&["status", "--porcelain=v2"]);
    let status = client.call("git/status", json!({})).await;
    assert_eq!(changed(&status), ["kettle.txt conflicted"]);
    let refused = client
        .answer_to(
            "git/commit",
            json!({ "message": "Both", "paths": ["kettle.txt"] }),
        )
        .await;
    assert!(
        refused["error"]["data"]["detail"]
            .as_str()
            .unwrap()
            .contains("during a merge"),
        "{refused}"
    );
    assert_eq!(workspace.git(&["status", "--porcelain=v2"]), before);
    let diff = client.call("git/diff", json!({})).await;
    let back = json!({ "patch": of_file(&diff, "kettle.txt"), "reverse": true });
    client.call("git/apply", back).await;
    assert_eq!(workspace.git(&["status", "--porcelain=v2"]), before);
}

#[tokio::test]
async fn what_the_agent_may_not_read_is_in_no_diff() {
    let workspace = repository();
    workspace.configure(&json!({ "Permissions": { "Rules": [{ "Action": "deny", "Path": "vault/**" }] } }));
    std::fs::create_dir(workspace.path().join("vault")).unwrap();
    for name in ["vault/known", ".env"] {
        write(&workspace, name, "old leaves\n");
    }
    workspace.git(&["add", "-f", "."]);
    workspace.git(&["commit", "-qm", "Secrets"]);
    workspace.git(&["branch", "green"]);
    for name in ["vault/known", ".env", "vault/new", ".env.local"] {
        write(&workspace, name, "new leaves\n");
    }
    write(&workspace, "boil.txt", "95\n");
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    for params in [
        json!({}),
        json!({ "base": "refs/heads/green" }),
        json!({ "paths": [".env", "boil.txt", "vault"] }),
    ] {
        let diff = client.call("git/diff", params.clone()).await;
        let text = diff["diff"].as_str().unwrap();
        assert!(
            text.contains("95") && !text.contains("leaves"),
            "{params}: {diff}"
        );
        assert_eq!(diff["truncated"], true, "{params}");
    }
}

#[tokio::test]
async fn the_folder_of_a_thread_can_lie_deep_in_a_repository_without_commits() {
    let workspace = Workspace::new();
    workspace.git(&["init", "-q", "-b", "main"]);
    std::fs::create_dir(workspace.path().join("tea")).unwrap();
    write(&workspace, "tea/leaf", "green\n");
    write(&workspace, "outside", "x\n");
    workspace.git(&["add", "tea/leaf"]);
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let folder = workspace.path().join("tea");
    let thread = client
        .call("thread/start", json!({ "identity": { "channelName": "x", "userId": "u" }, "config": { "workspaceOverride": folder } }))
        .await["thread"]["id"]
        .clone();
    let status = client.call("git/status", json!({ "threadId": thread })).await;
    assert_eq!(changed(&status), ["leaf added staged"]);
    let diff = client.call("git/diff", json!({ "threadId": thread })).await;
    assert!(diff["diff"].as_str().unwrap().contains("+++ b/leaf\n"), "{diff}");
    let back = json!({ "threadId": thread, "patch": diff["diff"], "reverse": true });
    client.call("git/apply", back).await;
    assert!(!workspace.path().join("tea/leaf").exists());
}

#[tokio::test]
async fn what_cannot_be_done_is_said_in_gits_words() {
    let workspace = repository();
    let hook = workspace.path().join(".git/hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\necho the kettle is cold >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    write(&workspace, "boil.txt", "95\n");
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let chosen = json!({ "message": "Boil", "paths": ["boil.txt"] });
    let refused = client.answer_to("git/commit", chosen).await;
    let detail = refused["error"]["data"]["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("the kettle is cold"), "{refused}");
    for (method, params) in [
        ("git/commit", json!({ "message": " ", "paths": ["boil.txt"] })),
        ("git/commit", json!({ "message": "Boil", "paths": [] })),
        ("git/diff", json!({ "base": "--output=stolen" })),
        ("git/diff", json!({ "paths": vec!["x"; 2001] })),
    ] {
        let answer = client.answer_to(method, params).await;
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
    }
    let outside = json!({ "message": "Boil", "paths": ["../elsewhere"] });
    let answer = client.answer_to("git/commit", outside).await;
    assert!(answer["error"].is_object(), "{answer}");
    assert!(!workspace.path().join("stolen").exists());

    let plain = Workspace::new();
    let server = plain.web_socket();
    let mut client = server.client("ada").await;
    let status = client.call("git/status", json!({})).await;
    assert_eq!(status["repository"], false);
    assert!(
        status["problem"]
            .as_str()
            .unwrap()
            .contains("not a git repository"),
        "{status}"
    );
}

#[tokio::test]
async fn a_second_commit_does_not_wait_for_the_first_one() {
    let workspace = repository();
    let hook = workspace.path().join(".git/hooks/pre-commit");
    std::fs::write(
        &hook,
        "#!/bin/sh\ntouch started\nuntil [ -e go ]; do sleep 0.01; done\n",
    )
    .unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    write(&workspace, "boil.txt", "95\n");
    let server = workspace.web_socket();
    let (mut one, mut other) = (server.client("ada").await, server.client("eve").await);
    let chosen = json!({ "message": "Boil", "paths": ["boil.txt"] });
    one.request("git/commit", chosen.clone()).await;
    while !workspace.path().join("started").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let refused = other.answer_to("git/commit", chosen).await;
    assert!(
        refused["error"]["data"]["detail"]
            .as_str()
            .unwrap()
            .contains("writes already"),
        "{refused}"
    );
    // The client that began it leaves, and it is made all the same.
    drop(one);
    write(&workspace, "go", "");
    while workspace.git(&["log", "-1", "--format=%s"]) != "Boil"
        || workspace.path().join(".git/index.lock").exists()
    {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

/// Makes a bare repository that the workspace's `origin` leads to.
fn remote(workspace: &Workspace) -> tempfile::TempDir {
    let bare = tempfile::tempdir().unwrap();
    let place = bare.path().to_str().unwrap();
    workspace.git(&["init", "-q", "--bare", place]);
    workspace.git(&["remote", "add", "origin", place]);
    bare
}

/// The parameters of a push of what a plan says.
fn as_planned(plan: &Value) -> Value {
    json!({ "remote": plan["remote"], "url": plan["url"], "branch": plan["branch"], "head": plan["head"] })
}

#[tokio::test]
async fn a_commit_is_pushed_as_its_user_has_seen_it() {
    let workspace = repository();
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let without = client.answer_to("git/push/plan", json!({})).await;
    assert_eq!(
        without["error"]["data"]["detail"],
        "The repository has no remote."
    );
    let bare = remote(&workspace);
    let plan = client.call("git/push/plan", json!({})).await;
    let head = workspace.git(&["rev-parse", "HEAD"]);
    assert_eq!(
        (
            &plan["remote"],
            &plan["url"],
            &plan["branch"],
            &plan["head"],
            &plan["count"]
        ),
        (
            &json!("origin"),
            &json!(bare.path()),
            &json!("main"),
            &json!(head),
            &json!(1)
        )
    );
    assert!(plan["commits"][0].as_str().unwrap().ends_with(" Boil"), "{plan}");
    client.call("git/push", as_planned(&plan)).await;
    let there = || workspace.git(&["ls-remote", bare.path().to_str().unwrap(), "refs/heads/main"]);
    assert!(there().starts_with(&head), "{}", there());
    assert_eq!(client.call("git/push/plan", json!({})).await["count"], 0);

    // What was not seen is not pushed, and what others have pushed is not replaced.
    workspace.git(&["commit", "-q", "--allow-empty", "-m", "Unseen"]);
    let refused = client.answer_to("git/push", as_planned(&plan)).await;
    assert!(
        refused["error"]["data"]["detail"]
            .as_str()
            .unwrap()
            .contains("has changed"),
        "{refused}"
    );
    workspace.git(&["reset", "-q", "--hard", "HEAD~"]);
    workspace.git(&["commit", "-q", "--amend", "-m", "Boil otherwise"]);
    let plan = client.call("git/push/plan", json!({})).await;
    let refused = client.answer_to("git/push", as_planned(&plan)).await;
    assert!(
        refused["error"]["data"]["detail"]
            .as_str()
            .unwrap()
            .contains("rejected"),
        "{refused}"
    );
    assert!(there().starts_with(&head), "{}", there());
}

/// The part of a diff that is about one file.
fn of_file<'a>(diff: &'a Value, path: &str) -> &'a str {
    let diff = diff["diff"].as_str().unwrap();
    let start = diff.find(&format!("diff --git a/{path} ")).unwrap();
    let end = diff[start + 1..].find("diff --git ");
    &diff[start..end.map_or(diff.len(), |end| start + 1 + end)]
}

#[tokio::test]
async fn changes_are_taken_back_by_file_and_by_hunk() {
    let workspace = repository();
    let read = |name: &str| std::fs::read_to_string(workspace.path().join(name)).unwrap();
    let lines = |changed: &[u32]| -> String {
        let line = |n| {
            if changed.contains(&n) {
                format!("hot {n}\n")
            } else {
                format!("{n}\n")
            }
        };
        (1..=40).map(line).collect()
    };
    write(&workspace, "boil.txt", &lines(&[]));
    workspace.git(&["commit", "-qam", "Lines"]);
    write(&workspace, "boil.txt", &lines(&[3, 30]));
    write(&workspace, "new.txt", "no end");
    std::fs::remove_file(workspace.path().join("old.txt")).unwrap();
    workspace.git(&["add", "new.txt"]);
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let diff = client.call("git/diff", json!({})).await;

    // The second of two hunks, back and again.
    let boil = of_file(&diff, "boil.txt");
    let hunks: Vec<usize> = boil.match_indices("\n@@ ").map(|(at, _)| at + 1).collect();
    let second = format!("{}{}", &boil[..hunks[0]], &boil[hunks[1]..]);
    let back = json!({ "patch": second, "reverse": true });
    client.call("git/apply", back.clone()).await;
    assert_eq!(read("boil.txt"), lines(&[3]));
    let refused = client.answer_to("git/apply", back).await;
    let why = refused["error"]["data"]["detail"].as_str().unwrap();
    assert!(why.contains("boil.txt"), "{refused}");
    assert_eq!(read("boil.txt"), lines(&[3]));
    let again = json!({ "patch": second, "reverse": false });
    client.call("git/apply", again).await;
    assert_eq!(read("boil.txt"), lines(&[3, 30]));

    // Whole files: one that is new, one that is gone, one that has changed since.
    for path in ["new.txt", "old.txt"] {
        let back = json!({ "patch": of_file(&diff, path), "reverse": true });
        client.call("git/apply", back).await;
    }
    assert!(!workspace.path().join("new.txt").exists());
    assert_eq!(read("old.txt"), "x\n");
    let status = client.call("git/status", json!({})).await;
    assert_eq!(changed(&status), ["boil.txt modified"]);
    write(&workspace, "boil.txt", &lines(&[3, 4, 30]));
    let back = json!({ "patch": boil, "reverse": true });
    client.answer_to("git/apply", back).await;
    assert_eq!(read("boil.txt"), lines(&[3, 4, 30]), "all of it or nothing");
}

#[tokio::test]
async fn a_change_that_is_taken_back_is_staged_no_more() {
    let workspace = repository();
    write(&workspace, "both.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "-qm", "Both"]);
    let read = |name: &str| std::fs::read_to_string(workspace.path().join(name)).ok();
    let git_status = || workspace.git(&["status", "--porcelain"]);
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    write(&workspace, "boil.txt", "95\n");
    write(&workspace, "new [1].txt", "green\n");
    write(&workspace, "intended.txt", "black\n");
    workspace.git(&["add", "boil.txt", "new [1].txt"]);
    workspace.git(&["add", "-N", "intended.txt"]);
    workspace.git(&["rm", "-q", "old.txt"]);
    let diff = client.call("git/diff", json!({})).await;
    let files = [
        ("boil.txt", Some("90\n"), Some("95\n")),
        ("new [1].txt", None, Some("green\n")),
        ("intended.txt", None, Some("black\n")),
        ("old.txt", Some("x\n"), None),
    ];
    for (path, before, _) in files {
        let back = json!({ "patch": of_file(&diff, path), "reverse": true });
        client.call("git/apply", back).await;
        assert_eq!(read(path).as_deref(), before, "{path}");
        assert!(!git_status().contains(path), "{path}: {}", git_status());
    }
    assert_eq!(git_status(), "");
    for (path, _, after) in files {
        let again = json!({ "patch": of_file(&diff, path), "reverse": false });
        client.call("git/apply", again).await;
        assert_eq!(read(path).as_deref(), after, "{path}");
    }
    let status = client.call("git/status", json!({})).await;
    let expected = [
        "boil.txt modified",
        "intended.txt untracked",
        "new [1].txt untracked",
        "old.txt deleted",
    ];
    assert_eq!(changed(&status), expected);

    // While a part of the change is still there, the file stays staged.
    workspace.git(&["reset", "-q", "--hard"]);
    write(&workspace, "both.txt", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    workspace.git(&["add", "both.txt"]);
    let diff = client.call("git/diff", json!({ "paths": ["both.txt"] })).await;
    let both = of_file(&diff, "both.txt");
    let hunks: Vec<usize> = both.match_indices("\n@@ ").map(|(at, _)| at + 1).collect();
    for (hunk, expected) in [
        (&both[hunks[1]..], "MM both.txt"),
        (&both[hunks[0]..hunks[1]], ""),
    ] {
        let patch = format!("{}{hunk}", &both[..hunks[0]]);
        let back = json!({ "patch": patch, "reverse": true });
        client.call("git/apply", back).await;
        let status = workspace.git(&["status", "--porcelain", "both.txt"]);
        assert_eq!(status, expected);
    }

    let first = Workspace::new();
    first.git(&["init", "-q", "-b", "main"]);
    write(&first, "leaf", "green\n");
    first.git(&["add", "leaf"]);
    let server = first.web_socket();
    let mut client = server.client("ada").await;
    let diff = client.call("git/diff", json!({})).await;
    let back = json!({ "patch": diff["diff"], "reverse": true });
    client.call("git/apply", back).await;
    assert_eq!(first.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_diff_changes_nothing_outside_of_the_folder() {
    let workspace = repository();
    std::fs::create_dir(workspace.path().join("sub")).unwrap();
    let beside = workspace.path().parent().unwrap();
    std::os::unix::fs::symlink(beside, workspace.path().join("link")).unwrap();
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    for path in [
        "../out.txt",
        "link/out.txt",
        "/out.txt",
        ".git/hooks/pre-commit",
        ".git/config.x",
        ".craft/config.json",
    ] {
        let patch = format!(
            "diff --git a/{path} b/{path}\nnew file mode 100755\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
        );
        let refused = client
            .answer_to("git/apply", json!({ "patch": patch, "reverse": false }))
            .await;
        assert!(
            refused["error"]["data"]["detail"].is_string(),
            "{path}: {refused}"
        );
        assert!(!workspace.path().join(path).exists(), "{path}");
    }
    assert!(!beside.join("out.txt").exists());
}

#[tokio::test]
async fn a_diff_with_a_file_that_cannot_be_written_costs_no_other_file() {
    let workspace = repository();
    std::fs::create_dir(workspace.path().join("web")).unwrap();
    write(&workspace, "web/page.txt", "1\n");
    std::fs::create_dir_all(workspace.path().join(".craft")).unwrap();
    write(&workspace, ".craft/note.txt", "1\n");
    workspace.git(&["add", "-f", "."]);
    workspace.git(&["commit", "-qm", "Web"]);
    write(&workspace, "boil.txt", "mine\n90\n");
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let of = |path: &str, old: &str| {
        format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+2\n")
    };
    let patch = of("web/page.txt", "1") + &of(".craft/note.txt", "1");
    let refused = client
        .answer_to("git/apply", json!({ "patch": patch, "reverse": false }))
        .await;
    assert!(
        refused["error"]["data"]["detail"]
            .as_str()
            .unwrap()
            .contains(".craft/note.txt"),
        "{refused}"
    );
    let read = |name: &str| std::fs::read_to_string(workspace.path().join(name)).unwrap();
    assert_eq!(
        (read("web/page.txt"), read("boil.txt")),
        ("1\n".into(), "mine\n90\n".into())
    );

    // What was no UTF-8 is not known any more.
    let patch = of("web/page.txt", "caf\u{fffd}");
    let refused = client
        .answer_to("git/apply", json!({ "patch": patch, "reverse": false }))
        .await;
    assert!(
        refused["error"]["data"]["detail"]
            .as_str()
            .unwrap()
            .contains("no UTF-8"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_push_to_a_repository_of_this_machine_runs_none_of_its_hooks() {
    let workspace = repository();
    let bare = remote(&workspace);
    let ran = workspace.path().join("ran");
    for hook in ["pre-receive", "update", "post-receive", "reference-transaction"] {
        let place = bare.path().join("hooks").join(hook);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(&place, format!("#!/bin/sh\ntouch '{}'\n", ran.display())).unwrap();
        std::fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let plan = client.call("git/push/plan", json!({})).await;
    client.call("git/push", as_planned(&plan)).await;
    let there = workspace.git(&["ls-remote", bare.path().to_str().unwrap(), "refs/heads/main"]);
    assert!(
        there.starts_with(&workspace.git(&["rev-parse", "HEAD"])),
        "{there}"
    );
    assert!(!ran.exists());
}

#[tokio::test]
async fn a_remote_is_fetched_and_the_branch_follows_it() {
    let workspace = repository();
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let without = client.answer_to("git/fetch/plan", json!({})).await;
    assert_eq!(
        without["error"]["data"]["detail"],
        "The repository has no remote."
    );
    let alone = client.answer_to("git/fastForward", json!({})).await;
    assert!(
        alone["error"]["data"]["detail"]
            .as_str()
            .unwrap()
            .contains("follows no other"),
        "{alone}"
    );
    let bare = remote(&workspace);
    let plan = client.call("git/push/plan", json!({})).await;
    client.call("git/push", as_planned(&plan)).await;
    workspace.git(&["branch", "-q", "--set-upstream-to=origin/main"]);

    // Somebody else pushes two commits and a branch.
    workspace.git(&["commit", "-q", "--allow-empty", "-m", "Pour"]);
    write(&workspace, "cup.txt", "1\n");
    workspace.git(&["add", "cup.txt"]);
    workspace.git(&["commit", "-qm", "Cup"]);
    let there = workspace.git(&["rev-parse", "HEAD"]);
    let place = bare.path().to_str().unwrap();
    workspace.git(&[
        "push",
        "-q",
        place,
        "HEAD:refs/heads/main",
        "HEAD:refs/heads/green",
    ]);
    workspace.git(&["reset", "-q", "--hard", "HEAD~2"]);
    workspace.git(&["reflog", "expire", "--expire=now", "--all"]);
    workspace.git(&["gc", "-q", "--prune=now"]);

    let plan = client.call("git/fetch/plan", json!({})).await;
    assert_eq!(
        plan,
        json!({ "remotes": ["origin"], "remote": "origin", "url": place })
    );
    let elsewhere = json!({ "remote": "origin", "url": "/elsewhere" });
    let refused = client.answer_to("git/fetch", elsewhere).await;
    assert!(
        refused["error"]["data"]["detail"]
            .as_str()
            .unwrap()
            .contains("has changed"),
        "{refused}"
    );
    let seen = json!({ "remote": "origin", "url": place });
    assert_eq!(
        client.call("git/fetch", seen.clone()).await,
        json!({ "behind": 2 })
    );
    assert_eq!(workspace.git(&["rev-parse", "origin/green"]), there);
    assert_eq!(
        client.call("git/fastForward", json!({})).await,
        json!({ "head": there })
    );
    assert!(workspace.path().join("cup.txt").exists());

    // Both have moved: nothing is merged.
    workspace.git(&["commit", "-q", "--allow-empty", "-m", "Theirs"]);
    workspace.git(&["push", "-q", place, "HEAD:refs/heads/main"]);
    workspace.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "Ours"]);
    let ours = workspace.git(&["rev-parse", "HEAD"]);
    client.call("git/fetch", seen).await;
    let refused = client.answer_to("git/fastForward", json!({})).await;
    assert!(
        refused["error"]["data"]["detail"]
            .as_str()
            .unwrap()
            .contains("both have"),
        "{refused}"
    );
    assert_eq!(workspace.git(&["rev-parse", "HEAD"]), ours);
}

#[tokio::test]
async fn a_push_or_a_fetch_runs_no_program_that_the_repository_names() {
    let workspace = repository();
    let _bare = remote(&workspace);
    let evil = workspace.path().join("evil");
    let ran = workspace.path().join("ran");
    std::fs::write(&evil, format!("#!/bin/sh\ntouch '{}'\n", ran.display())).unwrap();
    std::fs::set_permissions(&evil, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let hooks = workspace.path().join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    std::fs::copy(&evil, hooks.join("pre-push")).unwrap();
    for name in [
        "core.sshCommand",
        "core.askPass",
        "credential.helper",
        "remote.origin.receivepack",
        "remote.origin.uploadpack",
        "core.fsmonitor",
        "gpg.program",
    ] {
        workspace.git(&["config", name, evil.to_str().unwrap()]);
    }
    workspace.git(&["config", "push.gpgSign", "if-asked"]);
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let plan = client.call("git/push/plan", json!({})).await;
    client.call("git/push", as_planned(&plan)).await;
    let plan = client.call("git/fetch/plan", json!({})).await;
    let seen = json!({ "remote": plan["remote"], "url": plan["url"] });
    client.call("git/fetch", seen).await;
    assert!(!ran.exists());
    let line = format!("ext::{} x", evil.display());
    workspace.git(&["config", "remote.origin.pushurl", &line]);
    let refused = client.answer_to("git/push/plan", json!({})).await;
    assert!(
        refused["error"]["data"]["detail"]
            .as_str()
            .unwrap()
            .contains("does not use the remote ext::"),
        "{refused}"
    );
    workspace.git(&["config", "remote.origin.url", &line]);
    let refused = client.answer_to("git/fetch/plan", json!({})).await;
    assert!(refused["error"]["data"]["detail"].is_string(), "{refused}");
    assert!(!ran.exists());
}

#[tokio::test]
async fn a_pull_request_is_sent_as_its_user_has_seen_it() {
    let workspace = repository();
    // Not where commands write: nothing there is found.
    let programs = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let gh = programs.path().join("gh");
    let log = programs.path().join("log");
    let script = format!(
        "#!/bin/sh\ncase $1 in\nauth) [ \"$4\" = git.example ] ;;\n\
         pr) ls -A > '{0}'; printf '%s\\n' \"$@\" >> '{0}'; echo https://git.example/shop/tea/pull/7 ;;\nesac\n",
        log.display()
    );
    std::fs::write(&gh, script).unwrap();
    std::fs::set_permissions(&gh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("PATH={}:/usr/bin:/bin", programs.path().display());
    let server = workspace.web_socket_through(&["/usr/bin/env", &path]);
    let mut client = server.client("ada").await;
    let detail = |answer: &Value| {
        answer["error"]["data"]["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };

    workspace.git(&["remote", "add", "origin", "/srv/tea.git"]);
    let refused = client.answer_to("git/pullRequest/plan", json!({})).await;
    assert!(detail(&refused).contains("no host of GitHub"), "{refused}");
    workspace.git(&["remote", "set-url", "origin", "git@other.example:shop/tea.git"]);
    let refused = client.answer_to("git/pullRequest/plan", json!({})).await;
    assert!(
        detail(&refused).contains("gh auth login --hostname other.example"),
        "{refused}"
    );
    workspace.git(&["remote", "set-url", "origin", "git@git.example:shop/tea.git"]);
    workspace.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    workspace.git(&["checkout", "-q", "-b", "hotter"]);
    workspace.git(&[
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "Boil hotter",
        "-m",
        "Green needs it.",
    ]);
    let plan = client.call("git/pullRequest/plan", json!({})).await;
    let expected = json!({ "remote": "origin", "tool": "gh", "repository": "git.example/shop/tea", "branch": "hotter",
        "base": "main", "pushed": false, "title": "Boil hotter", "body": "Green needs it." });
    assert_eq!(plan, expected);

    let mut seen = json!({ "remote": "origin", "repository": "git.example/shop/tea", "branch": "hotter", "base": "main",
        "title": "--web", "body": "Hot\n" });
    let refused = client.answer_to("git/pullRequest", seen.clone()).await;
    assert!(detail(&refused).contains("Push it first"), "{refused}");
    workspace.git(&["update-ref", "refs/remotes/origin/hotter", "HEAD"]);
    for (member, value) in [
        ("repository", "git.example/evil/tea"),
        ("branch", "main"),
        ("base", "--web"),
        ("title", " "),
    ] {
        let mut other = seen.clone();
        other[member] = value.into();
        let refused = client.answer_to("git/pullRequest", other).await;
        assert!(!detail(&refused).is_empty(), "{member}: {refused}");
        assert!(!log.exists(), "{member}");
    }
    seen["title"] = "Boil hotter".into();
    let sent = client.call("git/pullRequest", seen).await;
    assert_eq!(sent["url"], "https://git.example/shop/tea/pull/7");
    let words = "pr create --repo git.example/shop/tea --head hotter --base main --title";
    let expected = format!("{}\nBoil hotter\n--body\nHot\n\n", words.replace(' ', "\n"));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), expected);
}
