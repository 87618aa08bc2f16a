//! Makes networks that several children share, connects to what they serve there, and listens there.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};

use bobbin_sandbox::{Files, Outer, Plan, Profile};

use crate::children::Streams;
use crate::spec::NetworkUse;
use crate::{ChildError, Children, Confinement, Environment, Network, ProcessSpec};

impl Children {
    /// Makes a network with a loopback and nothing else, as a child with this confinement gets one.
    ///
    /// A harmless child is started for it and ends at once; the network stays with the value.
    ///
    /// # Errors
    /// The child cannot be started, or its network cannot be joined by others.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn network(&self, confinement: &Confinement) -> Result<Network, ChildError> {
        let (ours, theirs) = UnixStream::pair().map_err(ChildError::Parent)?;
        let plan = Plan {
            profile: Profile {
                files: Files::ReadOnly,
                ..confinement.plan.profile
            },
            landlock: confinement.plan.landlock,
            outer: Outer::Bubblewrap,
            ..Plan::default()
        };
        let bubblewrap = confinement.bubblewrap.clone();
        let mut spec = ProcessSpec::new("/bin/sh", "/", Environment::empty())
            .args(["-c", ":"])
            .confined(Confinement { plan, bubblewrap });
        spec.network = NetworkUse::Shown(Arc::new(theirs.into()));
        let (mut running, _output) = self.start(spec, Streams::Together).await?;
        let shown = received(&ours);
        running.end().await?;
        shown
    }

    /// Connects to a port of the loopback in a network of children.
    ///
    /// # Errors
    /// [`ChildError::Connect`] if nothing answers there, [`ChildError::Parent`] if it cannot be tried.
    ///
    /// # Cancel safety
    /// Dropping the future leaves a helper that ends by itself within seconds.
    pub async fn connect(&self, network: &Network, port: u16) -> Result<TcpStream, ChildError> {
        self.connected(network, port).await
    }

    /// Listens at a free port of the loopback in a network of children. This process accepts their connections, and the
    /// port is the only thing outside of their network that they reach.
    ///
    /// # Errors
    /// [`ChildError::Listen`] if the network refuses it, [`ChildError::Parent`] if it cannot be tried.
    ///
    /// # Cancel safety
    /// Dropping the future leaves a helper that ends by itself within seconds.
    pub async fn listen(&self, network: &Network) -> Result<TcpListener, ChildError> {
        self.listening(network).await
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use tokio::io::{AsyncWriteExt as _, Interest};
    use tokio::time::timeout;

    use super::{Arc, ChildError, Children, Network, TcpListener, TcpStream, UnixStream};
    use crate::link::start_parent;
    use crate::parent::message::{Task, encode};

    /// The longest wait for a socket: more than the helper takes.
    const SOCKET: Duration = Duration::from_secs(5);

    pub(super) fn received(from: &UnixStream) -> Result<Network, ChildError> {
        let network = bobbin_sandbox::shown(from).map_err(ChildError::Parent)?;
        Ok(Network(Arc::new(network)))
    }

    impl Children {
        pub(super) async fn connected(&self, network: &Network, port: u16) -> Result<TcpStream, ChildError> {
            let made = self.made(network, &Task::Connect(port)).await?;
            let stream = made.and_then(|stream| {
                let stream = std::net::TcpStream::from(stream);
                stream.set_nonblocking(true)?;
                TcpStream::from_std(stream)
            });
            stream.map_err(ChildError::Connect)
        }

        pub(super) async fn listening(&self, network: &Network) -> Result<TcpListener, ChildError> {
            let made = self.made(network, &Task::Listen).await?;
            let listener = made.and_then(|listener| {
                let listener = std::net::TcpListener::from(listener);
                listener.set_nonblocking(true)?;
                TcpListener::from_std(listener)
            });
            listener.map_err(ChildError::Listen)
        }

        /// Returns the socket that a helper makes in a network, or why it cannot be made there.
        async fn made(&self, network: &Network, task: &Task) -> Result<io::Result<OwnedFd>, ChildError> {
            let helper = self.helper().ok_or_else(super::unsupported)?;
            let nothing = || {
                io::Result::Ok(OwnedFd::from(
                    File::options().read(true).write(true).open("/dev/null")?,
                ))
            };
            let streams = [nothing(), nothing(), nothing()].map(|stream| stream.map_err(ChildError::Parent));
            let [input, output, errors] = streams;
            let started = start_parent(helper, [input?, output?, errors?], Some(&network.0)).await;
            // The runtime reaps the process, which ends with its one message.
            let (_parent, mut socket) = started?;
            let answer = async {
                socket.write_all(&encode(task)?).await?;
                socket
                    .async_io(Interest::READABLE, || bobbin_sandbox::receive_descriptor(&socket))
                    .await
            };
            let Ok(answer) = timeout(SOCKET, answer).await else {
                return Ok(Err(io::ErrorKind::TimedOut.into()));
            };
            let (number, socket) = answer.map_err(ChildError::Parent)?;
            Ok(socket.ok_or_else(|| io::Error::from_raw_os_error(number.into())))
        }
    }
}

#[cfg(target_os = "linux")]
use linux::received;

#[cfg(not(target_os = "linux"))]
fn received(_: &UnixStream) -> Result<Network, ChildError> {
    Err(unsupported())
}

#[cfg(not(target_os = "linux"))]
impl Children {
    #[expect(clippy::unused_async, reason = "as it is on Linux")]
    async fn connected(&self, _: &Network, _: u16) -> Result<TcpStream, ChildError> {
        Err(unsupported())
    }

    #[expect(clippy::unused_async, reason = "as it is on Linux")]
    async fn listening(&self, _: &Network) -> Result<TcpListener, ChildError> {
        Err(unsupported())
    }
}

fn unsupported() -> ChildError {
    ChildError::Parent(std::io::ErrorKind::Unsupported.into())
}
