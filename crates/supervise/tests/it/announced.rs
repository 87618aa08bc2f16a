//! A service that announces a port on its standard output and serves there.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use bobbin_children::{Children, Environment, ProcessSpec};
use bobbin_supervise::{Child, Failure, Group, Restart, Service, Start, Status, Streams, causes, is_lasting};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

const PATIENCE: Duration = Duration::from_secs(20);

/// Answers one line, writes its last words, and ends.
pub(crate) fn serve_one_client() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // The harness writes lines of its own before.
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nServing on ('127.0.0.1', {port})").unwrap();
    out.flush().unwrap();
    let (stream, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let greeting = lines.next().unwrap().unwrap();
    writeln!(&stream, "{greeting} to you").unwrap();
    lines.next();
    for line in 0..40 {
        writeln!(std::io::stderr(), "drop {line}").unwrap();
    }
}

struct Kettle {
    children: Children,
    process: ProcessSpec,
    news: Sender<String>,
}

impl Service for Kettle {
    type Handle = String;
    type Connection = (Child, TcpStream, AbortOnDropHandle<()>);

    fn name(&self) -> &'static str {
        "kettle"
    }

    fn restart(&self) -> Restart {
        Restart::Never
    }

    async fn start(&self) -> Result<(String, Self::Connection), Failure> {
        let child = Child::start(&self.children, self.process.clone(), "kettle").await;
        let (child, Streams { output, .. }) = child.map_err(|error| Failure {
            problem: causes(&error),
            lasting: is_lasting(&error),
        })?;
        let mut lines = tokio::io::BufReader::new(output).lines();
        let port = loop {
            let line = lines.next_line().await.ok().flatten();
            let line = line.ok_or_else(|| Failure::passing("no port"))?;
            if let Some((_, rest)) = line.split_once("Serving on ('127.0.0.1', ") {
                break rest.trim_end_matches(')').parse().unwrap();
            }
        };
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.write_all(b"hello\n").await.unwrap();
        let mut answer = vec![0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        // An output that nobody reads would block the child.
        let drain = async move { while let Ok(Some(_)) = lines.next_line().await {} };
        let drain = AbortOnDropHandle::new(tokio::spawn(drain));
        Ok((String::from_utf8(answer).unwrap(), (child, stream, drain)))
    }

    async fn serve(&self, (child, ..): &mut Self::Connection, _: &(dyn Fn(String) + Sync)) {
        child.lost().await;
    }

    async fn end(&self, (child, stream, _drain): Self::Connection) -> Failure {
        drop(stream);
        let ended = child.end(PATIENCE).await;
        let (first, last) = (&ended.errors[0], &ended.errors[ended.errors.len() - 1]);
        let problem = format!("{:?}: {first} to {last}", ended.exit.unwrap());
        self.news.try_send(problem.clone()).unwrap();
        Failure::passing(problem)
    }

    fn changed(&self, status: Status<'_, String>) {
        self.news.try_send(format!("{status:?}")).unwrap();
    }
}

#[tokio::test]
async fn a_child_that_announces_a_port_is_greeted_there_and_ends_with_its_last_lines() {
    let directory = tempfile::tempdir().unwrap();
    let mut environment = Environment::empty();
    environment.set("PATH", "/usr/bin:/bin");
    let program = std::env::current_exe().unwrap();
    let arguments = ["kettle", "--exact", "--ignored", "--nocapture"];
    let process = ProcessSpec::new(program, directory.path(), environment).args(arguments);
    let (news, mut seen) = channel(100);
    let kettle = Kettle {
        children: Children::new(None),
        process,
        news,
    };
    let group = Group::new(1);
    group.set("kettle", kettle, Start::Now).unwrap();
    let one = group.get("kettle").unwrap();
    let handle = timeout(PATIENCE, one.ready(|_| true)).await.unwrap();
    assert_eq!(handle.as_deref(), Some("hello to you"));
    timeout(PATIENCE, group.end()).await.unwrap();
    let mut last = String::new();
    while let Ok(next) = seen.try_recv() {
        last = next;
    }
    assert!(last.ends_with("drop 10 to drop 39"), "{last}");
}
