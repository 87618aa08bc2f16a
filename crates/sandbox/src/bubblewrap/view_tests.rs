//! Tests of what a command sees, and of the arguments for it.

use super::*;
use crate::Outer;

const STRICT: Profile = Profile {
    files: Files::WorkspaceWrite,
    network: Network::Off,
};

fn view(profile: Profile, mounts: &[(&str, Mount)]) -> View {
    let wanted = mounts.iter().map(|(path, mount)| (PathBuf::from(path), *mount));
    View {
        profile,
        mounts: needed(wanted.collect()),
    }
}

/// Returns the arguments between what is always first and what is always last.
fn mounted(view: &View) -> String {
    let all: Vec<String> = view
        .arguments(Path::new("/w"))
        .into_iter()
        .map(|argument| argument.into_string().unwrap())
        .collect();
    let all = all.join(" ");
    let (_, rest) = all.split_once("--proc /proc").unwrap();
    rest.strip_suffix(" --chdir /w --").unwrap().trim().to_owned()
}

#[test]
fn each_profile_has_its_arguments() {
    let write = &[("/w", Mount::Write)][..];
    let private = "--die-with-parent --unshare-pid --unshare-ipc --unshare-uts";
    for (files, network, mounts, expected) in [
        (
            Files::WorkspaceWrite,
            Network::Off,
            write,
            "--unshare-net --ro-bind / / --dev /dev --proc /proc --bind /w /w --chdir /w --",
        ),
        (
            Files::WorkspaceWrite,
            Network::On,
            write,
            "--ro-bind / / --dev /dev --proc /proc --bind /w /w --chdir /w --",
        ),
        (
            Files::ReadOnly,
            Network::Off,
            &[],
            "--unshare-net --ro-bind / / --dev /dev --proc /proc --chdir /w --",
        ),
        (
            Files::Full,
            Network::Off,
            &[],
            "--unshare-net --dev-bind / / --proc /proc --chdir /w --",
        ),
        (
            Files::WorkspaceWrite,
            Network::Off,
            &[("/", Mount::Write)],
            "--unshare-net --bind / / --dev /dev --proc /proc --chdir /w --",
        ),
    ] {
        let profile = Profile { files, network };
        let arguments = view(profile, mounts).arguments(Path::new("/w"));
        let arguments: Vec<_> = arguments
            .iter()
            .map(|argument| argument.to_str().unwrap())
            .collect();
        assert_eq!(arguments.join(" "), format!("{private} {expected}"), "{profile}");
    }
}

#[test]
fn places_within_others_come_later_and_what_is_so_already_is_left_out() {
    for (what, mounts, expected) in [
        (
            "a hidden directory and a hidden file elsewhere",
            &[
                ("/home/mika/.netrc", Mount::Blank),
                ("/home/mika/.ssh", Mount::Empty),
                ("/w", Mount::Write),
            ][..],
            "--ro-bind /dev/null /home/mika/.netrc --tmpfs /home/mika/.ssh --bind /w /w --remount-ro /home/mika/.ssh",
        ),
        (
            "a place that may be written within a hidden one",
            &[("/h", Mount::Empty), ("/h/a/w", Mount::Write)],
            "--tmpfs /h --bind /h/a/w /h/a/w --remount-ro /h",
        ),
        (
            "a hidden place within a hidden one",
            &[("/h", Mount::Empty), ("/h/a", Mount::Blank)],
            "--tmpfs /h --remount-ro /h",
        ),
        (
            "two that may be written, one in the other",
            &[("/w", Mount::Write), ("/w/a", Mount::Write)],
            "--bind /w /w",
        ),
        (
            "what is kept within what is written, and written within that",
            &[
                ("/w", Mount::Write),
                ("/w/.craft", Mount::Read),
                ("/w/.craft/bobbin.db", Mount::Blank),
                ("/w/.craft/bobbin.tmp", Mount::Write),
            ],
            "--bind /w /w --ro-bind /w/.craft /w/.craft --ro-bind /dev/null /w/.craft/bobbin.db \
             --bind /w/.craft/bobbin.tmp /w/.craft/bobbin.tmp",
        ),
        (
            "a hidden place deep in what may be written: nothing above it can be renamed",
            &[("/w", Mount::Write), ("/w/a/b/keys", Mount::Empty)],
            "--bind /w /w --bind /w/a /w/a --bind /w/a/b /w/a/b --tmpfs /w/a/b/keys --remount-ro /w/a/b/keys",
        ),
        (
            "what is kept where nothing is written",
            &[("/w/.craft", Mount::Read)],
            "",
        ),
        (
            "a sister whose name begins alike",
            &[("/w", Mount::Write), ("/w2", Mount::Write)],
            "--bind /w /w --bind /w2 /w2",
        ),
    ] {
        let expected = expected.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(mounted(&view(STRICT, mounts)), expected, "{what}");
    }
}

#[test]
fn what_is_there_is_seen_by_its_real_name_and_what_is_not_is_left_out() {
    let place = tempfile::tempdir().unwrap();
    let top = place.path().canonicalize().unwrap();
    let (work, keys, file) = (top.join("work"), top.join("keys"), top.join("file"));
    std::fs::create_dir(&work).unwrap();
    std::fs::create_dir(&keys).unwrap();
    std::fs::write(&file, "x").unwrap();
    for (name, target) in [("to-work", &work), ("to-keys", &keys), ("to-file", &file)] {
        std::os::unix::fs::symlink(target, top.join(name)).unwrap();
    }
    let plan = Plan {
        profile: STRICT,
        write: vec![top.join("to-work"), top.join("missing")],
        hide: vec![top.join("to-keys"), top.join("to-file"), top.join("missing/.ssh")],
        keep: vec![top.join("missing")],
        outer: Outer::Bubblewrap,
        ..Plan::default()
    };
    let expected = [
        (file.clone(), Mount::Blank),
        (keys.clone(), Mount::Empty),
        (work, Mount::Write),
    ];
    assert_eq!(View::of(&plan).mounts, BTreeMap::from(expected));
    let read_only = Plan {
        profile: Profile {
            files: Files::ReadOnly,
            ..STRICT
        },
        ..plan.clone()
    };
    let expected = [(file, Mount::Blank), (keys, Mount::Empty)];
    assert_eq!(View::of(&read_only).mounts, BTreeMap::from(expected));
    let full = Plan {
        profile: Profile {
            files: Files::Full,
            ..STRICT
        },
        ..plan
    };
    assert!(View::of(&full).mounts.is_empty());
}
