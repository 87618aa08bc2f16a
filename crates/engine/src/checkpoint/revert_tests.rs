//! Undoings beside other things that go on: what is swapped, saved, left out, given up or stopped meanwhile.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;

use bobbin_children::{Children, Environment};
use bobbin_core::tool::Touches;
use bobbin_core::undo::ChangedSince::{Overwrite, Refuse};
use bobbin_model::{ThreadId, TurnId};

use super::*;
use crate::checkpoint::keeper::{Begun, TurnKeeper};
use crate::tools::testing::Workspace;

struct Bench {
    workspace: Workspace,
    checkpoints: Arc<Checkpoints>,
}

impl Bench {
    async fn open() -> Self {
        let workspace = Workspace::new();
        let checkpoints = Self::checkpoints(&workspace).await;
        Self {
            workspace,
            checkpoints,
        }
    }

    async fn checkpoints(workspace: &Workspace) -> Arc<Checkpoints> {
        Self::checkpoints_with(workspace, "/usr/local/bin:/usr/bin:/bin").await
    }

    async fn checkpoints_with(workspace: &Workspace, path: &str) -> Arc<Checkpoints> {
        let mut environment = Environment::empty();
        environment.set("PATH", path);
        let children = Children::new(None).unwrap();
        let directory = workspace.outside().join("kept");
        Checkpoints::open(&directory, workspace.root(), children, &environment)
            .await
            .unwrap()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.workspace.root().join(path)
    }

    fn keeper(&self, turn: u32) -> TurnKeeper {
        let whose = (ThreadId::new("thread_1"), TurnId(turn));
        TurnKeeper::of(&self.checkpoints, whose, self.workspace.root().to_owned())
    }

    /// Begins a call of which it is recorded that it begins.
    async fn begin(&self, turn: u32, touches: Touches) -> Begun {
        let intent = std::future::ready(Ok::<_, std::convert::Infallible>(()));
        let begun = self.keeper(turn).begin("call", touches, intent).await;
        begun.unwrap_or_else(|never| match never {})
    }

    /// Begins a command of a Turn.
    async fn command(&self, turn: u32) -> Begun {
        let begun = self.begin(turn, Touches::Anything).await;
        assert_eq!(begun.notice, None);
        begun
    }

    /// Begins a call of a file tool of a Turn.
    async fn tool(&self, turn: u32, paths: &[&str]) -> Begun {
        let paths = paths.iter().map(|path| self.path(path)).collect();
        self.begin(turn, Touches::Files(paths)).await
    }

    fn wish(&self, turn: u32, changed_since: ChangedSince) -> RevertWish {
        RevertWish {
            thread: ThreadId::new("thread_1"),
            turn: TurnId(turn),
            root: self.workspace.root().to_owned(),
            changed_since,
        }
    }

    async fn revert(&self, turn: u32, changed_since: ChangedSince) -> Result<Undone, UndoError> {
        let wish = self.wish(turn, changed_since);
        self.checkpoints.revert(wish, CancellationToken::new()).await
    }

    /// Finds out what an undoing is to do, and lets something happen before it is done.
    async fn undo_after(&self, turn: u32, happens: impl FnOnce()) -> Result<(), String> {
        let patience = Patience::new(MAX_TIME, CancellationToken::new());
        let wish = self.wish(turn, Refuse);
        let steps = self.checkpoints.ledger(&wish).await.unwrap();
        let plan = self.checkpoints.plan(&wish, &steps, &patience).await.unwrap();
        happens();
        plan.batch.apply_patiently(&self.checkpoints.leftovers, &patience)
    }
}

fn files(undone: &Undone) -> Vec<&str> {
    undone.files.iter().map(|file| file.path.as_str()).collect()
}

#[tokio::test]
async fn a_directory_swapped_for_a_link_after_all_was_compared_leads_nowhere() {
    let bench = Bench::open().await;
    bench.workspace.write("deep/kept", "1");
    let begun = bench.tool(1, &["deep/kept", "deep/made"]).await;
    bench.workspace.write("deep/kept", "2");
    bench.workspace.write("deep/made", "2");
    begun.end().await;
    let outside = bench.workspace.outside().join("elsewhere");
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
        assert_eq!(bench.workspace.read(&format!("away/{name}")), "2");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 2);
}

#[tokio::test]
async fn what_is_saved_after_all_was_compared_is_not_lost() {
    let bench = Bench::open().await;
    bench.workspace.write("kept", "1");
    let begun = bench.tool(1, &["a", "kept", "made"]).await;
    for path in ["a", "kept", "made"] {
        bench.workspace.write(path, "2");
    }
    begun.end().await;
    for path in ["kept", "made"] {
        let save = || bench.workspace.write(path, "somebody's");
        let error = bench.undo_after(1, save).await.unwrap_err();
        assert!(error.contains("changed meanwhile"), "{error}");
        assert_eq!(bench.workspace.read(path), "somebody's");
        assert_eq!(bench.workspace.read("a"), "2");
        bench.workspace.write(path, "2");
    }
    // Also one that has only become a program.
    let to_program = || {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bench.path("kept"), mode).unwrap();
    };
    assert!(bench.undo_after(1, to_program).await.is_err());
    assert_eq!(bench.workspace.read("kept"), "2");
}

#[tokio::test]
async fn what_the_first_look_had_left_out_is_never_removed() {
    let bench = Bench::open().await;
    let workspace = &bench.workspace;
    workspace.write(".gitignore", "secret\nout/\nmoved\n");
    for path in ["secret", "out/deep/x", "moved"] {
        workspace.write(path, "a person's");
    }
    let large = fs::File::create(bench.path("large")).unwrap();
    large.set_len(super::super::survey::MAX_FILE_BYTES + 1).unwrap();
    let begun = bench.command(1).await;
    workspace.write(".gitignore", "");
    workspace.write("made", "the command's");
    large.set_len(3).unwrap();
    // Another file under the same name, no older than the command.
    fs::remove_file(bench.path("secret")).unwrap();
    workspace.write("secret", "the command's");
    fs::rename(bench.path("moved"), bench.path("elsewhere")).unwrap();
    let old = fs::metadata(bench.path("elsewhere")).unwrap().created().is_ok();
    begun.end().await;
    let undone = bench.revert(1, Overwrite).await.unwrap();
    assert_eq!(workspace.read(".gitignore"), "secret\nout/\nmoved\n");
    assert!(!bench.path("made").exists());
    assert_eq!(workspace.read("secret"), "the command's");
    assert_eq!(workspace.read("out/deep/x"), "a person's");
    assert_eq!(workspace.read("large"), "\0\0\0");
    let note = undone.notes.join(" ");
    for path in ["large", "out/deep/x", "secret"] {
        assert!(note.contains(path), "{note}");
    }
    // Where the file system says how old a file is.
    if old {
        assert_eq!(workspace.read("elsewhere"), "a person's");
        assert_eq!(files(&undone), [".gitignore", "made"]);
    }
}

#[tokio::test]
async fn a_file_that_grew_too_large_is_put_back_with_the_rest() {
    let bench = Bench::open().await;
    let workspace = &bench.workspace;
    for path in ["grown", "other"] {
        workspace.write(path, "before");
    }
    let begun = bench.command(1).await;
    let grown = fs::File::create(bench.path("grown")).unwrap();
    grown.set_len(super::super::survey::MAX_FILE_BYTES + 1).unwrap();
    workspace.write("other", "after");
    begun.end().await;
    assert!(matches!(
        bench.revert(1, Refuse).await,
        Err(UndoError::Changed(_))
    ));
    bench.revert(1, Overwrite).await.unwrap();
    for path in ["grown", "other"] {
        assert_eq!(workspace.read(path), "before", "{path}");
    }
}

#[tokio::test]
async fn what_the_second_look_leaves_out_is_not_taken_for_removed() {
    let bench = Bench::open().await;
    let workspace = &bench.workspace;
    workspace.write("changed", "1");
    workspace.write("same", "1");
    let begun = bench.command(1).await;
    workspace.write(".gitignore", "changed\nsame\n");
    workspace.write("changed", "2");
    begun.end().await;
    let undone = bench.revert(1, Overwrite).await.unwrap();
    assert_eq!(files(&undone), [".gitignore", "changed"]);
    assert_eq!(workspace.read("changed"), "1");
    assert_eq!(workspace.read("same"), "1");
}

#[tokio::test]
async fn a_command_that_changes_nothing_costs_no_run_of_git_once_the_workspace_is_known() {
    let workspace = Workspace::new();
    workspace.write("a", "1");
    // Notes that it was run.
    let git = workspace.outside().join("git");
    fs::create_dir(&git).unwrap();
    let runs = git.join("runs");
    let script = format!(
        "#!/bin/sh\necho run >> {}\nPATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n",
        runs.display()
    );
    fs::write(git.join("git"), script).unwrap();
    fs::set_permissions(git.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let bench = Bench {
        checkpoints: Bench::checkpoints_with(&workspace, &format!("{}:/usr/bin:/bin", git.display())).await,
        workspace,
    };
    let count = || fs::read_to_string(&runs).unwrap().lines().count();
    // What was changed a moment ago is looked at again.
    while {
        let before = count();
        bench.command(1).await.end().await;
        count() > before
    } {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let before = count();
    let begun = bench.command(1).await;
    assert_eq!(count(), before);
    bench.workspace.write("a", "2");
    assert_eq!(begun.end().await.changed.len(), 1);
    assert_eq!(files(&bench.revert(1, Overwrite).await.unwrap()), ["a"]);
    assert_eq!(bench.workspace.read("a"), "1");
    assert!(bench.checkpoints.open_looks.names("refs/").unwrap().is_empty());
}

#[tokio::test]
async fn nothing_is_written_down_of_a_call_of_which_it_is_not_recorded_that_it_begins() {
    let bench = Bench::open().await;
    bench.workspace.write("file", "1");
    let noted = || bench.checkpoints.open_looks.names("").unwrap().len();
    for touches in [Touches::Anything, Touches::Files(vec![bench.path("file")])] {
        let (keeper, (record, recorded)) = (bench.keeper(1), tokio::sync::oneshot::channel::<()>());
        let begun = keeper.begin("call", touches, async { recorded.await.map_err(|_| "gone") });
        let refused = async {
            // Until there is nothing to look at any more: one look at a time.
            let looked = bench.checkpoints.one.acquire().await;
            assert_eq!(noted(), 0);
            drop((looked, record));
        };
        let (begun, ()) = tokio::join!(begun, refused);
        assert_eq!(begun.unwrap_err(), "gone");
        assert_eq!(noted(), 0);
    }
    let steps = bench
        .checkpoints
        .steps(&ThreadId::new("thread_1"), TurnId(1))
        .await;
    assert_eq!(steps.unwrap().len(), 0);
    bench.checkpoints.end().await;
    assert!(bench.checkpoints.windows.are_closed());
}

#[tokio::test]
async fn what_a_call_that_is_not_recorded_was_to_write_may_be_another_calls() {
    let bench = Bench::open().await;
    let command = bench.command(1).await;
    let touches = Touches::Files(vec![bench.path("file")]);
    let keeper = bench.keeper(2);
    let begun = keeper.begin("call", touches, std::future::ready(Err("gone")));
    assert_eq!(begun.await.unwrap_err(), "gone");
    bench.workspace.write("file", "2");
    command.end().await;
    assert_eq!(files(&bench.revert(1, Overwrite).await.unwrap()), ["file"]);
}

#[tokio::test]
async fn the_time_until_a_call_is_recorded_is_not_that_of_its_checkpoint() {
    let bench = Bench::open().await;
    bench.workspace.write("file", "1");
    let intent = async {
        tokio::time::pause();
        tokio::time::sleep(MAX_TIME * 100).await;
        tokio::time::resume();
        Ok::<_, std::convert::Infallible>(())
    };
    let touches = Touches::Files(vec![bench.path("file")]);
    let begun = bench.keeper(1).begin("call", touches, intent).await;
    let begun = begun.unwrap_or_else(|never| match never {});
    assert_eq!(begun.notice, None);
    bench.workspace.write("file", "2");
    begun.end().await;
    assert_eq!(files(&bench.revert(1, Refuse).await.unwrap()), ["file"]);
}

#[tokio::test]
async fn an_open_look_that_cannot_be_read_is_unknown() {
    let mut bench = Bench::open().await;
    std::mem::forget(bench.command(1).await);
    bench.checkpoints = Bench::checkpoints(&bench.workspace).await;
    let open = bench.workspace.outside().join("kept/open");
    let look = fs::read_dir(open).unwrap().next().unwrap().unwrap();
    fs::write(look.path(), "").unwrap();
    bench.keeper(1).take_up().await;
    let undone = bench.revert(1, Refuse).await.unwrap();
    assert!(undone.notes[0].contains("cannot be read"), "{:?}", undone.notes);
}

#[tokio::test]
async fn a_command_whose_end_is_not_seen_is_unknown_and_takes_in_nothing_later() {
    let bench = Bench::open().await;
    let workspace = &bench.workspace;
    workspace.write("a", "1");
    let begun = bench.command(1).await;
    // Too much to be looked at when the command has ended, and no more when the Turn is undone.
    for n in 0..33 {
        let file = fs::File::create(bench.path(&format!("large{n}"))).unwrap();
        file.set_len(16 << 20).unwrap();
    }
    begun.end().await;
    assert!(bench.checkpoints.windows.are_closed());
    for n in 0..33 {
        fs::remove_file(bench.path(&format!("large{n}"))).unwrap();
    }
    workspace.write("a", "a person's");
    workspace.write("b", "a person's");
    let undone = bench.revert(1, Overwrite).await.unwrap();
    assert_eq!(files(&undone), Vec::<&str>::new());
    assert!(undone.notes[0].contains("512 MiB"), "{:?}", undone.notes);
    assert_eq!(workspace.read("a"), "a person's");
    assert_eq!(workspace.read("b"), "a person's");
}

#[tokio::test]
async fn a_command_that_a_crash_interrupted_is_unknown_unless_its_turn_is_taken_up() {
    let mut bench = Bench::open().await;
    bench.workspace.write("a", "1");
    for turn in [1, 2] {
        // Nobody hears of its end.
        std::mem::forget(bench.command(turn).await);
        std::mem::forget(bench.tool(turn + 2, &["tool"]).await);
    }
    bench.workspace.write("tool", "2");
    bench.checkpoints = Bench::checkpoints(&bench.workspace).await;
    bench.workspace.write("a", "2");
    bench.keeper(2).take_up().await;
    bench.keeper(4).take_up().await;
    bench.workspace.write("later", "a person's");
    for turn in [1, 1] {
        let undone = bench.revert(turn, Overwrite).await.unwrap();
        assert_eq!(files(&undone), Vec::<&str>::new());
        assert!(
            undone.notes[0].contains("the server ended while it ran"),
            "{:?}",
            undone.notes
        );
    }
    assert_eq!(bench.workspace.read("a"), "2");
    assert_eq!(files(&bench.revert(2, Overwrite).await.unwrap()), ["a", "tool"]);
    assert_eq!(bench.workspace.read("a"), "1");
    assert_eq!(bench.workspace.read("later"), "a person's");
    // Of a file tool it is known what was there, but not that what is there now is its doing.
    bench.workspace.write("tool", "3");
    assert!(matches!(bench.revert(3, Refuse).await, Err(UndoError::Changed(files)) if files == ["tool"]));
    assert_eq!(files(&bench.revert(3, Overwrite).await.unwrap()), ["tool"]);
}

#[tokio::test]
async fn what_another_turn_is_just_writing_is_left_to_it() {
    let bench = Bench::open().await;
    let workspace = &bench.workspace;
    workspace.write("late", "1");
    let early = bench.tool(2, &["early"]).await;
    let command = bench.command(1).await;
    let late = bench.tool(3, &["late"]).await;
    for path in ["early", "late", "mine"] {
        workspace.write(path, "2");
    }
    // Before their tools say that they are done.
    command.end().await;
    early.end().await;
    late.end().await;
    assert!(bench.checkpoints.windows.are_closed());
    let undone = bench.revert(1, Overwrite).await.unwrap();
    assert_eq!(files(&undone), ["mine"]);
    assert!(undone.notes[0].contains("early, late"), "{:?}", undone.notes);
    assert_eq!(workspace.read("late"), "2");
    assert_eq!(files(&bench.revert(2, Refuse).await.unwrap()), ["early"]);
    assert_eq!(files(&bench.revert(3, Refuse).await.unwrap()), ["late"]);
    assert_eq!(workspace.read("late"), "1");
}

#[tokio::test]
async fn an_undoing_waits_for_the_look_after_a_call_that_was_dropped() {
    let bench = Bench::open().await;
    let begun = bench.command(1).await;
    bench.workspace.write("made", "x");
    // It is looked at once somebody else is done.
    let one = bench.checkpoints.one.acquire().await.unwrap();
    drop(begun);
    let (undone, ()) = tokio::join!(bench.revert(1, Overwrite), async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        drop(one);
    });
    assert_eq!(files(&undone.unwrap()), ["made"]);
    assert!(!bench.path("made").exists());
}

#[tokio::test]
async fn a_window_closes_whatever_becomes_of_its_call() {
    let bench = Bench::open().await;
    let begun = bench.command(1).await;
    drop(begun);
    bench.checkpoints.alive.until_nobody_works_at("refs/steps/").await;
    assert!(bench.checkpoints.windows.are_closed());
    // Also where the second look cannot be taken.
    let begun = bench.command(2).await;
    fs::remove_dir_all(bench.workspace.outside().join("kept/objects")).unwrap();
    begun.end().await;
    assert!(bench.checkpoints.windows.are_closed());
}

#[tokio::test]
async fn an_undoing_stops_before_the_first_file_is_touched_and_not_after_it() {
    let bench = Bench::open().await;
    let names: Vec<String> = (0..300).map(|n| format!("{n:03}")).collect();
    let paths: Vec<&str> = names.iter().map(String::as_str).collect();
    let begun = bench.tool(1, &paths).await;
    for path in &paths {
        bench.workspace.write(path, "2");
    }
    begun.end().await;
    let stop = CancellationToken::new();
    stop.cancel();
    let stopped = bench.checkpoints.revert(bench.wish(1, Refuse), stop).await;
    assert_eq!(stopped, Err(UndoError::Stopped));
    assert!(paths.iter().all(|path| bench.path(path).exists()));

    let stop = CancellationToken::new();
    let (checkpoints, wish) = (bench.checkpoints.clone(), bench.wish(1, Refuse));
    let token = stop.clone();
    let undoing = tokio::spawn(async move { checkpoints.revert(wish, token).await });
    while paths.iter().all(|path| bench.path(path).exists()) {
        tokio::task::yield_now().await;
    }
    stop.cancel();
    assert_eq!(undoing.await.unwrap().unwrap().files.len(), 300);
    assert!(!paths.iter().any(|path| bench.path(path).exists()));
}

#[tokio::test]
async fn a_server_that_starts_removes_what_a_killed_one_had_on_its_way() {
    let mut bench = Bench::open().await;
    let ours = format!(".bobbin-{}", "0".repeat(32));
    bench.workspace.write(&ours, "half");
    bench.workspace.write(".bobbin-other", "somebody's");
    let mut note = bench.path(&ours).into_os_string().into_encoded_bytes();
    note.push(0);
    fs::write(bench.checkpoints.notes().join("note"), note).unwrap();
    bench.checkpoints = Bench::checkpoints(&bench.workspace).await;
    assert!(!bench.path(&ours).exists());
    assert_eq!(bench.workspace.read(".bobbin-other"), "somebody's");
}
