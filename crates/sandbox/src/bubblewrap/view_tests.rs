//! Tests of a command's view, and of the arguments for it.

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
        links: Vec::new(),
        temporary: None,
    }
}

/// Returns a place outside of `/tmp`, which is the command's own.
fn place() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    let top = place.path().canonicalize().unwrap();
    (place, top)
}

/// Returns the mounts in a place; the machine has sockets elsewhere.
fn mounts_in(top: &Path, plan: &Plan) -> BTreeMap<PathBuf, Mount> {
    let mut mounts = View::of(plan).unwrap().mounts;
    mounts.retain(|path, _| path.starts_with(top));
    mounts
}

/// Returns the arguments without the fixed ones at the start and the end.
fn mounted(view: &View) -> String {
    let all: Vec<String> = view
        .arguments(Path::new("/w"), CommandNetwork::New)
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
        let arguments = view(profile, mounts).arguments(Path::new("/w"), CommandNetwork::New);
        let arguments: Vec<_> = arguments
            .iter()
            .map(|argument| argument.to_str().unwrap())
            .collect();
        assert_eq!(arguments.join(" "), format!("{private} {expected}"), "{profile}");
    }
    let joined = view(STRICT, write).arguments(Path::new("/w"), CommandNetwork::Joined);
    assert!(
        !joined.iter().any(|argument| argument == "--unshare-net"),
        "{joined:?}"
    );
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
            "a place that is read within a hidden one",
            &[
                ("/h", Mount::Anew),
                ("/h/a/w", Mount::Read),
                ("/h/b", Mount::Empty),
            ],
            "--tmpfs /h --ro-bind-try /h/a/w /h/a/w --remount-ro /h",
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
                ("/w/.craft/made", Mount::Write),
            ],
            "--bind /w /w --ro-bind-try /w/.craft /w/.craft --ro-bind /dev/null /w/.craft/bobbin.db \
             --bind /w/.craft/made /w/.craft/made",
        ),
        (
            "what is made anew within what is written",
            &[
                ("/w", Mount::Write),
                ("/w/.craft", Mount::Anew),
                ("/w/.craft/bobbin.db", Mount::Blank),
                ("/w/.craft/made", Mount::Write),
                ("/w/.craft/skills", Mount::Read),
                ("/w/.craft/skills/secret", Mount::Blank),
                ("/w/.craft/terminals", Mount::Empty),
            ],
            "--bind /w /w --tmpfs /w/.craft --bind /w/.craft/made /w/.craft/made \
             --ro-bind-try /w/.craft/skills /w/.craft/skills --ro-bind /dev/null /w/.craft/skills/secret \
             --remount-ro /w/.craft",
        ),
        (
            "what would be made anew within what is hidden",
            &[
                ("/w", Mount::Empty),
                ("/w/.craft", Mount::Anew),
                ("/w/.craft/skills", Mount::Read),
            ],
            "--tmpfs /w --remount-ro /w",
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
    let (_place, top) = place();
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
        read_only: vec![top.join("to-work/missing")],
        outer: Outer::Bubblewrap,
        ..Plan::default()
    };
    let expected = [
        (file.clone(), Mount::Blank),
        (keys.clone(), Mount::Empty),
        (work, Mount::Write),
    ];
    assert_eq!(mounts_in(&top, &plan), BTreeMap::from(expected));
    let read_only = Plan {
        profile: Profile {
            files: Files::ReadOnly,
            ..STRICT
        },
        ..plan.clone()
    };
    let expected = [(file, Mount::Blank), (keys, Mount::Empty)];
    assert_eq!(mounts_in(&top, &read_only), BTreeMap::from(expected));
    let full = Plan {
        profile: Profile {
            files: Files::Full,
            ..STRICT
        },
        ..plan
    };
    assert!(View::of(&full).unwrap().mounts.is_empty());
}

#[test]
fn a_kept_directory_with_private_files_is_made_anew_without_them() {
    let (_place, work) = place();
    let craft = work.join(".craft");
    std::fs::create_dir_all(craft.join("terminals")).unwrap();
    for name in ["config.json", "bobbin.json"] {
        std::fs::write(craft.join(name), "x").unwrap();
    }
    std::os::unix::fs::symlink("../skills", craft.join("skills")).unwrap();
    let plan = |files| Plan {
        profile: Profile { files, ..STRICT },
        write: vec![work.clone()],
        read_only: vec![craft.clone()],
        blank: ["bobbin.json", "bobbin.db", "terminals"]
            .map(|name| craft.join(name))
            .to_vec(),
        outer: Outer::Bubblewrap,
        ..Plan::default()
    };
    let mounted = |plan: &Plan| {
        let mut view = View::of(plan).unwrap();
        view.mounts.retain(|path, _| path.starts_with(&work));
        mounted(&view)
    };
    let (craft, work) = (craft.display(), work.display());
    let made =
        format!("--tmpfs {craft} --ro-bind-try {craft}/config.json {craft}/config.json --remount-ro {craft}");
    let expected = format!("--bind {work} {work} {made}");
    assert_eq!(mounted(&plan(Files::WorkspaceWrite)), expected);
    assert_eq!(mounted(&plan(Files::ReadOnly)), made);
    assert_eq!(mounted(&plan(Files::Full)), "");
}

#[test]
fn a_place_that_a_command_replaces_by_a_link_is_not_written_through_it() {
    let (_place, top) = place();
    let (work, home) = (top.join("work"), top.join("home"));
    for directory in [&work.join("out"), &home] {
        std::fs::create_dir_all(directory).unwrap();
    }
    let plan = Plan {
        profile: STRICT,
        write: vec![work.clone(), work.join("out")],
        outer: Outer::Bubblewrap,
        ..Plan::default()
    };
    let before = mounts_in(&top, &plan);
    std::fs::remove_dir(work.join("out")).unwrap();
    std::os::unix::fs::symlink(&home, work.join("out")).unwrap();
    let expected = BTreeMap::from([(work.clone(), Mount::Write)]);
    assert_eq!((before, mounts_in(&top, &plan)), (expected.clone(), expected));
    assert_eq!(plan.within().write, [work]);
}

#[test]
fn a_socket_that_disappears_is_planned_only_in_a_place_that_commands_write() {
    let (_place, top) = place();
    let [work, other] = ["work", "other"].map(|name| top.join(name));
    for directory in [&work, &other] {
        std::fs::create_dir(directory).unwrap();
    }
    let plan = Plan {
        profile: STRICT,
        write: vec![work.clone()],
        services: vec![top.join("missing")],
        outer: Outer::Bubblewrap,
        ..Plan::default()
    };
    for (socket, is_wanted) in [(other.join("a"), false), (work.join("a"), true)] {
        let listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let mut view = View::of(&plan).unwrap();
        // Other tests' sockets come and go.
        view.mounts.retain(|path, _| path.starts_with(&top));
        assert_eq!(view.mounts.get(&socket), Some(&Mount::Socket));
        view.planned().unwrap();
        std::fs::remove_file(&socket).unwrap();
        drop(listening);
        view.planned().unwrap();
        assert_eq!(view.mounts.contains_key(&socket), is_wanted, "{socket:?}");
    }
}

#[test]
fn a_command_apart_has_its_own_temporary_files_and_sees_no_services() {
    let (_place, top) = place();
    let [work, out, services, own] = ["work", "out", "services", "own"].map(|name| top.join(name));
    for directory in [&work, &out, &services, &own] {
        std::fs::create_dir(directory).unwrap();
    }
    std::os::unix::fs::symlink("/nix/store/x", services.join("current-system")).unwrap();
    let listening = ["work/a", "out/b", "services/c", "out/named"].map(|name| {
        let path = top.join(name);
        (std::os::unix::net::UnixListener::bind(&path).unwrap(), path)
    });
    let shown = tempfile::tempdir_in("/tmp").unwrap();
    let shown = shown.path().canonicalize().unwrap();
    let plan = |files, network| Plan {
        profile: Profile { files, network },
        write: vec![work.clone(), listening[3].1.clone()],
        services: vec![services.clone(), top.join("missing")],
        show: vec![shown.clone(), out.clone()],
        temporary: Some(own.clone()),
        outer: Outer::Bubblewrap,
        ..Plan::default()
    };
    let apart = plan(Files::WorkspaceWrite, Network::Off);
    let expected = [
        (work.clone(), Mount::Write),
        (listening[0].1.clone(), Mount::Socket),
        (listening[1].1.clone(), Mount::Socket),
        (listening[3].1.clone(), Mount::Write),
        (services.clone(), Mount::Own),
    ];
    assert_eq!(mounts_in(&top, &apart), BTreeMap::from(expected));
    let view = View::of(&apart).unwrap();
    let temporary = Path::new("/tmp").canonicalize().unwrap();
    assert_eq!(view.mounts.get(&temporary), Some(&Mount::Temporary));
    assert_eq!(view.mounts.get(&shown), Some(&Mount::Read));
    let text = mounted(&view);
    for part in [
        format!("--bind {} {}", own.display(), temporary.display()),
        format!("--symlink /nix/store/x {}/current-system", services.display()),
        format!("--remount-ro {}", services.display()),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    // A program that reaches addresses has such a directory where it wants one, and sees the services.
    let reaching = Plan {
        private_tmp: true,
        ..plan(Files::WorkspaceWrite, Network::Internet)
    };
    let view = View::of(&reaching).unwrap();
    assert_eq!(view.mounts.get(&temporary), Some(&Mount::Temporary));
    assert_eq!(view.mounts.get(&shown), Some(&Mount::Read));
    assert_eq!(view.mounts.get(&services), None);
    // What is open to the network or to all files is not cut off by names.
    let on = mounts_in(&top, &plan(Files::WorkspaceWrite, Network::On));
    assert_eq!(on.keys().collect::<Vec<_>>(), [&listening[3].1, &work]);
    assert!(
        View::of(&plan(Files::Full, Network::Off))
            .unwrap()
            .mounts
            .is_empty()
    );
}
