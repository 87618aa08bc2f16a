//! What a process has when its program starts, and which program that is.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod helper;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use bobbin_children::{ChildError, Environment, Exit, Limits, Outcome, ProcessSpec};
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::getpid;
    use tokio::signal::unix::{SignalKind, signal};
    use tokio_util::sync::CancellationToken;

    use crate::helper;

    async fn run(spec: ProcessSpec) -> Result<Outcome, ChildError> {
        let children = helper::children();
        children
            .run(spec, &Limits::default(), None, &CancellationToken::new())
            .await
    }

    fn program(path: &Path, text: &str, mode: u32) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    fn with_path(program: &str, path: &str) -> ProcessSpec {
        let mut env = Environment::empty();
        env.set("PATH", path);
        ProcessSpec::new(program, "/", env)
    }

    #[tokio::test]
    async fn no_signal_is_blocked_or_handled_and_a_broken_pipe_ends_it() {
        let _term = signal(SignalKind::terminate()).unwrap();
        let spec = ProcessSpec::new("/bin/cat", "/", Environment::empty()).arg("/proc/self/status");
        let text = run(spec).await.unwrap().output.text;
        let set = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            u64::from_str_radix(line.trim(), 16).unwrap()
        };
        assert_eq!((set("SigBlk:"), set("SigCgt:")), (0, 0));
        assert_eq!(set("SigIgn:") & (1 << (Signal::SIGPIPE as u64 - 1)), 0);
    }

    #[tokio::test]
    async fn signals_of_the_server_are_its_own_while_it_starts_others() {
        let mut heard = signal(SignalKind::user_defined1()).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    kill(getpid(), Signal::SIGUSR1).unwrap();
                    std::thread::sleep(Duration::from_micros(200));
                }
            });
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .unwrap();
            let started = scope.spawn(move || {
                runtime.block_on(async {
                    let children = helper::children();
                    for _ in 0..50 {
                        let spec = ProcessSpec::new("/bin/true", "/", Environment::empty());
                        let (limits, never) = (Limits::default(), CancellationToken::new());
                        let outcome = children.run(spec, &limits, None, &never).await.unwrap();
                        assert_eq!(outcome.exit, Exit::Exited(0));
                    }
                });
            });
            let started = started.join();
            done.store(true, Ordering::Relaxed);
            started.unwrap();
        });
        heard.recv().await.unwrap();
    }

    #[tokio::test]
    async fn a_program_that_does_not_say_who_reads_it_is_read_by_the_shell() {
        let place = tempfile::tempdir().unwrap();
        program(&place.path().join("said"), "echo \"$0 $1\"", 0o755);
        let path = place.path().to_str().unwrap();
        let outcome = run(with_path("said", path).arg("so")).await.unwrap();
        assert_eq!(outcome.output.text, format!("{path}/said so\n"));
    }

    #[tokio::test]
    async fn a_program_is_found_behind_what_cannot_be_executed() {
        let place = tempfile::tempdir().unwrap();
        for (directory, mode) in [("first", 0o644), ("second", 0o755)] {
            let directory = place.path().join(directory);
            std::fs::create_dir(&directory).unwrap();
            program(&directory.join("tool"), "#!/bin/sh\necho found", mode);
        }
        let path = |names: &[&str]| {
            let paths = names.iter().map(|name| place.path().join(name));
            std::env::join_paths(paths).unwrap().into_string().unwrap()
        };
        let all = path(&["missing", "first", "second"]);
        assert_eq!(run(with_path("tool", &all)).await.unwrap().output.text, "found\n");
        for (names, kind) in [
            (&["missing", "first"][..], std::io::ErrorKind::PermissionDenied),
            (&["missing"], std::io::ErrorKind::NotFound),
        ] {
            let error = run(with_path("tool", &path(names))).await.unwrap_err();
            assert!(
                matches!(&error, ChildError::Spawn { source, .. } if source.kind() == kind),
                "{names:?}: {error:?}"
            );
        }
    }

    #[tokio::test]
    async fn why_a_program_cannot_be_executed_is_said_as_the_system_says_it() {
        for (program, kind) in [
            ("/etc/passwd/x", std::io::ErrorKind::NotADirectory),
            ("/etc/passwd", std::io::ErrorKind::PermissionDenied),
            ("/not/there", std::io::ErrorKind::NotFound),
            ("", std::io::ErrorKind::NotFound),
        ] {
            let error = run(ProcessSpec::new(program, "/", Environment::empty())).await;
            let error = error.unwrap_err();
            assert!(
                matches!(&error, ChildError::Spawn { source, .. } if source.kind() == kind),
                "{program}: {error:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_zero_byte_in_what_it_is_told_is_an_error() {
        let spec = || ProcessSpec::new("/bin/echo", "/", Environment::empty());
        let mut env = Environment::empty();
        env.set("NAME", "a\0b");
        let mut with_variable = spec();
        with_variable.env = env;
        for spec in [spec().arg("a\0b"), with_variable] {
            let error = run(spec).await.unwrap_err();
            assert!(matches!(error, ChildError::Spawn { source, .. }
                if source.kind() == std::io::ErrorKind::InvalidInput));
        }
    }

    #[tokio::test]
    async fn what_was_dropped_is_reaped() {
        let children = helper::children();
        let mut all = Vec::new();
        for _ in 0..20 {
            let spec = ProcessSpec::new("/bin/sleep", "/", Environment::empty()).arg("600");
            let (child, pipes) = children.start_piped(spec).await.unwrap();
            all.push(child.id());
            drop((child, pipes));
        }
        for _ in 0..400 {
            // Those that wait to be reaped are there still.
            all.retain(|id| Path::new(&format!("/proc/{id}")).exists());
            if all.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("not reaped: {all:?}");
    }
}
