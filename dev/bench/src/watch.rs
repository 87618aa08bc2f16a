//! Readers of a stream: they only empty their sockets, find the pieces and note how late each was.
//!
//! One task a reader and one small buffer each. A reader that finds a piece missing, twice or out of order is an error;
//! one that gets nothing for a minute is one too.

use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::link::Link;
use crate::samples::Samples;
use crate::stamp::{self, Scanner};

/// Bytes taken at once.
const BUFFER: usize = 16 << 10;
/// How long a reader waits for anything.
const PATIENCE: Duration = Duration::from_mins(1);

/// Readers at work.
pub(crate) struct Watch {
    readers: JoinSet<anyhow::Result<Seen>>,
}

/// What one reader saw.
struct Seen {
    lags: Samples,
    last_at: Duration,
    with_item: usize,
    socket: TcpStream,
}

/// What all of them saw.
pub(crate) struct Watched {
    /// Pieces that arrived, all readers together.
    pub(crate) delivered: usize,
    /// Pieces that came to a reader with the finished Item only, because the stream had left it behind.
    pub(crate) with_item: usize,
    /// When the last piece arrived at the last reader, by the machine's clock.
    pub(crate) last_at: Duration,
    /// The 99th percentile of the reader whose that was highest.
    pub(crate) slowest_p99: Duration,
    /// All lags.
    pub(crate) lags: Samples,
    /// The connections, still open.
    pub(crate) sockets: Vec<TcpStream>,
}

impl Watch {
    /// Starts a reader of `count` pieces for each link.
    pub(crate) fn start(links: Vec<Link>, count: usize) -> anyhow::Result<Self> {
        let mut readers = JoinSet::new();
        for link in links {
            readers.spawn(read(link.into_stream()?, count));
        }
        Ok(Self { readers })
    }

    /// Waits until every reader has everything.
    pub(crate) async fn finish(mut self) -> anyhow::Result<Watched> {
        let mut watched = Watched {
            delivered: 0,
            with_item: 0,
            last_at: Duration::ZERO,
            slowest_p99: Duration::ZERO,
            lags: Samples::default(),
            sockets: Vec::new(),
        };
        while let Some(seen) = self.readers.join_next().await {
            let seen = seen??;
            watched.delivered += seen.lags.len();
            watched.with_item += seen.with_item;
            watched.last_at = watched.last_at.max(seen.last_at);
            watched.slowest_p99 = watched.slowest_p99.max(seen.lags.quantile(0.99));
            watched.lags.append(seen.lags);
            watched.sockets.push(seen.socket);
        }
        Ok(watched)
    }
}

async fn read(mut socket: TcpStream, count: usize) -> anyhow::Result<Seen> {
    let mut buffer = vec![0; BUFFER];
    let mut scanner = Scanner::default();
    let mut lags = Samples::default();
    let mut last_at = Duration::ZERO;
    while scanner.found() < count {
        let length = tokio::time::timeout(PATIENCE, socket.read(&mut buffer))
            .await
            .with_context(|| format!("nothing came after piece {} of {count}", scanner.found()))??;
        if length == 0 {
            bail!("the connection ended after piece {} of {count}", scanner.found());
        }
        last_at = stamp::now();
        let scanned = scanner.scan(&buffer[..length], count, |made| {
            lags.push(last_at.saturating_sub(made));
        });
        if let Err(wrong) = scanned {
            bail!("piece {} came where {} should have", wrong.found, wrong.expected);
        }
    }
    Ok(Seen {
        with_item: scanner.with_item(),
        lags,
        last_at,
        socket,
    })
}
