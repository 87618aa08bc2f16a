//! What nodes know of each other by the database: who is there, and who serves which workspace.

use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tokio::time::timeout;

use crate::access::Access;
use crate::failure::OpenError;
use crate::lease::Holder;
use crate::open::{migrate, unusable};

/// How long the database may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Days after which a node that was not seen is forgotten.
const FORGOTTEN: i32 = 7;
/// Most nodes that are listed.
const MAX_NODES: i64 = 256;

/// A node that uses the database.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct NodeRow {
    /// The id of its state directory.
    pub id: String,
    /// The name of its machine.
    pub machine: String,
    /// Its version.
    pub version: String,
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
}

impl LeaseRow {
    /// Whether its holder went away and did not give it up, so that another node is to go on with the workspace.
    pub fn is_abandoned(&self, by_others_than: &str) -> bool {
        self.remaining < 0.0 && !self.holder.is_empty() && self.holder != by_others_than
    }
}

/// A node's connection to the database that other nodes use, too.
#[derive(Debug)]
pub struct Nodes {
    access: Access,
    /// One connection, which is opened when it is needed.
    pool: PgPool,
    has_tables: bool,
}

impl Nodes {
    /// Makes a connection that is opened when it is first used.
    pub fn new(access: Access) -> Self {
        let options = PgPoolOptions::new().max_connections(1).acquire_timeout(PATIENCE);
        Self {
            pool: options.connect_lazy_with(access.options()),
            access,
            has_tables: false,
        }
    }

    /// Says that a node is there.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn announce(&mut self, node: &Holder, version: &str) -> Result<(), OpenError> {
        let announced = sqlx::query(
            "WITH gone AS (DELETE FROM node WHERE seen_at < now() - $4 * interval '1 day') \
             INSERT INTO node (id, machine, version, seen_at) VALUES ($1, $2, $3, now()) \
             ON CONFLICT (id) DO UPDATE SET machine = excluded.machine, version = excluded.version, seen_at = now()",
        )
        .bind(&node.id)
        .bind(&node.machine)
        .bind(version)
        .bind(FORGOTTEN);
        self.make_tables().await?;
        self.answer(announced.execute(&self.pool)).await.map(drop)
    }

    /// Says that a node ends.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn leave(&mut self, node: &Holder) -> Result<(), OpenError> {
        let left = sqlx::query("DELETE FROM node WHERE id = $1").bind(&node.id);
        self.answer(left.execute(&self.pool)).await.map(drop)
    }

    /// Lists the nodes, the one that was there last first; at most 256.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn list(&mut self) -> Result<Vec<NodeRow>, OpenError> {
        let nodes = sqlx::query_as(
            "SELECT id, machine, version, extract(epoch FROM now() - seen_at)::double precision AS age FROM node \
             ORDER BY seen_at DESC, id LIMIT $1",
        )
        .bind(MAX_NODES);
        self.make_tables().await?;
        self.answer(nodes.fetch_all(&self.pool)).await
    }

    /// Returns the leases of these workspaces, of which some may have none.
    ///
    /// # Errors
    /// The database cannot be used.
    pub async fn leases(&mut self, workspaces: &[String]) -> Result<Vec<LeaseRow>, OpenError> {
        let leases = sqlx::query_as(
            "SELECT workspace, holder, machine, fence, \
             extract(epoch FROM expires_at - clock_timestamp())::double precision AS remaining FROM lease \
             WHERE workspace = ANY($1) ORDER BY workspace",
        )
        .bind(workspaces);
        self.make_tables().await?;
        self.answer(leases.fetch_all(&self.pool)).await
    }

    /// Makes the tables, the first time.
    async fn make_tables(&mut self) -> Result<(), OpenError> {
        if !self.has_tables {
            migrate(&self.access, &self.pool).await?;
            self.has_tables = true;
        }
        Ok(())
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
