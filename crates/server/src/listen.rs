//! The listener with its user's settings: address, access, TLS, the page and the paired browsers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;

use bobbin_agent_api::SystemClock;
use bobbin_config::Config;
use bobbin_local::Opened;
use bobbin_page::{DeviceFeature, DeviceFile, Devices, Frames, Invited};
use bobbin_people::{People, PeopleFile, Scope};
use bobbin_transport::{
    Access, Admission, Listener, NodeKey, PageOrigin, Readiness, Router, Tls, WebSockets,
};
use bobbin_workspace::{PagePorts, Workspace};
use clap::Args;
use tokio_util::sync::CancellationToken;

use crate::page_origin::{Others, Reached, decide, warning};
use crate::{console, held_sockets, state};

/// Most addresses of this machine to show.
const MAX_OWN: usize = 8;

/// The address to listen on.
#[derive(Debug, Clone)]
pub struct Listen {
    /// The address to listen on.
    pub address: SocketAddr,
    /// The token that clients present; `None`: every client may connect.
    pub token: Option<String>,
    /// Whether to use a free port if this one is taken, since the user named none.
    pub may_move: bool,
    /// The certificate, if the command line names one.
    pub tls: TlsOptions,
}

/// A certificate that is named on the command line.
#[derive(Debug, Args, Clone, Default)]
pub struct TlsOptions {
    /// Certificates as PEM, the listener's own first: other machines have to use TLS then.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl TlsOptions {
    /// Returns options that name these files, the certificate first.
    pub fn of(files: Option<(PathBuf, PathBuf)>) -> Self {
        let (tls_cert, tls_key) = files.unzip();
        Self { tls_cert, tls_key }
    }

    /// Returns the named files as absolute paths, the certificate first.
    ///
    /// # Errors
    /// There is no current directory.
    pub fn absolute(&self) -> std::io::Result<Option<(PathBuf, PathBuf)>> {
        let named = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        let absolute =
            |(certificate, key)| Ok((std::path::absolute(certificate)?, std::path::absolute(key)?));
        named.map(absolute).transpose()
    }

    /// Opens the files named here, else those of the user's configuration.
    fn open(&self, config: &Config) -> anyhow::Result<Option<Tls>> {
        let named = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        let configured = config
            .listener
            .tls
            .as_ref()
            .map(|(certificate, key)| (certificate, key));
        let tls = named.or(configured);
        Ok(tls
            .map(|(certificate, key)| Tls::open(certificate, key))
            .transpose()?)
    }
}

/// A listener that is bound and does not accept yet.
pub struct Bound {
    listener: Listener,
    access: Access,
    devices: Devices,
    people: People,
    page: PageOrigin,
    /// Addresses of the page for other machines, the best first.
    elsewhere: Vec<String>,
}

/// The properties of a listener that its user sees.
pub struct Listening {
    /// `ws://HOST:PORT/ws`.
    pub web_socket: String,
    /// `http://HOST:PORT/` or `https://HOST:PORT/`, if there is a page.
    pub page: Option<String>,
    /// Whether clients present a token, and browsers a code.
    pub is_guarded: bool,
    /// The addresses of the page for other devices.
    pub elsewhere: Vec<String>,
    /// The paired browsers.
    pub devices: Devices,
}

impl Listening {
    /// Returns the addresses, with a pairing code if `wants_code` and the listener needs one.
    pub fn opened(&self, wants_code: bool) -> Opened {
        let code = (wants_code && self.is_guarded).then(|| self.devices.invite(Invited::default()));
        let code = code.and_then(|made| match made {
            Ok(code) => Some(code.text),
            Err(error) => {
                tracing::warn!(%error, "there is no code for a browser");
                None
            }
        });
        Opened {
            web_socket: self.web_socket.clone(),
            page: self.page.clone(),
            code,
            is_guarded: self.is_guarded,
            elsewhere: self.elsewhere.clone(),
        }
    }
}

impl Bound {
    /// Binds an address for a workspace. WebSockets may use half of the open `files`.
    ///
    /// # Errors
    /// The address is taken, or the certificate cannot be used.
    pub async fn new(
        listen: &Listen,
        config: &Config,
        workspace: &Workspace,
        files: u64,
    ) -> anyhow::Result<Self> {
        let scope = Scope::Workspace(Box::new(workspace.clone()));
        Self::with_page(listen, config, scope, files, bobbin_page::files()).await
    }

    /// As [`Bound::new`], with the files of a page.
    ///
    /// # Errors
    /// As [`Bound::new`].
    pub async fn with_page(
        listen: &Listen,
        config: &Config,
        scope: Scope,
        files: u64,
        page_files: Router,
    ) -> anyhow::Result<Self> {
        let admission = Admission {
            token: listen.token.clone(),
            origins: config.listener.allowed_origins.clone(),
            hosts: config.listener.allowed_hosts.clone(),
        };
        // Checked first, so that a refused address is never bound.
        Access::new(listen.address, admission.clone())?;
        let tls = listen.tls.open(config)?;
        let (listener, page) = bind(listen, config, tls.is_some()).await?;
        let directory = state::directory()?;
        let port = listener.address().port();
        if let Err(error) = PagePorts::of(directory.path()).add(port) {
            tracing::warn!(%error, port, "a forward may take this port once the server has ended");
        }
        if listen.token.is_none() {
            console::complain(
                "AppServer.WebSocket.Token is empty: every program and every user of this machine can connect and act as you",
            );
        }
        let file = DeviceFile::of(directory.path());
        let people = People::new(PeopleFile::of(directory.path()), scope, Arc::new(SystemClock));
        let devices = Devices::new(file, people.clone(), page.clone(), Arc::new(SystemClock));
        if let Err(error) = devices.forget_fresh(port).await {
            tracing::warn!(%error, "browsers of earlier servers stay in the list");
        }
        let access = Access::new(listener.address(), admission)?
            .with_page_origin(page.clone())
            .with_guests(Arc::new(devices.clone()));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let elsewhere = elsewhere(
            listener.address(),
            scheme,
            &config.listener.allowed_hosts,
            &config.listener.allowed_origins,
        );
        let frames = match &config.hermes.extensions {
            Some(_) => Frames::Pages,
            None => Frames::Nothing,
        };
        let wants_token = access.wants_token();
        let router =
            bobbin_page::exchange(page_files, devices.clone(), access.guesses(), wants_token, frames);
        // The other half is for the database, for commands and for connections that are no WebSockets yet.
        let most = usize::try_from(files / 2).unwrap_or(usize::MAX);
        Ok(Self {
            listener: listener
                .with_max_web_sockets(most)
                .with_page(router)
                .with_tls(tls),
            access,
            devices,
            people,
            page,
            elsewhere,
        })
    }

    /// Returns the bound address.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Returns the properties for its user.
    pub fn shown(&self) -> Listening {
        let address = here(self.listener.address());
        let authority = self.page.authority(address);
        let page = match (&self.page, self.elsewhere.first()) {
            // A name from the certificate, if one is known.
            (PageOrigin::Encrypted, Some(named)) => named.clone(),
            (PageOrigin::Encrypted, None) => format!("https://{authority}/"),
            _ => format!("http://{authority}/"),
        };
        Listening {
            web_socket: format!("ws://{address}/ws"),
            page: bobbin_page::is_there().then_some(page),
            is_guarded: self.access.wants_token(),
            elsewhere: self.elsewhere.clone(),
            devices: self.devices.clone(),
        }
    }

    /// Lets in other nodes that know a key.
    #[must_use]
    pub fn with_nodes(mut self, key: NodeKey) -> Self {
        self.access = self.access.with_nodes(key);
        self
    }

    /// Returns the people with roles.
    pub fn people(&self) -> &People {
        &self.people
    }

    /// Returns the feature with which clients manage browsers, if there is a page.
    pub fn feature(&self) -> Option<DeviceFeature> {
        let shown = self.shown();
        Some(DeviceFeature {
            devices: shown.devices,
            wants_code: shown.is_guarded,
            page: shown.page?,
            elsewhere: shown.elsewhere,
        })
    }

    /// Makes the listener end its WebSockets once `cut` is cancelled.
    #[must_use]
    pub fn with_cut(self, cut: CancellationToken) -> Self {
        Self {
            listener: self.listener.with_cut(cut),
            ..self
        }
    }

    /// Accepts until `stop`, then waits for the connections to end.
    pub async fn serve(self, router: Router<WebSockets>, is_ready: Readiness, stop: CancellationToken) {
        let port = self.listener.address().port();
        tokio::select! {
            () = self.listener.run(self.access, router, is_ready, stop) => {}
            () = self.devices.watch() => {}
        }
        if !self.page.lasts()
            && let Err(error) = self.devices.forget_fresh(port).await
        {
            tracing::warn!(%error, "browsers of this server stay in the list until another one has its port");
        }
    }
}

/// Binds the user's address or uses systemd's sockets, and chooses the page's origin.
async fn bind(listen: &Listen, config: &Config, has_tls: bool) -> anyhow::Result<(Listener, PageOrigin)> {
    let others = Others::of(config);
    let held = held_sockets::take()?;
    if !held.is_empty() {
        let listener = Listener::inherited(held)?;
        let address = listener.address();
        let reached = Reached {
            address,
            has_tls,
            is_held: true,
        };
        return Ok((listener, decide(&others, reached)?));
    }
    let reached = Reached {
        address: listen.address,
        has_tls,
        is_held: false,
    };
    let page = decide(&others, reached)?;
    if let Some(warning) = warning(&others, reached) {
        console::complain(warning);
    }
    let at = async |address| match &page {
        PageOrigin::Fresh(_) => Listener::bind_loopbacks(address).await,
        PageOrigin::Stable | PageOrigin::Numeric | PageOrigin::Encrypted => Listener::bind(address).await,
    };
    let listener = match at(listen.address).await {
        Err(_) if listen.may_move => at(SocketAddr::new(listen.address.ip(), 0)).await?,
        bound => bound?,
    };
    Ok((listener, page))
}

/// Returns the address with which this machine connects. The loopback address replaces the unspecified one.
fn here(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Returns the page's addresses for other machines: the names that the user has allowed, then the machine's own
/// address.
fn elsewhere(address: SocketAddr, scheme: &str, hosts: &[String], origins: &[String]) -> Vec<String> {
    let is_open = !address.ip().is_loopback();
    let port = format!(":{}", address.port());
    let mut found: Vec<String> = Vec::new();
    for host in hosts {
        let proxied = origins.iter().find(|origin| {
            let authority = origin.split_once("://").map(|(_, authority)| authority);
            authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
        });
        match proxied {
            Some(origin) => found.push(format!("{origin}/")),
            None if is_open && host.ends_with(&port) => found.push(format!("{scheme}://{host}/")),
            None => {}
        }
    }
    found.retain(|url| !url.contains("://localhost") && !url.contains("://127."));
    if is_open {
        let ips = match address.ip() {
            ip if ip.is_unspecified() => {
                own_ip().map_or_else(|| in_networks(ip, interfaces()), |ip| vec![ip])
            }
            ip => vec![ip],
        };
        let url = |ip| format!("{scheme}://{}/", SocketAddr::new(ip, address.port()));
        found.extend(ips.into_iter().map(url));
    }
    found
}

/// Returns the source address of the default route. Sends nothing: a datagram socket only looks up the route.
fn own_ip() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // An address reserved for documentation; it uses the default route.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_loopback())
}

/// Returns the addresses of all interfaces, for machines without a default route.
fn interfaces() -> Vec<IpAddr> {
    let found = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let addresses = found.filter_map(|interface| interface.address);
    let ips = addresses.filter_map(|address| {
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        v4.or_else(|| Some(IpAddr::V6(address.as_sockaddr_in6()?.ip())))
    });
    ips.collect()
}

/// Returns at most [`MAX_OWN`] of `ips` that other machines may reach, for a listener `bound` to all addresses.
fn in_networks(bound: IpAddr, ips: Vec<IpAddr>) -> Vec<IpAddr> {
    let reached = ips.into_iter().filter(|ip| match ip {
        IpAddr::V4(ip) => !ip.is_loopback(),
        // A link-local address needs the name of an interface, which differs on the other device.
        IpAddr::V6(ip) => bound.is_ipv6() && !ip.is_loopback() && !ip.is_unicast_link_local(),
    });
    reached.take(MAX_OWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_addresses_elsewhere_where_others_reach_it() {
        let open: SocketAddr = "192.168.0.7:9100".parse().unwrap();
        let local: SocketAddr = "127.0.0.1:9100".parse().unwrap();
        let lists = |text: &[&str]| text.iter().map(ToString::to_string).collect::<Vec<_>>();
        for (address, scheme, hosts, origins, expected) in [
            (local, "http", vec![], vec![], vec![]),
            (
                local,
                "http",
                vec!["localhost:8000"],
                vec!["http://localhost:8000"],
                vec![],
            ),
            (local, "http", vec!["tea.example"], vec![], vec![]),
            (
                local,
                "http",
                vec!["tea.example"],
                vec!["https://tea.example"],
                vec!["https://tea.example/"],
            ),
            (
                open,
                "http",
                vec![],
                vec!["https://app.example"],
                vec!["http://192.168.0.7:9100/"],
            ),
            (
                open,
                "https",
                vec!["desk.lan:9100"],
                vec![],
                vec!["https://desk.lan:9100/", "https://192.168.0.7:9100/"],
            ),
        ] {
            let found = elsewhere(address, scheme, &lists(&hosts), &lists(&origins));
            assert_eq!(found, expected, "{address} {hosts:?} {origins:?}");
        }
    }

    #[test]
    fn without_a_default_route_the_addresses_in_networks_are_shown() {
        let ips = |text: &[&str]| text.iter().map(|ip| ip.parse().unwrap()).collect::<Vec<IpAddr>>();
        let own = ips(&["127.0.0.1", "10.1.2.3", "::1", "fe80::1", "fd00::7"]);
        for (bound, expected) in [
            ("0.0.0.0", ips(&["10.1.2.3"])),
            ("::", ips(&["10.1.2.3", "fd00::7"])),
        ] {
            assert_eq!(
                in_networks(bound.parse().unwrap(), own.clone()),
                expected,
                "{bound}"
            );
        }
    }

    #[test]
    fn an_address_for_all_is_reached_through_loopback() {
        for (address, local) in [
            ("0.0.0.0:9100", "127.0.0.1:9100"),
            ("[::]:9100", "[::1]:9100"),
            ("192.168.0.7:9100", "192.168.0.7:9100"),
        ] {
            assert_eq!(here(address.parse().unwrap()).to_string(), local);
        }
    }
}
