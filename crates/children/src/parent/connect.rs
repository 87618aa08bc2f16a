//! Connects to a server of children in their network or listens there, and hands the socket to our own server.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bobbin_sandbox::{join, send_descriptor, take_descriptor};

use super::NETWORK;

/// The longest time for a connection: its other end is on this machine.
const CONNECT: Duration = Duration::from_secs(2);
/// The number for an error that has none: `EIO`.
const UNKNOWN: u8 = 5;

/// Moves this process into the network and connects there. A connection stays in the network where it was made,
/// whatever process has it.
pub(super) fn connect(socket: &UnixStream, port: u16) -> io::Result<()> {
    let connected = take_descriptor(NETWORK).and_then(|network| {
        join(network)?;
        let v4 = IpAddr::from(Ipv4Addr::LOCALHOST);
        let v6 = IpAddr::from(Ipv6Addr::LOCALHOST);
        // Some servers listen on the second address only.
        TcpStream::connect_timeout(&(v4, port).into(), CONNECT)
            .or_else(|error| TcpStream::connect_timeout(&(v6, port).into(), CONNECT).map_err(|_| error))
    });
    send(socket, connected.map(Into::into))
}

/// Moves this process into the network and listens at a free port there. A listener stays in the network where it was
/// made, whatever process accepts its connections.
pub(super) fn listen(socket: &UnixStream) -> io::Result<()> {
    let listener = take_descriptor(NETWORK).and_then(|network| {
        join(network)?;
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
    });
    send(socket, listener.map(Into::into))
}

fn send(over: &UnixStream, made: io::Result<OwnedFd>) -> io::Result<()> {
    match made {
        Ok(made) => send_descriptor(over, 0, Some(made.as_fd())),
        Err(error) => {
            let number = error.raw_os_error().and_then(|number| u8::try_from(number).ok());
            send_descriptor(over, number.unwrap_or(UNKNOWN), None)
        }
    }
}
