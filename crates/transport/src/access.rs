//! Who may connect: the token, and the checks that keep foreign web pages out where there is none.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, Uri};
use percent_encoding::percent_decode_str;
use subtle::ConstantTimeEq;

/// Who may connect to a listener.
#[derive(Clone)]
pub struct Access {
    token: Option<String>,
}

/// Why a listener is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} can be reached from other machines; set a token (--token) or listen on 127.0.0.1")]
pub struct AccessError(SocketAddr);

/// Why a client is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denied {
    /// No token, or another one.
    Token,
    /// A page from elsewhere.
    Origin,
    /// A name that is not this machine's: somebody's DNS points here.
    Host,
}

impl Access {
    /// Decides who may connect to an address. An empty token is none.
    ///
    /// # Errors
    /// The address can be reached from other machines and there is no token.
    pub fn new(address: SocketAddr, token: Option<String>) -> Result<Self, AccessError> {
        let token = token.filter(|token| !token.is_empty());
        if token.is_none() && !address.ip().is_loopback() {
            return Err(AccessError(address));
        }
        Ok(Self { token })
    }

    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Denied> {
        if let Some(token) = &self.token {
            let given = query_token(uri)
                .or_else(|| bearer_token(headers))
                .unwrap_or_default();
            // Constant in the token's bytes; only its length can be told.
            return if given.as_bytes().ct_eq(token.as_bytes()).into() {
                Ok(())
            } else {
                Err(Denied::Token)
            };
        }
        if let Some(origin) = headers.get(ORIGIN) {
            let host = origin
                .to_str()
                .ok()
                .and_then(|origin| origin.split_once("://"))
                .map(|parts| parts.1);
            if !host.is_some_and(is_local) {
                return Err(Denied::Origin);
            }
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        if host.is_some_and(is_local) {
            Ok(())
        } else {
            Err(Denied::Host)
        }
    }
}

fn query_token(uri: &Uri) -> Option<String> {
    let value = uri
        .query()?
        .split('&')
        .find_map(|pair| pair.strip_prefix("token="))?;
    percent_decode_str(value)
        .decode_utf8()
        .ok()
        .map(std::borrow::Cow::into_owned)
}

fn bearer_token(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim().to_owned())
}

/// Whether `host` or `host:port` means this machine.
fn is_local(authority: &str) -> bool {
    let host = if let Some(rest) = authority.strip_prefix('[') {
        rest.split(']').next().unwrap_or_default()
    } else {
        authority.split(':').next().unwrap_or_default()
    };
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn local() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 9100))
    }

    fn headers(pairs: &[(axum::http::HeaderName, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn an_address_others_can_reach_wants_a_token() {
        let open = SocketAddr::from(([0, 0, 0, 0], 9100));
        assert!(Access::new(open, None).is_err());
        assert!(Access::new(open, Some(String::new())).is_err());
        assert!(Access::new(open, Some("t".into())).is_ok());
        assert!(Access::new(local(), None).is_ok());
    }

    #[test]
    fn tokens_are_read_from_the_query_or_the_header() {
        let access = Access::new(local(), Some("a b&c".into())).unwrap();
        let table = [
            ("/ws?token=a%20b%26c", None, Ok(())),
            ("/ws?x=1&token=a%20b%26c", None, Ok(())),
            ("/ws", Some("Bearer a b&c"), Ok(())),
            ("/ws?token=wrong", None, Err(Denied::Token)),
            ("/ws?token=", None, Err(Denied::Token)),
            ("/ws", None, Err(Denied::Token)),
            ("/ws", Some("Basic a b&c"), Err(Denied::Token)),
        ];
        for (uri, bearer, expected) in table {
            let headers: Vec<_> = bearer.map(|bearer| (AUTHORIZATION, bearer)).into_iter().collect();
            assert_eq!(
                access.check(&uri.parse().unwrap(), &self::headers(&headers)),
                expected,
                "{uri}"
            );
        }
    }

    #[test]
    fn without_a_token_only_this_machine_is_let_in() {
        let access = Access::new(local(), None).unwrap();
        let table: [(&str, Option<&str>, Result<(), Denied>); 9] = [
            ("127.0.0.1:9100", None, Ok(())),
            ("localhost", None, Ok(())),
            ("[::1]:9100", None, Ok(())),
            ("127.0.0.1:9100", Some("http://localhost:5173"), Ok(())),
            (
                "127.0.0.1:9100",
                Some("https://evil.example"),
                Err(Denied::Origin),
            ),
            ("127.0.0.1:9100", Some("null"), Err(Denied::Origin)),
            (
                "127.0.0.1:9100",
                Some("https://localhost.evil.example"),
                Err(Denied::Origin),
            ),
            ("rebound.example:9100", None, Err(Denied::Host)),
            ("127.0.0.1.evil.example", None, Err(Denied::Host)),
        ];
        for (host, origin, expected) in table {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static(host));
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            assert_eq!(
                access.check(&"/ws".parse().unwrap(), &headers),
                expected,
                "{host} {origin:?}"
            );
        }
    }
}
