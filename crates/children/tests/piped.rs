//! Children that stay: what is said goes both ways, and nothing of them is left.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod helper;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use bobbin_children::{Children, Environment, Exit, PipedChild, Pipes, ProcessSpec, Shell};
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

    use crate::helper;

    const GRACE: Duration = Duration::from_millis(200);

    async fn start(line: &str) -> (PipedChild, Pipes, Children) {
        let mut env = Environment::empty();
        env.set("PATH", "/usr/local/bin:/usr/bin:/bin");
        let children = helper::children();
        let spec = ProcessSpec::shell(&Shell::Posix, line, "/", env);
        let (child, pipes) = children.start_piped(spec).await.unwrap();
        (child, pipes, children)
    }

    fn runs(pid: i32) -> bool {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.rsplit(") ").next().unwrap().starts_with(['Z', 'X']))
    }

    async fn assert_gone(pid: i32) {
        let deadline = Instant::now() + Duration::from_secs(2);
        while runs(pid) {
            assert!(Instant::now() < deadline, "{pid} still runs");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn first_line(pipes: &mut Pipes) -> String {
        let mut line = String::new();
        BufReader::new(&mut pipes.output)
            .read_line(&mut line)
            .await
            .unwrap();
        line.trim_end().to_owned()
    }

    #[tokio::test]
    async fn what_is_said_goes_both_ways_and_errors_go_apart() {
        let (child, mut pipes, _children) =
            start("read word; echo \"heard $word\"; echo aside >&2; cat >/dev/null").await;
        pipes.input.write_all(b"hello\n").await.unwrap();
        assert_eq!(first_line(&mut pipes).await, "heard hello");
        drop(pipes.input);
        assert_eq!(child.end(GRACE).await.unwrap(), Exit::Exited(0));
        let mut aside = String::new();
        pipes.errors.read_to_string(&mut aside).await.unwrap();
        assert_eq!(aside, "aside\n");
    }

    #[tokio::test]
    async fn one_that_does_not_listen_is_killed_with_what_it_started() {
        let (child, mut pipes, _children) =
            start("trap '' TERM; sleep 1000 & echo $!; while :; do sleep 1000; done").await;
        let below: i32 = first_line(&mut pipes).await.parse().unwrap();
        assert_eq!(child.end(GRACE).await.unwrap(), Exit::Signaled(9));
        assert_gone(below).await;
    }

    #[tokio::test]
    async fn its_exit_is_seen_and_what_it_left_is_cleared_up() {
        let (mut child, mut pipes, _children) = start("sleep 1000 & echo $!; exit 3").await;
        let below: i32 = first_line(&mut pipes).await.parse().unwrap();
        child.exited().await;
        assert!(runs(below));
        assert_eq!(child.end(GRACE).await.unwrap(), Exit::Exited(3));
        assert_gone(below).await;
    }

    #[tokio::test]
    async fn one_that_is_dropped_is_killed_at_once() {
        let (child, _pipes, _children) = start("sleep 1000").await;
        let pid = child.id();
        drop(child);
        assert_gone(pid).await;
    }

    /// Whether a process works in this directory.
    fn is_worked_in(place: &std::path::Path) -> bool {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut places = processes.filter_map(|process| process.path().join("cwd").read_link().ok());
        places.any(|found| found == place)
    }

    #[test]
    fn one_whose_start_is_dropped_is_killed_also_without_a_helper() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().canonicalize().unwrap();
        // What blocks comes one after another.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            // The start waits behind this until it has been dropped.
            let (dropped, is_dropped) = std::sync::mpsc::sync_channel::<()>(1);
            let busy = tokio::task::spawn_blocking(move || is_dropped.recv());
            {
                let children = Children::new(None);
                let spec = ProcessSpec::new("/bin/sleep", &real, Environment::empty()).arg("1000");
                let mut start = std::pin::pin!(children.start_piped(spec));
                std::future::poll_fn(|context| {
                    assert!(start.as_mut().poll(context).is_pending());
                    std::task::Poll::Ready(())
                })
                .await;
            }
            dropped.send(()).unwrap();
            busy.await.unwrap().unwrap();
            // The start is over when this has run.
            tokio::task::spawn_blocking(|| ()).await.unwrap();
        });
        let deadline = Instant::now() + Duration::from_secs(2);
        while is_worked_in(&real) {
            assert!(Instant::now() < deadline, "it still runs");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
