//! The sections `AppServer` and `Hub`, which count in the user's own file only.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use bobbin_settings::Source;
use schemars::JsonSchema;
use serde::Deserialize;

/// Port if no file sets one (01 §3).
pub(crate) const DEFAULT_PORT: u16 = 9100;

/// Where the server listens and who may connect.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct AppServer {
    /// Which connections `bobbin app-server` takes.
    #[schemars(extend("default" = "Stdio"))]
    mode: Option<Mode>,
    /// The listener.
    #[serde(default)]
    web_socket: WebSocket,
    /// TLS for other machines.
    #[serde(default)]
    tls: Tls,
    /// Web pages that may connect beside the listener's own, as `https://tea.example`.
    #[serde(default)]
    allowed_origins: Vec<String>,
    /// Values of `Host` that may connect beside the listener's own, as clients send them.
    #[serde(default)]
    allowed_hosts: Vec<String>,
}

/// The listener.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct WebSocket {
    /// IP address to listen on, or `localhost`.
    #[schemars(extend("default" = "127.0.0.1"))]
    host: Option<String>,
    /// Port; 0 for a free one. When left out, a free one where 9100 is taken.
    #[schemars(extend("default" = 9100))]
    port: Option<u16>,
    /// What clients present instead of what `bobbin token` prints; empty for nothing, on loopback only.
    #[schemars(extend("x-secret" = true))]
    token: Option<String>,
    /// Whether other people can run programs on this machine: then the page without TLS has another address after each start. Looked up when left out.
    shared_machine: Option<bool>,
}

/// Where the Hub listens. `bobbin hub --port` goes before it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Hub {
    /// IP address of this machine alone, such as `::1`, or `localhost`. The Hub is not reached from other machines.
    #[schemars(extend("default" = "127.0.0.1"))]
    host: Option<String>,
    /// Port; 0 for a free one.
    #[schemars(extend("default" = 0))]
    port: Option<u16>,
}

/// TLS for other machines. Both files or none.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Tls {
    /// File with certificates as PEM, the listener's own first: absolute, or with `~/`.
    certificate: Option<String>,
    /// File with the key of the certificate as PEM.
    key: Option<String>,
}

/// Which connections `bobbin app-server` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub enum Mode {
    /// None.
    Disabled,
    /// Standard input and output.
    #[default]
    Stdio,
    /// WebSockets.
    WebSocket,
    /// Both.
    StdioAndWebSocket,
}

/// Where the server and the Hub listen, and who may connect.
#[derive(Debug, Clone, Default)]
pub struct ListenerSettings {
    /// Endpoints that the server opens.
    pub mode: Mode,
    host: Option<IpAddr>,
    /// `None`: no file sets it. The server then takes a free port if the default one is taken.
    pub port: Option<u16>,
    /// The token for clients; empty: clients need none.
    pub token: Option<String>,
    /// Whether other users can run programs on this machine; `None`: no file says so.
    pub shared_machine: Option<bool>,
    /// Origins that may connect beside the listener's own.
    pub allowed_origins: Vec<String>,
    /// Values of `Host` that may connect beside the listener's own.
    pub allowed_hosts: Vec<String>,
    /// The files with the listener's certificate and its key.
    pub tls: Option<(PathBuf, PathBuf)>,
    hub: Hub,
}

impl ListenerSettings {
    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        let host = self.host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        SocketAddr::new(host, self.port.unwrap_or(DEFAULT_PORT))
    }

    /// Returns the address that the Hub listens on.
    ///
    /// # Errors
    /// The host is no loopback address.
    pub fn hub_address(&self) -> anyhow::Result<SocketAddr> {
        let host = match self.hub.host.as_deref() {
            None => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some(host) => ip(host).filter(IpAddr::is_loopback).ok_or_else(|| {
                anyhow!("Hub.Host is {host:?}: the Hub listens on this machine alone, such as 127.0.0.1")
            })?,
        };
        Ok(SocketAddr::new(host, self.hub.port.unwrap_or(0)))
    }

    /// Sets what the user's own file says.
    ///
    /// # Errors
    /// The address is invalid, or a file of TLS is missing.
    pub(crate) fn set(&mut self, server: AppServer, hub: Hub, source: &mut Source<'_>) -> anyhow::Result<()> {
        let WebSocket {
            host,
            port,
            token,
            shared_machine,
        } = server.web_socket;
        *self = Self {
            mode: server.mode.unwrap_or_default(),
            host: match host {
                Some(host) => Some(ip(&host).with_context(|| {
                    format!("AppServer.WebSocket.Host is {host:?}, which is no IP address")
                })?),
                None => None,
            },
            port,
            token,
            shared_machine,
            allowed_origins: server.allowed_origins,
            allowed_hosts: server.allowed_hosts,
            tls: match (server.tls.certificate, server.tls.key) {
                (Some(certificate), Some(key)) => {
                    let file = |text: &str| own_file("AppServer.Tls", text, source.root);
                    Some((file(&certificate)?, file(&key)?))
                }
                (None, None) => None,
                (Some(_), None) => bail!("AppServer.Tls has a Certificate and no Key"),
                (None, Some(_)) => bail!("AppServer.Tls has a Key and no Certificate"),
            },
            hub,
        };
        if let Err(error) = self.hub_address() {
            // A wrong address stops the Hub only.
            source.warnings.push(error.to_string());
        }
        Ok(())
    }
}

/// Returns the IP address of a host.
fn ip(host: &str) -> Option<IpAddr> {
    if host.eq_ignore_ascii_case("localhost") {
        return Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    host.parse().ok()
}

/// Returns the path in a setting of the user's own file.
pub(crate) fn own_file(setting: &str, text: &str, home: &Path) -> anyhow::Result<PathBuf> {
    let path = match text.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(text),
    };
    if path.is_absolute() {
        Ok(path)
    } else {
        bail!("{setting} names {text:?}: write the whole path, or begin with ~/")
    }
}
