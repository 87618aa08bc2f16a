//! What happens to a server's children when the server is killed.
//!
//! The tests start this test program again as the guard and as the server to be killed: the ignored
//! tests below are these two roles, which do nothing when run by hand.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, Write as _};
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use bobbin_children::{
        Children, Environment, Exit, GuardProgram, Limits, ProcessSpec, Shell, guard_main, output_channel,
    };
    use nix::sys::signal::{Signal, kill, killpg};
    use nix::sys::wait::{Id, WaitPidFlag, waitid};
    use nix::unistd::Pid;
    use tokio_util::sync::CancellationToken;

    /// How this program is started again in one of its roles.
    fn role(name: &str) -> Vec<String> {
        ["--ignored", "--exact", name, "--nocapture", "--quiet"]
            .map(str::to_owned)
            .to_vec()
    }

    /// A guard whose command line bears `mark`, for tests that look for theirs among others.
    fn guard(mark: &str) -> GuardProgram {
        let mut args = role("tests::acts_as_the_guard");
        // One more name of a test to run, which no test has.
        args.push(mark.to_owned());
        GuardProgram {
            program: std::env::current_exe().unwrap(),
            args: args.into_iter().map(Into::into).collect(),
        }
    }

    fn spec(line: &str) -> ProcessSpec {
        let mut env = Environment::empty();
        env.set("PATH", "/usr/local/bin:/usr/bin:/bin");
        ProcessSpec::shell(&Shell::Posix, line, "/", env)
    }

    /// Whether a process runs; one that is dead and waits to be reaped does not.
    fn runs(pid: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.rsplit(") ").next().unwrap().starts_with(['Z', 'X']))
    }

    /// The children of this very process that are guards with this mark.
    ///
    /// Found among all processes by their parent: the kernel's list of a thread's children may skip some while
    /// others of them end, as the children of the tests beside this one do.
    fn guards(mark: &str) -> Vec<i32> {
        let ours = format!("PPid:\t{}\n", std::process::id());
        std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
            .filter(|pid| {
                let file =
                    |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
                file("status").contains(&ours) && file("cmdline").contains(mark)
            })
            .collect()
    }

    fn wait_until(what: &str, condition: impl Fn() -> bool) {
        for _ in 0..1000 {
            if condition() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("in vain waited until {what}");
    }

    fn pids(file: &Path) -> Vec<i32> {
        std::fs::read_to_string(file)
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect()
    }

    #[test]
    #[ignore = "a role of the other tests"]
    fn acts_as_the_guard() {
        guard_main(std::io::stdin().lock());
    }

    /// Runs the commands that standard input lists, at once and for ever.
    #[tokio::test]
    #[ignore = "a role of the other tests"]
    async fn acts_as_the_server() {
        let children = Children::new(Some(guard("mark-server"))).unwrap();
        let lines: Vec<String> = std::io::stdin().lock().lines().map(Result::unwrap).collect();
        let mut running = tokio::task::JoinSet::new();
        for line in lines {
            let children = children.clone();
            running.spawn(async move {
                let limits = Limits {
                    wall_clock: Duration::from_mins(1),
                    ..Limits::default()
                };
                let line = spec(&line);
                children
                    .run(line, &limits, None, &CancellationToken::new())
                    .await
                    .unwrap()
            });
        }
        running.join_all().await;
    }

    /// A server process that runs these commands; killed with the test.
    struct Server(Child);

    impl Server {
        #[expect(
            clippy::disallowed_methods,
            reason = "the test needs a process of its own to kill"
        )]
        fn start(lines: &[String]) -> Self {
            let mut server = Command::new(std::env::current_exe().unwrap())
                .args(role("tests::acts_as_the_server"))
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            server
                .stdin
                .take()
                .unwrap()
                .write_all(lines.join("\n").as_bytes())
                .unwrap();
            Self(server)
        }

        fn kill(mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn a_server_killed_without_warning_leaves_no_child() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pids");
        let path = file.display();
        // Two groups; the kernel would end their leaders, but only the guard reaches the others.
        let server = Server::start(&[
            format!("sleep 1000 & echo $$ $! >> {path}; sleep 1000"),
            format!("(sleep 1000 & sleep 1000 & echo $! >> {path}; wait) & echo $! >> {path}; wait"),
        ]);
        wait_until("the children run", || pids(&file).len() == 4);
        assert!(pids(&file).into_iter().all(runs));
        server.kill();
        wait_until("all are gone", || !pids(&file).into_iter().any(runs));
    }

    #[test]
    fn a_group_whose_leader_ignores_everything_is_killed_with_the_server() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pids");
        let path = file.display();
        let server = Server::start(&[format!(
            "trap '' TERM HUP INT; sleep 1000 & echo $$ $! > {path}; wait"
        )]);
        wait_until("the children run", || pids(&file).len() == 2);
        server.kill();
        wait_until("all are gone", || !pids(&file).into_iter().any(runs));
    }

    #[tokio::test]
    async fn one_guard_serves_all_commands_and_goes_with_its_owner() {
        let children = Children::new(Some(guard("mark-one"))).unwrap();
        assert_eq!(guards("mark-one").len(), 0);
        for _ in 0..3 {
            let (limits, cancel) = (Limits::default(), CancellationToken::new());
            let outcome = children
                .run(spec("exit 0"), &limits, None, &cancel)
                .await
                .unwrap();
            assert_eq!(outcome.exit, Exit::Exited(0));
            assert_eq!(guards("mark-one").len(), 1);
        }
        drop(children);
        assert_eq!(guards("mark-one").len(), 0);
    }

    #[tokio::test]
    async fn a_guard_that_died_is_replaced_by_the_next_command() {
        let children = Children::new(Some(guard("mark-died"))).unwrap();
        let (limits, cancel) = (Limits::default(), CancellationToken::new());
        children
            .run(spec("exit 0"), &limits, None, &cancel)
            .await
            .unwrap();
        let first = guards("mark-died")[0];
        kill(Pid::from_raw(first), Signal::SIGKILL).unwrap();
        // Not `runs`: this guard has the threads of a test program, and the first may be dead while another
        // still holds the socket. The process is left to be reaped by its owner.
        waitid(
            Id::Pid(Pid::from_raw(first)),
            WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT,
        )
        .unwrap();
        let outcome = children
            .run(spec("echo fine"), &limits, None, &cancel)
            .await
            .unwrap();
        assert_eq!(outcome.output.text, "fine\n");
        assert!(guards("mark-died").len() == 1 && guards("mark-died")[0] != first);
    }

    #[tokio::test]
    async fn a_guard_is_deaf_to_polite_signals_and_not_in_our_group() {
        let children = Children::new(Some(guard("mark-deaf"))).unwrap();
        let (limits, cancel) = (Limits::default(), CancellationToken::new());
        children
            .run(spec("exit 0"), &limits, None, &cancel)
            .await
            .unwrap();
        let guard = Pid::from_raw(guards("mark-deaf")[0]);
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            killpg(guard, signal).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(runs(guard.as_raw()));
    }

    #[tokio::test]
    async fn a_guard_that_cannot_be_started_is_an_error() {
        let guard = GuardProgram {
            program: "/no/such/program".into(),
            args: Vec::new(),
        };
        let children = Children::new(Some(guard)).unwrap();
        let (limits, cancel) = (Limits::default(), CancellationToken::new());
        let error = children
            .run(spec("exit 0"), &limits, None, &cancel)
            .await
            .unwrap_err();
        assert!(matches!(error, bobbin_children::ChildError::Guard(_)), "{error}");
    }

    #[test]
    fn the_guard_kills_what_was_not_forgotten() {
        let (sink, mut chunks) = output_channel();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let children = Children::new(None).unwrap();
        let running = runtime.spawn(async move {
            let (limits, cancel) = (Limits::default(), CancellationToken::new());
            children
                .run(spec("echo $$; sleep 1000"), &limits, Some(sink), &cancel)
                .await
                .unwrap()
                .exit
        });
        let group: i32 = chunks.blocking_recv().unwrap().trim().parse().unwrap();
        let record = |tag: u32, group: i32, serial: u64| {
            let mut bytes = tag.to_le_bytes().to_vec();
            bytes.extend(group.to_le_bytes());
            bytes.extend(serial.to_le_bytes());
            bytes
        };
        // Watched and forgotten again: must not be hit. A torn record at the end: must not matter.
        guard_main(
            [record(1, group, 1), record(2, 0, 1), vec![1, 0]]
                .concat()
                .as_slice(),
        );
        assert!(runs(group));
        guard_main(record(1, group, 2).as_slice());
        assert_eq!(runtime.block_on(running).unwrap(), Exit::Signaled(9));
    }
}
