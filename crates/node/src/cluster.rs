//! The database that nodes of several machines use: a node says that it is there, and goes on with workspaces whose machine
//! is gone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_store_postgres::{Announcement, Holder, Nodes};
use bobbin_transport::NodeKey;
use tokio::time::{Instant, sleep};

use crate::node::Shared;

/// How often a node looks at the leases: what its users wait for when another machine is gone, beside the rest of the lease.
const LOOK: Duration = Duration::from_secs(2);
/// Pause before a workspace is taken over again whose server did not start, or did not stay.
const AGAIN: Duration = Duration::from_mins(1);

/// This node among those of its database.
pub struct Member {
    /// The database.
    pub nodes: Nodes,
    /// This node.
    pub own: Holder,
    /// Its address for other nodes, if it has one.
    pub address: Option<String>,
}

impl Member {
    /// Returns the node that serves a workspace now, if it is another one than this.
    ///
    /// # Errors
    /// The database cannot be used; or another machine serves the workspace, and its node cannot be reached.
    pub(crate) async fn other(&self, workspace: &str) -> anyhow::Result<Option<String>> {
        let Some(place) = self.nodes.place(workspace).await? else {
            return Ok(None);
        };
        if place.holder == self.own.id {
            return Ok(None);
        }
        match place.address {
            Some(address) => Ok(Some(address)),
            None => anyhow::bail!(
                "{} serves this workspace, and its node cannot be reached from here",
                place.machine
            ),
        }
    }

    /// Runs until the node stops. Then others see that it has ended. Sets `key` to that of all nodes.
    pub(crate) async fn run(&self, shared: &Arc<Shared>, key: NodeKey) {
        let mut is_away = false;
        let mut taken_over = HashMap::new();
        loop {
            let looked = self.look(shared, &key, &mut taken_over).await;
            if let Err(error) = &looked
                && !is_away
            {
                tracing::warn!("the database of the nodes is away: {error:#}");
            }
            is_away = looked.is_err();
            tokio::select! {
                () = sleep(LOOK) => {}
                () = shared.stop.cancelled() => break,
            }
        }
        if let Err(error) = self.nodes.leave(&self.own).await {
            tracing::info!("other nodes see this one for a few seconds more: {error}");
        }
    }

    /// Says that the node is there, and takes over what has been abandoned. `taken_over` has the losses, by workspace
    /// and fence, for which it has just done so.
    async fn look(
        &self,
        shared: &Arc<Shared>,
        key: &NodeKey,
        taken_over: &mut HashMap<(String, i64), Instant>,
    ) -> anyhow::Result<()> {
        if key.get().is_none() {
            key.set(self.nodes.relay_key().await?);
        }
        let said = Announcement {
            node: &self.own,
            version: env!("CARGO_PKG_VERSION"),
            address: self.address.as_deref(),
        };
        self.nodes.announce(said).await?;
        let state = shared.settings.state.clone();
        let named = tokio::task::spawn_blocking(move || state.named()).await??;
        let ids: Vec<String> = named.iter().filter_map(|named| named.id.clone()).collect();
        let leases = self.nodes.leases(&ids).await?;
        taken_over.retain(|_, at| at.elapsed() < AGAIN);
        for lease in leases.iter().filter(|lease| lease.is_abandoned()) {
            let loss = (lease.workspace.clone(), lease.fence);
            if taken_over.contains_key(&loss) {
                continue;
            }
            taken_over.insert(loss, Instant::now());
            let is_it = |id: &String| *id == lease.workspace;
            let Some(named) = named.iter().find(|named| named.id.as_ref().is_some_and(is_it)) else {
                continue;
            };
            tracing::warn!(
                name = named.name,
                machine = lease.machine,
                "the server of a workspace is gone: this machine takes over"
            );
            match shared.workspace(named) {
                Ok(workspace) => shared.supervisors.supervise(shared, &workspace),
                Err(error) => tracing::warn!(name = named.name, "a workspace is not served: {error:#}"),
            }
        }
        Ok(())
    }
}
