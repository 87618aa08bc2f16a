//! Requests of logins: to a server that a user has configured, and to the addresses that the server gives for logins.
//!
//! As with the server itself, no proxy of the environment sees them and no redirect is followed. An address that a server
//! gives must not be link-local, nor of this machine unless the server is on this machine too. Names are checked when they
//! are resolved. Numeric addresses are checked before the request, because they are never resolved.

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
/// Names of this machine that browsers resolve by themselves or that systems have from the start (Debian's `/etc/hosts`).
const LOCAL_NAMES: [&str; 3] = ["localhost", "ip6-localhost", "ip6-loopback"];

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Makes the requests of logins at one server.
pub(crate) struct Outbound {
    client: reqwest::Client,
    reach: Reach,
}

/// Which addresses a server may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The server is on this machine, and may name services here.
    ThisMachine,
    /// The server is elsewhere.
    Elsewhere,
}

impl Reach {
    /// Returns the reach of the server at an address.
    pub(crate) fn of(server: &str) -> Self {
        let is_here = Url::parse(server).is_ok_and(|url| is_this_machine(&url));
        if is_here {
            Self::ThisMachine
        } else {
            Self::Elsewhere
        }
    }

    /// Whether a user's browser may be sent to a page: over HTTPS, so that nobody on the way can change it, or on this
    /// machine if the server is too.
    pub(crate) fn allows_page(self, page: &Url) -> bool {
        let allows_scheme = match (page.scheme(), is_this_machine(page)) {
            ("http" | "https", true) => self == Self::ThisMachine,
            (scheme, _) => scheme == "https" && number(page).is_none_or(|address| self.allows(address)),
        };
        let has_no_user = page.username().is_empty() && page.password().is_none();
        allows_scheme && page.has_host() && has_no_user
    }

    /// Whether requests may reach an address. Private networks are allowed: companies have their logins there.
    fn allows(self, address: IpAddr) -> bool {
        match bobbin_web::canonical(address) {
            address if address.is_loopback() => self == Self::ThisMachine,
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
}

impl Outbound {
    /// Returns the client for the server at this address.
    ///
    /// # Errors
    /// The reason, as words that follow the server's name.
    pub(crate) fn new(server: &str) -> Result<Self, String> {
        let reach = Reach::of(server);
        let client = reqwest::Client::builder()
            .timeout(REQUEST)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(reach));
        let client = client.build();
        client
            .map(|client| Self { client, reach })
            .map_err(|error| format!("cannot be reached ({error})"))
    }

    async fn send(&self, request: http::Request<Vec<u8>>) -> Result<http::Response<Vec<u8>>, Failure> {
        let request: reqwest::Request = request.try_into()?;
        if let Some(address) = number(request.url()).filter(|address| !self.reach.allows(*address)) {
            return Err(nowhere(&address.to_string()));
        }
        let mut answer = self.client.execute(request).await?;
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
    }
}

impl OAuthHttpClient for Outbound {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.send(asked.request))
    }
}

impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = *self;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found.filter(|found| reach.allows(found.ip())).collect();
            if found.is_empty() {
                return Err(nowhere(name.as_str()));
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

fn nowhere(host: &str) -> Failure {
    format!("{host} leads to no address that a login may reach").into()
}

/// Returns the address of a numeric host, in any spelling: `Url` reads it as browsers do.
fn number(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_matches(['[', ']']).parse().ok()
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let is_name = LOCAL_NAMES.contains(&host) || host.ends_with(".localhost");
    is_name || number(url).is_some_and(|address| bobbin_web::canonical(address).is_loopback())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Sends a request as a login does.
    async fn send(server: &str, address: &str) -> Result<http::Response<Vec<u8>>, String> {
        let request = http::Request::post(address).body(Vec::new()).unwrap();
        let sent = Outbound::new(server).unwrap().send(request).await;
        sent.map_err(|error| bobbin_supervise::causes(&*error))
    }

    #[tokio::test]
    async fn a_server_elsewhere_names_no_service_of_this_machine() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in [
            "127.0.0.1",
            "127.9.9.9",
            "2130706433",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "0.0.0.0",
            "[::1]",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::127.0.0.1]",
            "localhost",
            "LOCALHOST",
            "169.254.169.254",
            "[::ffff:169.254.169.254]",
            "[64:ff9b::169.254.169.254]",
            "[fe80::1]",
        ] {
            let address = format!("http://{host}:{port}/admin/register");
            let error = send("https://pantry.example/mcp", &address).await.unwrap_err();
            assert!(
                error.contains("no address that a login may reach"),
                "{host}: {error}"
            );
        }
        for address in ["ftp://127.0.0.1/x", "ws://127.0.0.1/x"] {
            assert!(
                send("https://pantry.example/mcp", address).await.is_err(),
                "{address}"
            );
        }
        let reached = tokio::time::timeout(Duration::from_millis(1), listener.accept()).await;
        assert!(reached.is_err(), "nothing has connected");
    }

    #[tokio::test]
    async fn a_server_of_this_machine_names_services_here_and_no_redirect_is_followed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                drop(stream.read(&mut request).await);
                let answer = "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                drop(stream.write_all(answer.as_bytes()).await);
            }
        });
        for server in [
            "http://127.0.0.1:1/mcp",
            "http://[::1]:1",
            "http://localhost:1",
            "http://tea.localhost:1",
        ] {
            let answer = send(server, &format!("http://127.0.0.1:{port}/token"))
                .await
                .unwrap();
            assert_eq!(answer.status(), 302, "{server}");
            let error = send(server, "http://169.254.169.254/token").await.unwrap_err();
            assert!(error.contains("no address that a login may reach"), "{error}");
        }
        serving.abort();
    }

    #[test]
    fn no_spelling_of_this_machine_is_a_page_of_the_web() {
        for host in [
            "localhost",
            "LOCALHOST",
            "localhost.",
            "localhost%2e",
            "foo.localhost",
            "foo.localhost.",
            "ip6-localhost",
            "ip6-loopback.",
            "127.0.0.1.",
            "2130706433",
            "[::ffff:127.0.0.1]",
        ] {
            let page = Url::parse(&format!("https://{host}:18091/x")).unwrap();
            assert!(!Reach::Elsewhere.allows_page(&page), "{host}");
            assert_eq!(Reach::of(page.as_str()), Reach::ThisMachine, "{host}");
        }
        for host in ["login.example", "localhost.example", "ip6-localhost.example"] {
            let page = Url::parse(&format!("https://{host}/x")).unwrap();
            assert!(Reach::Elsewhere.allows_page(&page), "{host}");
        }
    }

    #[test]
    fn networks_of_a_company_are_reached() {
        for (address, reachable) in [
            ("93.184.216.34", true),
            ("10.0.0.9", true),
            ("fd00::9", true),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("ff02::1", false),
        ] {
            assert_eq!(
                Reach::Elsewhere.allows(address.parse().unwrap()),
                reachable,
                "{address}"
            );
        }
    }
}
