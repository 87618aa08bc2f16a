//! The subagents of one run of a Turn: started within bounds, followed, and ended with it.
//!
//! When the Turn ends, however it ends, the scope stops the subagents that still run. The Turn's end waits for that, for a
//! bounded time. After a crash, the scope of the Turn's next run takes over the subagents that ran. The owner of a subagent
//! stops it if the parent's Turn is over. The scope reaches the parent's owner only through the Turn's context.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::sub_agent::{Answer, Report, Spawn, SubAgentError, SubAgentProfiles, SubAgents};
use bobbin_core::engine::{EngineFailure, TurnContext};
use bobbin_core::{Closed, SubAgentLimits, ThreadSummary, Threads};
use bobbin_model::sub_agent::{may_have_subagents, queue_of_users, started_by_parent};
use bobbin_model::{EdgeStatus, SubAgentProgress, ThreadConfig, ThreadHeader, TokenUsage};
use futures_util::FutureExt as _;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::failed;
use crate::follow::follow;
use crate::report::{is_closed, named};
use crate::shared::{Reserved, Shared};
use crate::sub_agent::{SubAgent, Used};

/// Shortest time between two notifications of the subagents' progress (03 §12).
const PROGRESS: Duration = Duration::from_millis(200);
/// Most subagents in one notification: the newest.
const MAX_ENTRIES: usize = 100;

pub(crate) type Done<T> = Result<T, SubAgentError>;

/// The subagents of one run of a Turn.
pub(crate) struct SubAgentScope {
    /// The Turn, without this scope in it.
    pub(crate) turn: TurnContext,
    pub(crate) config: ThreadConfig,
    pub(crate) limits: SubAgentLimits,
    pub(crate) profiles: Arc<dyn SubAgentProfiles>,
    /// A permit for each running subagent of the workspace.
    room: Arc<Semaphore>,
    pub(crate) shared: Arc<Shared>,
}

impl Drop for SubAgentScope {
    fn drop(&mut self) {
        // The run may have been ended by force.
        self.shared.over.cancel();
    }
}

impl SubAgentScope {
    pub(crate) fn new(
        turn: &TurnContext,
        limits: SubAgentLimits,
        profiles: Arc<dyn SubAgentProfiles>,
        room: Arc<Semaphore>,
    ) -> Arc<Self> {
        Arc::new(Self {
            turn: turn.clone(),
            config: turn.header().config.clone().unwrap_or_default(),
            limits,
            profiles,
            room,
            shared: Arc::new(Shared::new(turn.cancelled().child_token())),
        })
    }

    pub(crate) fn threads(&self) -> &Arc<Threads> {
        self.turn.threads()
    }

    pub(crate) fn parent(&self) -> &ThreadHeader {
        self.turn.header()
    }

    /// Runs the engine, and stops the subagents when it has ended.
    pub(crate) async fn around(
        self: Arc<Self>,
        engine: impl Future<Output = Result<(), EngineFailure>>,
    ) -> Result<(), EngineFailure> {
        // The Turn was open before this run of it.
        if self.turn.at_start().turn.items.len() > 1 {
            self.resume_running().await;
        }
        let result = {
            tokio::pin!(engine);
            tokio::select! {
                biased;
                result = &mut engine => result,
                never = self.show_progress() => match never {},
            }
        };
        self.end().await;
        result
    }

    /// Returns the parent's depth in its tree; 0 for the top.
    pub(crate) fn depth(&self) -> u32 {
        self.parent().source.sub_agent().map_or(0, |source| source.depth)
    }

    /// Follows the subagents again that ran for this Turn when the server stopped.
    async fn resume_running(&self) {
        let found = async {
            for child in self.children(Closed::LeftOut).await? {
                if !child.runtime.running {
                    continue;
                }
                let (id, nickname) = named(&child);
                let handle = self.threads().thread(&id).await.map_err(failed)?;
                let state = self.threads().snapshot(&handle).await.map_err(failed)?.state;
                // The agent's input may wait behind a user's Turn.
                if started_by_parent(&state).is_some() || queue_of_users(&state).is_some() {
                    self.shared.add(&id, nickname.as_ref(), None);
                    // It may end before it is followed.
                    self.shared.set_state(&id, &state, None);
                    self.threads()
                        .own(follow(self.turn.clone(), self.shared.clone(), id, None));
                }
            }
            Ok::<_, SubAgentError>(())
        };
        if let Err(error) = found.await {
            tracing::error!(thread = %self.parent().id, %error, "the subagents of a turn cannot be found");
        }
    }

    /// Sends clients the progress of the subagents whenever it has changed.
    async fn show_progress(&self) -> Infallible {
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
            let all = self.shared.all.lock();
            let skipped = all.list.len().saturating_sub(MAX_ENTRIES);
            all.list.iter().skip(skipped).map(SubAgent::progress).collect()
        };
        if entries.is_empty() {
            return;
        }
        // A Turn that is over has no progress.
        let _ = self.turn.show_sub_agents(entries.into()).await;
    }

    /// Stops the subagents that still run, and waits for that.
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
        // An owner ends its engine by force after once that time.
        let patience = self.threads().settings().cancel_grace * 2;
        if tokio::time::timeout(patience, quiet).await.is_err() {
            tracing::warn!(thread = %self.parent().id, "a subagent takes long to stop; the turn of its parent ends without it");
        }
        self.show().await;
    }

    pub(crate) async fn children(&self, closed: Closed) -> Done<Vec<ThreadSummary>> {
        let found = self.threads().children(&self.parent().id, closed).await;
        found.map_err(failed)
    }

    /// Reserves room for one more running subagent.
    pub(crate) fn reserve(&self) -> Done<Reserved> {
        let limits = self.limits;
        if self.shared.over.is_cancelled() {
            return Err(SubAgentError::NotHere("its turn is over"));
        }
        let full = |many: usize, where_: &str| {
            SubAgentError::Full(format!(
                "{many} subagents are at work {where_}, which is as many as there may be; wait for one with WaitAgent first"
            ))
        };
        let reserved = {
            let mut all = self.shared.all.lock();
            let running = all.list.iter().filter(|child| child.followed).count();
            if running + all.starting >= limits.running {
                return Err(full(limits.running, "for this turn"));
            }
            all.starting += 1;
            Reserved {
                shared: self.shared.clone(),
                place: None,
            }
        };
        let place = self.room.clone().try_acquire_owned();
        let place = place.map_err(|_| full(limits.in_workspace, "in the workspace"))?;
        let mut reserved = reserved;
        reserved.place = Some(place);
        Ok(reserved)
    }
}

impl SubAgents for SubAgentScope {
    fn may_spawn(&self) -> bool {
        self.depth() < self.limits.depth && may_have_subagents(&self.config)
    }

    fn profiles(&self) -> Vec<(String, String)> {
        self.profiles.offered()
    }

    fn used(&self) -> (TokenUsage, u64) {
        let mut used = Used::default();
        for child in &self.shared.all.lock().list {
            used.add(child.used());
        }
        (used.usage, used.cost_micros)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes()
    }

    fn all_wait_for_users(&self) -> bool {
        self.shared.all.lock().waiting_for_users > 0
    }

    fn spawn(&self, request: Spawn) -> Answer<'_, Report> {
        self.start_child(request).boxed()
    }

    fn wait<'a>(
        &'a self,
        names: &'a [String],
        limit: Option<Duration>,
        cancel: &'a CancellationToken,
    ) -> Answer<'a, Vec<Report>> {
        self.wait_for(names, limit, cancel).boxed()
    }

    fn send<'a>(&'a self, name: &'a str, input: String) -> Answer<'a, Report> {
        self.send_input(name, input).boxed()
    }

    fn close<'a>(&'a self, name: &'a str) -> Answer<'a, Report> {
        self.set_edge(name, EdgeStatus::Closed).boxed()
    }

    fn resume<'a>(&'a self, name: &'a str) -> Answer<'a, Report> {
        self.set_edge(name, EdgeStatus::Open).boxed()
    }

    fn of_call<'a>(&'a self, call: &'a str) -> Answer<'a, Vec<Report>> {
        let turn = self.turn.turn();
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
