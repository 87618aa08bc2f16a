//! Batches that succeed, fail half-way, or meet concurrent changes.

use std::fs;

use super::*;
use bobbin_testkit::Folder;

fn anyway() -> Still {
    Box::new(|_| true)
}

fn file(text: &str) -> Want {
    Want::File(Kind::AsItWas, text.as_bytes().into())
}

fn apply(workspace: &Folder, wanted: &[(&str, Want)]) -> Result<(), String> {
    let mut batch = Batch::default();
    for (path, want) in wanted {
        batch.add(workspace.root().join(path), want.clone(), anyway());
    }
    batch.apply(&Leftovers::default())
}

/// Returns the names of all files in the workspace.
fn all(workspace: &Folder) -> Vec<String> {
    let mut names: Vec<String> = ignore::WalkBuilder::new(workspace.root())
        .standard_filters(false)
        .build()
        .filter_map(|entry| {
            let path = entry
                .unwrap()
                .path()
                .strip_prefix(workspace.root())
                .unwrap()
                .to_owned();
            Some(path.to_str().unwrap().to_owned()).filter(|path| !path.is_empty())
        })
        .collect();
    names.sort();
    names
}

#[test]
fn files_are_made_replaced_and_removed_together() {
    let workspace = Folder::new();
    workspace.write("old", "1");
    workspace.write("gone", "1");
    fs::set_permissions(workspace.root().join("old"), Permissions::from_mode(0o751)).unwrap();
    let wanted = [
        ("old", file("2")),
        ("gone", Want::Gone),
        ("deep/er/new", file("3")),
        ("link", Want::Link(b"old".as_slice().into())),
        ("run", Want::File(Kind::Program, b"x".as_slice().into())),
    ];
    apply(&workspace, &wanted).unwrap();
    assert_eq!(
        all(&workspace),
        ["deep", "deep/er", "deep/er/new", "link", "old", "run"]
    );
    assert_eq!(
        (
            workspace.read("old").as_str(),
            workspace.read("deep/er/new").as_str()
        ),
        ("2", "3")
    );
    let mode = |path: &str| {
        fs::metadata(workspace.root().join(path))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("old"), 0o751);
    assert_eq!(mode("run") & 0o100, 0o100);
    assert_eq!(
        fs::read_link(workspace.root().join("link")).unwrap(),
        Path::new("old")
    );
}

#[test]
fn one_that_cannot_be_changed_leaves_all_as_they_were() {
    let workspace = Folder::new();
    workspace.write("a", "1");
    workspace.write("b", "1");
    workspace.write("in-the-way/x", "1");
    let before = all(&workspace);
    let failing = [
        vec![
            ("a", file("2")),
            ("b", Want::Gone),
            ("new/c", file("2")),
            ("in-the-way", file("2")),
        ],
        vec![
            ("a", Want::Gone),
            ("new", file("2")),
            ("b/below-a-file", file("2")),
        ],
        vec![("new/d", file("2")), ("in-the-way", Want::Gone)],
    ];
    for wanted in failing {
        assert!(
            apply(&workspace, &wanted)
                .unwrap_err()
                .contains(workspace.root().to_str().unwrap())
        );
        assert_eq!(all(&workspace), before);
        assert_eq!(
            (workspace.read("a").as_str(), workspace.read("b").as_str()),
            ("1", "1")
        );
    }
}

#[test]
fn what_was_changed_since_it_was_read_stays_and_so_does_the_rest() {
    let workspace = Folder::new();
    for path in ["a", "b", "gone"] {
        workspace.write(path, "1");
    }
    let before = all(&workspace);
    let one = || as_read(Some(b"1".as_slice().into()));
    let other = || as_read(Some(b"0".as_slice().into()));
    let at = |path: &str| workspace.root().join(path);
    let failing: [Vec<(&str, Want, Still)>; 4] = [
        vec![("a", file("2"), one()), ("b", file("2"), other())],
        vec![("a", file("2"), one()), ("gone", Want::Gone, other())],
        vec![("a", file("2"), one()), ("b", file("2"), as_read(None))],
        vec![("new", file("2"), as_read(None)), ("missing", file("2"), one())],
    ];
    for wanted in failing {
        let mut batch = Batch::default();
        for (path, want, still) in wanted {
            batch.add(at(path), want, still);
        }
        let error = batch.apply(&Leftovers::default()).unwrap_err();
        assert!(error.ends_with(": it was changed meanwhile"), "{error}");
        assert_eq!(all(&workspace), before);
        for path in ["a", "b", "gone"] {
            assert_eq!(workspace.read(path), "1");
        }
    }
}

#[test]
fn a_directory_that_became_a_link_is_not_followed() {
    let workspace = Folder::new();
    workspace.write("first", "1");
    workspace.write("deep/a", "1");
    fs::write(workspace.outside().join("a"), "1").unwrap();
    let (deep, away) = (workspace.root().join("deep"), workspace.root().join("away"));
    for want in [file("2"), Want::Gone] {
        let mut batch = Batch::default();
        // The moment between the first file and the second.
        let (from, to, outside) = (deep.clone(), away.clone(), workspace.outside().to_owned());
        let swap: Still = Box::new(move |_| {
            fs::rename(&from, &to).unwrap();
            std::os::unix::fs::symlink(&outside, &from).unwrap();
            true
        });
        let (first, second) = match want {
            Want::Gone => (Want::Gone, want),
            want => (file("2"), want),
        };
        batch.add(workspace.root().join("first"), first, swap);
        batch.add(deep.join("a"), second, anyway());
        let error = batch.apply(&Leftovers::default()).unwrap_err();
        assert!(error.contains("a link lies on the way"), "{error}");
        assert_eq!(fs::read_to_string(workspace.outside().join("a")).unwrap(), "1");
        assert_eq!(fs::read_dir(workspace.outside()).unwrap().count(), 1);
        assert_eq!(workspace.read("first"), "1");
        assert_eq!(workspace.read("away/a"), "1");
        fs::remove_file(&deep).unwrap();
        fs::rename(&away, &deep).unwrap();
    }
}

#[test]
fn what_is_taken_back_is_ours_and_what_cannot_be_is_named_and_kept() {
    let workspace = Folder::new();
    workspace.write("a", "1");
    let path = workspace.root().join("a");
    let mut batch = Batch::default();
    batch.add(path.clone(), file("2"), anyway());
    // Another program saves the first file while the second one fails.
    let save: Still = Box::new(move |_| {
        fs::write(&path, "somebody's").unwrap();
        false
    });
    batch.add(workspace.root().join("b"), file("2"), save);
    let error = batch.apply(&Leftovers::default()).unwrap_err();
    assert_eq!(workspace.read("a"), "somebody's");
    let (_, kept) = error.split_once("what it was is in ").unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), "1");
}

#[test]
fn a_batch_that_is_given_up_touches_nothing() {
    let workspace = Folder::new();
    workspace.write("a", "1");
    let before = all(&workspace);
    let mut batch = Batch::default();
    batch.add(workspace.root().join("a"), file("2"), anyway());
    assert!(batch.apply_unless(&Leftovers::default(), || true).is_err());
    assert_eq!((all(&workspace), workspace.read("a").as_str()), (before, "1"));
}

#[test]
fn many_files_need_few_open_ones() {
    let workspace = Folder::new();
    let open = || fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let (before, most) = (open(), Arc::new(std::sync::atomic::AtomicUsize::new(0)));
    let mut batch = Batch::default();
    for number in 0..1_500 {
        let most = most.clone();
        let still: Still = Box::new(move |_| {
            most.fetch_max(open(), std::sync::atomic::Ordering::Relaxed);
            true
        });
        batch.add(workspace.root().join(format!("{number}")), file("x"), still);
    }
    batch.apply(&Leftovers::default()).unwrap();
    assert_eq!(all(&workspace).len(), 1_500);
    // Other tests of this process open files too.
    let most = most.load(std::sync::atomic::Ordering::Relaxed);
    assert!(most < before + 700, "{before} open files became {most}");
}

#[test]
fn what_a_kill_would_leave_behind_is_noted_before_it_is_there() {
    let workspace = Folder::new();
    workspace.write("a", "1");
    workspace.write("b", "1");
    let notes = workspace.outside().join("notes");
    crate::leftovers::clear(&notes).unwrap();
    let leftovers = Leftovers::default();
    leftovers.record_in(&notes);
    let (root, place) = (workspace.root().to_owned(), notes.clone());
    let last: Still = Box::new(move |_| {
        let note = fs::read_dir(&place).unwrap().next().unwrap().unwrap().path();
        let note = String::from_utf8(fs::read(note).unwrap()).unwrap();
        let ours: Vec<_> = fs::read_dir(&root)
            .unwrap()
            .map(|entry| entry.unwrap().path().to_str().unwrap().to_owned())
            .filter(|path| path.contains(".bobbin-"))
            .collect();
        // The old first two files, and the new third one.
        assert_eq!(ours.len(), 3);
        ours.iter()
            .all(|path| note.split('\0').any(|noted| noted == path))
    });
    let mut batch = Batch::default();
    batch.add(workspace.root().join("a"), file("2"), anyway());
    batch.add(workspace.root().join("b"), Want::Gone, anyway());
    batch.add(workspace.root().join("c"), file("2"), last);
    batch.apply(&leftovers).unwrap();
    assert_eq!(all(&workspace), ["a", "c"]);
    assert_eq!(fs::read_dir(&notes).unwrap().count(), 0);
}

#[test]
fn whoever_swaps_a_directory_for_a_link_again_and_again_gains_nothing() {
    let workspace = Folder::new();
    workspace.write("deep/a", "0");
    let (deep, away) = (workspace.root().join("deep"), workspace.root().join("away"));
    let outside = workspace.outside().join("there");
    fs::create_dir(&outside).unwrap();
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A batch may recreate the directory that is moved away, so each step may fail.
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                drop(fs::rename(&deep, &away));
                drop(std::os::unix::fs::symlink(&outside, &deep));
                drop(fs::remove_file(&deep));
                drop(fs::remove_dir_all(&away));
                drop(fs::create_dir(&deep));
            }
        });
        for number in 0..300 {
            let mut batch = Batch::default();
            batch.add(deep.join("a"), file(&number.to_string()), anyway());
            batch.add(deep.join("b"), file("b"), anyway());
            // Fails if it meets a link, or succeeds.
            drop(batch.apply(&Leftovers::default()));
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
