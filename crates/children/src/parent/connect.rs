//! Connects to a server of children in their network, and hands the connection to our own server.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};
use std::os::fd::AsFd as _;
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
    match connected {
        Ok(stream) => send_descriptor(socket, 0, Some(stream.as_fd())),
        Err(error) => {
            let number = error.raw_os_error().and_then(|number| u8::try_from(number).ok());
            send_descriptor(socket, number.unwrap_or(UNKNOWN), None)
        }
    }
}
