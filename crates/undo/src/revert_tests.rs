//! Undos with concurrent changes: files that are swapped, saved, ignored, dropped or stopped meanwhile.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;

use bobbin_agent_api::SystemClock;
use bobbin_agent_api::undo::ChangedSince::{Overwrite, Refuse};
use bobbin_children::{Children, Environment};
use bobbin_model::{ThreadId, TurnId};

use super::*;

struct Bench {
    place: tempfile::TempDir,
    root: PathBuf,
    undo: Arc<FileUndo>,
}

async fn open(place: &Path, root: &Path, path: &str) -> Arc<FileUndo> {
    let mut environment = Environment::empty();
    environment.set("PATH", path);
    let children = Children::new(None);
    let clock = Arc::new(SystemClock);
    let kept = place.join("kept");
    let opened = FileUndo::open(&kept, root, children, &environment, clock);
    opened.await.unwrap()
}

impl Bench {
    async fn open() -> Self {
        Self::open_with("/usr/local/bin:/usr/bin:/bin").await
    }

    async fn open_with(path: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("work");
        fs::create_dir(&root).unwrap();
        let undo = open(place.path(), &root, path).await;
        Self { place, root, undo }
    }

    /// Opens the repository once more, as after a crash.
    async fn reopen(&mut self) {
        self.undo = open(self.place.path(), &self.root, "/usr/local/bin:/usr/bin:/bin").await;
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Makes a file that is too large to be recorded.
    fn large(&self, path: &str) -> fs::File {
        let file = fs::File::create(self.path(path)).unwrap();
        file.set_len(MAX_FILE_BYTES + 1).unwrap();
        file
    }

    fn turn(&self, turn: u32) -> RecordedTurn {
        RecordedTurn {
            thread: ThreadId::new("thread_1"),
            turn: TurnId(turn),
            root: self.root.clone(),
        }
    }

    /// Starts a command of a Turn.
    async fn command(&self, turn: u32) -> Box<dyn OpenCall> {
        let begun = self.undo.begin(self.turn(turn), Touches::Anything);
        begun.await.unwrap()
    }

    /// Starts a call of a file tool of a Turn.
    async fn tool(&self, turn: u32, paths: &[&str]) -> Box<dyn OpenCall> {
        let paths = paths.iter().map(|path| self.path(path)).collect();
        let begun = self.undo.begin(self.turn(turn), Touches::Files(paths));
        begun.await.unwrap()
    }

    fn request(&self, turn: u32, changed_since: ChangedSince) -> RevertRequest {
        RevertRequest {
            thread: ThreadId::new("thread_1"),
            turn: TurnId(turn),
            redo: false,
            root: self.root.clone(),
            changed_since,
        }
    }

    /// Makes the changes of a Turn again.
    async fn redo(&self, turn: u32) -> Result<Undone, UndoError> {
        let request = RevertRequest {
            redo: true,
            ..self.request(turn, ChangedSince::Refuse)
        };
        self.undo.revert(request, CancellationToken::new()).await
    }

    async fn revert(&self, turn: u32, changed_since: ChangedSince) -> Result<Undone, UndoError> {
        let request = self.request(turn, changed_since);
        self.undo.revert(request, CancellationToken::new()).await
    }

    /// Returns the files for which an undo needs force.
    async fn refused(&self, turn: u32) -> Vec<String> {
        match self.revert(turn, Refuse).await {
            Err(UndoError::Changed(files)) => files,
            other => panic!("{other:?}"),
        }
    }

    /// Plans an undo, and runs `happens` before the undo is carried out.
    async fn undo_after(&self, turn: u32, happens: impl FnOnce()) -> Result<(), String> {
        let until = Instant::now() + MAX_TIME;
        let plan = self.undo.plan(&self.request(turn, Refuse), until).await.unwrap();
        happens();
        plan.batch.apply(&self.undo.0.leftovers)
    }
}

fn files(undone: &Undone) -> Vec<&str> {
    undone.files.iter().map(|file| file.path.as_str()).collect()
}

#[tokio::test]
async fn a_directory_swapped_for_a_link_after_all_was_compared_leads_nowhere() {
    let bench = Bench::open().await;
    bench.write("deep/kept", "1");
    let begun = bench.tool(1, &["deep/kept", "deep/made"]).await;
    bench.write("deep/kept", "2");
    bench.write("deep/made", "2");
    begun.end().await;
    let outside = bench.place.path().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "2").unwrap();
    fs::write(outside.join("made"), "2").unwrap();
    let swap = || {
        fs::rename(bench.path("deep"), bench.path("away")).unwrap();
        symlink(&outside, bench.path("deep")).unwrap();
    };
    let error = bench.undo_after(1, swap).await.unwrap_err();
    assert!(error.contains("a link lies on the way"), "{error}");
    for name in ["kept", "made"] {
        assert_eq!(fs::read_to_string(outside.join(name)).unwrap(), "2");
        assert_eq!(bench.read(&format!("away/{name}")), "2");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
}

#[tokio::test]
async fn what_is_saved_after_all_was_compared_is_not_lost() {
    let bench = Bench::open().await;
    bench.write("kept", "1");
    let begun = bench.tool(1, &["a", "kept", "made"]).await;
    for path in ["a", "kept", "made"] {
        bench.write(path, "2");
    }
    begun.end().await;
    for path in ["kept", "made"] {
        let save = || bench.write(path, "somebody's");
        let error = bench.undo_after(1, save).await.unwrap_err();
        assert!(error.contains("changed meanwhile"), "{error}");
        assert_eq!(bench.read(path), "somebody's");
        assert_eq!(bench.read("a"), "2");
        bench.write(path, "2");
    }
    // A change of permissions alone counts too.
    let to_program = || {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bench.path("kept"), mode).unwrap();
    };
    assert!(bench.undo_after(1, to_program).await.is_err());
    assert_eq!(bench.read("kept"), "2");
}

#[tokio::test]
async fn what_was_undone_is_done_again_where_nobody_loses_anything() {
    let bench = Bench::open().await;
    bench.write("changed", "1");
    bench.write("gone/deep", "1");
    let begun = bench.command(1).await;
    bench.write("changed", "2");
    bench.write("made/deep", "2");
    fs::remove_dir_all(bench.path("gone")).unwrap();
    begun.end().await;
    assert_eq!(
        bench.redo(1).await.unwrap(),
        Undone::default(),
        "nothing was undone"
    );
    bench.revert(1, Refuse).await.unwrap();
    assert_eq!(bench.read("gone/deep"), "1");
    let redone = bench.redo(1).await.unwrap();
    assert_eq!(files(&redone), ["changed", "gone/deep", "made/deep"]);
    let actions: Vec<RevertAction> = redone.files.iter().map(|file| file.action).collect();
    let expected = [
        RevertAction::Restored,
        RevertAction::Removed,
        RevertAction::Restored,
    ];
    assert_eq!(actions, expected);
    assert_eq!(
        (bench.read("changed"), bench.read("made/deep")),
        ("2".into(), "2".into())
    );
    assert!(!bench.path("gone").exists());
    bench.revert(1, Refuse).await.unwrap();
    bench.write("changed", "somebody's");
    match bench.redo(1).await {
        Err(UndoError::Changed(files)) => assert_eq!(files, ["changed"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.read("gone/deep"), "1", "all or nothing");
}

#[tokio::test]
async fn what_a_command_did_is_undone_without_force() {
    let bench = Bench::open().await;
    for (path, content) in [
        ("changed", "1"),
        ("gone/deep/a", "1"),
        ("old", "moved"),
        ("run", "x"),
    ] {
        bench.write(path, content);
    }
    symlink("changed", bench.path("link")).unwrap();
    fs::create_dir(bench.path("empty")).unwrap();
    std::thread::sleep(2 * TICK);
    let begun = bench.command(1).await;
    bench.write("changed", "2");
    fs::remove_dir_all(bench.path("gone")).unwrap();
    fs::rename(bench.path("old"), bench.path("new")).unwrap();
    fs::set_permissions(bench.path("run"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(bench.path("link")).unwrap();
    symlink("new", bench.path("link")).unwrap();
    bench.write("made/deep/b", "2");
    bench.write("empty/c", "2");
    begun.end().await;
    let undone = bench.revert(1, Refuse).await.unwrap();
    assert_eq!(undone.notes, Vec::<String>::new());
    assert_eq!(bench.read("changed"), "1");
    assert_eq!(bench.read("gone/deep/a"), "1");
    assert_eq!(bench.read("old"), "moved");
    assert_eq!(fs::read_link(bench.path("link")).unwrap(), Path::new("changed"));
    assert_eq!(
        fs::metadata(bench.path("run")).unwrap().permissions().mode() & 0o111,
        0
    );
    assert!(!bench.path("new").exists() && !bench.path("made").exists());
    assert_eq!(fs::read_dir(bench.path("empty")).unwrap().count(), 0);
    // A second undo changes nothing.
    assert_eq!(bench.revert(1, Refuse).await.unwrap(), Undone::default());
}

#[tokio::test]
async fn a_file_saved_after_the_command_is_named_and_force_takes_it() {
    let bench = Bench::open().await;
    bench.write("saved", "1");
    bench.write("other", "1");
    let begun = bench.command(1).await;
    bench.write("saved", "2");
    bench.write("other", "2");
    begun.end().await;
    bench.write("saved", "the user's");
    assert_eq!(bench.refused(1).await, ["saved"]);
    assert_eq!(bench.read("other"), "2");
    assert_eq!(
        files(&bench.revert(1, Overwrite).await.unwrap()),
        ["other", "saved"]
    );
    assert_eq!(
        (bench.read("saved"), bench.read("other")),
        ("1".to_owned(), "1".to_owned())
    );
}

#[tokio::test]
async fn what_the_first_snapshot_had_left_out_is_not_removed() {
    let bench = Bench::open().await;
    bench.write(".gitignore", "secret.o\nout/\n");
    for path in ["secret.o", "out/deep/x"] {
        bench.write(path, "the user's");
    }
    let large = bench.large("large");
    std::thread::sleep(2 * TICK);
    let begun = bench.command(1).await;
    bench.write(".gitignore", "");
    bench.write("made", "the command's");
    large.set_len(3).unwrap();
    // Another file under the same name, no older than the command.
    fs::remove_file(bench.path("secret.o")).unwrap();
    bench.write("secret.o", "the command's");
    begun.end().await;
    let refused = bench.refused(1).await;
    assert!(refused.contains(&"secret.o".to_owned()), "{refused:?}");
    let undone = bench.revert(1, Overwrite).await.unwrap();
    assert_eq!(bench.read(".gitignore"), "secret.o\nout/\n");
    assert!(!bench.path("made").exists());
    assert_eq!(bench.read("out/deep/x"), "the user's");
    assert_eq!(bench.read("large"), "\0\0\0");
    let note = undone.notes.join(" ");
    assert!(note.contains("large, out/deep/x"), "{note}");
}

#[tokio::test]
async fn a_file_that_grew_too_large_is_put_back_with_force() {
    let bench = Bench::open().await;
    for path in ["grown", "other"] {
        bench.write(path, "before");
    }
    let begun = bench.command(1).await;
    drop(bench.large("grown"));
    bench.write("other", "after");
    begun.end().await;
    assert_eq!(bench.refused(1).await, ["grown"]);
    bench.revert(1, Overwrite).await.unwrap();
    for path in ["grown", "other"] {
        assert_eq!(bench.read(path), "before", "{path}");
    }
}

#[tokio::test]
async fn what_the_second_snapshot_leaves_out_is_not_taken_for_removed() {
    let bench = Bench::open().await;
    bench.write("out/changed", "1");
    bench.write("out/same", "1");
    let begun = bench.command(1).await;
    bench.write(".gitignore", "out/\n");
    bench.write("out/changed", "2");
    begun.end().await;
    assert_eq!(bench.refused(1).await, ["out/changed"]);
    let undone = bench.revert(1, Overwrite).await.unwrap();
    assert_eq!(files(&undone), [".gitignore", "out/changed"]);
    assert_eq!(bench.read("out/changed"), "1");
    assert_eq!(bench.read("out/same"), "1");
}

#[tokio::test]
async fn small_ignored_files_are_put_back_and_their_contents_are_in_no_diff() {
    let bench = Bench::open().await;
    bench.write(".gitignore", ".env\nlocal/\nout/\n");
    for path in [".env", "local/tea.db", "out/x", "plain"] {
        bench.write(path, "1");
    }
    let begun = bench.command(1).await;
    for path in [".env", "out/x", "plain"] {
        bench.write(path, "2");
    }
    fs::remove_dir_all(bench.path("local")).unwrap();
    let changes = begun.end().await;
    let names = |paths: Vec<&PathBuf>| -> Vec<String> {
        let names = paths.into_iter().map(|path| shown(&bench.root, path));
        names.collect()
    };
    let changed = changes.changed.iter().map(|file| &file.path).collect();
    assert_eq!(names(changed), ["plain"]);
    let unshown = changes.unshown.iter().map(|(path, _)| path).collect();
    assert_eq!(names(unshown), [".env", "local/tea.db"]);
    let undone = bench.revert(1, Refuse).await.unwrap();
    assert_eq!(files(&undone), [".env", "local/tea.db", "plain"]);
    assert_eq!(
        (bench.read(".env"), bench.read("local/tea.db")),
        ("1".into(), "1".into())
    );
    assert_eq!(bench.read("out/x"), "2");
}

#[tokio::test]
async fn a_command_in_a_small_workspace_costs_no_run_of_git() {
    let git = tempfile::tempdir().unwrap();
    // The file shows that the program was run.
    let runs = git.path().join("runs");
    let script = format!(
        "#!/bin/sh\necho run >> {}\nPATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n",
        runs.display()
    );
    fs::write(git.path().join("git"), script).unwrap();
    fs::set_permissions(git.path().join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let bench = Bench::open_with(&format!("{}:/usr/bin:/bin", git.path().display())).await;
    bench.write("a", "1");
    let count = || fs::read_to_string(&runs).unwrap_or_default().lines().count();
    bench.command(1).await.end().await;
    let begun = bench.command(1).await;
    bench.write("a", "2");
    let changes = begun.end().await;
    assert_eq!(changes.changed.len(), 1);
    assert_eq!(changes.changed[0].before.as_deref(), Some(b"1".as_slice()));
    assert_eq!(count(), 0);
    assert_eq!(files(&bench.revert(1, Refuse).await.unwrap()), ["a"]);
    assert_eq!(bench.read("a"), "1");
    // Calls without changes leave no record.
    assert_eq!(
        bench
            .undo
            .0
            .steps()
            .await
            .unwrap()
            .iter()
            .filter(|step| step.turn.contains("t-"))
            .count(),
        1
    );
}

#[tokio::test]
async fn a_command_whose_end_is_not_seen_is_unknown_and_takes_in_nothing_later() {
    let bench = Bench::open().await;
    bench.write("a", "1");
    let begun = bench.command(1).await;
    // Too many bytes for a snapshot at the command's end, but not at the undo.
    let large: Vec<String> = (0..65).map(|n| format!("large{n}")).collect();
    for name in &large {
        bench.large(name).set_len(MAX_FILE_BYTES).unwrap();
    }
    begun.end().await;
    for name in &large {
        fs::remove_file(bench.path(name)).unwrap();
    }
    bench.write("a", "the user's");
    bench.write("b", "the user's");
    let undone = bench.revert(1, Overwrite).await.unwrap();
    assert_eq!(files(&undone), Vec::<&str>::new());
    assert!(undone.notes[0].contains("1024 MiB"), "{:?}", undone.notes);
    assert_eq!(
        (bench.read("a"), bench.read("b")),
        ("the user's".to_owned(), "the user's".to_owned())
    );
}

#[tokio::test]
async fn a_command_that_a_crash_interrupted_is_unknown_unless_its_turn_is_taken_up() {
    let mut bench = Bench::open().await;
    bench.write("a", "1");
    for turn in [1, 2] {
        // Its end is never recorded.
        std::mem::forget(bench.command(turn).await);
        std::mem::forget(bench.tool(turn + 2, &["tool"]).await);
    }
    bench.write("tool", "2");
    bench.reopen().await;
    bench.write("a", "2");
    let found = bench.undo.resume(bench.turn(2)).await;
    assert_eq!(found.changed.len(), 2);
    bench.undo.resume(bench.turn(4)).await;
    bench.write("later", "the user's");
    let undone = bench.revert(1, Overwrite).await.unwrap();
    assert_eq!(files(&undone), Vec::<&str>::new());
    assert!(
        undone.notes[0].contains("the server ended while it ran"),
        "{:?}",
        undone.notes
    );
    assert_eq!(bench.read("a"), "2");
    // The tool's file belongs to the other Turn.
    let undone = bench.revert(2, Refuse).await.unwrap();
    assert_eq!(files(&undone), ["a"]);
    assert!(undone.notes[0].contains("tool"), "{:?}", undone.notes);
    assert_eq!(
        (bench.read("a"), bench.read("later")),
        ("1".to_owned(), "the user's".to_owned())
    );
    assert_eq!(files(&bench.revert(4, Refuse).await.unwrap()), ["tool"]);
    // The earlier content is known, but the present one may not be the tool's.
    bench.write("tool", "3");
    assert_eq!(bench.refused(3).await, ["tool"]);
    assert_eq!(files(&bench.revert(3, Overwrite).await.unwrap()), ["tool"]);
}

#[tokio::test]
async fn what_another_turn_is_just_writing_is_left_to_it() {
    let bench = Bench::open().await;
    bench.write("late", "1");
    let early = bench.tool(2, &["early"]).await;
    let command = bench.command(1).await;
    let late = bench.tool(3, &["late"]).await;
    for path in ["early", "late", "mine"] {
        bench.write(path, "2");
    }
    // Before their tools report the end.
    command.end().await;
    early.end().await;
    late.end().await;
    let undone = bench.revert(1, Refuse).await.unwrap();
    assert_eq!(files(&undone), ["mine"]);
    assert!(undone.notes[0].contains("early, late"), "{:?}", undone.notes);
    assert_eq!(files(&bench.revert(2, Refuse).await.unwrap()), ["early"]);
    assert_eq!(files(&bench.revert(3, Refuse).await.unwrap()), ["late"]);
    assert_eq!(bench.read("late"), "1");
}

#[tokio::test]
async fn what_an_undo_puts_back_while_a_command_runs_is_not_the_commands() {
    let bench = Bench::open().await;
    bench.write("a", "1");
    let tool = bench.tool(1, &["a"]).await;
    bench.write("a", "2");
    tool.end().await;
    // The file system's clock has ticks: a file changed now may change again with the same time.
    tokio::time::sleep(Duration::from_millis(80)).await;
    let command = bench.command(2).await;
    bench.write("mine", "2");
    bench.revert(1, Refuse).await.unwrap();
    bench.undo.0.closing.wait().await;
    command.end().await;
    assert_eq!(files(&bench.revert(2, Refuse).await.unwrap()), ["mine"]);
    assert_eq!(bench.read("a"), "1");
}

#[tokio::test]
async fn two_commands_at_once_need_force_for_what_may_be_eithers() {
    let bench = Bench::open().await;
    let one = bench.command(1).await;
    let two = bench.command(2).await;
    bench.write("a", "1");
    one.end().await;
    bench.write("b", "2");
    two.end().await;
    assert_eq!(bench.refused(1).await, ["a"]);
    assert_eq!(bench.refused(2).await, ["a"]);
    assert_eq!(files(&bench.revert(2, Overwrite).await.unwrap()), ["a", "b"]);
}

#[tokio::test]
async fn an_undo_waits_for_the_snapshot_after_a_call_that_was_dropped() {
    let bench = Bench::open().await;
    let begun = bench.command(1).await;
    bench.write("made", "x");
    drop(begun);
    assert_eq!(files(&bench.revert(1, Refuse).await.unwrap()), ["made"]);
    assert!(!bench.path("made").exists());
}

#[tokio::test]
async fn an_undo_stops_before_the_first_file_is_touched_and_not_after_it() {
    let bench = Bench::open().await;
    let names: Vec<String> = (0..300).map(|n| format!("{n:03}")).collect();
    let paths: Vec<&str> = names.iter().map(String::as_str).collect();
    let begun = bench.tool(1, &paths).await;
    for path in &paths {
        bench.write(path, "2");
    }
    begun.end().await;
    let stop = CancellationToken::new();
    stop.cancel();
    let stopped = bench.undo.revert(bench.request(1, Refuse), stop).await;
    assert_eq!(stopped, Err(UndoError::Stopped));
    assert!(paths.iter().all(|path| bench.path(path).exists()));

    let stop = CancellationToken::new();
    let (undo, request, token) = (bench.undo.clone(), bench.request(1, Refuse), stop.clone());
    let undoing = tokio::spawn(async move { undo.revert(request, token).await });
    while paths.iter().all(|path| bench.path(path).exists()) {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    assert_eq!(undoing.await.unwrap().unwrap().files.len(), 300);
    assert!(!paths.iter().any(|path| bench.path(path).exists()));
}

#[tokio::test]
async fn a_server_that_starts_removes_what_a_killed_one_left() {
    let mut bench = Bench::open().await;
    let ours = format!(".bobbin-{}", "0".repeat(32));
    bench.write(&ours, "half");
    bench.write(".bobbin-other", "somebody's");
    let mut note = bench.path(&ours).into_os_string().into_encoded_bytes();
    note.push(0);
    fs::write(bench.undo.notes().join("note"), note).unwrap();
    let kept = bench.place.path().join("kept");
    fs::write(kept.join("half-0123"), "half").unwrap();
    fs::write(kept.join("index-0.lock"), "").unwrap();
    bench.reopen().await;
    assert!(!bench.path(&ours).exists());
    assert_eq!(bench.read(".bobbin-other"), "somebody's");
    assert!(!kept.join("half-0123").exists() && !kept.join("index-0.lock").exists());
}

#[tokio::test]
async fn a_killed_run_of_git_and_a_lost_object_are_got_over() {
    let bench = Bench::open().await;
    bench.write("a", "1");
    bench.command(1).await.end().await;
    let kept = bench.place.path().join("kept");
    for entry in fs::read_dir(&kept).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("index-") {
            fs::write(kept.join(format!("{name}.lock")), "").unwrap();
        }
    }
    fs::remove_dir_all(kept.join("objects")).unwrap();
    fs::create_dir(kept.join("objects")).unwrap();
    bench.write("b", "1");
    let begun = bench.command(2).await;
    bench.write("b", "2");
    begun.end().await;
    assert_eq!(files(&bench.revert(2, Refuse).await.unwrap()), ["b"]);
    assert_eq!(bench.read("b"), "1");
}

#[tokio::test]
async fn many_new_files_are_in_one_pack_and_their_contents_stay_as_they_are() {
    let bench = Bench::open().await;
    bench.write(".gitattributes", "* text=auto eol=lf ident\n");
    for n in 0..700 {
        bench.write(&format!("{}/{n}", n % 7), &format!("$Id$ {n}\r\n"));
    }
    let begun = bench.command(1).await;
    for n in 0..700 {
        bench.write(&format!("{}/{n}", n % 7), "");
    }
    begun.end().await;
    assert_eq!(bench.revert(1, Refuse).await.unwrap().files.len(), 700);
    assert_eq!(bench.read("3/3"), "$Id$ 3\r\n");
}

#[tokio::test]
async fn the_next_server_copies_only_what_has_changed_since() {
    let mut bench = Bench::open().await;
    for n in 0..700 {
        bench.write(&format!("{}/{n}", n % 7), &n.to_string());
    }
    // Old enough, so that another change has another time.
    tokio::time::sleep(Duration::from_millis(80)).await;
    bench.command(1).await.end().await;
    bench.write("3/3", "changed in between");
    fs::remove_file(bench.path("4/4")).unwrap();
    bench.reopen().await;
    let begun = bench.command(2).await;
    bench.write("3/3", "by the command");
    bench.write("5/5", "too");
    begun.end().await;
    let packs = || fs::read_dir(bench.place.path().join("kept/objects/pack")).unwrap();
    assert_eq!(packs().count(), 2, "one pack with its index");
    assert_eq!(files(&bench.revert(2, Refuse).await.unwrap()), ["3/3", "5/5"]);
    assert_eq!(
        (bench.read("3/3"), bench.read("5/5")),
        ("changed in between".to_owned(), "5".to_owned())
    );
    // An index that names another tree than its ref does not count.
    let kept = bench.place.path().join("kept");
    fs::remove_dir_all(kept.join("refs/indexes")).unwrap();
    bench.reopen().await;
    let begun = bench.command(3).await;
    bench.write("6/6", "new");
    begun.end().await;
    assert_eq!(bench.revert(3, Refuse).await.unwrap().files.len(), 1);
    assert_eq!(bench.read("6/6"), "6");
}

#[tokio::test]
async fn only_the_first_turn_takes_a_snapshot_ahead_of_its_commands() {
    let bench = Bench::open().await;
    bench.write("a", "1");
    let tasks = || bench.undo.0.tasks.len();
    let idle = tasks();
    bench.undo.prepare(&bench.root);
    assert_eq!(tasks(), idle + 1);
    bench.command(1).await.end().await;
    assert_eq!(tasks(), idle);
    bench.undo.prepare(&bench.root);
    assert_eq!(tasks(), idle);
}

#[tokio::test]
async fn turns_are_removed_whole_the_oldest_first() {
    let bench = Bench::open().await;
    for turn in [1, 2] {
        for path in ["a", "b"] {
            let begun = bench.tool(turn, &[path]).await;
            bench.write(path, &turn.to_string());
            begun.end().await;
        }
    }
    let week = Duration::from_hours(7 * 24);
    bench.undo.0.tidy(week, 3, u64::MAX).await.unwrap();
    let undone = bench.revert(1, Refuse).await.unwrap();
    assert!(
        undone.files.is_empty() && undone.notes[0].contains("14 days"),
        "{undone:?}"
    );
    assert_eq!(bench.revert(2, Refuse).await.unwrap().files.len(), 2);
    assert_eq!(
        (bench.read("a"), bench.read("b")),
        ("1".to_owned(), "1".to_owned())
    );
    bench.undo.0.tidy(Duration::ZERO, 3, u64::MAX).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    bench.undo.0.tidy(Duration::ZERO, 3, u64::MAX).await.unwrap();
    assert!(bench.undo.0.steps().await.unwrap().is_empty());
    bench.undo.end().await;
}
