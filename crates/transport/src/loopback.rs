//! Listening on both loopback addresses at one port.
//!
//! A browser takes a name that ends with `.localhost` for the IPv6 loopback address first, then for the IPv4 one
//! (seen in Chromium 156). A listener on one of them alone leaves the name to a program on the other.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpListener;

/// How often a free port is looked for that is free at all addresses.
const ATTEMPTS: usize = 8;

/// Binds a port of `address` and of both loopback addresses; port 0 takes one that is free at all of them. The first
/// socket is that of `address`. A machine without IPv6 has no such address for anybody.
///
/// # Errors
/// The port is not free at one of the addresses.
pub async fn bind_loopbacks(address: SocketAddr) -> io::Result<Vec<TcpListener>> {
    let mut last = None;
    for _ in 0..if address.port() == 0 { ATTEMPTS } else { 1 } {
        match bind_once(address).await {
            Ok(sockets) => return Ok(sockets),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

async fn bind_once(address: SocketAddr) -> io::Result<Vec<TcpListener>> {
    let first = TcpListener::bind(address).await?;
    let port = first.local_addr()?.port();
    let mut sockets = vec![first];
    let loopbacks: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    for ip in loopbacks.into_iter().filter(|ip| *ip != address.ip()) {
        match TcpListener::bind((ip, port)).await {
            Ok(socket) => sockets.push(socket),
            Err(error) if ip.is_ipv6() && is_missing(&error) => {}
            Err(error) => {
                let taken = SocketAddr::new(ip, port);
                let why = format!("{taken} is not free, and browsers look there too: {error}");
                return Err(io::Error::new(error.kind(), why));
            }
        }
    }
    Ok(sockets)
}

/// Whether the machine has no such address.
fn is_missing(error: &io::Error) -> bool {
    // EAFNOSUPPORT has no kind of its own.
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(nix::errno::Errno::EAFNOSUPPORT as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_is_taken_at_both_addresses_or_at_none() {
        let any = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let sockets = bind_loopbacks(any).await.unwrap();
        let address = sockets[0].local_addr().unwrap();
        assert_eq!(address.ip(), any.ip());
        let Some(sixth) = sockets.get(1) else {
            return println!("!! not tested: there is no IPv6 here");
        };
        let sixth = sixth.local_addr().unwrap();
        assert_eq!(sixth, SocketAddr::new(Ipv6Addr::LOCALHOST.into(), address.port()));
        drop(sockets);
        // Another program has the one that browsers ask first.
        let stranger = TcpListener::bind(sixth).await.unwrap();
        let refused = bind_loopbacks(address).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        assert!(refused.to_string().contains("[::1]"), "{refused}");
        drop(TcpListener::bind(address).await.unwrap());
        drop(stranger);
    }
}
