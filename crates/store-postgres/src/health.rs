//! Looks at a database without changing it, for `bobbin doctor`.

use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;
use sqlx::{ConnectOptions, Connection};
use tokio::time::timeout;

use crate::access::Access;
use crate::open::OLDEST;

/// How long the look may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The state of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a finding of its own")]
pub struct Health {
    /// Its version.
    pub version: String,
    /// Whether the version is supported.
    pub is_supported: bool,
    /// The time of one question and its answer.
    pub round_trip: Duration,
    /// Whether the connection is encrypted.
    pub is_encrypted: bool,
    /// Whether it takes writes: a standby does not.
    pub takes_writes: bool,
    /// Whether this user may make tables in it.
    pub may_create: bool,
    /// Whether the extension for searches is there, or this user may add it.
    pub has_search: bool,
    /// How far the slowest standby is behind; `None` without a standby, or where this user may not know.
    pub standby_lag: Option<Duration>,
}

impl Health {
    /// Connects to a database and looks at it.
    ///
    /// # Errors
    /// It cannot be reached, or does not let this user in: why, without the password.
    pub async fn of(access: &Access) -> Result<Self, String> {
        let look = async {
            let mut connection = access.options().connect().await?;
            let health = look(&mut connection).await;
            if let Err(error) = connection.close().await {
                tracing::debug!(%error, "a connection was not closed well");
            }
            health
        };
        match timeout(PATIENCE, look).await {
            Ok(health) => health.map_err(|error| error.to_string()),
            Err(_) => Err(format!("it does not answer within {} s", PATIENCE.as_secs())),
        }
    }
}

async fn look(connection: &mut PgConnection) -> Result<Health, sqlx::Error> {
    let (number, version, is_standby, is_encrypted): (i32, String, bool, bool) = sqlx::query_as(
        "SELECT current_setting('server_version_num')::integer, current_setting('server_version'), pg_is_in_recovery(), \
         coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)",
    )
    .fetch_one(&mut *connection)
    .await?;
    let (may_create, has_search): (bool, bool) = sqlx::query_as(
        "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), \
         EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm') \
         OR (EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm') \
         AND has_database_privilege(current_database(), 'CREATE'))",
    )
    .fetch_one(&mut *connection)
    .await?;
    let lag: Option<f64> = sqlx::query_scalar(
        "SELECT extract(epoch FROM max(replay_lag))::double precision FROM pg_stat_replication",
    )
    .fetch_one(&mut *connection)
    .await?;
    let start = Instant::now();
    connection.ping().await?;
    Ok(Health {
        version,
        is_supported: number >= OLDEST,
        round_trip: start.elapsed(),
        is_encrypted,
        takes_writes: !is_standby,
        may_create,
        has_search,
        standby_lag: lag.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    })
}
