//! Threads with a worktree and a branch of their own, on the whole binary.

use std::path::{Path, PathBuf};

use bobbin_testkit::{Client, Link};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{ALONE, Workspace, rich};

/// A repository with one commit on `main`, whose commits have an author.
fn repository() -> Workspace {
    let workspace = Workspace::new();
    workspace.git(&["init", "-q", "-b", "main"]);
    for (name, value) in [("user.name", "Mika"), ("user.email", "mika@example.org")] {
        workspace.git(&["config", name, value]);
    }
    write(&workspace, ".gitignore", "/cache\n.craft\n");
    write(&workspace, "boil.txt", "90\n");
    write(&workspace, "old.txt", "x\n");
    workspace.git(&["add", "."]);
    workspace.git(&["commit", "-qm", "Boil"]);
    workspace
}

fn write(workspace: &Workspace, name: &str, text: &str) {
    let path = workspace.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Every file below a folder with its content, but for the repository's objects and the other things of commits.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(place) = open.pop() {
        for entry in std::fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap();
            let is_commits = [
                "objects",
                "refs/heads/bobbin",
                "logs/refs/heads/bobbin",
                "worktrees",
            ];
            if is_commits.iter().any(|part| name == Path::new(".git").join(part))
                || name == Path::new(".craft")
            {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.push((name.to_owned(), bytes.escape_ascii().to_string()));
            }
        }
    }
    found.sort();
    found
}

fn start(more: &Value) -> Value {
    let mut params = json!({ "identity": { "channelName": "test", "userId": "u" } });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    params
}

/// Makes a worktree, and returns its Thread and its path.
async fn made(client: &mut Client, more: &Value) -> (String, PathBuf) {
    let made = client.call("worktree/createAndStart", start(more)).await;
    let (thread, worktree) = (&made["thread"], &made["worktree"]);
    assert_eq!(&thread["worktree"], worktree);
    assert_eq!(thread["effectiveWorkspacePath"], worktree["workspacePath"]);
    let path = worktree["path"].as_str().unwrap();
    (thread["id"].as_str().unwrap().to_owned(), path.into())
}

/// Runs a Turn to its end, saying yes to what it asks.
async fn run(client: &mut Client, thread: &str, text: &str) -> String {
    let turn = client.start_turn(thread, text).await;
    wait(client).await;
    turn
}

async fn wait(client: &mut Client) -> Value {
    loop {
        let message = client.next().await.unwrap();
        match message["method"].as_str() {
            Some("item/approval/request") => client.reply(&message, json!({ "decision": "accept" })).await,
            Some("turn/completed" | "turn/failed") => return message,
            _ => {}
        }
    }
}

async fn status(client: &mut Client, thread: &str) -> Value {
    client
        .call("worktree/status", json!({ "threadId": thread }))
        .await["status"]
        .clone()
}

#[tokio::test]
async fn a_thread_works_and_commits_in_its_worktree() {
    let workspace = repository();
    write(&workspace, "boil.txt", "91\n");
    write(&workspace, "tea/new leaf.txt", "green\n");
    write(&workspace, "cache/x", "x");
    std::fs::remove_file(workspace.path().join("old.txt")).unwrap();
    write(&workspace, "staged.txt", "s\n");
    workspace.git(&["add", "staged.txt"]);
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let before = files(workspace.path());
    let (thread, path) = made(&mut client, &json!({})).await;
    assert!(
        path.starts_with(workspace.state_folder().canonicalize().unwrap()),
        "{path:?}"
    );
    let read = |name: &str| std::fs::read_to_string(path.join(name));
    assert_eq!(read("boil.txt").unwrap(), "91\n");
    assert_eq!(read("tea/new leaf.txt").unwrap(), "green\n");
    assert_eq!(read("staged.txt").unwrap(), "s\n");
    assert!(read("old.txt").is_err() && read("cache/x").is_err());
    assert_eq!(files(workspace.path()), before);

    let fresh = status(&mut client, &thread).await;
    let head = workspace.git(&["rev-parse", "HEAD"]);
    let expected = json!([true, true, true, false, 0, head]);
    let members = [
        "exists",
        "isGitWorktree",
        "hasUncommittedChanges",
        "hasCommitsAheadOfBase",
        "aheadCount",
        "head",
    ];
    assert_eq!(
        json!(members.map(|name| fresh[name].clone())),
        expected,
        "{fresh}"
    );
    let handoff =
        json!({ "requested": true, "status": "applied", "copiedFileCount": 3, "deletedFileCount": 1 });
    assert_eq!(fresh["worktree"]["dirtyHandoff"], handoff);

    run(&mut client, &thread, "write `note.txt`: hello").await;
    assert_eq!(read("note.txt").unwrap(), "hello\n");
    run(
        &mut client,
        &thread,
        "run `git add -A && git commit -qm Work && git status --short`",
    )
    .await;
    let after = status(&mut client, &thread).await;
    assert_eq!(after["aheadCount"], 1, "{after}");
    assert_eq!(after["hasUncommittedChanges"], false, "{after}");
    let branch = after["branchName"].as_str().unwrap();
    assert!(branch.starts_with("bobbin/"), "{branch}");
    let shown = workspace.git(&["show", "--format=%an: %s", "--name-only", branch]);
    assert_eq!(
        shown,
        "Mika: Work\n\nboil.txt\nnote.txt\nold.txt\nstaged.txt\ntea/new leaf.txt"
    );
    // The methods of git look at the worktree too.
    let seen = client.call("git/status", json!({ "threadId": thread })).await;
    assert_eq!(seen["branch"], branch, "{seen}");
    let file = json!({ "threadId": thread, "path": "note.txt" });
    let file = client.call("workspace/files/read", file).await;
    assert!(file.to_string().contains("hello"), "{file}");
    assert_eq!(
        files(workspace.path()),
        before,
        "the workspace is as it was, with its index"
    );
    assert_eq!(workspace.git(&["rev-parse", "HEAD"]), head);
}

#[tokio::test]
async fn what_a_turn_did_in_a_worktree_is_undone_there_also_after_a_crash() {
    let workspace = repository();
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let (thread, path) = made(
        &mut client,
        &json!({ "copyDirtyChanges": false, "branchName": "tea/green" }),
    )
    .await;
    run(
        &mut client,
        &thread,
        "run `echo 95 > boil.txt; echo x > made.txt`",
    )
    .await;
    server.kill().await;
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    // The whole configuration is replaced, and the worktree stays.
    let config = json!({ "threadId": thread, "config": { "mode": "agent", "worktree": { "id": "x" } } });
    client.call("thread/config/update", config).await;
    let turn = run(&mut client, &thread, "run `echo 99 > boil.txt`").await;
    assert_eq!(std::fs::read_to_string(path.join("boil.txt")).unwrap(), "99\n");
    let diff = client
        .call("turn/diff/read", json!({ "threadId": thread, "turnId": turn }))
        .await;
    assert!(diff["diff"].as_str().unwrap().contains("-95\n+99"), "{diff}");
    client
        .call("turn/revert", json!({ "threadId": thread, "turnId": turn }))
        .await;
    assert_eq!(std::fs::read_to_string(path.join("boil.txt")).unwrap(), "95\n");
    assert_eq!(
        std::fs::read_to_string(workspace.path().join("boil.txt")).unwrap(),
        "90\n"
    );
    assert!(path.join("made.txt").exists() && !workspace.path().join("made.txt").exists());
    let now = status(&mut client, &thread).await;
    assert_eq!(now["branchName"], "tea/green");
}

/// Lines that write the workspace, the settings of its repository, another worktree, or read the state.
const ATTACKS: &str = "cd $work; echo x > boil.txt; echo x > new; echo x >> .git/config; echo x > .git/hooks/pre-commit; \
                       echo x > .git/config.worktree; echo x > .git/index; echo x > $other/new; \
                       cat $state/bobbin.db > $own/database; cat $other/boil.txt > $own/database; \
                       git -C $own config core.fsmonitor x; echo tried > $own/tried";
/// Lines that lead git from the worktree elsewhere. Only bubblewrap refuses them.
const LEADS: &str = "echo x > $record/commondir; echo x > $record/gitdir; echo x > $record/config.worktree; \
                     echo x > $own/.git; rm -f $own/.git";

#[rstest]
#[case::in_bubblewrap(true)]
#[case::without_bubblewrap(false)]
#[tokio::test]
async fn a_command_in_a_worktree_writes_nothing_of_the_workspace_and_no_settings(
    #[case] bubblewrapped: bool,
) {
    let workspace = repository();
    if !bubblewrapped {
        workspace.without_bubblewrap();
    }
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let (thread, own) = made(&mut client, &json!({})).await;
    let (other, others) = made(&mut client, &json!({})).await;
    let record = workspace
        .path()
        .join(".git/worktrees")
        .join(own.file_name().unwrap());
    let named = [
        ("work", workspace.path().to_owned()),
        ("other", others.clone()),
        ("state", workspace.state_folder()),
        ("own", own.clone()),
        ("record", record.clone()),
    ];
    let named: Vec<String> = named
        .iter()
        .map(|(name, path)| format!("{name}={}", path.display()))
        .collect();
    let leads = if bubblewrapped { LEADS } else { "" };
    std::fs::write(
        own.join("attack.sh"),
        format!("{}\n{ATTACKS}\n{leads}\n", named.join("; ")),
    )
    .unwrap();
    let before = files(workspace.path());
    let leading = |name: &str| std::fs::read_to_string(record.join(name)).unwrap_or_default();
    let saved = ["commondir", "gitdir", "config.worktree"].map(leading);
    run(&mut client, &thread, "run `sh attack.sh`").await;
    assert!(own.join("tried").exists());
    assert_eq!(files(workspace.path()), before);
    assert_eq!(["commondir", "gitdir", "config.worktree"].map(leading), saved);
    assert!(!others.join("new").exists());
    assert_eq!(
        std::fs::read_to_string(own.join("database")).unwrap_or_default(),
        ""
    );
    for thread in [&thread, &other] {
        assert_eq!(status(&mut client, thread).await["isGitWorktree"], true);
    }
}

#[tokio::test]
async fn no_thread_works_in_another_place_of_the_state_directory() {
    let workspace = repository();
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let (_, path) = made(&mut client, &json!({})).await;
    let state = workspace.state_folder().canonicalize().unwrap();
    for folder in [state.clone(), state.join("worktrees")] {
        let config = json!({ "workspaceOverride": folder });
        let thread = client
            .call("thread/start", start(&json!({ "config": config })))
            .await["thread"]["id"]
            .clone();
        let line = format!(
            "run `echo x > {}/new; echo x > {}/new`",
            state.display(),
            path.display()
        );
        run(&mut client, thread.as_str().unwrap(), &line).await;
        assert!(
            !state.join("new").exists() && !path.join("new").exists(),
            "{}",
            folder.display()
        );
    }
}

#[tokio::test]
async fn a_command_of_plan_mode_reads_the_worktree() {
    let workspace = repository();
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let (thread, path) = made(&mut client, &json!({})).await;
    std::fs::write(path.join("leaf.txt"), "green tea\n").unwrap();
    let plan = json!({ "threadId": thread, "mode": "plan" });
    client.call("thread/mode/set", plan).await;
    run(
        &mut client,
        &thread,
        "run `cat leaf.txt; git log --format=%s; echo x > new`",
    )
    .await;
    let read = json!({ "threadId": thread, "includeTurns": true });
    let read = client.call("thread/read", read).await.to_string();
    assert!(read.contains("green tea") && read.contains("Boil"), "{read}");
    assert!(!path.join("new").exists());
}

#[tokio::test]
async fn instructions_count_in_a_worktree_as_in_the_workspace() {
    let workspace = repository();
    write(&workspace, "AGENTS.md", "Brew gently.\n");
    let home = tempfile::tempdir().unwrap();
    for trusted in [false, true] {
        if trusted {
            let mut trust = workspace.bobbin(&["trust", "--yes"]);
            let trust = trust.env("HOME", home.path()).output().await.unwrap();
            assert!(trust.status.success(), "{trust:?}");
        }
        let mut server = workspace.bobbin(&["app-server", "--listen", ALONE]);
        let server = server
            .env("HOME", home.path())
            .stdin(std::process::Stdio::piped());
        let mut server = server.spawn().unwrap();
        let link = Link::lines(server.stdout.take().unwrap(), server.stdin.take().unwrap());
        let mut client = Client::ready(link, "ada", rich()).await;
        let (thread, path) = made(&mut client, &json!({})).await;
        let resumed = client.call("thread/resume", json!({ "threadId": thread })).await;
        let expected = if trusted {
            vec![path.join("AGENTS.md")]
        } else {
            Vec::new()
        };
        assert_eq!(resumed["instructionSources"], json!(expected));
        server.kill().await.unwrap();
    }
}

#[tokio::test]
async fn two_threads_work_in_two_worktrees_at_once() {
    let workspace = repository();
    let server = workspace.web_socket();
    let (mut ada, mut bob) = (server.client("ada").await, server.client("bob").await);
    let (one, first) = made(&mut ada, &json!({})).await;
    let (two, second) = made(&mut bob, &json!({})).await;
    // Each waits for the other, and neither sees what the other wrote.
    let line = "run `echo mine >> boil.txt; git commit -qam Mine; sleep 1`";
    tokio::join!(run(&mut ada, &one, line), run(&mut bob, &two, line));
    for (client, thread, path) in [(&mut ada, &one, &first), (&mut bob, &two, &second)] {
        assert_eq!(
            std::fs::read_to_string(path.join("boil.txt")).unwrap(),
            "90\nmine\n"
        );
        assert_eq!(status(client, thread).await["aheadCount"], 1);
    }
    let listed = ada.call("worktree/list", json!({})).await;
    let ids: Vec<&str> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["threadId"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [one.as_str(), two.as_str()]);
}

#[tokio::test]
async fn a_copy_starts_from_the_worktree_of_its_original() {
    let workspace = repository();
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let (thread, path) = made(&mut client, &json!({})).await;
    run(&mut client, &thread, "write `note.txt`: hello").await;
    run(&mut client, &thread, "run `git commit -q --allow-empty -m Empty`").await;
    let copy = client
        .call("worktree/createAndFork", json!({ "sourceThreadId": thread }))
        .await;
    let (made, worktree) = (&copy["thread"], &copy["worktree"]);
    assert_eq!(made["forkedFromId"], thread.as_str());
    assert_eq!(worktree["sourceThreadId"], thread.as_str());
    let its = PathBuf::from(worktree["path"].as_str().unwrap());
    assert!(its != path && its.join("note.txt").exists());
    let head = status(&mut client, &thread).await["head"].clone();
    assert_eq!(worktree["baseHead"], head);
    let missing = client
        .error("worktree/createAndFork", json!({ "sourceThreadId": "thread_x" }))
        .await;
    assert_eq!(missing["code"], -32010);
}

#[tokio::test]
async fn work_that_would_be_lost_is_removed_only_by_force() {
    let workspace = repository();
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let remove = |thread: &str, force: bool| json!({ "threadId": thread, "force": force });
    // Nothing was done.
    let (thread, path) = made(&mut client, &json!({})).await;
    let branches = || workspace.git(&["branch", "--format=%(refname:short)"]);
    assert_eq!(branches().lines().count(), 2);
    let removed = client.call("worktree/remove", remove(&thread, false)).await;
    assert_eq!(removed, json!({ "branchRemains": false }));
    assert!(!path.exists());
    assert_eq!(branches(), "main");
    assert_eq!(workspace.git(&["worktree", "list"]).lines().count(), 1);
    // Its Thread does not go on in the workspace.
    client.start_turn(&thread, "write `note.txt`: hello").await;
    let ended = wait(&mut client).await;
    assert_eq!(ended["method"], "turn/failed", "{ended}");
    assert!(!workspace.path().join("note.txt").exists() && !path.exists());
    assert_eq!(
        client
            .call("worktree/list", json!({ "includeOrphans": true }))
            .await["data"],
        json!([])
    );

    // A file that is not committed, then a commit.
    let (thread, path) = made(&mut client, &json!({})).await;
    run(&mut client, &thread, "write `note.txt`: hello").await;
    let refused = client.error("worktree/remove", remove(&thread, false)).await;
    assert_eq!(refused["data"]["reason"], "worktreeHasChanges", "{refused}");
    run(&mut client, &thread, "run `git add -A; git commit -qm Note`").await;
    let refused = client.error("worktree/remove", remove(&thread, false)).await;
    assert_eq!(refused["data"]["reason"], "worktreeHasChanges", "{refused}");
    assert!(path.join("note.txt").exists());
    // Not while a Turn runs, whatever is said.
    client.start_turn(&thread, "run `sleep 2`").await;
    let refused = client.error("worktree/remove", remove(&thread, true)).await;
    assert_eq!(refused["code"], -32012, "{refused}");
    wait(&mut client).await;
    let removed = client.call("worktree/remove", remove(&thread, true)).await;
    assert_eq!(
        removed,
        json!({ "branchRemains": true }),
        "commits are never lost"
    );
    assert!(!path.exists());
    assert_eq!(branches().lines().count(), 2);
}

#[tokio::test]
async fn the_work_of_one_of_several_worktrees_is_taken() {
    let workspace = repository();
    write(&workspace, "boil.txt", "90\nmine\n");
    write(&workspace, "leaf.txt", "mine\n");
    let own = || -> Vec<_> {
        let all = files(workspace.path()).into_iter();
        all.filter(|(name, _)| !name.starts_with(".git")).collect()
    };
    let before = own();
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let (first, _) = made(&mut client, &json!({ "branchName": "bobbin/try/1" })).await;
    let (second, path) = made(&mut client, &json!({ "branchName": "bobbin/try/2" })).await;
    for thread in [&first, &second] {
        run(&mut client, thread, "write new.txt: green").await;
    }
    // What it wrote over the user's changes, committed, removed, and wrote in bytes that are no text.
    std::fs::write(path.join("boil.txt"), "90\nmine\nhers\n").unwrap();
    let commit = ["-C", path.to_str().unwrap(), "commit", "-qam", "Hers"];
    workspace.git(&commit);
    std::fs::write(path.join("leaf.txt"), b"\xff mine\nhers\n").unwrap();
    std::fs::write(path.join("leaf.bin"), [0, 1, 255]).unwrap();
    std::fs::remove_file(path.join("old.txt")).unwrap();
    // Git warns of such a file when it is added.
    workspace.git(&["config", "core.autocrlf", "input"]);
    std::fs::write(path.join("crlf.txt"), "a\r\n").unwrap();
    assert_eq!(own(), before, "the folder is left alone until then");

    server.kill().await;
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let take = json!({ "threadId": second });
    assert_eq!(
        client.call("worktree/apply", take.clone()).await,
        json!({ "files": 6 })
    );
    let read = |name: &str| std::fs::read(workspace.path().join(name)).unwrap();
    assert_eq!(read("boil.txt"), b"90\nmine\nhers\n");
    assert_eq!(read("leaf.txt"), b"\xff mine\nhers\n");
    assert_eq!(read("leaf.bin"), [0, 1, 255]);
    assert_eq!(read("new.txt"), b"green\n");
    assert!(!workspace.path().join("old.txt").exists());

    // A second time, or what clashes with it, changes nothing.
    let taken = own();
    for thread in [&second, &first] {
        let take = json!({ "threadId": thread });
        let refused = client.answer_to("worktree/apply", take).await;
        assert!(
            refused["error"]["data"]["detail"]
                .as_str()
                .unwrap()
                .contains("new.txt"),
            "{refused}"
        );
        assert_eq!(own(), taken);
    }
    let others = json!({ "threadId": first, "force": true });
    client.call("worktree/remove", others).await;
}

#[tokio::test]
async fn a_deleted_thread_leaves_its_worktree() {
    let workspace = repository();
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let (thread, path) = made(&mut client, &json!({})).await;
    client.call("thread/delete", json!({ "threadId": thread })).await;
    assert!(path.join("boil.txt").exists());
    let listed = client.call("worktree/list", json!({})).await;
    assert_eq!(listed["data"], json!([]));
    let listed = client
        .call("worktree/list", json!({ "includeOrphans": true }))
        .await;
    assert_eq!(listed["data"][0]["threadId"], thread.as_str(), "{listed}");
    let other = json!({ "identity": { "channelName": "other", "userId": "u" } });
    let (second, _) = made(&mut client, &json!({})).await;
    assert_eq!(client.call("worktree/list", other).await["data"], json!([]));
    let own = json!({ "identity": { "channelName": "test", "userId": "u" } });
    assert_eq!(
        client.call("worktree/list", own).await["data"][0]["threadId"],
        second.as_str()
    );
    client
        .call("worktree/remove", json!({ "threadId": thread }))
        .await;
    assert!(!path.exists());
    // A worktree that the user has removed is forgotten, too.
    let gone = status(&mut client, &second).await;
    std::fs::remove_dir_all(gone["path"].as_str().unwrap()).unwrap();
    let gone = status(&mut client, &second).await;
    assert_eq!(
        (&gone["exists"], &gone["isGitWorktree"]),
        (&json!(false), &json!(false))
    );
    client
        .call("worktree/remove", json!({ "threadId": second }))
        .await;
    let missing = client
        .error("worktree/status", json!({ "threadId": second }))
        .await;
    assert_eq!(missing["code"], -32602);
    assert_eq!(workspace.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(workspace.git(&["branch", "--format=%(refname:short)"]), "main");
}

#[tokio::test]
async fn a_worktree_without_a_thread_is_removed_again() {
    let workspace = repository();
    workspace.git(&["branch", "green"]);
    write(&workspace, "boil.txt", "91\n");
    workspace.git(&["commit", "-qam", "Hotter"]);
    write(&workspace, "boil.txt", "92\n");
    let server = workspace.web_socket();
    let mut client = server.client("ada").await;
    let before = files(workspace.path());
    for (more, code) in [
        // The uncommitted change is of another version of the file.
        (json!({ "baseRef": "green" }), -32600),
        (json!({ "baseRef": "nowhere" }), -32602),
        (json!({ "baseRef": "--help" }), -32602),
        (json!({ "branchName": "green" }), -32602),
        (json!({ "branchName": "-x" }), -32602),
        (json!({ "branchName": "@{-1}" }), -32602),
        (json!({ "branchName": "a..b" }), -32602),
        (json!({ "path": "/tmp/x" }), -32602),
        (json!({ "config": { "workspaceOverride": "/tmp" } }), -32602),
    ] {
        let refused = client.error("worktree/createAndStart", start(&more)).await;
        assert_eq!(refused["code"], code, "{more}: {refused}");
    }
    // The worktree is made, and then its Thread cannot be.
    let thread = client.start_thread().await;
    let fork =
        json!({ "sourceThreadId": thread, "forkPoint": { "turnId": "turn_099" }, "copyDirtyChanges": false });
    let refused = client.error("worktree/createAndFork", fork).await;
    assert_eq!(refused["code"], -32013, "{refused}");
    let listed = client
        .call("worktree/list", json!({ "includeOrphans": true }))
        .await;
    assert_eq!(listed["data"], json!([]));
    assert_eq!(workspace.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(
        workspace.git(&["branch", "--format=%(refname:short)"]),
        "green\nmain"
    );
    assert_eq!(files(workspace.path()), before);
    let (_, path) = made(
        &mut client,
        &json!({ "baseRef": "green", "copyDirtyChanges": false }),
    )
    .await;
    assert_eq!(std::fs::read_to_string(path.join("boil.txt")).unwrap(), "90\n");
}

#[tokio::test]
async fn the_folder_of_the_workspace_can_lie_deep_in_its_repository() {
    let workspace = repository();
    let inner = Workspace::new();
    let folder = inner.path().join("leaf");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.txt"), "a\n").unwrap();
    inner.git(&["init", "-q", "-b", "main"]);
    inner.git(&["add", "."]);
    inner.git(&["commit", "-qm", "Leaf"]);
    std::fs::write(folder.join("b.txt"), "b\n").unwrap();
    drop(workspace);
    let mut command = inner.bobbin(&[
        "app-server",
        "--workspace",
        folder.to_str().unwrap(),
        "--listen",
        ALONE,
    ]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let link = Link::lines(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let mut client = Client::ready(link, "ada", rich()).await;
    let (thread, path) = made(&mut client, &json!({})).await;
    assert_eq!(std::fs::read_to_string(path.join("leaf/b.txt")).unwrap(), "b\n");
    run(
        &mut client,
        &thread,
        "run `echo c > c.txt; git add -A; git -c user.name=a -c user.email=a@b commit -qm C`",
    )
    .await;
    assert!(path.join("leaf/c.txt").exists() && !folder.join("c.txt").exists());
    assert_eq!(status(&mut client, &thread).await["aheadCount"], 1);
}

#[tokio::test]
async fn without_a_repository_there_are_no_worktrees() {
    let has = async |workspace: &Workspace| {
        let server = workspace.web_socket();
        let mut client = Client::new(Link::web_socket(&server.address().await).await);
        let params = json!({ "clientInfo": { "name": "ada", "version": "1" } });
        client.call("initialize", params).await["capabilities"]["gitWorktrees"].clone()
    };
    assert_eq!(has(&repository()).await, true);
    let plain = Workspace::new();
    assert_eq!(has(&plain).await, Value::Null);
    // A folder that says it is a worktree is none that the server makes worktrees of.
    write(&plain, ".git", "gitdir: /elsewhere\n");
    assert_eq!(has(&plain).await, Value::Null);
}
