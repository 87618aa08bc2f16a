//! The section `Database`, which counts in the user's own file only.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::bail;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::listener::own_file;

/// Lengths of a lease: renewals take a few milliseconds, and a person waits for a machine that takes over.
const LEASE_SECONDS: RangeInclusive<u64> = 3..=600;

/// The database that stores conversations.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Database {
    /// PostgreSQL 14 or later that stores the conversations, as `postgres://USER@HOST/DATABASE`, without a password. A file of this machine stores them when left out.
    url: Option<String>,
    /// Variable with the password for `Url`.
    password_env: Option<String>,
    /// File with the password for `Url` and nothing else, which nobody else can read: absolute, or with `~/`.
    password_file: Option<String>,
    /// Seconds after which another machine can take over a workspace whose server is gone, from 3 to 600.
    #[schemars(range(min = 3, max = 600), extend("default" = 30))]
    lease_seconds: Option<u64>,
    /// Address at which nodes of other machines reach this machine's node, as `wss://HOST:PORT` or `ws://HOST:PORT`. They pass clients on to it whose workspace this machine serves.
    node_address: Option<String>,
}

/// The settings of the database that stores conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseSettings {
    /// Address of a PostgreSQL; `None`: a file of this machine.
    pub url: Option<String>,
    /// The place of its password.
    pub password: PasswordPlace,
    /// The length of a workspace's lease.
    pub lease: Duration,
    /// The address of this machine's node for others, without a path; `None` if it has none.
    pub node: Option<String>,
}

impl Default for DatabaseSettings {
    fn default() -> Self {
        Self {
            url: None,
            password: PasswordPlace::default(),
            lease: Duration::from_secs(30),
            node: None,
        }
    }
}

/// The place of a database's password.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PasswordPlace {
    /// It has none.
    #[default]
    Nowhere,
    /// A variable of the environment.
    Variable(String),
    /// A file.
    File(PathBuf),
}

impl DatabaseSettings {
    /// Returns what the user's own file says.
    ///
    /// # Errors
    /// There are two passwords, a path is not whole, or a lease is too short or too long.
    pub(crate) fn of(section: Database, home: &Path) -> anyhow::Result<Self> {
        let said = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let password = match (said(section.password_env), said(section.password_file)) {
            (None, None) => PasswordPlace::Nowhere,
            (Some(name), None) => PasswordPlace::Variable(name),
            (None, Some(file)) => PasswordPlace::File(own_file("Database.PasswordFile", &file, home)?),
            (Some(_), Some(_)) => bail!("Database has a PasswordEnv and a PasswordFile: leave one out"),
        };
        let node = said(section.node_address).map(|address| address.trim_end_matches('/').to_owned());
        if node.as_deref().is_some_and(|address| !is_place(address)) {
            bail!("Database.NodeAddress is no wss://HOST:PORT or ws://HOST:PORT");
        }
        let mut settings = Self {
            url: said(section.url),
            password,
            node,
            ..Self::default()
        };
        if let Some(seconds) = section.lease_seconds {
            if !LEASE_SECONDS.contains(&seconds) {
                bail!("Database.LeaseSeconds is {seconds}: a lease has from 3 to 600 seconds");
            }
            settings.lease = Duration::from_secs(seconds);
        }
        Ok(settings)
    }
}

/// Whether a text is the address of a WebSocket server, without a path.
fn is_place(address: &str) -> bool {
    let place = address
        .strip_prefix("wss://")
        .or_else(|| address.strip_prefix("ws://"));
    place.is_some_and(|place| !place.is_empty() && !place.contains(['/', '?', '#', '@', ' ']))
}
