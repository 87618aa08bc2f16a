//! Chooses the page's origin, by who else can run programs on this machine and whether systemd owns the port.
//!
//! If the user's server is off, another program could answer at the page's address and receive the browser's stored
//! data. On a machine with one user, only that user's programs can. Root is trusted.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;

use bobbin_config::Config;
use bobbin_transport::PageOrigin;
use nix::unistd::Uid;

/// The file of accounts.
const ACCOUNTS: &str = "/etc/passwd";
/// The directory with a folder for each user with a session, named by user id.
const SESSIONS: &str = "/run/user";
/// Most bytes of the accounts that are read: enough for thousands.
const MAX_ACCOUNTS: u64 = 1 << 20;
/// Most sessions that are checked.
const MAX_SESSIONS: usize = 1024;
/// The first user id of a person's account (Debian, Fedora, Arch).
const FIRST_PERSON: u32 = 1000;
/// The user id of the account without rights.
const NOBODY: u32 = 65_534;

/// Whether other users can run programs on this machine, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Others {
    /// The user's configuration decides.
    Configured(bool),
    /// Another user has this account.
    Account(String),
    /// The accounts cannot be read, or are too many to check.
    Unknown,
    /// No other user was found.
    Nobody,
}

impl Others {
    /// Looks for other users, unless the user's configuration decides. Blocks on the disk.
    pub(crate) fn of(config: &Config) -> Self {
        if let Some(shared) = config.listener.shared_machine {
            return Self::Configured(shared);
        }
        let Ok(accounts) = bobbin_files::read_bytes(Path::new(ACCOUNTS), MAX_ACCOUNTS) else {
            return Self::Unknown;
        };
        let own = Uid::effective().as_raw();
        let found = person(&String::from_utf8_lossy(&accounts), &sessions(), own);
        found.map_or(Self::Nobody, Self::Account)
    }

    pub(crate) fn are_here(&self) -> bool {
        matches!(self, Self::Configured(true) | Self::Account(_) | Self::Unknown)
    }
}

/// How clients reach the listener: it decides about the origin together with [`Others`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    /// The address that the server listens on.
    pub(crate) address: SocketAddr,
    /// Whether it has a certificate.
    pub(crate) has_tls: bool,
    /// Whether another process has bound the socket and leaves it open while no server runs.
    pub(crate) is_held: bool,
}

/// Chooses the page's origin.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn decide(others: &Others, reached: Reached) -> anyhow::Result<PageOrigin> {
    Ok(match reached {
        _ if !others.are_here() => PageOrigin::Stable,
        Reached { has_tls: true, .. } => PageOrigin::Encrypted,
        Reached { is_held: true, .. } => PageOrigin::Numeric,
        Reached { address, .. } if address.ip().is_loopback() => PageOrigin::fresh()?,
        // Other machines use its address, without TLS. A name of this machine would not help them.
        Reached { .. } => PageOrigin::Numeric,
    })
}

/// Returns a warning if other machines reach the listener without TLS and other users can run programs here.
pub(crate) fn warning(others: &Others, reached: Reached) -> Option<&'static str> {
    let is_open = !reached.address.ip().is_loopback() && !reached.has_tls && !reached.is_held;
    (is_open && others.are_here()).then_some(
        "other people can run programs on this machine, and the listener has no TLS: a program of theirs that takes its port \
         after this server gets what your browser stores for the page. Name a certificate with --tls-cert and --tls-key, \
         or listen on 127.0.0.1",
    )
}

/// Returns another user: the name of an account that can log in, or the id of a user with a session.
fn person(accounts: &str, sessions: &BTreeSet<u32>, own: u32) -> Option<String> {
    let is_other = |number: u32| number >= FIRST_PERSON && number != NOBODY && number != own;
    let account = accounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, number, _, _, _, shell] = fields[..] else {
            return None;
        };
        let program = Path::new(shell).file_name().unwrap_or_default();
        let can_log_in = !["nologin", "false"].iter().any(|none| program == *none);
        (can_log_in && number.parse().is_ok_and(is_other)).then(|| name.to_owned())
    });
    // Accounts of a directory service are not in the file.
    let session = || sessions.iter().copied().find(|number| is_other(*number));
    account.or_else(|| session().map(|number| format!("user {number}")))
}

fn sessions() -> BTreeSet<u32> {
    let entries = std::fs::read_dir(SESSIONS).into_iter().flatten().flatten();
    let names = entries.take(MAX_SESSIONS).map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_for_other_machines_without_tls_is_warned_about_where_there_are_other_people() {
        let reached = |address: &str, has_tls| Reached {
            address: address.parse().unwrap(),
            has_tls,
            is_held: false,
        };
        let ada = Others::Account("ada".to_owned());
        for (others, reached, is_warned) in [
            (&ada, reached("0.0.0.0:9100", false), true),
            (&ada, reached("[::]:9100", false), true),
            (&ada, reached("192.168.0.7:9100", false), true),
            (&ada, reached("0.0.0.0:9100", true), false),
            (&ada, reached("127.0.0.1:9100", false), false),
            (&Others::Nobody, reached("0.0.0.0:9100", false), false),
        ] {
            assert_eq!(
                warning(others, reached).is_some(),
                is_warned,
                "{others:?} {reached:?}"
            );
        }
    }

    #[test]
    fn other_people_are_accounts_that_can_log_in_and_users_with_a_session() {
        let none = BTreeSet::new();
        for (accounts, own, expected) in [
            ("", 1000, None),
            ("root:x:0:0:root:/root:/bin/bash", 1000, None),
            ("ada:x:1000:1000::/home/ada:/bin/bash", 1000, None),
            ("ada:x:1000:1000::/home/ada:/bin/bash", 1001, Some("ada")),
            ("ada:x:1000:1000::/home/ada:/bin/bash", 0, Some("ada")),
            ("ada:x:1000:1000::/home/ada:", 0, Some("ada")),
            ("postgres:x:115:121::/var/lib/postgresql:/bin/bash", 1000, None),
            ("backup:x:1001:1001::/srv:/usr/sbin/nologin", 1000, None),
            ("backup:x:1001:1001::/srv:/bin/false", 1000, None),
            ("nobody:x:65534:65534::/nonexistent:/bin/sh", 1000, None),
            (
                "+::::::\nada:x:1000\nbo:x:1002:1002::/home/bo:/bin/zsh",
                1000,
                Some("bo"),
            ),
        ] {
            assert_eq!(
                person(accounts, &none, own).as_deref(),
                expected,
                "{accounts} {own}"
            );
        }
        let sessions = BTreeSet::from([120, 1000, 73_001]);
        assert_eq!(person("", &sessions, 1000).as_deref(), Some("user 73001"));
        assert_eq!(person("", &BTreeSet::from([0, 120, 1000]), 1000), None);
    }

    #[test]
    fn an_address_lasts_only_where_nobody_else_can_answer_at_it() {
        let local: SocketAddr = "127.0.0.1:9100".parse().unwrap();
        let open: SocketAddr = "0.0.0.0:9100".parse().unwrap();
        let ada = Others::Account("ada".to_owned());
        let lasts = |others: &Others, address, has_tls, is_held| {
            let reached = Reached {
                address,
                has_tls,
                is_held,
            };
            decide(others, reached).unwrap()
        };
        for others in [Others::Nobody, Others::Configured(false)] {
            for (tls, held) in [(false, false), (true, false), (false, true)] {
                assert_eq!(lasts(&others, local, tls, held), PageOrigin::Stable);
            }
        }
        for others in [ada, Others::Configured(true), Others::Unknown] {
            assert!(matches!(
                lasts(&others, local, false, false),
                PageOrigin::Fresh(_)
            ));
            assert_eq!(lasts(&others, local, false, true), PageOrigin::Numeric);
            assert_eq!(lasts(&others, local, true, true), PageOrigin::Encrypted);
            assert_eq!(lasts(&others, open, true, false), PageOrigin::Encrypted);
            assert_eq!(lasts(&others, open, false, false), PageOrigin::Numeric);
        }
    }
}
