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
}

impl Default for DatabaseSettings {
    fn default() -> Self {
        Self {
            url: None,
            password: PasswordPlace::default(),
            lease: Duration::from_secs(30),
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
        let mut settings = Self {
            url: said(section.url),
            password,
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
