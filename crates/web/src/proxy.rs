//! A proxy for a program without a network of its own: it connects the program to named hosts, and to nothing else.
//!
//! The proxy knows the one method `CONNECT` and passes bytes on; what they say is between the program and the host. A
//! name is resolved here, once, and the connection goes to an address that was checked: one of this machine or its
//! networks is refused, whatever its name. Bounds: [`MAX_CONNECTIONS`], [`MAX_HEAD`], [`HEAD`], [`CONNECT`]. A further
//! connection waits.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::fetch::{are_public, resolve};

/// Most connections at a time.
const MAX_CONNECTIONS: usize = 64;
/// Most bytes of the head of a request.
const MAX_HEAD: u64 = 8 << 10;
/// Longest time for the head of a request.
const HEAD: Duration = Duration::from_secs(10);
/// Longest time to resolve a name and to connect to it.
const CONNECT: Duration = Duration::from_secs(15);
/// The pause after a connection that could not be accepted.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// The port of a host that is named without one.
const HTTPS: u16 = 443;
/// Longest name of a host, as the name service has it.
const MAX_NAME: usize = 253;

/// A host that a program may reach: a name, or all names under one, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost {
    /// In lower case, without the `*.`.
    name: String,
    /// Whether the names under `name` are meant, and not `name` itself.
    is_suffix: bool,
    port: u16,
}

impl AllowedHost {
    /// Parses `api.example.com`, `*.example.com` or `api.example.com:8443`.
    ///
    /// # Errors
    /// The text is no host; half a sentence says why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().unwrap_or(0)),
            None => (text, HTTPS),
        };
        let (is_suffix, name) = match host.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, host),
        };
        let is_name = !name.starts_with('.') && name.len() <= MAX_NAME && name.chars().all(is_plain);
        if port == 0 || name.is_empty() || !is_name {
            return Err(format!(
                "{text:?} is no host: name one as \"api.example.com\", \"*.example.com\" or \"api.example.com:8443\""
            ));
        }
        Ok(Self {
            name: canonical(name),
            is_suffix,
            port,
        })
    }

    /// Whether it covers a host, as [`canonical`] spells it.
    fn covers(&self, host: &str, port: u16) -> bool {
        if self.port != port {
            return false;
        }
        match host.strip_suffix(self.name.as_str()) {
            Some("") => !self.is_suffix,
            Some(rest) => self.is_suffix && rest.len() > 1 && rest.ends_with('.'),
            None => false,
        }
    }
}

/// Whether a name may have a character.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')
}

/// Returns a name as names are compared.
fn canonical(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// A host that a program wanted and did not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Its user has not named the host, with its port.
    NotNamed(String),
    /// The name of the host leads into this machine or its own network.
    NotPublic(String),
}

/// The end of a request that opens no connection.
enum Answer {
    Refused(Refusal),
    /// The request is not `CONNECT` to a host and a port.
    NotConnect,
    /// The head is too long.
    TooLong,
    /// The host cannot be reached: why, as half a sentence.
    Unreachable(String),
}

impl Answer {
    /// Returns the status and the sentence for the program.
    fn words(&self) -> (&'static str, String) {
        match self {
            Self::Refused(Refusal::NotNamed(host)) => (
                "403 Forbidden",
                format!(
                    "Refused: the user of this program has named the hosts that it reaches, and {host} is none of them."
                ),
            ),
            Self::Refused(Refusal::NotPublic(host)) => (
                "403 Forbidden",
                format!("Refused: {host} leads into this machine or its own network."),
            ),
            Self::NotConnect => (
                "405 Method Not Allowed",
                "Refused: this proxy takes CONNECT to a host and a port alone. Use https.".to_owned(),
            ),
            Self::TooLong => (
                "431 Request Header Fields Too Large",
                format!("Refused: the head of a request has at most {MAX_HEAD} bytes."),
            ),
            Self::Unreachable(why) => ("502 Bad Gateway", format!("Not connected: {why}.")),
        }
    }
}

/// Resolves a name into places, or says why not as half a sentence.
type Names = dyn Fn(String, u16) -> BoxFuture<'static, Result<Vec<SocketAddr>, String>> + Send + Sync;

/// Serves the proxy at a listener until the future is dropped; that ends its connections. `refused` gets each refusal and
/// must not wait.
pub async fn serve_proxy(
    listener: TcpListener,
    hosts: Arc<[AllowedHost]>,
    refused: impl Fn(Refusal) + Send + Sync + 'static,
) {
    serve(listener, hosts, public_names(), Arc::new(refused)).await;
}

/// Returns the names of the system's name service. One that leads to an address which is not public has no place.
fn public_names() -> Arc<Names> {
    Arc::new(|host, port| {
        async move {
            let places = resolve(&host, port).await?;
            Ok(if are_public(&places) { places } else { Vec::new() })
        }
        .boxed()
    })
}

async fn serve(
    listener: TcpListener,
    hosts: Arc<[AllowedHost]>,
    names: Arc<Names>,
    refused: Arc<dyn Fn(Refusal) + Send + Sync>,
) {
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= MAX_CONNECTIONS {
            connections.join_next().await;
        }
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((client, _)) => {
                let (hosts, names, refused) = (hosts.clone(), names.clone(), refused.clone());
                connections.spawn(async move {
                    let passed = connection(client, &hosts, &*names, &*refused).await;
                    // Either end may close the connection in the middle.
                    passed.inspect_err(|error| tracing::trace!(%error, "a connection of a proxy ended"))
                });
            }
            Err(error) => {
                tracing::debug!(%error, "a proxy cannot accept a connection");
                sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

async fn connection(
    client: TcpStream,
    hosts: &[AllowedHost],
    names: &Names,
    refused: &(dyn Fn(Refusal) + Send + Sync),
) -> std::io::Result<()> {
    let mut client = BufReader::new(client);
    let Ok(head) = timeout(HEAD, head(&mut client)).await else {
        return Ok(());
    };
    let connected = match head? {
        Ok((host, port)) => match timeout(CONNECT, connect(&host, port, hosts, names)).await {
            Ok(connected) => connected,
            Err(_) => Err(Answer::Unreachable(format!("{host} does not answer"))),
        },
        Err(answer) => Err(answer),
    };
    match connected {
        Ok(mut server) => {
            client
                .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .await?;
            copy_bidirectional(&mut client, &mut server).await.map(drop)
        }
        Err(answer) => {
            let (status, text) = answer.words();
            if let Answer::Refused(refusal) = answer {
                refused(refusal);
            }
            let text = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{text}\n",
                text.len() + 1
            );
            client.write_all(text.as_bytes()).await?;
            client.shutdown().await
        }
    }
}

/// Reads the head of a request; the bytes after it stay in `client`. Returns the host and the port.
async fn head(client: &mut BufReader<TcpStream>) -> std::io::Result<Result<(String, u16), Answer>> {
    let mut head = client.take(MAX_HEAD);
    let mut first = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        head.read_until(b'\n', &mut line).await?;
        if !line.ends_with(b"\n") {
            return match head.limit() {
                0 => Ok(Err(Answer::TooLong)),
                _ => Err(std::io::ErrorKind::UnexpectedEof.into()),
            };
        }
        let text = line.trim_ascii_end();
        match &first {
            None => first = Some(target(text)),
            Some(_) if text.is_empty() => return Ok(first.flatten().ok_or(Answer::NotConnect)),
            Some(_) => {}
        }
    }
}

/// Returns the host and the port of a request line, if it is `CONNECT`.
fn target(line: &[u8]) -> Option<(String, u16)> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if method != "CONNECT" || !version.starts_with("HTTP/1.") || words.next().is_some() {
        return None;
    }
    let (host, port) = target.rsplit_once(':')?;
    // Logs and users are shown it.
    let is_host = |c: char| is_plain(c) || matches!(c, ':' | '[' | ']');
    if host.is_empty() || host.len() > MAX_NAME || !host.chars().all(is_host) {
        return None;
    }
    Some((canonical(host), port.parse().ok()?))
}

async fn connect(host: &str, port: u16, hosts: &[AllowedHost], names: &Names) -> Result<TcpStream, Answer> {
    if !hosts.iter().any(|allowed| allowed.covers(host, port)) {
        let name = if port == HTTPS {
            host.to_owned()
        } else {
            format!("{host}:{port}")
        };
        return Err(Answer::Refused(Refusal::NotNamed(name)));
    }
    let places = names(host.to_owned(), port).await.map_err(Answer::Unreachable)?;
    if places.is_empty() {
        return Err(Answer::Refused(Refusal::NotPublic(host.to_owned())));
    }
    let stream = TcpStream::connect(&*places).await;
    stream.map_err(|error| Answer::Unreachable(format!("{host} cannot be reached: {error}")))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use parking_lot::Mutex;
    use rstest::rstest;

    use super::*;

    type Refusals = Arc<Mutex<Vec<Refusal>>>;

    /// Starts a proxy for hosts, all of which `names` resolves, and returns its address and its refusals.
    async fn proxy(hosts: &[&str], names: Arc<Names>) -> (SocketAddr, Refusals, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let hosts = hosts
            .iter()
            .map(|host| AllowedHost::parse(host).unwrap())
            .collect();
        let refusals = Refusals::default();
        let seen = refusals.clone();
        let mut running = JoinSet::new();
        running.spawn(serve(
            listener,
            hosts,
            names,
            Arc::new(move |refusal| seen.lock().push(refusal)),
        ));
        (address, refusals, running)
    }

    /// Resolves every name to one place.
    fn to(place: SocketAddr) -> Arc<Names> {
        Arc::new(move |_, _| std::future::ready(Ok(vec![place])).boxed())
    }

    fn nowhere() -> Arc<Names> {
        to(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)))
    }

    async fn answer(proxy: SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(proxy).await.unwrap();
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        // The proxy may close the connection before it has read everything.
        drop(client.read_to_string(&mut answer).await);
        answer
    }

    #[rstest]
    #[case("api.example.com", "api.example.com", 443, true)]
    #[case("API.example.com", "api.example.com", 443, true)]
    #[case("api.example.com", "api.example.com", 80, false)]
    #[case("api.example.com:80", "api.example.com", 80, true)]
    #[case("api.example.com:80", "api.example.com", 443, false)]
    #[case("api.example.com", "evil-api.example.com", 443, false)]
    #[case("api.example.com", "api.example.com.evil.org", 443, false)]
    #[case("*.example.com", "api.example.com", 443, true)]
    #[case("*.example.com", "a.b.example.com", 443, true)]
    #[case("*.example.com", "example.com", 443, false)]
    #[case("*.example.com", ".example.com", 443, false)]
    #[case("*.example.com", "badexample.com", 443, false)]
    fn a_host_covers_its_name_and_port(
        #[case] allowed: &str,
        #[case] host: &str,
        #[case] port: u16,
        #[case] expected: bool,
    ) {
        assert_eq!(AllowedHost::parse(allowed).unwrap().covers(host, port), expected);
    }

    #[rstest]
    #[case("")]
    #[case("*")]
    #[case("*.")]
    #[case("a.*.example.com")]
    #[case("https://example.com")]
    #[case("example.com/x")]
    #[case("example.com:")]
    #[case("example.com:0")]
    #[case("example.com:99999")]
    #[case("[::1]:443")]
    fn other_texts_are_no_hosts(#[case] text: &str) {
        AllowedHost::parse(text).unwrap_err();
    }

    #[tokio::test]
    async fn a_named_host_is_connected_and_bytes_pass_both_ways() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = server.local_addr().unwrap();
        let (proxy, refusals, _running) = proxy(&["tea.example.com"], to(place)).await;
        let mut client = TcpStream::connect(proxy).await.unwrap();
        // Bytes that come with the head are part of the connection.
        let request = "CONNECT Tea.Example.com.:443 HTTP/1.1\r\nHost: evil.example.com\r\n\r\nhello";
        client.write_all(request.as_bytes()).await.unwrap();
        let (mut upstream, _) = server.accept().await.unwrap();
        let mut got = [0; 5];
        upstream.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"hello");
        upstream.write_all(b"tea").await.unwrap();
        drop(upstream);
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\ntea");
        assert_eq!(*refusals.lock(), []);
    }

    #[tokio::test]
    async fn other_hosts_are_refused_in_words_and_reported() {
        let (proxy, refusals, _running) =
            proxy(&["tea.example.com", "localhost", "10.0.0.1"], public_names()).await;
        for (target, word) in [
            ("coffee.example.com:443", "coffee.example.com is none of them"),
            ("tea.example.com:22", "tea.example.com:22 is none of them"),
            ("[::1]:443", "[::1] is none of them"),
            // Named hosts of this machine and its network stay closed.
            ("localhost:443", "leads into this machine"),
            ("10.0.0.1:443", "leads into this machine"),
        ] {
            let answer = answer(proxy, &format!("CONNECT {target} HTTP/1.1\r\n\r\n")).await;
            assert!(
                answer.starts_with("HTTP/1.1 403 Forbidden\r\n") && answer.contains(word),
                "{answer}"
            );
        }
        let refused = refusals.lock().clone();
        assert_eq!(refused.len(), 5, "{refused:?}");
        assert_eq!(refused[1], Refusal::NotNamed("tea.example.com:22".to_owned()));
        assert_eq!(refused[3], Refusal::NotPublic("localhost".to_owned()));
    }

    #[tokio::test]
    async fn only_connect_is_answered_and_a_host_that_is_down_is_named() {
        let (proxy, refusals, _running) = proxy(&["tea.example.com"], nowhere()).await;
        let long = format!(
            "CONNECT tea.example.com:443 HTTP/1.1\r\nx: {}",
            "x".repeat(8 << 10)
        );
        for (request, status) in [
            ("GET http://tea.example.com/ HTTP/1.1\r\n\r\n", "405 "),
            ("CONNECT tea.example.com HTTP/1.1\r\n\r\n", "405 "),
            ("CONNECT tea\u{202e}.com:443 HTTP/1.1\r\n\r\n", "405 "),
            ("CONNECT tea.example.com:443\r\n\r\n", "405 "),
            ("CONNECT tea.example.com:443 HTTP/1.1 x\r\n\r\n", "405 "),
            ("\r\n\r\n", "405 "),
            (&long, "431 "),
            ("CONNECT tea.example.com:443 HTTP/1.1\r\n\r\n", "502 "),
        ] {
            let answer = answer(proxy, request).await;
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status}")),
                "{request:?}: {answer:?}"
            );
        }
        assert_eq!(*refusals.lock(), [], "no host was refused");
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_does_not_end_is_given_up() {
        let (proxy, _, _running) = proxy(&["tea.example.com"], nowhere()).await;
        let answer = answer(proxy, "CONNECT tea.example.com:443 HTTP/1.1\r\n").await;
        assert_eq!(answer, "");
    }

    #[tokio::test]
    async fn a_connection_beyond_the_bound_waits_and_all_end_with_the_proxy() {
        let (proxy, _, running) = proxy(&["tea.example.com"], nowhere()).await;
        let mut open = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            let mut client = TcpStream::connect(proxy).await.unwrap();
            client.write_all(b"GET").await.unwrap();
            open.push(client);
        }
        let mut further = TcpStream::connect(proxy).await.unwrap();
        further.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut byte = [0];
        let early = timeout(Duration::from_millis(200), further.read(&mut byte)).await;
        early.unwrap_err();
        // One leaves, and the next one is served.
        drop(open.pop());
        assert_eq!(further.read(&mut byte).await.unwrap(), 1);
        drop(running);
        let mut rest = Vec::new();
        let ended = timeout(Duration::from_secs(10), open[0].read_to_end(&mut rest)).await;
        assert_eq!(ended.unwrap().unwrap_or_default(), 0);
    }
}
