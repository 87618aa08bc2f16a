//! Admits connections by three checks: of the host and the origin that a request names, and of the token. All three are
//! always done.
//!
//! The checks of host and origin exclude web pages of other origins, and of names that were pointed at this machine.
//! The check of the token, or of a ticket in its place, excludes other users. Wrong tokens are answered late, and later
//! the more there were. The files of our own page have no secret, so only host and origin are checked for them.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, ORIGIN,
};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bobbin_model::Actor;
use percent_encoding::percent_decode;
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

use crate::PageOrigin;
use crate::guesses::Guesses;

/// Shortest token in bytes where other machines can guess.
const MIN_TOKEN_BYTES: usize = 16;

/// The end of the paths at which clients with a token connect: `/ws` of a server, `/w/NAME/ws` and `/node/ws` of a node.
const WEB_SOCKET: &str = "/ws";

/// The beginning of the paths at which other nodes connect.
const RELAY: &str = "/relay/";

const FOREIGN_HOST: &str = "The Host header names another server. `bobbin open` opens the page at its address of now. \
                            A host of your own, such as a proxy's, can be listed in AppServer.AllowedHosts of your own \
                            ~/.craft/config.json.\n";
const FOREIGN_ORIGIN: &str = "Pages of this origin may not connect. List the origin in AppServer.AllowedOrigins of your \
                              own ~/.craft/config.json.\n";
const OTHER_ADDRESS: &str = "This server has its page at another address. `bobbin open` opens it.\n";
/// The text at addresses of the listener other than the page's: no script, no secret, and not the page's name.
const SIGN: &str = "<!doctype html><meta charset=\"utf-8\"><title>Bobbin</title>\
                    <p>Bobbin runs here. Its page is at another address, because other users have accounts on this \
                    machine.</p><p>Type <code>bobbin open</code> in a terminal to open it.</p>\n";
const NO_TOKEN: &str = "A token is required: ?token=TOKEN, or the header 'Authorization: Bearer TOKEN'. \
                        `bobbin token` prints it.\n";
const WRONG_TOKEN: &str = "The token is another one. `bobbin token` prints the one to use.\n";
const NO_ROLE: &str = "Your role does not reach this address. Ask the owner of the server, who gives roles with \
                       `bobbin people add`.\n";
const WRONG_TICKET: &str = "The ticket was used, is too old or was never given. Ask for another one.\n";

/// The user's settings for connections.
#[derive(Clone, Default)]
pub struct Admission {
    /// The token that clients present; `None` or empty: they need none.
    pub token: Option<String>,
    /// Origins of pages beside the listener's own, as `https://tea.example`.
    pub origins: Vec<String>,
    /// Values of `Host` beside the listener's own, as `tea.example` or `tea.example:8443`.
    pub hosts: Vec<String>,
}

/// Admits clients that present something else than the listener's own token.
pub trait Guests: Send + Sync + 'static {
    /// Takes a ticket, once, for a request of this path. Browsers present tickets: a browser sends no header with a
    /// WebSocket, and an address with the token would be in its history.
    ///
    /// # Errors
    /// [`Denied::WrongTicket`]; [`Denied::NoRole`] if its person has no role at the path.
    fn ticket(&self, ticket: &[u8], path: &str) -> Result<Admitted, Denied>;

    /// Reads the token of a person, for a request of this path.
    ///
    /// # Errors
    /// [`Denied::WrongToken`]; [`Denied::NoRole`] if its person has no role at the path.
    fn token(&self, token: &[u8], path: &str) -> Result<Admitted, Denied>;
}

/// The client of an admitted request.
#[derive(Debug, Clone, Default)]
pub struct Admitted {
    /// On whose behalf it acts.
    pub actor: Actor,
    /// Cancelled when it may no longer be connected.
    pub until: CancellationToken,
}

/// The key by which other nodes prove that they are some: known once it was read from their database. Clones share it.
#[derive(Clone, Default)]
pub struct NodeKey(Arc<OnceLock<String>>);

impl NodeKey {
    /// Makes the key known. The first one stays.
    pub fn set(&self, key: String) {
        self.0.get_or_init(|| key);
    }

    /// Returns the key, once it is known.
    pub fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Decides about a request at a path for nodes. No browser can send the header to another origin unasked, so neither
    /// the host nor the origin matters.
    fn admit(&self, headers: &HeaderMap) -> Result<Admitted, Denied> {
        let given = bearer_token(headers).ok_or(Denied::NoToken)?;
        let key = self.get().ok_or(Denied::WrongToken)?;
        if given.ct_eq(key.as_bytes()).into() {
            return Ok(Admitted::default());
        }
        Err(Denied::WrongToken)
    }
}

/// Decides which clients may connect to a listener. Clones share the count of wrong tokens.
#[derive(Clone)]
pub struct Access {
    address: SocketAddr,
    admission: Arc<Admission>,
    guests: Option<Arc<dyn Guests>>,
    nodes: NodeKey,
    page: PageOrigin,
    guesses: Guesses,
}

/// How the bytes of a connection travel: in the extensions of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Scheme {
    #[default]
    Http,
    Https,
}

/// Whether no other machine can read or change the bytes of a connection on their way: in the extensions of its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Private;

/// Why a listener is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// Other machines can connect without a token.
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
    /// A browser at an address that is ours and not the page's.
    PageHost,
    /// No token.
    NoToken,
    /// Another token.
    WrongToken,
    /// A ticket that does not count.
    WrongTicket,
    /// A person whose role does not reach this path.
    NoRole,
}

impl Denied {
    /// Returns the word for it in logs and counters.
    pub fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::PageHost => "page_host",
            Self::NoToken => "no_token",
            Self::WrongToken => "wrong_token",
            Self::WrongTicket => "wrong_ticket",
            Self::NoRole => "no_role",
        }
    }

    /// Answers the client, late if it guesses.
    async fn answer(self, access: &Access) -> Response {
        let (status, text) = match self {
            Self::Host => (StatusCode::FORBIDDEN, FOREIGN_HOST),
            Self::Origin => (StatusCode::FORBIDDEN, FOREIGN_ORIGIN),
            Self::PageHost => (StatusCode::FORBIDDEN, OTHER_ADDRESS),
            Self::NoToken => (StatusCode::UNAUTHORIZED, NO_TOKEN),
            Self::WrongToken => (StatusCode::UNAUTHORIZED, WRONG_TOKEN),
            Self::WrongTicket => (StatusCode::UNAUTHORIZED, WRONG_TICKET),
            Self::NoRole => (StatusCode::FORBIDDEN, NO_ROLE),
        };
        access.guesses.denied(self).await;
        (status, [(CONNECTION, "close")], text).into_response()
    }
}

/// Passes a request on if its client may connect; answers 401 or 403 otherwise. A layer of the listener's router.
pub(crate) async fn require(State(access): State<Access>, mut request: Request, next: Next) -> Response {
    match access.admit(scheme(&request), request.uri(), request.headers()) {
        Ok(admitted) => {
            request.extensions_mut().insert(admitted);
            next.run(request).await
        }
        Err(denied) => denied.answer(&access).await,
    }
}

/// Passes a request on if a page of our own can have sent it; answers 403 otherwise. A layer of the router that needs
/// no token. A request that changes something has to name its origin, which a page cannot forge.
pub(crate) async fn require_own(State(access): State<Access>, request: Request, next: Next) -> Response {
    let changes = request.method() != Method::GET && request.method() != Method::HEAD;
    match access.check_origin(scheme(&request), request.headers(), HostPort::Own) {
        Ok(Origin::Named) => next.run(request).await,
        Ok(Origin::Absent) if changes => Denied::Origin.answer(&access).await,
        Ok(Origin::Absent) if access.has_page(scheme(&request), request.headers()) => next.run(request).await,
        Ok(Origin::Absent) if request.uri().path() == "/" => sign(),
        Ok(Origin::Absent) => Denied::PageHost.answer(&access).await,
        Err(denied) => denied.answer(&access).await,
    }
}

/// Answers a browser that looks for the page at an address that does not have it.
fn sign() -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'",
        ),
        (CONNECTION, "close"),
    ];
    (StatusCode::FORBIDDEN, headers, SIGN).into_response()
}

fn scheme(request: &Request) -> Scheme {
    request.extensions().get().copied().unwrap_or_default()
}

/// Whether a request that may come says where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Named,
    Absent,
}

/// The ports that a request may name in `Host` beside a loopback name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostPort {
    /// The listener's.
    Own,
    /// Every one: a client comes through a tunnel, whose near end has another port.
    Any,
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
            guests: None,
            nodes: NodeKey::default(),
            page: PageOrigin::default(),
            guesses: Guesses::default(),
        })
    }

    /// Serves the page to browsers at these addresses alone.
    #[must_use]
    pub fn with_page_origin(mut self, page: PageOrigin) -> Self {
        self.page = page;
        self
    }

    /// Lets in guests too.
    #[must_use]
    pub fn with_guests(mut self, guests: Arc<dyn Guests>) -> Self {
        self.guests = Some(guests);
        self
    }

    /// Lets in other nodes, at `/relay/` alone.
    #[must_use]
    pub fn with_nodes(mut self, key: NodeKey) -> Self {
        self.nodes = key;
        self
    }

    /// Returns the count of wrong tokens, which other secrets of the listener share.
    pub fn guesses(&self) -> Guesses {
        self.guesses.clone()
    }

    /// Returns whether clients present anything at all.
    pub fn wants_token(&self) -> bool {
        self.admission.token.is_some()
    }

    /// Decides about a request of a client that is no page of ours, sent without TLS.
    ///
    /// # Errors
    /// Why its client is refused.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Denied> {
        self.admit(Scheme::Http, uri, headers).map(drop)
    }

    /// Returns whose client it is, and what ends its right to be connected.
    fn admit(&self, scheme: Scheme, uri: &Uri, headers: &HeaderMap) -> Result<Admitted, Denied> {
        let admitted = self.identify(scheme, uri, headers)?;
        if admitted.until.is_cancelled() {
            return Err(Denied::WrongTicket);
        }
        // Other paths have methods without roles, or counters of everything.
        if admitted.actor.is_owner() || uri.path().ends_with(WEB_SOCKET) {
            Ok(admitted)
        } else {
            Err(Denied::NoRole)
        }
    }

    fn identify(&self, scheme: Scheme, uri: &Uri, headers: &HeaderMap) -> Result<Admitted, Denied> {
        if uri.path().starts_with(RELAY) {
            return self.nodes.admit(headers);
        }
        let port = if uri.path().ends_with(WEB_SOCKET) {
            HostPort::Any
        } else {
            HostPort::Own
        };
        self.check_origin(scheme, headers, port)?;
        if let (Some(guests), Some(ticket)) = (&self.guests, query(uri, "ticket=")) {
            return guests.ticket(&ticket, uri.path());
        }
        let Some(token) = &self.admission.token else {
            return Ok(Admitted::default());
        };
        let given = query(uri, "token=").or_else(|| bearer_token(headers));
        let given = given.filter(|given| !given.is_empty()).ok_or(Denied::NoToken)?;
        // Constant in the token's bytes; only its length can be measured.
        if given.ct_eq(token.as_bytes()).into() {
            return Ok(Admitted::default());
        }
        match &self.guests {
            Some(guests) => guests.token(&given, uri.path()),
            None => Err(Denied::WrongToken),
        }
    }

    /// Checks the host and, where there is one, the origin.
    fn check_origin(&self, scheme: Scheme, headers: &HeaderMap, port: HostPort) -> Result<Origin, Denied> {
        let host = only(headers, HOST, Denied::Host)?.ok_or(Denied::Host)?;
        let is_near_end = port == HostPort::Any && is_loopback(host);
        if !self.is_own(host) && !is_near_end && !listed(&self.admission.hosts, host) {
            return Err(Denied::Host);
        }
        // Programs that are no browsers send none.
        let Some(origin) = only(headers, ORIGIN, Denied::Origin)? else {
            return Ok(Origin::Absent);
        };
        let own = match scheme {
            Scheme::Http => "http://",
            Scheme::Https => "https://",
        };
        let authority = origin.strip_prefix(own);
        let is_own = authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host));
        if listed(&self.admission.origins, origin) {
            Ok(Origin::Named)
        } else if !is_own {
            Err(Denied::Origin)
        } else if self.is_page(scheme, host) {
            Ok(Origin::Named)
        } else {
            Err(Denied::PageHost)
        }
    }

    /// Whether the page is served to browsers at the host that a request names, which is one of the listener's.
    fn has_page(&self, scheme: Scheme, headers: &HeaderMap) -> bool {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        host.is_some_and(|host| self.is_page(scheme, host))
    }

    fn is_page(&self, scheme: Scheme, authority: &str) -> bool {
        // A name that the user has listed is the user's word: a proxy's, or the near end of a tunnel.
        scheme == Scheme::Https
            || listed(&self.admission.hosts, authority)
            || split(authority).is_some_and(|(host, _)| self.page.is_at(host, self.address.ip()))
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
            && (host.eq_ignore_ascii_case("localhost")
                || host.parse().is_ok_and(is_ours)
                || self.page.is_name(host))
    }
}

/// Whether an authority is a loopback name, with any port. Nobody points such a name elsewhere.
fn is_loopback(authority: &str) -> bool {
    split(authority).is_some_and(|(host, _)| {
        host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

/// Returns the host, without brackets, and the port of `host`, `host:port`, `[host]` or `[host]:port`.
fn split(authority: &str) -> Option<(&str, u16)> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        // Only an address is in brackets.
        host.parse::<std::net::Ipv6Addr>().ok()?;
        (host, port.strip_prefix(':').or(port.is_empty().then_some("80"))?)
    } else {
        authority.split_once(':').unwrap_or((authority, "80"))
    };
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    Some((host, digits.then(|| port.parse().ok())??))
}

/// Returns a header's value. A value that is no text, and several values, are `denied`.
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

fn query(uri: &Uri, name: &str) -> Option<Vec<u8>> {
    let mut pairs = uri.query()?.split('&');
    let value = pairs.find_map(|pair| pair.strip_prefix(name))?;
    Some(percent_decode(value.as_bytes()).collect())
}

/// Returns what `Authorization: Bearer` presents.
pub fn bearer_token(headers: &HeaderMap) -> Option<Vec<u8>> {
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
            let found = access.admit(Scheme::Http, &uri.parse().unwrap(), &headers(&all));
            assert_eq!(found.map(drop), expected, "{uri}");
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
            ("localhost:9101", None, Ok(())),
            ("127.0.0.2:80", None, Ok(())),
            ("localhost:9101", Some("http://localhost:9101"), Ok(())),
            (
                "localhost:9101",
                Some("http://localhost:9100"),
                Err(Denied::Origin),
            ),
            ("192.168.0.7:9101", None, Err(Denied::Host)),
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
                let found = access.admit(Scheme::Http, &"/ws".parse().unwrap(), &headers(&all));
                assert_eq!(found.map(drop), expected, "{host} {origin:?}");
            }
        }
    }

    #[test]
    fn browsers_get_in_at_the_pages_address_alone_and_programs_at_every_one() {
        let access = |page: PageOrigin, hosts: &[&str]| {
            let admission = Admission {
                hosts: hosts.iter().map(ToString::to_string).collect(),
                ..with_token(TOKEN)
            };
            Access::new(local(), admission).unwrap().with_page_origin(page)
        };
        let fresh = || PageOrigin::Fresh("tea".to_owned());
        let bearer = format!("Bearer {TOKEN}");
        let (http, https) = (Scheme::Http, Scheme::Https);
        for (page, scheme, host, is_page) in [
            (PageOrigin::Stable, http, "127.0.0.1:9100", true),
            (PageOrigin::Stable, http, "localhost:9100", true),
            (PageOrigin::Numeric, http, "127.0.0.1:9100", true),
            (PageOrigin::Numeric, http, "localhost:9100", false),
            (fresh(), http, "tea.localhost:9100", true),
            (fresh(), http, "127.0.0.1:9100", false),
            (fresh(), http, "localhost:9100", false),
            (fresh(), http, "[::1]:9100", false),
            (fresh(), http, "tea.example", true),
            (PageOrigin::Encrypted, http, "127.0.0.1:9100", false),
            (PageOrigin::Encrypted, https, "127.0.0.1:9100", true),
        ] {
            let access = access(page.clone(), &["tea.example"]);
            let origin = format!("{}://{host}", if scheme == http { "http" } else { "https" });
            let program = headers(&[(HOST, host), (AUTHORIZATION, &bearer)]);
            let admitted = access.admit(scheme, &"/ws".parse().unwrap(), &program);
            assert_eq!(admitted.map(drop), Ok(()), "{page:?} {host}");
            let browser = headers(&[(HOST, host), (ORIGIN, &origin), (AUTHORIZATION, &bearer)]);
            let admitted = access.admit(scheme, &"/ws".parse().unwrap(), &browser);
            let expected = if is_page { Ok(()) } else { Err(Denied::PageHost) };
            assert_eq!(admitted.map(drop), expected, "{page:?} {host}");
            assert_eq!(access.has_page(scheme, &browser), is_page, "{page:?} {host}");
        }
        let other = headers(&[(HOST, "teb.localhost:9100"), (AUTHORIZATION, &bearer)]);
        let admitted = access(fresh(), &[]).admit(http, &"/ws".parse().unwrap(), &other);
        assert_eq!(admitted.map(drop), Err(Denied::Host));
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
}
