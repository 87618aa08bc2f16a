//! A socket in a directory, for processes of the same user on the same machine: messages with header blocks.
//!
//! Owns every connection's task and joins them. At most [`MAX_CONNECTIONS`] at once; one more is closed at once, and
//! so is one of another user. The directory may be deeper than a socket's address is long.

use std::fs::{File, Permissions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_framing::{Limits, Transport};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{Connections, MAX_BODY_BYTES};

/// Connections at once (guess: more windows than anybody has open).
const MAX_CONNECTIONS: usize = 32;
/// Pause after a connection could not be accepted.
const RETRY: Duration = Duration::from_millis(50);

/// A bound socket. Its file is gone when it is dropped.
#[derive(Debug)]
pub struct LocalListener {
    socket: UnixListener,
    path: PathBuf,
    user: u32,
}

impl LocalListener {
    /// Binds a socket file in a directory, in the place of one that was left behind.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn bind(directory: &Path, name: &str) -> std::io::Result<Self> {
        let path = directory.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let opened = File::open(directory)?;
        let socket = UnixListener::bind(short(&opened, name))?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let user = std::fs::metadata(&path)?.uid();
        Ok(Self { socket, path, user })
    }

    /// Accepts until told to stop, then waits for the connections to end.
    pub async fn run(self, connections: Arc<dyn Connections>, stop: CancellationToken) {
        let tasks = TaskTracker::new();
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.socket.accept() => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(RETRY).await;
                    continue;
                }
            };
            let is_own = stream.peer_cred().is_ok_and(|who| who.uid() == self.user);
            let permit = room.clone().try_acquire_owned();
            let (true, Ok(permit)) = (is_own, permit) else {
                tracing::warn!(
                    is_own,
                    "a connection was closed: it is one too many, or another user's"
                );
                continue;
            };
            let serving = connections.serve(framed(stream));
            tasks.spawn(async move {
                serving.await;
                drop(permit);
            });
        }
        drop(self);
        tasks.close();
        tasks.wait().await;
    }
}

impl Drop for LocalListener {
    fn drop(&mut self) {
        // Only tidiness: nobody answers there any more.
        drop(std::fs::remove_file(&self.path));
    }
}

/// Connects to the socket file of a directory.
///
/// # Errors
/// Nobody listens there.
pub async fn connect_local(directory: &Path, name: &str) -> std::io::Result<Transport> {
    let opened = File::open(directory)?;
    Ok(framed(UnixStream::connect(short(&opened, name)).await?))
}

/// Returns a short path of a file in an open directory: a socket's address has room for 107 bytes.
fn short(directory: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", directory.as_raw_fd()))
}

fn framed(stream: UnixStream) -> Transport {
    let (reader, writer) = stream.into_split();
    let limits = Limits::default().with_max_body_bytes(MAX_BODY_BYTES);
    Transport::content_length(reader, writer, limits)
}

#[cfg(test)]
mod tests {
    use bobbin_framing::CloseReason;
    use bytes::Bytes;
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;

    use super::*;

    /// Sends back what comes.
    struct Echo;

    impl Connections for Echo {
        fn serve(&self, mut transport: Transport) -> BoxFuture<'static, ()> {
            async move {
                while let Some(Ok(message)) = transport.next().await {
                    transport.send(message).await.unwrap();
                }
            }
            .boxed()
        }
    }

    #[tokio::test]
    async fn messages_pass_in_a_directory_of_any_depth_and_the_file_goes_with_the_listener() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("a-rather-long-name/".repeat(10));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("s"), "left behind").unwrap();
        let listener = LocalListener::bind(&directory, "s").unwrap();
        let file = std::fs::metadata(directory.join("s")).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
        let stop = CancellationToken::new();
        let running = tokio::spawn(listener.run(Arc::new(Echo), stop.clone()));
        let mut client = connect_local(&directory, "s").await.unwrap();
        client.send(Bytes::from_static(b"{}")).await.unwrap();
        assert_eq!(client.next().await.unwrap().unwrap(), "{}");
        stop.cancel();
        client.close(&CloseReason::default()).await.unwrap();
        running.await.unwrap();
        assert!(!directory.join("s").exists());
        assert!(connect_local(&directory, "s").await.is_err());
    }
}
