//! The database that nodes of several machines use: a node says that it is there, and goes on with workspaces whose machine
//! is gone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bobbin_store_postgres::{Announcement, COPIED, Holder, LeaseRow, Nodes};
use bobbin_transport::NodeKey;
use tokio::sync::watch;
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

/// The lease under which a server of another machine serves a workspace.
pub(crate) struct Elsewhere {
    pub(crate) lease: LeaseRow,
    /// The leases, as the node sees them again and again.
    leases: watch::Receiver<Vec<LeaseRow>>,
}

impl Elsewhere {
    /// Returns once the database says that the lease is over, or that the node of its holder is gone.
    pub(crate) async fn ended(&mut self) {
        loop {
            if self.leases.changed().await.is_err() {
                // The node ends, and its connections with it.
                return std::future::pending().await;
            }
            let seen = self.leases.borrow_and_update();
            let seen = seen.iter().find(|seen| seen.workspace == self.lease.workspace);
            // An older fence was seen before this lease.
            let is_over = seen.is_none_or(|seen| {
                let is_same = seen.fence == self.lease.fence;
                seen.fence > self.lease.fence
                    || is_same && (seen.remaining <= 0.0 || seen.address != self.lease.address)
            });
            if is_over {
                return;
            }
        }
    }
}

impl Member {
    /// Returns the lease of the server that serves a workspace now, if its node is another one than this.
    ///
    /// # Errors
    /// The database cannot be used.
    pub(crate) async fn elsewhere(
        &self,
        shared: &Shared,
        workspace: &str,
    ) -> anyhow::Result<Option<Elsewhere>> {
        let leases = shared.leases.subscribe();
        let found = self.nodes.leases(&[workspace.to_owned()]).await?;
        let mut running = found
            .into_iter()
            .filter(|lease| lease.remaining > 0.0 && lease.holder != self.own.id);
        Ok(running.next().map(|lease| Elsewhere { lease, leases }))
    }

    /// Runs until the node stops. Then others see that it has ended. Sets `key` to that of all nodes.
    pub(crate) async fn run(&self, shared: &Arc<Shared>, key: NodeKey) {
        let mut is_away = false;
        let (mut taken_over, mut has_namesake) = (HashMap::new(), false);
        loop {
            let looked = self
                .look(shared, &key, (&mut taken_over, &mut has_namesake))
                .await;
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
    /// and fence, for which it has just done so; `has_namesake` says whether a copy of its state directory was seen.
    async fn look(
        &self,
        shared: &Arc<Shared>,
        key: &NodeKey,
        (taken_over, has_namesake): (&mut HashMap<(String, i64), Instant>, &mut bool),
    ) -> anyhow::Result<()> {
        if key.get().is_none() {
            key.set(self.nodes.relay_key().await?);
        }
        let said = Announcement {
            node: &self.own,
            version: env!("CARGO_PKG_VERSION"),
            address: self.address.as_deref(),
        };
        if !*has_namesake {
            let namesake = self.nodes.namesake(&self.own).await?;
            *has_namesake = namesake.is_some();
            if let Some(machine) = namesake {
                tracing::error!("{machine} has the same state directory: {COPIED}");
            }
        }
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
            metrics::counter!("bobbin_takeovers_total").increment(1);
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
        let is_own = |lease: &&LeaseRow| lease.holder == self.own.id && lease.remaining > 0.0;
        let own = leases.iter().filter(is_own).count();
        metrics::gauge!("bobbin_leases").set(u32::try_from(own).unwrap_or(u32::MAX));
        shared.leases.send_replace(leases);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_lease_of_another_machine_is_followed_to_its_end() {
        let lease = LeaseRow {
            workspace: "tea".to_owned(),
            holder: "one".to_owned(),
            machine: "kiln".to_owned(),
            fence: 3,
            remaining: 20.0,
            address: Some("wss://kiln".to_owned()),
        };
        let with = |change: fn(&mut LeaseRow)| {
            let mut lease = lease.clone();
            change(&mut lease);
            lease
        };
        for (is_over, seen) in [
            (false, vec![lease.clone()]),
            (false, vec![with(|lease| lease.remaining = 0.1)]),
            // Looked at before this lease was taken.
            (
                false,
                vec![with(|lease| (lease.fence, lease.remaining) = (2, -1.0))],
            ),
            (true, vec![with(|lease| lease.remaining = -0.1)]),
            (true, vec![with(|lease| lease.fence = 4)]),
            (true, vec![with(|lease| lease.address = None)]),
            (true, vec![with(|lease| lease.workspace = "pot".to_owned())]),
        ] {
            let (sender, leases) = watch::channel(Vec::new());
            let mut elsewhere = Elsewhere {
                lease: lease.clone(),
                leases,
            };
            assert_eq!(elsewhere.ended().now_or_never(), None);
            sender.send_replace(seen.clone());
            assert_eq!(elsewhere.ended().now_or_never().is_some(), is_over, "{seen:?}");
        }
    }
}
