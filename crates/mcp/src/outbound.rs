//! Requests of logins: to a server that a user has configured, and to where that server says that one logs in.
//!
//! As with the server itself, no proxy of the environment sees them and no redirect is followed. A name that a server
//! gives does not lead to services of this machine, unless the server is there too, nor to link-local ones.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(30);
/// Largest answer.
const MAX_ANSWER: usize = 1 << 20;

/// Makes the requests of logins at one server.
pub(crate) struct Outbound(reqwest::Client);

impl Outbound {
    /// Returns the client for the server at this address.
    ///
    /// # Errors
    /// What is wrong, to follow the server's name.
    pub(crate) fn new(server: &str) -> Result<Self, String> {
        let local = Url::parse(server).is_ok_and(|url| {
            let host = url.host_str().unwrap_or_default();
            let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
            host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        });
        let client = reqwest::Client::builder()
            .timeout(REQUEST)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(Reachable { local }));
        let client = client.build();
        client
            .map(Self)
            .map_err(|error| format!("cannot be reached ({error})"))
    }
}

impl OAuthHttpClient for Outbound {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let mut answer = self.0.execute(asked.request.try_into()?).await?;
            let mut whole = http::Response::builder().status(answer.status());
            for (name, value) in answer.headers() {
                whole = whole.header(name, value);
            }
            let mut body = Vec::new();
            while let Some(bytes) = answer.chunk().await? {
                if body.len() + bytes.len() > MAX_ANSWER {
                    return Err(format!("the answer has more than {MAX_ANSWER} bytes").into());
                }
                body.extend_from_slice(&bytes);
            }
            Ok(whole.body(body)?)
        })
    }
}

/// Resolves the names that a server may give.
struct Reachable {
    /// Whether the server is on this machine.
    local: bool,
}

impl Resolve for Reachable {
    fn resolve(&self, name: Name) -> Resolving {
        let local = self.local;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found.filter(|found| is_reachable(found.ip(), local)).collect();
            if found.is_empty() {
                return Err(format!("{} leads to no address that a login may reach", name.as_str()).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Networks of a company are reached: their logins are there.
fn is_reachable(address: IpAddr, local: bool) -> bool {
    match address.to_canonical() {
        address if address.is_loopback() => local,
        IpAddr::V4(address) => {
            !(address.is_link_local()
                || address.is_unspecified()
                || address.is_multicast()
                || address.is_broadcast())
        }
        IpAddr::V6(address) => {
            !(address.is_unicast_link_local() || address.is_unspecified() || address.is_multicast())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_lead_to_this_machine_or_its_link() {
        for (address, local, reachable) in [
            ("93.184.216.34", false, true),
            ("10.0.0.9", false, true),
            ("127.0.0.1", false, false),
            ("127.0.0.1", true, true),
            ("::ffff:127.0.0.1", false, false),
            ("169.254.169.254", true, false),
            ("0.0.0.0", true, false),
            ("fe80::1", true, false),
            ("::1", false, false),
        ] {
            assert_eq!(
                is_reachable(address.parse().unwrap(), local),
                reachable,
                "{address}"
            );
        }
    }
}
