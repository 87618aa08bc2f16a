//! Children in a terminal: job control works, the size is seen, and nothing of them is left.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod helper;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use bobbin_children::{
        ChildError, Children, Environment, Exit, PipedChild, ProcessSpec, Terminal, TerminalSize,
    };

    use crate::helper;

    const GRACE: Duration = Duration::from_millis(200);
    const PATIENCE: Duration = Duration::from_secs(20);
    const SIZE: TerminalSize = TerminalSize {
        columns: 90,
        rows: 30,
    };

    fn shell() -> ProcessSpec {
        let mut env = Environment::empty();
        env.set("PATH", "/usr/local/bin:/usr/bin:/bin");
        env.set("TERM", "xterm-256color");
        env.set("PS1", "ready> ");
        ProcessSpec::new("/bin/bash", "/", env).args(["--norc", "--noprofile"])
    }

    async fn start() -> (PipedChild, Screen) {
        let (child, terminal) = helper::children().start_in_terminal(shell(), SIZE).await.unwrap();
        let mut screen = Screen {
            terminal,
            text: String::new(),
        };
        screen.until("ready> ").await;
        (child, screen)
    }

    /// The terminal with what it has shown since the last look.
    struct Screen {
        terminal: Terminal,
        text: String,
    }

    impl Screen {
        async fn types(&mut self, text: &str) {
            self.terminal.write_all(text.as_bytes()).await.unwrap();
        }

        /// Reads until the text is shown. Returns what came up to it.
        async fn until(&mut self, text: &str) -> String {
            let mut buffer = [0; 4096];
            while !self.text.contains(text) {
                let read = tokio::time::timeout(PATIENCE, self.terminal.read(&mut buffer)).await;
                let count = read.map_or(0, Result::unwrap);
                assert!(count > 0, "no {text:?} in {:?}", self.text);
                self.text += &String::from_utf8_lossy(&buffer[..count]);
            }
            let end = self.text.find(text).unwrap() + text.len();
            let rest = self.text.split_off(end);
            std::mem::replace(&mut self.text, rest)
        }
    }

    async fn assert_gone(pid: &str) {
        let deadline = Instant::now() + Duration::from_secs(2);
        let runs = || {
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|stat| !stat.rsplit(") ").next().unwrap().starts_with(['Z', 'X']))
        };
        while runs() {
            assert!(Instant::now() < deadline, "{pid} still runs");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn a_program_is_stopped_continued_and_interrupted_by_keys() {
        let (child, mut screen) = start().await;
        let line =
            "bash -c 'trap \"echo cau\"\"ght; exit\" INT; while :; do echo t\"\"ick; read -t 0.1; done'\r";
        screen.types(line).await;
        screen.until("tick").await;
        screen.types("\x1a").await;
        screen.until("Stopped").await;
        screen.until("ready> ").await;
        screen.types("fg\r").await;
        screen.until("tick\r\n").await;
        screen.types("\x03").await;
        screen.until("caught").await;
        screen.until("ready> ").await;
        drop(screen);
        assert_eq!(child.end(GRACE).await.unwrap(), Exit::Signaled(1));
    }

    #[tokio::test]
    async fn the_size_is_seen_and_its_change_too() {
        let (child, mut screen) = start().await;
        screen.types("stty size; tty\r").await;
        screen.until("30 90\r\n").await;
        screen.until("/dev/pts/").await;
        let wide = TerminalSize {
            columns: 120,
            rows: 40,
        };
        screen.terminal.resize(wide).unwrap();
        screen.types("stty size\r").await;
        screen.until("40 120\r\n").await;
        drop(screen);
        child.end(GRACE).await.unwrap();
    }

    #[tokio::test]
    async fn what_it_has_started_in_any_session_ends_with_it() {
        let (child, mut screen) = start().await;
        screen
            .types("setsid bash -c 'trap \"\" HUP TERM; echo below=$$.; sleep 1000' & disown\r")
            .await;
        screen.until("disown\r\n").await;
        screen.until("below=").await;
        let below = screen.until(".").await;
        // A program that ignores the hang-up.
        screen
            .types("trap '' HUP TERM; echo trap\"\"ped; exec sleep 1000\r")
            .await;
        screen.until("trapped").await;
        drop(screen);
        assert_eq!(child.end(GRACE).await.unwrap(), Exit::Signaled(9));
        assert_gone(below.trim_end_matches('.')).await;
    }

    #[tokio::test]
    async fn its_exit_is_seen_after_all_that_it_wrote() {
        let (mut child, mut screen) = start().await;
        screen.types("echo la\"\"st; exit 3\r").await;
        child.exited().await;
        screen.until("last\r\n").await;
        assert_eq!(child.end(GRACE).await.unwrap(), Exit::Exited(3));
        let mut buffer = [0; 4096];
        while screen.terminal.read(&mut buffer).await.unwrap() > 0 {}
    }

    #[tokio::test]
    async fn a_writer_is_held_while_nobody_reads() {
        let (child, mut screen) = start().await;
        screen.types("yes | head -c 10000000; echo do\"\"ne\r").await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let mut buffer = vec![0; 1 << 20];
        let (mut total, mut end) = (0, Vec::new());
        while !end.ends_with(b"ready> ") {
            let count = screen.terminal.read(&mut buffer).await.unwrap();
            total += count;
            end.extend_from_slice(&buffer[..count]);
            end.drain(..end.len().saturating_sub(16));
        }
        // Each line end is two bytes in a terminal.
        assert!(total >= 15_000_000, "{total}");
        drop(screen);
        child.end(GRACE).await.unwrap();
    }

    #[tokio::test]
    async fn without_a_helper_there_is_none() {
        let refused = Children::new(None).start_in_terminal(shell(), SIZE).await;
        assert!(matches!(refused, Err(ChildError::Watch(_))));
    }
}
