//! The addresses at which the listener serves its page to browsers.
//!
//! A browser gives an origin's storage, and the origin's service worker, to whatever answers at its port. If other
//! users can run programs on the machine, an origin that lasts longer than the listener would give its secret to them.

use std::net::{IpAddr, SocketAddr};

/// Random bytes of a fresh name: 80 bits.
const LABEL_BYTES: usize = 10;
/// The characters of names.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The addresses at which browsers find the page over plain HTTP. With TLS the certificate names the server, and
/// nothing is restricted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PageOrigin {
    /// Every name of the listener. The names stay the same.
    #[default]
    Stable,
    /// The listener's address, as a number. `localhost` could lead to another address of the machine, where another
    /// program can listen.
    Numeric,
    /// `LABEL.localhost` alone. The label is random, and no later listener has it again.
    Fresh(String),
    /// None: browsers use TLS.
    Encrypted,
}

impl PageOrigin {
    /// Returns a name that nobody has had and nobody can guess.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn fresh() -> Result<Self, getrandom::Error> {
        let mut random = [0; LABEL_BYTES];
        getrandom::fill(&mut random)?;
        Ok(Self::Fresh(label(&random)))
    }

    /// Returns the page's host and port, as a browser of this machine writes them. `reached` is the address at which this
    /// machine reaches the listener.
    pub fn authority(&self, reached: SocketAddr) -> String {
        match self {
            Self::Fresh(label) => format!("{label}.localhost:{}", reached.port()),
            Self::Stable | Self::Numeric | Self::Encrypted => reached.to_string(),
        }
    }

    /// Whether the page has an address that the next listener has too. A service worker, push and an installed page
    /// would outlive the listener, so they may exist only there.
    pub fn lasts(&self) -> bool {
        !matches!(self, Self::Fresh(_))
    }

    /// Whether a browser may have named the page so, of a listener at `bound`.
    pub(crate) fn is_at(&self, host: &str, bound: IpAddr) -> bool {
        match self {
            Self::Stable => true,
            Self::Numeric => host.parse().is_ok_and(|named| is_covered(named, bound)),
            Self::Fresh(_) => self.is_name(host),
            Self::Encrypted => false,
        }
    }

    /// Whether a host is the fresh name.
    pub(crate) fn is_name(&self, host: &str) -> bool {
        let Self::Fresh(label) = self else { return false };
        let named = host.strip_suffix(".localhost");
        named.is_some_and(|named| named.eq_ignore_ascii_case(label))
    }
}

/// Whether a listener at `bound` is the only one that can be at `named`.
fn is_covered(named: IpAddr, bound: IpAddr) -> bool {
    match bound {
        _ if named.is_unspecified() => false,
        IpAddr::V4(bound) if bound.is_unspecified() => named.is_ipv4(),
        IpAddr::V6(bound) if bound.is_unspecified() => true,
        bound => named == bound,
    }
}

fn label(random: &[u8; LABEL_BYTES]) -> String {
    let bits = random
        .iter()
        .fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
    let letters = (0..LABEL_BYTES * 8 / 5).map(|letter| bits >> (letter * 5) & 31);
    letters
        .map(|index| char::from(ALPHABET[usize::try_from(index).unwrap_or_default()]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_name_has_sixteen_letters_of_a_host_name_and_is_another_one_each_time() {
        let names: Vec<PageOrigin> = (0..64).map(|_| PageOrigin::fresh().unwrap()).collect();
        for (index, name) in names.iter().enumerate() {
            let PageOrigin::Fresh(label) = name else {
                panic!("{name:?}")
            };
            assert_eq!(label.len(), 16);
            assert!(label.bytes().all(|byte| ALPHABET.contains(&byte)), "{label}");
            assert!(!names[..index].contains(name));
        }
        assert_eq!(label(&[0xff; LABEL_BYTES]), "7".repeat(16));
    }

    #[test]
    fn each_kind_is_at_its_own_hosts() {
        let fresh = PageOrigin::Fresh("tea".to_owned());
        for (origin, bound, at, not_at) in [
            (
                PageOrigin::Stable,
                "127.0.0.1",
                vec!["127.0.0.1", "localhost", "::1"],
                vec![],
            ),
            (
                PageOrigin::Numeric,
                "127.0.0.1",
                vec!["127.0.0.1"],
                vec!["localhost", "::1", "127.0.0.2", "tea.localhost"],
            ),
            (
                PageOrigin::Numeric,
                "0.0.0.0",
                vec!["192.168.0.7", "127.0.0.1"],
                vec!["::1", "0.0.0.0"],
            ),
            (
                PageOrigin::Numeric,
                "::",
                vec!["::1", "192.168.0.7"],
                vec!["localhost"],
            ),
            (
                fresh.clone(),
                "127.0.0.1",
                vec!["tea.localhost", "TEA.localhost"],
                vec!["localhost", "127.0.0.1", "x.tea.localhost", "teb.localhost"],
            ),
            (
                PageOrigin::Encrypted,
                "127.0.0.1",
                vec![],
                vec!["127.0.0.1", "localhost"],
            ),
        ] {
            let bound = bound.parse().unwrap();
            for host in at {
                assert!(origin.is_at(host, bound), "{origin:?} {host}");
            }
            for host in not_at {
                assert!(!origin.is_at(host, bound), "{origin:?} {host}");
            }
        }
        let reached = "127.0.0.1:9100".parse().unwrap();
        assert_eq!(fresh.authority(reached), "tea.localhost:9100");
        assert_eq!(PageOrigin::Numeric.authority(reached), "127.0.0.1:9100");
        assert!(PageOrigin::Numeric.lasts() && !fresh.lasts());
    }
}
