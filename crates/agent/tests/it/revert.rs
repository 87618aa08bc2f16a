//! Turns undone: what is put back, what is refused, and what is left when the server is killed in between.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use bobbin_agent_api::undo::ChangedSince::{Overwrite, Refuse};
use bobbin_agent_api::undo::Undone;
use bobbin_core::CoreError;
use bobbin_model::{Event, ItemBody, Refusal, RevertAction, TurnDiff};
use bobbin_testkit::TestWorkspace;
use serde_json::{Value, json};

use crate::support::{Bench, Script, Scripted, Stuck, built_in, call, recorded, say};

/// A workspace, the place where its checkpoints are, and a Thread whose model makes these calls, a Turn each.
async fn bench(turns: Vec<Vec<(&str, Value)>>) -> (TestWorkspace, tempfile::TempDir, Bench) {
    let (workspace, place) = (TestWorkspace::default(), tempfile::tempdir().unwrap());
    let bench = Bench::open_kept(&workspace, &place.path().join("kept"), model(turns), built_in()).await;
    (workspace, place, bench)
}

fn model(turns: Vec<Vec<(&str, Value)>>) -> Arc<Scripted> {
    let mut script = Vec::new();
    for (turn, calls) in turns.into_iter().enumerate() {
        for (at, (tool, arguments)) in calls.into_iter().enumerate() {
            if tool == "WriteFile" {
                let path = json!({ "path": arguments["path"] });
                script.push(Script::Reply(call(
                    &format!("read_{turn}_{at}"),
                    "ReadFile",
                    &path,
                )));
            }
            script.push(Script::Reply(call(
                &format!("call_{turn}_{at}"),
                tool,
                &arguments,
            )));
        }
        script.push(say("Done."));
    }
    Scripted::new(script)
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("WriteFile", json!({ "path": path, "content": content }))
}

fn shell(command: &str) -> (&'static str, Value) {
    ("Exec", json!({ "command": command }))
}

/// Returns all files of a workspace with their contents, and its directories.
fn all(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_symlink() {
                found.push((name, format!("-> {}", fs::read_link(&path).unwrap().display())));
            } else if path.is_dir() {
                found.push((name, "/".to_owned()));
                open.push(path);
            } else {
                found.push((
                    name,
                    String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
                ));
            }
        }
    }
    found.sort();
    found
}

fn told(undone: &Undone) -> Vec<(&str, RevertAction)> {
    let files = undone.files.iter().map(|file| (file.path.as_str(), file.action));
    files.collect()
}

fn last_diff(frames: &[Arc<bobbin_core::Frame>]) -> TurnDiff {
    let diffs = frames.iter().rev().filter_map(|frame| match recorded(frame) {
        Some(Event::DiffUpdated { diff, .. }) => Some(diff.clone()),
        _ => None,
    });
    diffs.into_iter().next().expect("there was a diff")
}

#[tokio::test]
async fn what_a_turn_did_is_undone_file_by_file() {
    let (workspace, _place, bench) = bench(vec![vec![
        write("a.txt", "two\n"),
        write("new/deep/b.txt", "b\n"),
        shell("printf c > made.txt; rm gone.txt; printf x >> a.txt; chmod +x run.sh; ln -s a.txt link; mv old.md new.md"),
        write("made.txt", "c2\n"),
    ]])
    .await;
    let root = workspace.path();
    for (path, content) in [
        ("a.txt", "one\r\n"),
        ("gone.txt", "g"),
        ("run.sh", "r"),
        ("old.md", "m\0\u{fffd}"),
    ] {
        fs::write(root.join(path), content).unwrap();
    }
    fs::create_dir(root.join("empty")).unwrap();
    let before = all(root);
    std::thread::sleep(std::time::Duration::from_millis(50));
    let frames = bench.run("go").await;
    let diff = last_diff(&frames);
    let mut changed: Vec<_> = diff.files.iter().map(|file| file.path.as_str()).collect();
    changed.sort_unstable();
    for path in [
        "a.txt",
        "gone.txt",
        "link",
        "made.txt",
        "new.md",
        "new/deep/b.txt",
    ] {
        assert!(changed.contains(&path), "{path} is not in {changed:?}");
    }
    assert!(diff.diff.contains("+two"), "{}", diff.diff);

    let undone = bench.revert("turn_001", Refuse).await.unwrap();
    assert_eq!(all(root), before);
    assert_eq!(
        fs::metadata(root.join("run.sh")).unwrap().permissions().mode() & 0o111,
        0
    );
    let told = told(&undone);
    assert!(told.contains(&("a.txt", RevertAction::Restored)), "{told:?}");
    assert!(
        told.contains(&("new/deep/b.txt", RevertAction::Removed)),
        "{told:?}"
    );
    assert_eq!(undone.notes, Vec::<String>::new());
    // Once more changes nothing.
    assert_eq!(bench.revert("turn_001", Refuse).await.unwrap(), Undone::default());
}

#[tokio::test]
async fn files_changed_since_are_named_and_nothing_is_touched_unless_forced() {
    let (workspace, _place, bench) = bench(vec![
        vec![write("a", "1"), write("b", "1")],
        vec![write("a", "2")],
    ])
    .await;
    let root = workspace.path();
    fs::write(root.join("a"), "0").unwrap();
    bench.run("first").await;
    bench.run("second").await;
    let refused = bench.revert("turn_001", Refuse).await.unwrap_err();
    let CoreError::Refused(Refusal::FilesChanged { files, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(files, ["a"]);
    assert_eq!(fs::read_to_string(root.join("b")).unwrap(), "1");
    // The later Turn first, then the earlier one.
    bench.revert("turn_002", Refuse).await.unwrap();
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "1");
    fs::write(root.join("b"), "a person's").unwrap();
    assert!(bench.revert("turn_001", Refuse).await.is_err());
    let undone = bench.revert("turn_001", Overwrite).await.unwrap();
    assert_eq!(
        told(&undone),
        [("a", RevertAction::Restored), ("b", RevertAction::Removed)]
    );
    assert_eq!(all(root), [("a".to_owned(), "0".to_owned())]);
}

#[tokio::test]
async fn what_a_person_changed_between_two_calls_of_a_turn_is_not_lost() {
    let (workspace, _place, bench) = bench(vec![vec![
        write("a", "1"),
        // Stands for a person: it changes what it is not seen to change.
        shell("true"),
        write("a", "2"),
    ]])
    .await;
    let root = workspace.path().to_owned();
    let mut log = bench.start("go").await;
    log.end().await;
    fs::write(root.join("a"), "3").unwrap();
    assert!(bench.revert("turn_001", Refuse).await.is_err());
    assert_eq!(fs::read_to_string(root.join("a")).unwrap(), "3");
}

#[tokio::test]
async fn a_turn_that_is_not_there_or_runs_is_not_undone() {
    let (workspace, place) = (TestWorkspace::default(), tempfile::tempdir().unwrap());
    let model = Scripted::new([say("Nothing to do."), Script::Hang(vec![])]);
    let bench = Bench::open_kept(&workspace, &place.path().join("kept"), model, built_in()).await;
    bench.run("one").await;
    for turn in ["turn_002", "turn_000", "x"] {
        let refused = bench.revert(turn, Refuse).await.unwrap_err();
        assert!(
            matches!(refused, CoreError::Refused(Refusal::TurnNotFound(_))),
            "{refused:?}"
        );
    }
    let undone = bench.revert("turn_001", Refuse).await.unwrap();
    assert_eq!(
        undone.notes,
        ["No change of a file is recorded of this turn; changes are kept for 14 days."]
    );
    let _log = bench.start("hang").await;
    let refused = bench.revert("turn_001", Refuse).await.unwrap_err();
    assert!(
        matches!(refused, CoreError::Refused(Refusal::TurnInProgress { .. })),
        "{refused:?}"
    );
    bench.interrupt().await;
}

#[tokio::test]
async fn a_server_without_snapshots_says_so() {
    let workspace = TestWorkspace::default();
    let bench = Bench::open(&workspace, Scripted::new([say("Hello.")]), built_in()).await;
    bench.run("hi").await;
    let refused = bench.revert("turn_001", Refuse).await.unwrap_err();
    assert!(refused.to_string().contains("git"), "{refused}");
}

#[tokio::test]
async fn a_call_that_a_crash_interrupted_is_in_the_diff_and_undone() {
    let (workspace, place) = (TestWorkspace::default(), tempfile::tempdir().unwrap());
    let kept = place.path().join("kept");
    let stuck = Stuck::new();
    let runs = stuck.runs.clone();
    let tools = || bobbin_tools::ToolSet::new([Arc::new(Stuck::new()) as _]);
    let script = Scripted::new([Script::Reply(call("c1", "stuck", &json!({})))]);
    let first = bobbin_tools::ToolSet::new([Arc::new(stuck) as _]);
    let bench = Bench::open_kept(&workspace, &kept, script, first).await;
    fs::write(workspace.path().join("a"), "before").unwrap();
    let _log = bench.start("go").await;
    bench.until(|_| *runs.lock().unwrap() == 1).await;
    // The call is at work when the server is gone.
    fs::write(workspace.path().join("a"), "after").unwrap();
    let again = bench
        .reopen_kept(&workspace, &kept, Scripted::new([say("I see.")]), tools())
        .await;
    let frames = again.log().end().await;
    assert_eq!(last_diff(&frames).files[0].path, "a");
    again.revert("turn_001", Refuse).await.unwrap();
    assert_eq!(fs::read_to_string(workspace.path().join("a")).unwrap(), "before");
}

#[tokio::test]
async fn a_call_that_was_given_up_is_undone_too() {
    let (workspace, place) = (TestWorkspace::default(), tempfile::tempdir().unwrap());
    let stuck = Stuck::new();
    let runs = stuck.runs.clone();
    let script = Scripted::new([Script::Reply(call("c1", "stuck", &json!({})))]);
    let tools = bobbin_tools::ToolSet::new([Arc::new(stuck) as _]);
    let bench = Bench::open_kept(&workspace, &place.path().join("kept"), script, tools).await;
    let mut log = bench.start("go").await;
    bench.until(|_| *runs.lock().unwrap() == 1).await;
    fs::write(workspace.path().join("made"), "x").unwrap();
    bench.interrupt().await;
    log.end().await;
    let undone = bench.revert("turn_001", Refuse).await.unwrap();
    assert_eq!(told(&undone), [("made", RevertAction::Removed)], "{undone:?}");
}

#[tokio::test]
async fn nothing_of_the_users_git_is_used_or_touched() {
    let (workspace, place, bench) =
        bench(vec![vec![shell("printf 'b\\r\\n' > a.txt; printf s > sub/x")]]).await;
    let root = workspace.path();
    // A repository of the user's with all that could change contents or run something.
    fs::create_dir_all(root.join(".git/hooks")).unwrap();
    fs::create_dir_all(root.join("sub/.git")).unwrap();
    fs::write(root.join("sub/x"), "0").unwrap();
    let trap = format!("touch {}", place.path().join("sprung").display());
    let config =
        format!("[core]\n\tfsmonitor = {trap}\n[filter \"trap\"]\n\tclean = {trap}\n\tsmudge = {trap}\n");
    fs::write(root.join(".git/config"), &config).unwrap();
    fs::write(
        root.join(".gitattributes"),
        "* text=auto eol=lf filter=trap ident\n",
    )
    .unwrap();
    fs::write(root.join("a.txt"), "$Id$\r\n").unwrap();
    let before = all(root);
    bench.run("go").await;
    bench.revert("turn_001", Refuse).await.unwrap();
    assert_eq!(all(root), before);
    assert!(!place.path().join("sprung").exists());
}

#[tokio::test]
async fn two_turns_side_by_side_are_not_taken_for_one_another() {
    let (workspace, place) = (TestWorkspace::default(), tempfile::tempdir().unwrap());
    let kept = place.path().join("kept");
    let script = Scripted::new([
        Script::Reply(call(
            "c1",
            "Exec",
            &json!({ "command": "until test -e go; do sleep 0.01; done; echo 1 > mine" }),
        )),
        Script::Reply(call(
            "c2",
            "WriteFile",
            &json!({ "path": "theirs", "content": "2" }),
        )),
        say("Written."),
        say("Waited."),
    ]);
    let one = Bench::open_kept(&workspace, &kept, script, built_in()).await;
    let two = one.another().await;
    let mut waiting = one.start("wait").await;
    one.until(|now| {
        now.state
            .live
            .as_ref()
            .is_some_and(|live| live.started_calls.contains("c1"))
    })
    .await;
    // Its first snapshot is taken before its command runs.
    one.until_kept(&kept).await;
    two.run("write").await;
    fs::write(workspace.path().join("go"), "").unwrap();
    waiting.end().await;
    let undone = one.revert("turn_001", Refuse).await.unwrap();
    assert!(
        !told(&undone).iter().any(|(path, _)| *path == "theirs"),
        "{undone:?}"
    );
    assert_eq!(fs::read_to_string(workspace.path().join("theirs")).unwrap(), "2");
    assert!(!workspace.path().join("mine").exists());
    two.revert("turn_001", Refuse).await.unwrap();
    assert!(!workspace.path().join("theirs").exists());
}

#[tokio::test]
async fn a_workspace_too_large_to_be_kept_is_told_of_and_commands_run_all_the_same() {
    let (workspace, _place, bench) = bench(vec![vec![
        shell("echo x > made"),
        shell("echo y > made"),
        write("a", "1"),
    ]])
    .await;
    for n in 0..65 {
        let file = fs::File::create(workspace.path().join(format!("large{n}"))).unwrap();
        file.set_len(16 << 20).unwrap();
    }
    bench.run("go").await;
    let turn = bench.last_turn().await;
    let notices = turn.items.iter().filter_map(|item| match &item.body {
        ItemBody::Error { message, code, fatal } => {
            Some((code.as_str(), *fatal, message.contains("1024 MiB")))
        }
        _ => None,
    });
    assert_eq!(notices.collect::<Vec<_>>(), [("checkpoint_skipped", false, true)]);
    assert_eq!(fs::read_to_string(workspace.path().join("made")).unwrap(), "y\n");
    // What a file tool wrote is kept all the same.
    let undone = bench.revert("turn_001", Refuse).await.unwrap();
    assert_eq!(told(&undone), [("a", RevertAction::Removed)]);
    assert_eq!(undone.notes.len(), 1, "{undone:?}");
}

#[tokio::test]
async fn an_undoing_that_has_begun_goes_on_record_although_the_server_stops() {
    let files: Vec<_> = (0..200).map(|n| format!("*** Add File: {n:03}\n+x\n")).collect();
    let patch = format!("*** Begin Patch\n{}*** End Patch", files.concat());
    let (workspace, _place, bench) = bench(vec![vec![("ApplyPatch", json!({ "patch": patch }))]]).await;
    bench.run("go").await;
    let there = || {
        let names = (0..200).map(|n| workspace.path().join(format!("{n:03}")));
        names.filter(|path| path.exists()).count()
    };
    assert_eq!(there(), 200);
    let stopping = async {
        while there() == 200 {
            tokio::task::yield_now().await;
        }
        bench.threads.stop().await;
    };
    let (undone, ()) = tokio::join!(bench.revert("turn_001", Refuse), stopping);
    assert_eq!(undone.unwrap().files.len(), 200);
    assert_eq!(all(workspace.path()), []);
}
