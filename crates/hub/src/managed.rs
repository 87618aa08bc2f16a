//! The variables by which the Hub says to a server that it is managed.
//!
//! The Hub sets them, and the binary reads them at its start. They are the Hub's word for one process: commands of an
//! agent never get them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const PREFIXES: [&str; 2] = ["DOTCRAFT_MANAGED_", "DOTCRAFT_HUB_"];
const FLAG: &str = "DOTCRAFT_MANAGED_APP_SERVER";
const HUB: &str = "DOTCRAFT_HUB_API_BASE_URL";
const HUB_TOKEN: &str = "DOTCRAFT_HUB_TOKEN";
const HOST: &str = "DOTCRAFT_MANAGED_APPSERVER_WS_HOST";
const PORT: &str = "DOTCRAFT_MANAGED_APPSERVER_WS_PORT";
const TOKEN: &str = "DOTCRAFT_MANAGED_APPSERVER_WS_TOKEN";
const PROXY: &str = "DOTCRAFT_MANAGED_PROXY_ENDPOINT";
const PROXY_KEY: &str = "DOTCRAFT_MANAGED_PROXY_API_KEY";

/// The Hub's instructions to a server that it starts.
#[derive(Clone)]
pub struct Managed {
    /// The address at which to listen.
    pub address: SocketAddr,
    /// The token that clients present.
    pub token: Option<String>,
    /// The Hub's address and token, for notifications.
    pub hub: Option<(String, String)>,
    /// Address and key of the way to models, instead of the configured one.
    pub proxy: Option<(String, String)>,
}

/// Why the variables of a managed launch cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{FLAG} is set, and {0} is no {1}; unset it to start a server by hand")]
pub struct ManagedError(&'static str, &'static str);

impl Managed {
    /// Returns what the variables say; `None` for a process that no Hub has started.
    ///
    /// # Errors
    /// The address is none.
    pub fn from_variables(read: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, ManagedError> {
        if read(FLAG).as_deref() != Some("1") {
            return Ok(None);
        }
        let host = match read(HOST).as_deref() {
            None | Some("localhost") => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some(host) => host.parse().map_err(|_| ManagedError(HOST, "IP address"))?,
        };
        let port = read(PORT).map_or(Ok(0), |port| port.parse());
        let port = port.map_err(|_| ManagedError(PORT, "port"))?;
        Ok(Some(Self {
            address: SocketAddr::new(host, port),
            token: read(TOKEN).filter(|token| !token.is_empty()),
            hub: read(HUB).zip(read(HUB_TOKEN)),
            proxy: read(PROXY).zip(read(PROXY_KEY)),
        }))
    }
}

/// Returns whether a variable is one of a managed launch.
pub fn is_managed_variable(name: &std::ffi::OsStr) -> bool {
    let name = name.as_encoded_bytes();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
}

/// Returns the variables for a server.
pub(crate) fn variables(
    port: u16,
    token: Option<&str>,
    (hub, hub_token): (&str, &str),
    proxy: Option<(&str, &str)>,
) -> Vec<(&'static str, String)> {
    let mut variables = vec![
        (FLAG, "1".to_owned()),
        (HUB, hub.to_owned()),
        (HUB_TOKEN, hub_token.to_owned()),
        (HOST, Ipv4Addr::LOCALHOST.to_string()),
        (PORT, port.to_string()),
    ];
    variables.extend(token.map(|token| (TOKEN, token.to_owned())));
    if let Some((endpoint, key)) = proxy {
        variables.extend([(PROXY, endpoint.to_owned()), (PROXY_KEY, key.to_owned())]);
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_hub_sets_is_what_a_server_reads() {
        let proxy = Some(("http://127.0.0.1:4/v1", "k"));
        let set = variables(7, Some("t"), ("http://127.0.0.1:2", "h"), proxy);
        assert!(set.iter().all(|(name, _)| is_managed_variable(name.as_ref())));
        let read = |name: &str| {
            set.iter()
                .find(|(set, _)| *set == name)
                .map(|(_, value)| value.clone())
        };
        let managed = Managed::from_variables(read).unwrap().unwrap();
        assert_eq!(managed.address.to_string(), "127.0.0.1:7");
        assert_eq!(managed.token.as_deref(), Some("t"));
        assert_eq!(managed.hub.unwrap().1, "h");
        assert_eq!(managed.proxy.unwrap().1, "k");
        assert!(Managed::from_variables(|_| None).unwrap().is_none());
        let wrong = |name: &str| {
            (name == FLAG)
                .then(|| "1".to_owned())
                .or_else(|| (name == PORT).then(|| "x".to_owned()))
        };
        assert!(Managed::from_variables(wrong).is_err());
        assert!(!is_managed_variable("DOTCRAFT_NODE_BIN".as_ref()));
    }
}
