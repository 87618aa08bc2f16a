//! Nodes know of each other by the database: which are there, and which one serves a workspace.

use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::access::Access;
use crate::failure::OpenError;
use crate::lease::Holder;
use crate::open::{migrate, unusable};

/// How long the database may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Days after which a node that was not seen is forgotten.
const FORGOTTEN: i32 = 7;
/// Seconds for which a node counts as there after it has said so.
const THERE: i32 = 15;
/// Most nodes, and most workspaces, that are listed.
const MAX_LISTED: i64 = 256;

/// A node that uses the database.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct NodeRow {
    /// The id of its state directory.
    pub id: String,
    /// The name of its machine.
    pub machine: String,
    /// Its version.
    pub version: String,
    /// Its address for other nodes, if it has one.
    pub address: Option<String>,
    /// Seconds since it was last there; it says so every few seconds.
    pub age: f64,
}

/// The lease of a workspace.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct LeaseRow {
    /// The id of the workspace.
    pub workspace: String,
    /// The id of the holder's state directory; empty for a lease that was given up in order.
    pub holder: String,
    /// The name of the machine that has the lease, or had it.
    pub machine: String,
    /// How often the holder has changed, plus one.
    pub fence: i64,
    /// Seconds until it ends, unless it is renewed; negative if it has ended.
    pub remaining: f64,
    /// The address of the holder's node; `None` if that is not there now, or has no address for other nodes.
    pub address: Option<String>,
}

impl LeaseRow {
    /// Whether its holder went away and did not give it up, so that a node is to go on with the workspace.
    pub fn is_abandoned(&self) -> bool {
        self.remaining < 0.0 && !self.holder.is_empty()
    }
}

/// A workspace of the database.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct KnownWorkspace {
    /// Its id.
    pub id: String,
    /// The name of the machine that has served it last.
    pub machine: String,
    /// The path of its folder on one of the machines.
    pub path: Option<String>,
}

/// A node, as it announces itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement<'a> {
    /// The node.
    pub node: &'a Holder,
    /// Its version.
    pub version: &'a str,
    /// Its address for other nodes, if it has one.
    pub address: Option<&'a str>,
}

/// A node's connection to the database that other nodes use, too.
#[derive(Debug)]
pub struct Nodes {
    access: Access,
    /// One connection, which is opened when it is needed.
    pool: PgPool,
    has_tables: OnceCell<()>,
}

impl Nodes {
    /// Makes a connection that is opened when it is first used.
    pub fn new(access: Access) -> Self {
        let options = PgPoolOptions::new().max_connections(1).acquire_timeout(PATIENCE);
        Self {
            pool: options.connect_lazy_with(access.options()),
            access,
            has_tables: OnceCell::new(),
        }
    }

    /// Says that a node is there.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn announce(&self, said: Announcement<'_>) -> Result<(), OpenError> {
        let announced = sqlx::query(
            "WITH gone AS (DELETE FROM node WHERE seen_at < now() - $5 * interval '1 day') \
             INSERT INTO node (id, machine, version, address, seen_at) VALUES ($1, $2, $3, $4, now()) \
             ON CONFLICT (id) DO UPDATE SET machine = excluded.machine, version = excluded.version, \
             address = excluded.address, seen_at = now()",
        )
        .bind(&said.node.id)
        .bind(&said.node.machine)
        .bind(said.version)
        .bind(said.address)
        .bind(FORGOTTEN);
        self.make_tables().await?;
        self.answer(announced.execute(&self.pool)).await.map(drop)
    }

    /// Says that a node ends.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn leave(&self, node: &Holder) -> Result<(), OpenError> {
        let left = sqlx::query("DELETE FROM node WHERE id = $1").bind(&node.id);
        self.answer(left.execute(&self.pool)).await.map(drop)
    }

    /// Returns the key by which nodes believe each other. The first node has the database make it, of 244 random bits.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn relay_key(&self) -> Result<String, OpenError> {
        self.make_tables().await?;
        let made = sqlx::query(
            "INSERT INTO secret (name, value) VALUES ('relay', gen_random_uuid()::text || gen_random_uuid()::text) \
             ON CONFLICT DO NOTHING",
        );
        self.answer(made.execute(&self.pool)).await?;
        let key = sqlx::query_scalar("SELECT value FROM secret WHERE name = 'relay'");
        self.answer(key.fetch_one(&self.pool)).await
    }

    /// Lists the nodes, the one that was there last first; at most 256.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn list(&self) -> Result<Vec<NodeRow>, OpenError> {
        let nodes = sqlx::query_as(
            "SELECT id, machine, version, address, extract(epoch FROM now() - seen_at)::double precision AS age \
             FROM node ORDER BY seen_at DESC, id LIMIT $1",
        )
        .bind(MAX_LISTED);
        self.make_tables().await?;
        self.answer(nodes.fetch_all(&self.pool)).await
    }

    /// Returns the leases of these workspaces, of which some may have none.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn leases(&self, workspaces: &[String]) -> Result<Vec<LeaseRow>, OpenError> {
        let leases = sqlx::query_as(
            "SELECT lease.workspace, lease.holder, lease.machine, lease.fence, node.address, \
             extract(epoch FROM lease.expires_at - clock_timestamp())::double precision AS remaining FROM lease \
             LEFT JOIN node ON node.id = lease.holder AND node.seen_at > now() - $2 * interval '1 second' \
             WHERE lease.workspace = ANY($1) ORDER BY lease.workspace",
        )
        .bind(workspaces)
        .bind(THERE);
        self.make_tables().await?;
        self.answer(leases.fetch_all(&self.pool)).await
    }

    /// Returns the name of a machine that is there now with the id of another one's state directory; `None` if there is none.
    ///
    /// # Errors
    /// The database cannot be used, or has no tables yet.
    pub async fn namesake(&self, own: &Holder) -> Result<Option<String>, OpenError> {
        let namesake = sqlx::query_scalar(
            "SELECT machine FROM node WHERE id = $1 AND machine <> $2 AND seen_at > now() - $3 * interval '1 second' \
             UNION ALL SELECT machine FROM lease WHERE holder = $1 AND machine <> $2 AND expires_at > clock_timestamp() \
             LIMIT 1",
        )
        .bind(&own.id)
        .bind(&own.machine)
        .bind(THERE);
        self.answer(namesake.fetch_optional(&self.pool)).await
    }

    /// Lists the workspaces that the database knows, by the path of their folder; at most 256.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn workspaces(&self) -> Result<Vec<KnownWorkspace>, OpenError> {
        let known = sqlx::query_as(
            "SELECT lease.workspace AS id, lease.machine, \
             (SELECT path FROM folder WHERE folder.workspace = lease.workspace ORDER BY path LIMIT 1) AS path \
             FROM lease ORDER BY path, id LIMIT $1",
        )
        .bind(MAX_LISTED);
        self.make_tables().await?;
        self.answer(known.fetch_all(&self.pool)).await
    }

    /// Makes the tables, the first time.
    async fn make_tables(&self) -> Result<(), OpenError> {
        let make = || migrate(&self.access, &self.pool);
        self.has_tables.get_or_try_init(make).await.map(drop)
    }

    async fn answer<T>(&self, answer: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, OpenError> {
        let why = match timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it does not answer".to_owned(),
        };
        Err(unusable(&self.access, why))
    }
}
