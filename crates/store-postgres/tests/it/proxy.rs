//! A socket in between that cuts a connection at the commit of a transaction.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

/// Where the next commit is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server does not get it.
    BeforeCommit,
    /// The server's answer is lost.
    AfterCommit,
}

/// The socket; gone when dropped.
pub(crate) struct Proxy {
    folder: TempDir,
    next: Arc<Mutex<Option<Cut>>>,
}

impl Proxy {
    /// Starts one for the server at a socket.
    pub(crate) fn to(server: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let next = Arc::new(Mutex::new(None));
        tokio::spawn(serve(listener, server.to_owned(), next.clone()));
        Self { folder, next }
    }

    /// Returns the address of a database through it.
    pub(crate) fn address(&self, database: &str) -> String {
        format!(
            "postgres://bobbin@localhost/{database}?host={}",
            self.folder.path().display()
        )
    }

    /// Cuts the connection at the next commit.
    pub(crate) fn cut(&self, at: Cut) {
        *self.next.lock() = Some(at);
    }

    /// Whether the cut was made.
    pub(crate) fn has_cut(&self) -> bool {
        self.next.lock().is_none()
    }
}

async fn serve(listener: UnixListener, server: PathBuf, next: Arc<Mutex<Option<Cut>>>) {
    while let Ok((client, _)) = listener.accept().await {
        let server = UnixStream::connect(&server).await.unwrap();
        tokio::spawn(relay(client, server, next.clone()));
    }
}

/// Copies both ways. The client sends a commit as a message of its own.
async fn relay(client: UnixStream, server: UnixStream, next: Arc<Mutex<Option<Cut>>>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let (mut said, mut answered) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        tokio::select! {
            count = from_client.read(&mut said) => {
                let Ok(count @ 1..) = count else { return };
                let bytes = &said[..count];
                let is_commit = bytes.windows(7).any(|part| part == b"COMMIT\0");
                let cut = if is_commit { next.lock().take() } else { None };
                if cut == Some(Cut::BeforeCommit) {
                    return;
                }
                to_server.write_all(bytes).await.unwrap();
                if cut == Some(Cut::AfterCommit) {
                    let _answer = from_server.read(&mut answered).await;
                    return;
                }
            }
            count = from_server.read(&mut answered) => {
                let Ok(count @ 1..) = count else { return };
                if to_client.write_all(&answered[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
