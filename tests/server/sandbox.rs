//! Trying to get out of the sandbox, with the real helper on the real kernel.
//!
//! Each test says so and does nothing where the kernel cannot hold commands at all.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use bobbin_children::{ChildError, Confinement, Environment, Exit, Limits, Outcome, ProcessSpec};
use bobbin_sandbox::{Files, Network, Plan, Profile, Support};
use nix::libc;
use rstest::rstest;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::held_place::children;
use crate::sandbox_attempts::{ATTEMPT, NAME, OBJECT, raw};
use crate::support::{Workspace, not_tested};

const STRICT: Profile = Profile {
    files: Files::WorkspaceWrite,
    network: Network::Off,
};

/// A workspace, and a place outside of it with a file in it.
struct Place {
    _top: TempDir,
    work: PathBuf,
    file: PathBuf,
    support: Support,
}

impl Place {
    /// Returns a place, or says why there is nothing to test.
    fn new() -> Option<Self> {
        let support = Support::probe();
        if let Some(missing) = support.missing(STRICT) {
            not_tested(&missing);
            return None;
        }
        // `/tmp` is the commands' own where bubblewrap works.
        let top = tempfile::tempdir_in("/var/tmp").unwrap();
        let (work, out) = (top.path().join("work"), top.path().join("out"));
        std::fs::create_dir(&work).unwrap();
        std::fs::create_dir(&out).unwrap();
        let file = out.join("file");
        std::fs::write(&file, "mine").unwrap();
        Some(Self {
            _top: top,
            work,
            file,
            support,
        })
    }

    fn plan(&self, profile: Profile) -> Plan {
        Plan {
            profile,
            write: vec![self.work.clone()],
            landlock: self.support.landlock,
            ..Plan::default()
        }
    }

    /// Runs a program under a plan.
    fn run(
        &self,
        plan: &Plan,
        program: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Outcome, ChildError> {
        let mut variables = Environment::empty();
        for (name, value) in environment {
            variables.set(name, value);
        }
        let confinement = Confinement {
            plan: plan.clone(),
            bubblewrap: None,
        };
        let spec = ProcessSpec::new(program, &self.work, variables)
            .args(arguments)
            .confined(confinement);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let (limits, never) = (Limits::default(), CancellationToken::new());
        runtime
            .unwrap()
            .block_on(children().run(spec, &limits, None, &never))
    }

    /// Runs `echo ran` under a plan, which cannot be held as it says.
    fn does_not_run(&self, plan: &Plan) {
        let done = self.run(plan, "/bin/sh", &["-c", "echo ran"], &[]);
        assert!(matches!(done, Err(ChildError::Confinement(_))), "{done:?}");
    }

    /// Tries something under a plan; whether it was held.
    fn is_held(&self, plan: &Plan, attempt: &str, object: &str) -> bool {
        let this = std::env::current_exe().unwrap();
        let output = self.run(
            plan,
            this.to_str().unwrap(),
            &[NAME, "--exact", "--nocapture"],
            &[(ATTEMPT, attempt), (OBJECT, object)],
        );
        let said = output.unwrap().output.text;
        let held = said.contains(&format!("{attempt}: held: "));
        let done = said.contains(&format!("{attempt}: did it"));
        assert!(held != done, "{said}");
        held
    }

    fn is_unchanged(&self) {
        assert_eq!(std::fs::read_to_string(&self.file).unwrap(), "mine");
        let entries = std::fs::read_dir(self.file.parent().unwrap()).unwrap().count();
        assert_eq!(entries, 1, "something was left outside");
    }
}

#[expect(clippy::disallowed_methods, reason = "the test starts the binary it tests")]
fn bobbin(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bobbin"));
    command.current_dir(directory);
    command
}

#[rstest]
#[case("write")]
#[case("append")]
#[case("empty")]
#[case("remove")]
#[case("make directory")]
#[case("make link")]
#[case("make pipe")]
#[case("write through a link")]
#[case("write through a second name")]
#[case("move it here")]
#[case("write through /proc/self/root")]
#[case("write through dots")]
#[case("write from a thread")]
fn nothing_outside_of_the_workspace_is_changed(#[case] attempt: &str) {
    let Some(place) = Place::new() else { return };
    for files in [Files::WorkspaceWrite, Files::ReadOnly] {
        let plan = place.plan(Profile { files, ..STRICT });
        assert!(
            place.is_held(&plan, attempt, place.file.to_str().unwrap()),
            "{files:?}"
        );
        place.is_unchanged();
        drop(std::fs::remove_file(place.work.join("way-out")));
    }
}

#[test]
fn the_workspace_is_written_only_where_that_is_let() {
    let Some(place) = Place::new() else { return };
    let inside = place.work.join("file");
    let inside = inside.to_str().unwrap();
    let read_only = place.plan(Profile {
        files: Files::ReadOnly,
        ..STRICT
    });
    assert!(place.is_held(&read_only, "write", inside));
    assert!(!place.is_held(&place.plan(STRICT), "write", inside));
    assert!(place.is_held(&read_only, "append", inside));
    assert!(!place.is_held(&read_only, "read", inside));
    assert!(!place.is_held(&place.plan(STRICT), "read", place.file.to_str().unwrap()));
    assert!(!place.is_held(&read_only, "append", "/dev/null"));
}

#[test]
fn hidden_files_are_not_read_by_any_way() {
    let Some(place) = Place::new() else { return };
    let mut plan = place.plan(STRICT);
    plan.hide = vec![place.file.parent().unwrap().to_owned()];
    let file = place.file.to_str().unwrap();
    assert!(place.is_held(&plan, "read", file));
    assert!(place.is_held(&plan, "read", &format!("/proc/self/root{file}")));
    std::os::unix::fs::symlink(&place.file, place.work.join("link")).unwrap();
    assert!(place.is_held(&plan, "read", "link"));
    let shell = place.run(
        &plan,
        "/bin/sh",
        &[
            "-c",
            "(cat ../out/file || cat link || cd ../out && cat file) 2>/dev/null",
        ],
        &[],
    );
    assert_eq!(shell.unwrap().output.text, "");
    // What is beside it is as readable as ever.
    std::fs::write(place.work.join("own"), "x").unwrap();
    assert!(!place.is_held(&plan, "read", "own"));
    assert!(!place.is_held(&plan, "read", "/bin/sh"));
}

#[test]
fn a_hidden_place_in_the_workspace_keeps_the_command_from_running() {
    let Some(place) = Place::new() else { return };
    let secret = place.work.join("secret");
    std::fs::create_dir(&secret).unwrap();
    let mut plan = place.plan(STRICT);
    plan.hide = vec![secret];
    place.does_not_run(&plan);
}

#[rstest]
#[case("trace")]
#[case("read memory")]
#[case("read its environment")]
#[case("open its memory")]
#[case("enter its root")]
#[case("signal")]
fn other_processes_are_out_of_reach(#[case] attempt: &str) {
    let Some(place) = Place::new() else { return };
    if attempt == "signal" && place.support.landlock < 6 {
        not_tested(&format!(
            "Landlock {} does not hold signals",
            place.support.landlock
        ));
        return;
    }
    // This very process: without the sandbox the same user may do all of it.
    let this = std::process::id().to_string();
    for network in [Network::Off, Network::On] {
        let plan = place.plan(Profile { network, ..STRICT });
        assert!(place.is_held(&plan, attempt, &this), "{network:?}");
    }
}

#[test]
fn with_all_files_other_processes_are_still_out_of_reach() {
    let Some(place) = Place::new() else { return };
    let this = std::process::id().to_string();
    let full = place.plan(Profile {
        files: Files::Full,
        network: Network::Off,
    });
    for attempt in [
        "trace",
        "read memory",
        "read its environment",
        "open its memory",
        "enter its root",
    ] {
        assert!(place.is_held(&full, attempt, &this), "{attempt}");
    }
    assert_eq!(place.is_held(&full, "signal", &this), place.support.landlock >= 6);
    let file = place.file.to_str().unwrap();
    for attempt in ["write", "read", "make directory", "move it here"] {
        assert!(!place.is_held(&full, attempt, file), "{attempt}");
    }
    assert!(place.work.join("moved").exists());
    // Without Landlock a part of it is held, and that is said.
    let without = Plan { landlock: 0, ..full };
    assert!(place.is_held(&without, "trace", &this));
    let gaps = Support {
        landlock: 0,
        ..place.support
    }
    .gaps(without.profile);
    assert!(gaps.iter().any(|gap| gap.contains("signals")), "{gaps:?}");
}

/// A terminal as those of other programs: its name, and what keeps it open.
fn terminal() -> (String, std::fs::File) {
    use std::os::fd::AsRawFd as _;
    let open = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/ptmx");
    let side = open.unwrap();
    let (mut number, unlocked) = (0_u32, 0_i32);
    #[expect(
        unsafe_code,
        reason = "the library's form needs a feature that nothing else does"
    )]
    // SAFETY: each call reads or writes one number of the size it is given, which lives through the call.
    let done = unsafe {
        libc::ioctl(side.as_raw_fd(), libc::TIOCSPTLCK, &raw const unlocked)
            + libc::ioctl(side.as_raw_fd(), libc::TIOCGPTN, &raw mut number)
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    (format!("/dev/pts/{number}"), side)
}

#[test]
fn terminals_and_other_devices_are_neither_read_nor_written() {
    use std::io::Write as _;
    let Some(place) = Place::new() else { return };
    let (name, mut side) = terminal();
    side.write_all(b"typed\n").unwrap();
    for profile in [
        STRICT,
        Profile {
            files: Files::ReadOnly,
            ..STRICT
        },
        Profile {
            network: Network::On,
            ..STRICT
        },
    ] {
        let plan = place.plan(profile);
        for attempt in ["read", "append"] {
            assert!(place.is_held(&plan, attempt, &name), "{attempt} {profile:?}");
        }
        for other in ["/dev/tty", "/dev/ptmx", "/dev/console"] {
            assert!(place.is_held(&plan, "append", other), "{other}");
        }
        // As root, the log of the kernel and whole disks could be read.
        for other in ["/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/nvme0n1"] {
            let readable = std::fs::File::open(other).is_ok();
            assert!(!readable || place.is_held(&plan, "read", other), "{other}");
        }
        for device in ["/dev/null", "/dev/zero"] {
            assert!(!place.is_held(&plan, "append", device), "{device}");
            assert!(!place.is_held(&plan, "read", "/dev/urandom"));
        }
    }
    // Nothing else took it.
    let mut line = [0; 6];
    std::io::Read::read_exact(&mut std::fs::File::open(&name).unwrap(), &mut line).unwrap();
    assert_eq!(&line, b"typed\n");
}

#[test]
fn memory_and_queues_are_not_shared_with_programs_outside() {
    let Some(place) = Place::new() else { return };
    let made = raw(libc::SYS_shmget, [0, 4096, i64::from(libc::IPC_CREAT | 0o600)]).unwrap();
    let number = made.to_string();
    let held = |attempt: &str| place.is_held(&place.plan(STRICT), attempt, &number);
    let all = ["attach shared memory", "make shared memory", "make a queue"].map(held);
    let open = place.plan(Profile {
        network: Network::On,
        ..STRICT
    });
    let with_network = place.is_held(&open, "attach shared memory", &number);
    raw(libc::SYS_shmctl, [made, i64::from(libc::IPC_RMID), 0]).unwrap();
    assert_eq!((all, with_network), ([true; 3], false));
}

#[rstest]
#[case("new namespace")]
#[case("mount")]
#[case("ring")]
#[case("other arrangement")]
fn the_kernel_makes_no_new_views(#[case] attempt: &str) {
    let Some(place) = Place::new() else { return };
    assert!(place.is_held(&place.plan(STRICT), attempt, "x"));
}

#[test]
fn without_network_there_is_no_socket_and_with_it_there_is() {
    let Some(place) = Place::new() else { return };
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = tcp.local_addr().unwrap().to_string();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let udp = udp.local_addr().unwrap().to_string();
    let path = place.work.join("door");
    let _local = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let local = path.to_str().unwrap();
    let path = place.work.join("notes");
    let _notes = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    let notes = path.to_str().unwrap();
    for (network, held) in [(Network::Off, true), (Network::On, false)] {
        let plan = place.plan(Profile { network, ..STRICT });
        for (attempt, object) in [
            ("connect", tcp.as_str()),
            ("listen", ""),
            ("datagram", &udp),
            ("local socket", local),
            ("message from a pair", notes),
            ("raw socket", ""),
        ] {
            assert_eq!(
                place.is_held(&plan, attempt, object),
                held,
                "{attempt} {network:?}"
            );
        }
        assert!(place.is_held(&plan, "kernel socket", ""), "{network:?}");
        assert!(
            !place.is_held(&plan, "pair", ""),
            "programs speak to their own children"
        );
    }
    let full = place.plan(Profile {
        files: Files::Full,
        network: Network::Off,
    });
    assert!(place.is_held(&full, "connect", &tcp));
    assert!(!place.is_held(&full, "append", place.file.to_str().unwrap()));
}

#[test]
fn children_are_held_as_well_in_whatever_session() {
    let Some(place) = Place::new() else { return };
    let script = "sh -c 'echo x > ../out/child' & setsid sh -c 'setsid sh -c \"echo x > ../out/orphan\"; echo x > done' & wait";
    let output = place.run(
        &place.plan(STRICT),
        "/bin/sh",
        &["-c", script],
        &[("PATH", "/usr/bin:/bin")],
    );
    let output = output.unwrap();
    assert_eq!(output.exit, Exit::Exited(0), "{}", output.output.text);
    assert!(place.work.join("done").exists());
    place.is_unchanged();
}

#[test]
fn a_command_gets_its_environment_and_nothing_else_and_no_new_rights() {
    let Some(place) = Place::new() else { return };
    let output = place.run(&place.plan(STRICT), "/usr/bin/env", &[], &[("ONLY", "this")]);
    assert_eq!(output.unwrap().output.text, "ONLY=this\n");
    let output = place.run(&place.plan(STRICT), "/bin/cat", &["/proc/self/status"], &[]);
    let status = output.unwrap().output.text;
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let capabilities = |set: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(set)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    // Owners, modes, users, ports: nothing that reaches into the kernel or other processes.
    for set in ["CapPrm:", "CapEff:"] {
        assert_eq!(capabilities(set) & !0b100_1101_1011, 0, "{status}");
    }
    // The usual ones of a closed pipe and of a polite request to end.
    for (set, bit) in [("SigIgn:", 13), ("SigBlk:", 15)] {
        assert_eq!(capabilities(set) & (1 << (bit - 1)), 0, "{status}");
    }
    let output = place.run(&place.plan(STRICT), "/bin/sh", &["-c", "exit 7"], &[]);
    assert_eq!(output.unwrap().exit, Exit::Exited(7));
}

#[test]
fn what_cannot_be_held_as_promised_is_not_run() {
    let Some(place) = Place::new() else { return };
    for landlock in [0, 9] {
        let plan = Plan {
            landlock,
            ..place.plan(STRICT)
        };
        place.does_not_run(&plan);
    }
}

/// Returns what makes a kernel look as if it had no Landlock.
fn no_landlock() -> BpfProgram {
    let calls = [
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_add_rule,
        libc::SYS_landlock_restrict_self,
    ];
    let filter = SeccompFilter::new(
        calls.into_iter().map(|call| (call, Vec::new())).collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS.cast_unsigned()),
        TargetArch::try_from(std::env::consts::ARCH).unwrap(),
    );
    filter.unwrap().try_into().unwrap()
}

/// Makes a command run as on a kernel without Landlock.
fn without_landlock(command: &mut Command) {
    let program = no_landlock();
    let apply = move || seccompiler::apply_filter(&program).map_err(std::io::Error::other);
    #[expect(
        unsafe_code,
        reason = "a filter is inherited only by what is started after it"
    )]
    // SAFETY: the program was made before; applying it is two system calls.
    unsafe {
        command.pre_exec(apply);
    }
}

#[test]
fn a_machine_without_landlock_is_told_and_runs_nothing_unseen() {
    let Some(place) = Place::new() else { return };
    let plan = place.plan(STRICT);
    std::thread::scope(|scope| {
        let on_it = scope.spawn(|| {
            // Of this thread, and of what it starts.
            seccompiler::apply_filter(&no_landlock()).unwrap();
            place.does_not_run(&plan);
        });
        on_it.join().unwrap();
    });

    // Bubblewrap could hold commands there.
    std::fs::create_dir_all(place.work.join(".craft")).unwrap();
    let off = json!({ "Sandbox": { "Bubblewrap": "off" } });
    std::fs::write(place.work.join(".craft/config.json"), off.to_string()).unwrap();
    let mut doctor = bobbin(&place.work);
    doctor
        .args(["doctor"])
        .env("HOME", &place.work)
        .env("BOBBIN_STATE", place.file.with_file_name("state"));
    without_landlock(&mut doctor);
    let told = String::from_utf8_lossy(&doctor.output().unwrap().stdout).into_owned();
    assert!(
        told.contains("bad   sandbox") && told.contains("has no Landlock"),
        "{told}"
    );

    let rules = json!({
        "Permissions": { "Rules": [{ "Action": "allow", "Command": "touch *" }] },
        "Sandbox": { "Bubblewrap": "off" },
    });
    std::fs::write(place.work.join(".craft/config.json"), rules.to_string()).unwrap();
    let mut exec = bobbin(&place.work);
    exec.args(["exec", "run `touch unseen`"])
        .env("HOME", &place.work)
        .env("BOBBIN_STATE", place.file.with_file_name("state"));
    without_landlock(&mut exec);
    let output = exec.output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(4),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!place.work.join("unseen").exists());
}

#[tokio::test]
async fn commands_of_a_turn_are_held_and_that_is_said() {
    let Some(place) = Place::new() else { return };
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client_with("me", crate::support::rich()).await;
    let thread = client.start_thread().await;
    let outside = place.file.to_str().unwrap();
    client
        .start_turn(
            &thread,
            &format!("run `echo x > {outside}; echo y > inside; echo $TMPDIR; mktemp`"),
        )
        .await;
    let asked = client.wait_for("item/approval/request").await;
    let reason = asked["params"]["reason"].as_str().unwrap();
    assert!(
        reason.contains("only files of the workspace may be written, no network"),
        "{reason}"
    );
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let seen = client.until("turn/completed").await;
    place.is_unchanged();
    assert!(workspace.path().join("inside").exists());
    let items: Vec<_> = seen
        .iter()
        .filter(|message| message["method"] == "item/completed")
        .map(|message| &message["params"]["item"])
        .collect();
    let command = items
        .iter()
        .find(|item| item["type"] == "commandExecution")
        .unwrap();
    assert_eq!(command["payload"]["source"], "sandbox");
    let holders = command["payload"]["heldBy"].as_array().unwrap();
    assert!(holders.iter().any(|name| name == "seccomp"), "{holders:?}");
    for name in holders {
        assert!(reason.contains(name.as_str().unwrap()), "{reason}");
    }
    let output = command["payload"]["aggregatedOutput"].as_str().unwrap();
    assert!(
        (output.contains("Permission denied") || output.contains("Read-only file system"))
            && (output.contains("/bobbin-") || reason.contains("bubblewrap") && output.contains("/tmp/tmp.")),
        "{output}"
    );
    let doctor = workspace.run(&["doctor"]).await;
    let told = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(
        told.contains("ok    sandbox") && told.contains("tried just now"),
        "{told}"
    );
}
