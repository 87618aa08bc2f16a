//! Commands run for real: order, limits, ends, and what is left behind (nothing).
#![cfg(target_os = "linux")]

#[cfg(test)]
mod helper;

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use bobbin_children::{
        CHUNK_BYTES, ChildError, Environment, Exit, Input, Limits, Outcome, ProcessSpec, Shell,
        output_channel,
    };
    use tokio_util::sync::CancellationToken;

    use crate::helper::children;

    fn spec(line: &str) -> ProcessSpec {
        let mut env = Environment::empty();
        env.set("PATH", "/usr/local/bin:/usr/bin:/bin");
        ProcessSpec::shell(&Shell::Posix, line, "/", env)
    }

    fn limits(wall_clock: Duration) -> Limits {
        Limits {
            wall_clock,
            grace: Duration::from_millis(300),
            ..Limits::default()
        }
    }

    async fn run(line: &str) -> Outcome {
        run_spec(spec(line)).await
    }

    async fn run_spec(spec: ProcessSpec) -> Outcome {
        children()
            .run(spec, &Limits::default(), None, &CancellationToken::new())
            .await
            .unwrap()
    }

    /// Process ids printed by a command, one word each.
    fn pids(text: &str) -> Vec<i32> {
        text.split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect()
    }

    /// Whether a process runs; one that is dead and waits to be reaped does not.
    fn runs(pid: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.rsplit(") ").next().unwrap().starts_with(['Z', 'X']))
    }

    /// Fails unless all of them are gone very soon; a killed process takes a moment.
    async fn assert_gone(pids: &[i32]) {
        assert!(!pids.is_empty());
        for _ in 0..200 {
            if !pids.iter().any(|&pid| runs(pid)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!(
            "still running: {:?}",
            pids.iter().filter(|&&pid| runs(pid)).collect::<Vec<_>>()
        );
    }

    #[tokio::test]
    async fn exit_codes_and_signals_are_reported() {
        assert_eq!(run("exit 0").await.exit, Exit::Exited(0));
        assert_eq!(run("exit 7").await.exit, Exit::Exited(7));
        assert_eq!(run("kill -USR1 $$").await.exit, Exit::Signaled(10));
    }

    #[tokio::test]
    async fn both_streams_arrive_in_the_order_they_were_written() {
        let line = "for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done";
        let expected: Vec<_> = (1..=5)
            .flat_map(|i| [format!("out{i}"), format!("err{i}")])
            .collect();
        assert_eq!(run(line).await.output.text.lines().collect::<Vec<_>>(), expected);
    }

    #[tokio::test]
    async fn output_reaches_the_sink_while_the_command_runs() {
        let (sink, mut chunks) = output_channel();
        let (children, cancel, limits) = (children(), CancellationToken::new(), Limits::default());
        let running = children.run(spec("echo first; sleep 1000"), &limits, Some(sink), &cancel);
        let reader = async {
            let first = chunks.recv().await.unwrap();
            cancel.cancel();
            first
        };
        let (outcome, first) = tokio::join!(running, reader);
        assert_eq!(
            (first.as_str(), outcome.unwrap().exit),
            ("first\n", Exit::Cancelled)
        );
    }

    #[tokio::test]
    async fn chunks_are_bounded_and_never_cut_a_character() {
        let (sink, mut chunks) = output_channel();
        // 3 bytes a character, so that no power of two falls between two of them.
        let bytes = "€".repeat(100_000).into_bytes();
        let spec = spec("cat").input(Input::Bytes(bytes));
        let (children, limits, cancel) = (children(), Limits::default(), CancellationToken::new());
        let reader = async {
            let mut text = String::new();
            while let Some(chunk) = chunks.recv().await {
                assert!(chunk.len() <= CHUNK_BYTES);
                assert!(!chunk.contains(char::REPLACEMENT_CHARACTER));
                text.push_str(&chunk);
            }
            text
        };
        let (outcome, streamed) = tokio::join!(children.run(spec, &limits, Some(sink), &cancel), reader);
        assert_eq!(streamed, "€".repeat(100_000));
        assert_eq!(outcome.unwrap().output.text, streamed);
    }

    #[tokio::test]
    async fn a_character_written_in_two_halves_arrives_whole() {
        let outcome = run(r"printf 'a\342'; sleep 0.05; printf '\202\254b'").await;
        assert_eq!(outcome.output.text, "a€b");
    }

    #[tokio::test]
    async fn a_slow_sink_loses_nothing() {
        let (sink, mut chunks) = tokio::sync::mpsc::channel(1);
        let (children, limits, cancel) = (children(), Limits::default(), CancellationToken::new());
        let running = children.run(spec("seq 20000"), &limits, Some(sink), &cancel);
        let reader = async {
            let mut text = String::new();
            while let Some(chunk) = chunks.recv().await {
                tokio::time::sleep(Duration::from_millis(10)).await;
                text.push_str(&chunk);
            }
            text
        };
        let (outcome, streamed) = tokio::join!(running, reader);
        assert!(streamed.lines().eq((1..=20_000).map(|i| i.to_string())));
        assert_eq!(outcome.unwrap().output.text, streamed);
    }

    #[tokio::test]
    async fn a_sink_nobody_reads_does_not_hold_the_end() {
        let (sink, _unread) = tokio::sync::mpsc::channel(1);
        let limits = limits(Duration::from_millis(100));
        let cancel = CancellationToken::new();
        let outcome = children()
            .run(spec("yes"), &limits, Some(sink), &cancel)
            .await
            .unwrap();
        assert_eq!(outcome.exit, Exit::TimedOut);
    }

    #[tokio::test]
    async fn a_sink_that_was_dropped_does_not_disturb_the_command() {
        let (sink, receiver) = output_channel();
        drop(receiver);
        let cancel = CancellationToken::new();
        let outcome = children()
            .run(spec("seq 3"), &Limits::default(), Some(sink), &cancel)
            .await
            .unwrap();
        assert_eq!(
            (outcome.exit, outcome.output.text.as_str()),
            (Exit::Exited(0), "1\n2\n3\n")
        );
    }

    #[tokio::test]
    async fn a_time_out_kills_the_whole_group() {
        let limits = limits(Duration::from_millis(150));
        let line = "sleep 1000 & echo $$ $!; sleep 1000";
        let outcome = children()
            .run(spec(line), &limits, None, &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(outcome.exit, Exit::TimedOut);
        assert_gone(&pids(&outcome.output.text)).await;
    }

    #[tokio::test]
    async fn a_group_deaf_to_the_polite_signal_is_killed_after_the_grace() {
        let limits = limits(Duration::from_millis(100));
        let line = "trap '' TERM; sleep 1000 & echo $$ $!; wait; sleep 1000";
        let outcome = children()
            .run(spec(line), &limits, None, &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(outcome.exit, Exit::TimedOut);
        assert!(
            outcome.duration >= Duration::from_millis(400),
            "{:?}",
            outcome.duration
        );
        assert_gone(&pids(&outcome.output.text)).await;
    }

    #[tokio::test]
    async fn what_a_command_says_on_its_way_out_is_kept() {
        let limits = limits(Duration::from_millis(100));
        let line = "trap 'echo bye; exit 3' TERM; while :; do sleep 0.01; done";
        let outcome = children()
            .run(spec(line), &limits, None, &CancellationToken::new())
            .await
            .unwrap();
        assert_eq!(outcome.exit, Exit::TimedOut);
        // Some shells say first that their `sleep` was terminated.
        assert!(
            outcome.output.text.ends_with("bye\n"),
            "{:?}",
            outcome.output.text
        );
    }

    #[tokio::test]
    async fn cancelling_ends_the_group_within_a_tenth_of_a_second() {
        let (children, limits, cancel) = (children(), Limits::default(), CancellationToken::new());
        let (sink, mut chunks) = output_channel();
        let line = spec("sleep 1000 & echo $$ $!; sleep 1000");
        let running = children.run(line, &limits, Some(sink), &cancel);
        let canceller = async {
            chunks.recv().await.unwrap();
            cancel.cancel();
            Instant::now()
        };
        let (outcome, cancelled) = tokio::join!(running, canceller);
        let took = cancelled.elapsed();
        let outcome = outcome.unwrap();
        assert_eq!(outcome.exit, Exit::Cancelled);
        assert!(took < Duration::from_millis(100), "took {took:?}");
        assert_gone(&pids(&outcome.output.text)).await;
    }

    #[tokio::test]
    async fn a_command_cancelled_beforehand_is_not_run() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let spec = ProcessSpec::new("/does/not/exist", "/", Environment::empty());
        let outcome = children()
            .run(spec, &Limits::default(), None, &cancel)
            .await
            .unwrap();
        assert_eq!(outcome.exit, Exit::Cancelled);
    }

    #[tokio::test]
    async fn dropping_the_run_kills_the_group() {
        let (children, limits, cancel) = (children(), Limits::default(), CancellationToken::new());
        let (sink, mut chunks) = output_channel();
        let line = spec("sleep 1000 & echo $$ $!; sleep 1000");
        let text = tokio::select! {
            _ = children.run(line, &limits, Some(sink), &cancel) => panic!("it ended"),
            text = chunks.recv() => text.unwrap(),
        };
        assert_gone(&pids(&text)).await;
    }

    #[tokio::test]
    async fn a_grandchild_that_holds_the_pipe_neither_delays_the_outcome_nor_survives_it() {
        let outcome = run("sleep 1000 & echo $!").await;
        assert_eq!(outcome.exit, Exit::Exited(0));
        assert!(
            outcome.duration < Duration::from_millis(800),
            "{:?}",
            outcome.duration
        );
        assert_gone(&pids(&outcome.output.text)).await;
    }

    #[tokio::test]
    async fn a_grandchild_that_never_stops_writing_is_killed_too() {
        let outcome = run("yes & exit 4").await;
        assert_eq!(outcome.exit, Exit::Exited(4));
        assert!(
            outcome.duration < Duration::from_secs(3),
            "{:?}",
            outcome.duration
        );
        assert!(outcome.output.is_truncated());
    }

    #[tokio::test]
    async fn a_silent_grandchild_does_not_outlive_the_command() {
        let outcome = run("sleep 1000 >/dev/null 2>&1 & echo $!").await;
        assert_gone(&pids(&outcome.output.text)).await;
    }

    #[tokio::test]
    async fn a_grandchild_outside_the_group_does_not_hold_the_outcome() {
        let outcome = run("setsid sleep 2 & echo done").await;
        assert_eq!(outcome.output.text, "done\n");
        assert!(
            outcome.duration < Duration::from_millis(800),
            "{:?}",
            outcome.duration
        );
    }

    /// Starts a process of a session of its own that nobody is the parent of, and says its id.
    const DOUBLE_FORK: &str = "(setsid sh -c 'sleep 1000 & echo $!; sleep 1000' &); ";

    #[tokio::test]
    async fn a_double_fork_into_another_session_outlives_neither_the_command_nor_its_end() {
        let (children, never) = (children(), CancellationToken::new());
        let line = |rest: &str| spec(&format!("{DOUBLE_FORK}{rest}"));
        let done = children
            .run(line("sleep 0.3"), &Limits::default(), None, &never)
            .await
            .unwrap();
        assert_eq!(done.exit, Exit::Exited(0));
        assert_gone(&pids(&done.output.text)).await;
        let short = limits(Duration::from_millis(500));
        let timed_out = children
            .run(line("sleep 1000"), &short, None, &never)
            .await
            .unwrap();
        assert_eq!(timed_out.exit, Exit::TimedOut);
        assert_gone(&pids(&timed_out.output.text)).await;
        for dropped in [false, true] {
            let (cancel, (sink, mut chunks)) = (CancellationToken::new(), output_channel());
            let all = limits(Duration::from_mins(1));
            let running = children.run(line("sleep 1000"), &all, Some(sink), &cancel);
            let text = async {
                let text = chunks.recv().await.unwrap();
                cancel.cancel();
                text
            };
            let text = if dropped {
                tokio::select! {
                    biased;
                    text = text => text,
                    _ = running => panic!("it ended"),
                }
            } else {
                let (done, text) = tokio::join!(running, text);
                assert_eq!(done.unwrap().exit, Exit::Cancelled);
                text
            };
            assert_gone(&pids(&text)).await;
        }
    }

    #[tokio::test]
    async fn all_children_end_and_none_starts_until_it_is_allowed() {
        let (children, never) = (children(), CancellationToken::new());
        let all = limits(Duration::from_mins(1));
        let (sink, mut chunks) = output_channel();
        let running = children.run(spec("sleep 1000 & echo $!; sleep 1000"), &all, Some(sink), &never);
        let stopped = async {
            let text = chunks.recv().await.unwrap();
            children.clone().stop_all();
            text
        };
        let (done, text) = tokio::join!(running, stopped);
        assert_eq!(done.unwrap().exit, Exit::Signaled(9));
        assert_gone(&pids(&text)).await;
        let refused = children.run(spec("echo late"), &all, None, &never).await;
        assert!(matches!(refused, Err(ChildError::Stopped)), "{refused:?}");
        children.allow();
        let done = children
            .run(spec("echo again"), &all, None, &never)
            .await
            .unwrap();
        assert_eq!(done.output.text, "again\n");
    }

    #[tokio::test]
    async fn a_command_that_kills_its_parent_ends_too() {
        let started = Instant::now();
        let line = spec("kill -9 $PPID; sleep 1000");
        let (limits, never) = (Limits::default(), CancellationToken::new());
        let done = children().run(line, &limits, None, &never).await;
        assert!(matches!(done, Err(ChildError::ParentGone)), "{done:?}");
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[tokio::test]
    async fn a_command_with_too_much_memory_is_ended() {
        let mut line = spec("head -c 300m /dev/zero | tail -c 300m | sleep 1000");
        line.limits.memory_bytes = Some(64 << 20);
        assert_eq!(run_spec(line).await.exit, Exit::OverMemory(64 << 20));
        let mut line = spec("head -c 1m /dev/zero | tail -c 1m | wc -c; sleep 1.2");
        line.limits.memory_bytes = Some(64 << 20);
        assert_eq!(run_spec(line).await.exit, Exit::Exited(0));
    }

    #[tokio::test]
    async fn a_file_of_a_command_grows_to_its_limit() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        let mut line = spec(&format!("head -c 3m /dev/zero > {}", file.display()));
        line.limits.file_bytes = Some(1 << 20);
        assert_ne!(run_spec(line).await.exit, Exit::Exited(0));
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
    }

    #[tokio::test]
    async fn long_output_keeps_its_head_and_its_tail() {
        let limits = Limits {
            captured_bytes: 100,
            ..Limits::default()
        };
        let spec = spec("seq 100000");
        let outcome = children()
            .run(spec, &limits, None, &CancellationToken::new())
            .await
            .unwrap();
        let output = outcome.output;
        assert!(output.text.starts_with("1\n2\n3\n") && output.text.ends_with("99999\n100000\n"));
        assert_eq!((output.total_bytes, output.dropped_bytes), (588_895, 588_795));
    }

    /// What a client is told of it counts characters, as people do.
    #[tokio::test]
    async fn long_output_is_counted_in_characters_too() {
        let limits = Limits {
            captured_bytes: 100,
            ..Limits::default()
        };
        let spec = spec(r"for i in $(seq 1000); do printf 'é€\n'; done");
        let outcome = children()
            .run(spec, &limits, None, &CancellationToken::new())
            .await
            .unwrap();
        let output = outcome.output;
        assert_eq!((output.total_bytes, output.total_chars), (6000, 3000));
    }

    #[tokio::test]
    async fn a_child_has_the_variables_it_was_given_and_no_other() {
        let mut env = Environment::empty();
        env.set("ONLY", "this");
        let outcome = run_spec(ProcessSpec::new("/usr/bin/env", "/", env)).await;
        assert_eq!(outcome.output.text, "ONLY=this\n");
    }

    #[tokio::test]
    async fn a_child_inherits_no_descriptor_but_its_own_three() {
        use std::os::fd::AsRawFd as _;
        // A descriptor that whoever started us forgot to close.
        let leak = std::fs::File::open("/dev/null").unwrap();
        let flags = nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty());
        nix::fcntl::fcntl(&leak, flags).unwrap();
        assert!(leak.as_raw_fd() > 2);
        let outcome = run("for fd in /proc/$$/fd/*; do echo ${fd##*/}; done").await;
        let open: Vec<i32> = pids(&outcome.output.text);
        assert!(
            !open.contains(&leak.as_raw_fd()) && open.starts_with(&[0, 1, 2]),
            "{open:?}"
        );
    }

    #[tokio::test]
    async fn a_child_leads_a_group_in_a_session_that_is_not_ours_and_has_no_terminal() {
        let outcome = run("cut -d' ' -f1,5,6,7 /proc/$$/stat").await;
        let numbers = pids(&outcome.output.text);
        let ours = nix::unistd::getsid(None).unwrap().as_raw();
        assert_eq!((numbers[1], numbers[3]), (numbers[0], 0));
        assert_ne!(numbers[2], ours);
    }

    #[tokio::test]
    async fn input_is_delivered_and_closed() {
        let outcome = run_spec(spec("cat; echo end").input(Input::Bytes(b"given ".to_vec()))).await;
        assert_eq!(outcome.output.text, "given end\n");
    }

    #[tokio::test]
    async fn what_is_typed_arrives_until_nobody_can_type_any_more() {
        let (typing, typed) = tokio::sync::mpsc::channel(4);
        let (sink, mut chunks) = output_channel();
        let line = spec("while read -r line; do echo got $line; done; echo end");
        let run = async {
            let children = children();
            let never = CancellationToken::new();
            children
                .run_typed(line, &Limits::default(), Some(sink), typed, &never)
                .await
                .unwrap()
        };
        let talk = async {
            for word in ["one", "two"] {
                typing.send(format!("{word}\n").into_bytes()).await.unwrap();
                assert_eq!(chunks.recv().await.unwrap(), format!("got {word}\n"));
            }
            drop(typing);
            chunks.recv().await
        };
        let (outcome, last) = tokio::join!(run, talk);
        assert_eq!((outcome.exit, last.as_deref()), (Exit::Exited(0), Some("end\n")));
    }

    #[tokio::test]
    async fn input_nobody_reads_is_no_error() {
        let outcome = run_spec(spec("exit 2").input(Input::Bytes(vec![b'x'; 1 << 20]))).await;
        assert_eq!(outcome.exit, Exit::Exited(2));
    }

    #[tokio::test]
    async fn a_missing_program_and_a_missing_directory_are_told_apart() {
        let (children, limits, cancel) = (children(), Limits::default(), CancellationToken::new());
        let program = ProcessSpec::new("no-such-program", "/", Environment::empty());
        let error = children.run(program, &limits, None, &cancel).await.unwrap_err();
        assert!(matches!(error, ChildError::Spawn { .. }), "{error}");
        let directory = ProcessSpec::new("/bin/sh", "/no/such/directory", Environment::empty());
        let error = children.run(directory, &limits, None, &cancel).await.unwrap_err();
        assert!(
            matches!(&error, ChildError::WorkingDirectory { path, .. } if path == Path::new("/no/such/directory"))
        );
    }

    #[tokio::test]
    async fn many_commands_run_at_once() {
        let (children, limits, cancel) = (children(), Limits::default(), CancellationToken::new());
        let mut running = tokio::task::JoinSet::new();
        for number in 0..200 {
            let (children, limits, cancel) = (children.clone(), limits.clone(), cancel.clone());
            running.spawn(async move {
                let line = spec(&format!("sleep 0.05; exit {number}"));
                (
                    number,
                    children.run(line, &limits, None, &cancel).await.unwrap().exit,
                )
            });
        }
        while let Some(ended) = running.join_next().await {
            let (number, exit) = ended.unwrap();
            assert_eq!(exit, Exit::Exited(number));
        }
    }
}
