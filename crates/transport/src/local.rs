//! A socket in a directory, for processes of the same user on the same machine: messages with header blocks.
//!
//! Owns every connection's task and joins them. At most [`MAX_CONNECTIONS`] at once; one more is closed at once, and
//! so is one of another user. The directory may be deeper than a socket's address is long.
//!
//! A client's first message is the content of the key file beside the socket. A sandboxed process of the same user may
//! be able to connect to a socket whose path it knows, but every sandbox refuses to read files in the state directory.

use std::fs::{File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_framing::{Limits, Transport};
use bobbin_model::Actor;
use bytes::Bytes;
use subtle::ConstantTimeEq as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{Caller, Connections, MAX_BODY_BYTES};

/// Connections at once (guess: more windows and runs than a user has open).
const MAX_CONNECTIONS: usize = 256;
/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// How long a client may take to send the key.
const KEY_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a connection could not be accepted.
const RETRY: Duration = Duration::from_millis(50);

/// A bound socket. Its file and that of its key are gone when it is dropped.
#[derive(Debug)]
pub struct LocalListener {
    socket: UnixListener,
    path: PathBuf,
    user: u32,
    key: Key,
}

/// The content of a client's first message.
#[derive(Clone, Copy)]
struct Key([u8; KEY_BYTES]);

impl LocalListener {
    /// Binds a socket file in a directory, in the place of one that was left behind, and makes a key for it.
    ///
    /// # Errors
    /// A file cannot be made.
    pub fn bind(directory: &Path, name: &str) -> std::io::Result<Self> {
        let path = directory.join(name);
        remove(&path)?;
        // First, so that a client that finds the socket finds the key.
        let key = Key::make(&key_path(&path))?;
        let opened = File::open(directory)?;
        let socket = UnixListener::bind(short(&opened, name))?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let user = std::fs::metadata(&path)?.uid();
        Ok(Self {
            socket,
            path,
            user,
            key,
        })
    }

    /// Accepts until `stop`, then waits for the connections to end.
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
            let (key, connections, stop) = (self.key, connections.clone(), stop.clone());
            tasks.spawn(async move {
                let mut transport = framed(stream);
                let admitted = tokio::select! {
                    admitted = key.is_sent(&mut transport) => admitted,
                    () = stop.cancelled() => false,
                };
                if admitted {
                    let caller = Caller {
                        actor: Actor::Owner,
                        until: CancellationToken::new(),
                        is_private: true,
                    };
                    connections.serve(transport, caller).await;
                } else {
                    tracing::warn!("a connection was closed: it did not send the key");
                }
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
        drop(std::fs::remove_file(key_path(&self.path)));
    }
}

impl Key {
    /// Makes a key and writes it to a file that only this user can read.
    fn make(path: &Path) -> std::io::Result<Self> {
        let mut key = [0; KEY_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut key)?;
        remove(path)?;
        let mut options = File::options();
        let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&key)?;
        Ok(Self(key))
    }

    fn read(path: &Path) -> std::io::Result<Self> {
        let mut key = [0; KEY_BYTES];
        File::open(path)?.read_exact(&mut key)?;
        Ok(Self(key))
    }

    /// Returns whether the first message is the key, and comes in time.
    async fn is_sent(self, transport: &mut Transport) -> bool {
        let first = tokio::time::timeout(KEY_TIMEOUT, transport.next()).await;
        matches!(first, Ok(Some(Ok(message))) if message.ct_eq(&self.0[..]).into())
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// Returns where the key of a socket file is.
fn key_path(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".key");
    name.into()
}

/// Removes a file if there is one.
fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Connects to the socket file of a directory and sends its key.
///
/// # Errors
/// No server listens there.
pub async fn connect_local(directory: &Path, name: &str) -> std::io::Result<Transport> {
    let key = Key::read(&key_path(&directory.join(name)))?;
    let opened = File::open(directory)?;
    let mut transport = framed(UnixStream::connect(short(&opened, name)).await?);
    let sent = transport.send(Bytes::copy_from_slice(&key.0)).await;
    sent.map_err(std::io::Error::other)?;
    Ok(transport)
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
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;

    use super::*;

    /// Sends back what comes.
    struct Echo;

    impl Connections for Echo {
        fn serve(&self, mut transport: Transport, _: Caller) -> BoxFuture<'static, ()> {
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
        let key = std::fs::metadata(directory.join("s.key")).unwrap();
        assert_eq!((key.permissions().mode() & 0o777, key.len()), (0o600, 32));
        let stop = CancellationToken::new();
        let running = tokio::spawn(listener.run(Arc::new(Echo), stop.clone()));
        let mut client = connect_local(&directory, "s").await.unwrap();
        client.send(Bytes::from_static(b"{}")).await.unwrap();
        assert_eq!(client.next().await.unwrap().unwrap(), "{}");
        for first in [&b"{}"[..], &[0; KEY_BYTES], &[0; KEY_BYTES + 1]] {
            let opened = File::open(&directory).unwrap();
            let stream = UnixStream::connect(short(&opened, "s")).await.unwrap();
            let mut other = framed(stream);
            other.send(Bytes::copy_from_slice(first)).await.unwrap();
            assert!(!matches!(other.next().await, Some(Ok(_))));
        }
        stop.cancel();
        client.close(&CloseReason::default()).await.unwrap();
        running.await.unwrap();
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
        assert!(connect_local(&directory, "s").await.is_err());
    }
}
