//! Who may connect: the host and the origin that a request names, and the token. All three are checked, always.
//!
//! The host and the origin are what keeps web pages out, of other origins and of names that were pointed at this
//! machine; the token is what keeps other users out. Wrong tokens are answered late, and later the more there were.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use percent_encoding::percent_decode;
use subtle::ConstantTimeEq;
use tokio::time::Instant;

/// Shortest token in bytes where other machines can guess.
const MIN_TOKEN_BYTES: usize = 16;
/// How late the first wrong token is answered; twice as late with each more (guess).
const FIRST_DELAY: Duration = Duration::from_millis(100);
/// How late a wrong token is answered at most: within the time that a connection has for its upgrade.
const LAST_DELAY: Duration = Duration::from_secs(5);
/// How long wrong tokens count.
const FORGIVEN_AFTER: Duration = Duration::from_mins(1);

const FOREIGN_HOST: &str = "The Host header names another server. Use the address that Bobbin prints, or list the \
                            host in AppServer.AllowedHosts of your own ~/.craft/config.json.\n";
const FOREIGN_ORIGIN: &str = "Pages of this origin may not connect. List the origin in AppServer.AllowedOrigins of your \
                              own ~/.craft/config.json.\n";
const NO_TOKEN: &str = "A token is required: ?token=TOKEN, or the header 'Authorization: Bearer TOKEN'. \
                        `bobbin token` prints it.\n";
const WRONG_TOKEN: &str = "The token is another one. `bobbin token` prints the one to use.\n";

/// What the server's user says about who may connect.
#[derive(Clone, Default)]
pub struct Admission {
    /// What clients present; `None` or empty: nothing.
    pub token: Option<String>,
    /// Origins of pages beside the listener's own, as `https://tea.example`.
    pub origins: Vec<String>,
    /// Values of `Host` beside the listener's own, as `tea.example` or `tea.example:8443`.
    pub hosts: Vec<String>,
}

/// Who may connect to a listener. Clones share the count of wrong tokens.
#[derive(Clone)]
pub struct Access {
    address: SocketAddr,
    admission: Arc<Admission>,
    guesses: Arc<Mutex<Guesses>>,
}

#[derive(Default)]
struct Guesses {
    wrong: u32,
    last: Option<Instant>,
}

/// Why a listener is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// Nothing keeps other machines out.
    #[error(
        "{0} can be reached from other machines and wants a token; remove the empty one or listen on 127.0.0.1"
    )]
    NoToken(SocketAddr),
    /// The token can be guessed.
    #[error(
        "{0} can be reached from other machines: the token must have {MIN_TOKEN_BYTES} characters or more; \
         `bobbin token` prints a good one"
    )]
    ShortToken(SocketAddr),
}

/// Why a client is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// The request names a host that is not ours: DNS of others points here.
    Host,
    /// A page from elsewhere.
    Origin,
    /// No token.
    NoToken,
    /// Another token.
    WrongToken,
}

impl Denied {
    /// Returns the word for it in logs and counters.
    pub fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::NoToken => "no_token",
            Self::WrongToken => "wrong_token",
        }
    }
}

/// Passes a request on if its client may connect; answers 401 or 403 otherwise. A layer of the listener's router.
pub(crate) async fn require(State(access): State<Access>, request: Request, next: Next) -> Response {
    let checked = access.check(request.uri(), request.headers());
    if let Err(denied) = checked {
        // Neither the address nor a header: both can have a token in them.
        tracing::warn!(reason = denied.word(), "a client was refused");
        metrics::counter!("bobbin_refused_clients_total", "reason" => denied.word()).increment(1);
    }
    let (status, text) = match checked {
        Ok(()) => return next.run(request).await,
        Err(Denied::Host) => (StatusCode::FORBIDDEN, FOREIGN_HOST),
        Err(Denied::Origin) => (StatusCode::FORBIDDEN, FOREIGN_ORIGIN),
        Err(Denied::NoToken) => (StatusCode::UNAUTHORIZED, NO_TOKEN),
        Err(Denied::WrongToken) => {
            tokio::time::sleep(access.delay()).await;
            (StatusCode::UNAUTHORIZED, WRONG_TOKEN)
        }
    };
    (status, [(CONNECTION, "close")], text).into_response()
}

impl Access {
    /// Decides who may connect to an address.
    ///
    /// # Errors
    /// The address can be reached from other machines, and there is no token or a short one.
    pub fn new(address: SocketAddr, mut admission: Admission) -> Result<Self, AccessError> {
        admission.token = admission.token.filter(|token| !token.is_empty());
        if !address.ip().is_loopback() {
            let token = admission.token.as_ref();
            let token = token.ok_or(AccessError::NoToken(address))?;
            if token.len() < MIN_TOKEN_BYTES {
                return Err(AccessError::ShortToken(address));
            }
        }
        Ok(Self {
            address,
            admission: Arc::new(admission),
            guesses: Arc::default(),
        })
    }

    /// Decides about a request.
    ///
    /// # Errors
    /// Why its client is refused.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Denied> {
        let host = only(headers, HOST, Denied::Host)?.ok_or(Denied::Host)?;
        if !self.is_own(host) && !listed(&self.admission.hosts, host) {
            return Err(Denied::Host);
        }
        // Programs that are no browsers send none.
        if let Some(origin) = only(headers, ORIGIN, Denied::Origin)? {
            let is_own = origin
                .strip_prefix("http://")
                .is_some_and(|authority| authority.eq_ignore_ascii_case(host));
            if !is_own && !listed(&self.admission.origins, origin) {
                return Err(Denied::Origin);
            }
        }
        let Some(token) = &self.admission.token else {
            return Ok(());
        };
        let given = query_token(uri).or_else(|| bearer_token(headers));
        let given = given.filter(|given| !given.is_empty()).ok_or(Denied::NoToken)?;
        // Constant in the token's bytes; only its length can be measured.
        if given.ct_eq(token.as_bytes()).into() {
            Ok(())
        } else {
            Err(Denied::WrongToken)
        }
    }

    /// Counts a wrong token; returns how late to answer it. Clients with the right one never wait.
    pub fn delay(&self) -> Duration {
        let mut guesses = self.guesses.lock();
        let now = Instant::now();
        if guesses.last.is_none_or(|last| now - last > FORGIVEN_AFTER) {
            guesses.wrong = 0;
        }
        let delay = FIRST_DELAY * (1 << guesses.wrong.min(6));
        guesses.wrong = guesses.wrong.saturating_add(1);
        guesses.last = Some(now);
        delay.min(LAST_DELAY)
    }

    /// Whether `host:port` is this listener, by a name that only this machine decides about. An address is such a name:
    /// who wants to be taken for us in a browser needs a name of their own.
    fn is_own(&self, authority: &str) -> bool {
        let Some((host, port)) = split(authority) else {
            return false;
        };
        let ours = self.address.ip();
        let is_ours = |ip: IpAddr| ip.is_loopback() || (!ours.is_loopback() && !ip.is_unspecified());
        port == self.address.port()
            && (host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(is_ours))
    }
}

/// Returns the host, without brackets, and the port of `host`, `host:port`, `[host]` or `[host]:port`.
fn split(authority: &str) -> Option<(&str, u16)> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        // Nothing but an address stands in brackets.
        host.parse::<std::net::Ipv6Addr>().ok()?;
        (host, port.strip_prefix(':').or(port.is_empty().then_some("80"))?)
    } else {
        authority.split_once(':').unwrap_or((authority, "80"))
    };
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    Some((host, digits.then(|| port.parse().ok())??))
}

/// Returns a header's value. One that is no text, and one of several, is `denied`.
fn only(headers: &HeaderMap, name: HeaderName, denied: Denied) -> Result<Option<&str>, Denied> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(denied);
    }
    first.map(|value| value.to_str().map_err(|_| denied)).transpose()
}

fn listed(list: &[String], value: &str) -> bool {
    list.iter().any(|listed| listed.eq_ignore_ascii_case(value))
}

fn query_token(uri: &Uri) -> Option<Vec<u8>> {
    let value = uri
        .query()?
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))?;
    Some(percent_decode(value.as_bytes()).collect())
}

fn bearer_token(headers: &HeaderMap) -> Option<Vec<u8>> {
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let space = value.iter().position(|&byte| byte == b' ')?;
    let (scheme, token) = value.split_at(space);
    scheme
        .eq_ignore_ascii_case(b"bearer")
        .then(|| token.trim_ascii().to_vec())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const TOKEN: &str = "Grüße a b&c, sixteen";

    fn local() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 9100))
    }

    fn with_token(token: &str) -> Admission {
        Admission {
            token: Some(token.to_owned()),
            ..Admission::default()
        }
    }

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_bytes(value.as_bytes()).unwrap()))
            .collect()
    }

    #[test]
    fn an_address_others_can_reach_wants_a_token_of_sixteen_characters() {
        let open = SocketAddr::from(([0, 0, 0, 0], 9100));
        let refused = |token: &str| Access::new(open, with_token(token)).err();
        assert_eq!(refused(""), Some(AccessError::NoToken(open)));
        assert_eq!(refused("fifteen letters"), Some(AccessError::ShortToken(open)));
        assert_eq!(refused("sixteen letters!"), None);
        assert!(Access::new(local(), Admission::default()).is_ok());
        assert!(Access::new(local(), with_token("t")).is_ok());
    }

    #[test]
    fn tokens_are_read_from_the_query_or_the_header() {
        let access = Access::new(local(), with_token(TOKEN)).unwrap();
        let bearer = format!("Bearer {TOKEN}");
        let basic = format!("Basic {TOKEN}");
        let table = [
            ("/ws?token=Gr%C3%BC%C3%9Fe%20a%20b%26c,%20sixteen", None, Ok(())),
            (
                "/ws?x=1&token=Gr%C3%BC%C3%9Fe%20a%20b%26c,%20sixteen",
                None,
                Ok(()),
            ),
            ("/ws", Some(&bearer), Ok(())),
            ("/ws?token=wrong", None, Err(Denied::WrongToken)),
            ("/ws?token=", None, Err(Denied::NoToken)),
            ("/ws", None, Err(Denied::NoToken)),
            ("/ws", Some(&basic), Err(Denied::NoToken)),
        ];
        for (uri, bearer, expected) in table {
            let mut all = vec![(HOST, "127.0.0.1:9100")];
            all.extend(bearer.map(|bearer| (AUTHORIZATION, bearer.as_str())));
            let found = access.check(&uri.parse().unwrap(), &headers(&all));
            assert_eq!(found, expected, "{uri}");
        }
    }

    #[test]
    fn hosts_and_origins_follow_the_table_with_a_token_and_without() {
        let table = [
            ("127.0.0.1:9100", None, Ok(())),
            ("localhost:9100", None, Ok(())),
            ("[::1]:9100", None, Ok(())),
            ("localhost:9100", Some("http://localhost:9100"), Ok(())),
            ("tea.example", Some("https://tea.example"), Ok(())),
            ("localhost", None, Err(Denied::Host)),
            ("localhost:9101", None, Err(Denied::Host)),
            ("localhost:+9100", None, Err(Denied::Host)),
            ("[::1]9100", None, Err(Denied::Host)),
            ("[::1]:", None, Err(Denied::Host)),
            ("rebound.example:9100", None, Err(Denied::Host)),
            ("127.0.0.1.evil.example:9100", None, Err(Denied::Host)),
            ("192.168.0.7:9100", None, Err(Denied::Host)),
            (
                "127.0.0.1:9100",
                Some("http://localhost:9100"),
                Err(Denied::Origin),
            ),
            ("127.0.0.1:9100", Some("http://127.0.0.1:80"), Err(Denied::Origin)),
            ("127.0.0.1:9100", Some("null"), Err(Denied::Origin)),
            ("127.0.0.1:9100", Some(""), Err(Denied::Origin)),
        ];
        for token in [None, Some(TOKEN.to_owned())] {
            let admission = Admission {
                token: token.clone(),
                origins: vec!["https://tea.example".to_owned()],
                hosts: vec!["tea.example".to_owned()],
            };
            let access = Access::new(local(), admission).unwrap();
            let bearer = format!("Bearer {TOKEN}");
            for (host, origin, expected) in table {
                let mut all = vec![(HOST, host)];
                all.extend(origin.map(|origin| (ORIGIN, origin)));
                all.extend(token.as_ref().map(|_| (AUTHORIZATION, bearer.as_str())));
                let found = access.check(&"/ws".parse().unwrap(), &headers(&all));
                assert_eq!(found, expected, "{host} {origin:?}");
            }
        }
    }

    #[test]
    fn an_open_address_takes_any_address_as_its_host_and_no_name() {
        let open = SocketAddr::from(([0, 0, 0, 0], 9100));
        let access = Access::new(open, with_token(TOKEN)).unwrap();
        assert!(access.is_own("192.168.0.7:9100"));
        assert!(access.is_own("[2001:db8::1]:9100"));
        assert!(!access.is_own("0.0.0.0:9100"));
        assert!(!access.is_own("desk.lan:9100"));
    }

    #[tokio::test(start_paused = true)]
    async fn wrong_tokens_are_answered_later_and_later_until_they_are_forgiven() {
        let access = Access::new(local(), with_token(TOKEN)).unwrap();
        let delays: Vec<u128> = (0..8).map(|_| access.delay().as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        tokio::time::advance(FORGIVEN_AFTER + Duration::from_secs(1)).await;
        assert_eq!(access.delay(), FIRST_DELAY);
    }
}
