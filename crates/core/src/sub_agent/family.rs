//! The subagents of one run of a Turn: started within bounds, followed, and ended with it.
//!
//! What is at work when the Turn ends, however it ends, is stopped, and the Turn's end waits for that (bounded). After a
//! crash, those that a Turn had at work are taken into the family of its next run; one whose Turn above is over does not
//! go on (`owner::again`). The owner of the Thread above is never waited for but through its queue of wishes.

mod giving;
mod members;
mod reporting;
mod starting;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::sub_agent::{Answer, Report, Spawn, SubAgentError, SubAgents};
use bobbin_model::{
    EdgeStatus, LiveTurn, SubAgentProgress, ThreadConfig, ThreadHeader, TokenUsage, TurnFeatures, TurnId,
};
use bobbin_store::{Closed, ThreadSummary};
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::follow::follow;
use super::member::{Member, Used};
use super::{MAX_CHILDREN, begun_above, plan, queue_of_people};
use crate::engine::{EngineFailure, EngineWish};
use crate::{CoreError, Hub};
use members::Reserved;
use reporting::{is_closed, named};

pub(super) use members::{LetGo, Shared};

/// Shortest time between two snapshots of how far they are (03 §12).
const PROGRESS: Duration = Duration::from_millis(200);
/// Most entries of one: the newest.
const MAX_ENTRIES: usize = 100;

type Done<T> = Result<T, SubAgentError>;

/// See the module's page.
pub(crate) struct Family {
    hub: Arc<Hub>,
    parent: ThreadHeader,
    config: ThreadConfig,
    features: TurnFeatures,
    channel: Option<String>,
    /// The Turn was open before this run of it.
    taken_up: bool,
    shared: Arc<Shared>,
}

impl Drop for Family {
    fn drop(&mut self) {
        // Where the run was ended by force.
        self.shared.over.cancel();
    }
}

impl Family {
    pub(crate) fn new(
        hub: &Arc<Hub>,
        parent: &ThreadHeader,
        live: &LiveTurn,
        cancel: &CancellationToken,
        wishes: &mpsc::Sender<(TurnId, EngineWish)>,
    ) -> Arc<Self> {
        Arc::new(Self {
            hub: hub.clone(),
            config: parent.config.clone().unwrap_or_default(),
            parent: parent.clone(),
            features: live.features,
            channel: live.turn.origin_channel.clone(),
            taken_up: live.turn.items.len() > 1,
            shared: Arc::new(Shared {
                turn: live.turn.id,
                over: cancel.child_token(),
                wishes: wishes.clone(),
                members: Mutex::default(),
                changed: watch::Sender::new(0),
            }),
        })
    }

    /// Runs the engine, with the subagents around it.
    pub(crate) async fn around(
        self: Arc<Self>,
        engine: impl Future<Output = Result<(), EngineFailure>>,
    ) -> Result<(), EngineFailure> {
        if self.taken_up {
            self.adopt().await;
        }
        let result = {
            tokio::pin!(engine);
            tokio::select! {
                biased;
                result = &mut engine => result,
                never = self.tell() => match never {},
            }
        };
        self.end().await;
        result
    }

    /// Whether the agent may have subagents.
    pub(crate) fn may_spawn(&self) -> bool {
        self.depth() < self.hub.settings.sub_agents.depth && plan::allows(&self.config)
    }

    /// Returns what the members have used so far.
    pub(crate) fn used(&self) -> (TokenUsage, u64) {
        let mut used = Used::default();
        for member in &self.shared.members.lock().list {
            used.add(member.used());
        }
        (used.usage, used.cost_micros)
    }

    /// Returns a count that changes with the members.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes()
    }

    /// Whether the agent waits for members that all ask people something.
    pub(crate) fn waits_for_people(&self) -> bool {
        self.shared.members.lock().held_up > 0
    }

    /// Returns how far below the top of its tree the Thread is.
    fn depth(&self) -> u32 {
        self.parent.source.sub_agent().map_or(0, |source| source.depth)
    }

    /// Takes in those that were at work for this Turn when the server stopped.
    async fn adopt(&self) {
        let found = async {
            for child in self.children(Closed::LeftOut).await? {
                if !child.runtime.running {
                    continue;
                }
                let (id, nickname) = named(&child);
                let handle = self.hub.thread(&id).await?;
                let state = self.hub.snapshot(&handle).await?.state;
                // Begun, or waiting behind what a person began.
                if begun_above(&state).is_some() || queue_of_people(&state).is_some() {
                    self.shared.add(&id, nickname.as_ref(), None);
                    // It may end before it is followed.
                    self.shared.stands(&id, &state, None);
                    let (hub, shared) = (self.hub.clone(), self.shared.clone());
                    self.hub.own(follow(hub, shared, id, None));
                }
            }
            Ok::<_, SubAgentError>(())
        };
        if let Err(error) = found.await {
            tracing::error!(thread = %self.parent.id, %error, "the subagents of a turn cannot be found");
        }
    }

    /// Shows how far they are, again and again.
    async fn tell(&self) -> Infallible {
        let mut changed = self.shared.changed.subscribe();
        loop {
            if changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            self.show().await;
            tokio::time::sleep(PROGRESS).await;
        }
    }

    async fn show(&self) {
        let entries: Vec<SubAgentProgress> = {
            let members = self.shared.members.lock();
            let skipped = members.list.len().saturating_sub(MAX_ENTRIES);
            members.list.iter().skip(skipped).map(Member::progress).collect()
        };
        if entries.is_empty() {
            return;
        }
        let wish = EngineWish::Below {
            entries: entries.into(),
        };
        // Nobody is told of a Turn that is over.
        drop(self.shared.wishes.send((self.shared.turn, wish)).await);
    }

    /// Stops what is still at work, and waits for that.
    async fn end(&self) {
        let mut changed = self.shared.changed.subscribe();
        self.shared.over.cancel();
        let quiet = async {
            while !self.shared.is_quiet() {
                if changed.changed().await.is_err() {
                    break;
                }
            }
        };
        // Each has so long to end by itself, and is ended then.
        let patience = self.hub.settings.cancel_grace * 2;
        if tokio::time::timeout(patience, quiet).await.is_err() {
            tracing::warn!(thread = %self.parent.id, "a subagent takes long to stop; its turn above ends without it");
        }
        self.show().await;
    }

    async fn children(&self, closed: Closed) -> Done<Vec<ThreadSummary>> {
        let found = self.hub.store.children(&self.parent.id, closed, MAX_CHILDREN);
        Ok(found.await.map_err(CoreError::from)?)
    }

    fn reserve(&self) -> Done<Reserved> {
        let limits = self.hub.settings.sub_agents;
        if self.shared.over.is_cancelled() {
            return Err(SubAgentError::NotHere("its turn is over"));
        }
        let full = |many: usize, where_: &str| {
            SubAgentError::Full(format!(
                "{many} subagents are at work {where_}, which is as many as there may be; wait for one with WaitAgent first"
            ))
        };
        let reserved = {
            let mut members = self.shared.members.lock();
            let running = members.list.iter().filter(|member| member.followed).count();
            if running + members.starting >= limits.running {
                return Err(full(limits.running, "for this turn"));
            }
            members.starting += 1;
            Reserved {
                shared: self.shared.clone(),
                place: None,
            }
        };
        let place = self.hub.sub_agents.clone().try_acquire_owned();
        let place = place.map_err(|_| full(limits.in_workspace, "in the workspace"))?;
        let mut reserved = reserved;
        reserved.place = Some(place);
        Ok(reserved)
    }
}

impl SubAgents for Family {
    fn spawn(&self, wish: Spawn) -> Answer<'_, Report> {
        self.spawned(wish).boxed()
    }

    fn wait<'a>(
        &'a self,
        names: &'a [String],
        limit: Option<Duration>,
        cancel: &'a CancellationToken,
    ) -> Answer<'a, Vec<Report>> {
        self.waited(names, limit, cancel).boxed()
    }

    fn send<'a>(&'a self, name: &'a str, input: String) -> Answer<'a, Report> {
        self.sent(name, input).boxed()
    }

    fn close<'a>(&'a self, name: &'a str) -> Answer<'a, Report> {
        self.edged(name, EdgeStatus::Closed).boxed()
    }

    fn resume<'a>(&'a self, name: &'a str) -> Answer<'a, Report> {
        self.edged(name, EdgeStatus::Open).boxed()
    }

    fn of_call<'a>(&'a self, call: &'a str) -> Answer<'a, Vec<Report>> {
        let turn = self.shared.turn;
        let is_of = move |child: &ThreadSummary| {
            let source = child.header.source.sub_agent();
            source.is_some_and(|source| source.parent_turn == turn && source.spawn_call == call)
        };
        async move { self.reports(is_of).await }.boxed()
    }

    fn open(&self) -> Answer<'_, Vec<Report>> {
        async move { self.reports(|child| !is_closed(child)).await }.boxed()
    }
}
