//! The address of the database, and the user's password. A password is in no log and no message.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// Parameters that an address may have.
const PARAMETERS: [&str; 8] = [
    "host",
    "port",
    "dbname",
    "user",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
];

/// Why an address cannot be used. Has nothing of the address: it may have a password in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// It is no address of PostgreSQL.
    #[error("it is no address of a database, like postgres://USER@HOST/DATABASE")]
    Malformed,
    /// It has a password: addresses are shown, and lie where passwords do not.
    #[error("it has a password in it, which belongs into a file or a variable")]
    Password,
    /// It has a parameter that is not known.
    #[error("it has a parameter that is not one of: {}", PARAMETERS.join(", "))]
    UnknownParameter,
}

/// The address of a database, with the password.
#[derive(Clone)]
pub struct Access(PgConnectOptions);

impl Access {
    /// Reads an address, `postgres://USER@HOST:PORT/DATABASE`, which has no password.
    ///
    /// The connection to another machine is encrypted and the machine must prove its name, unless the address says
    /// otherwise (`?sslmode=`). The authority of its certificate is one that is commonly trusted, or `?sslrootcert=FILE`.
    ///
    /// # Errors
    /// [`AccessError`].
    ///
    /// ```
    /// let access = bobbin_store_postgres::Access::parse("postgres://bobbin@db.example/tea", Some("secret"))?;
    /// assert_eq!(format!("{access}"), "db.example:5432/tea");
    /// # Ok::<(), bobbin_store_postgres::AccessError>(())
    /// ```
    pub fn parse(url: &str, password: Option<&str>) -> Result<Self, AccessError> {
        let rest = url
            .strip_prefix("postgres://")
            .or_else(|| url.strip_prefix("postgresql://"))
            .ok_or(AccessError::Malformed)?;
        let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let user = place.rsplit_once('@').map_or("", |(user, _)| user);
        if user.contains(':') {
            return Err(AccessError::Password);
        }
        let names = || {
            let parts = parameters.split('&').filter(|part| !part.is_empty());
            parts.map(|part| part.split('=').next().unwrap_or_default())
        };
        // The driver would write the value of such a parameter to the log.
        if names().any(|name| !PARAMETERS.contains(&name)) {
            return Err(AccessError::UnknownParameter);
        }
        let mut options = PgConnectOptions::from_str(url).map_err(|_| AccessError::Malformed)?;
        if let Some(password) = password {
            options = options.password(password);
        }
        if !names().any(|name| name == "sslmode") && !is_here(&options) {
            options = options.ssl_mode(PgSslMode::VerifyFull);
        }
        Ok(Self(
            options
                .application_name("bobbin")
                // Logging each statement costs more than many statements.
                .disable_statement_logging(),
        ))
    }

    pub(crate) fn options(&self) -> PgConnectOptions {
        self.0.clone()
    }
}

/// Whether the connection does not leave this machine.
fn is_here(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    let is_loopback = host
        .trim_matches(['[', ']'])
        .parse()
        .is_ok_and(|ip: IpAddr| ip.is_loopback());
    options.get_socket().is_some() || host.starts_with('/') || host == "localhost" || is_loopback
}

impl fmt::Display for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.0.get_database().unwrap_or_else(|| self.0.get_username());
        match self.0.get_socket() {
            Some(socket) => write!(formatter, "{}/{database}", socket.display()),
            None => write!(
                formatter,
                "{}:{}/{database}",
                self.0.get_host(),
                self.0.get_port()
            ),
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Access({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Access {
        Access::parse(url, None).unwrap()
    }

    #[test]
    fn a_connection_to_another_machine_is_encrypted_unless_the_address_says_otherwise() {
        for (url, is_strict) in [
            ("postgres://u@db.example/tea", true),
            ("postgresql://u@192.168.1.2:6000/tea", true),
            ("postgres://u@db.example/tea?sslmode=require", false),
            ("postgres://u@localhost/tea", false),
            ("postgres://u@127.0.0.1/tea", false),
            ("postgres://u@[::1]/tea", false),
            ("postgres://u@localhost/tea?host=/run/postgresql", false),
            ("postgres://u@localhost/tea?host=db.example", true),
        ] {
            let mode = parsed(url).0.get_ssl_mode();
            assert_eq!(matches!(mode, PgSslMode::VerifyFull), is_strict, "{url} {mode:?}");
        }
    }

    #[test]
    fn a_password_is_in_no_text() {
        let access = Access::parse("postgres://u@db.example/tea", Some("secret")).unwrap();
        assert_eq!(
            format!("{access:?} {access}"),
            "Access(db.example:5432/tea) db.example:5432/tea"
        );
        for url in [
            "mysql://u:hidden@db.example/tea",
            "postgres://u:hidden@db.example/tea",
            "postgres://u@db.example/tea?password=hidden",
            "postgres://u@db.example/tea?pasword=hidden",
            "postgres://u@db.example/tea?sslmode=hidden",
            "hidden",
        ] {
            let error = Access::parse(url, None).unwrap_err();
            assert!(!format!("{error:?} {error}").contains("hidden"), "{url}");
        }
    }
}
