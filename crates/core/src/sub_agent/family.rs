//! The subagents of one run of a Turn: started within bounds, followed, and ended with it.
//!
//! What is at work when the Turn ends, however it ends, is stopped, and the Turn's end waits for that (bounded). After a
//! crash, those that a Turn had at work are taken into the family of its next run; one whose Turn above is over does not
//! go on (`owner::again`). The owner of the Thread above is never waited for but through its queue of wishes.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{
    EdgeStatus, HistoryMode, Identity, InputPart, LiveTurn, Refusal, Seq, SubAgentProgress, SubAgentSource,
    ThreadConfig, ThreadHeader, ThreadId, ThreadState, TokenUsage, Turn, TurnFeatures, TurnId,
};
use bobbin_store::{Closed, ThreadSummary};
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::follow::{answer, follow, shown};
use super::member::{Member, Used, standing_of};
use super::{
    Answer, MAX_CHILDREN, Report, Spawn, Standing, SubAgentError, SubAgents, begun_above, plan, sender,
};
use crate::engine::{EngineFailure, EngineWish};
use crate::{Command, CoreError, Frame, Hub, ThreadHandle};

/// Shortest time between two snapshots of how far they are (03 §12).
const PROGRESS: Duration = Duration::from_millis(200);
/// Most entries of one: the newest.
const MAX_ENTRIES: usize = 100;
/// Names in the answer to one that is not known.
const LISTED: usize = 20;

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

/// What the family and those who follow its members both see.
pub(super) struct Shared {
    pub(super) turn: TurnId,
    /// Nothing goes on any more.
    pub(super) over: CancellationToken,
    pub(super) wishes: mpsc::Sender<(TurnId, EngineWish)>,
    members: Mutex<Members>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Members {
    list: Vec<Member>,
    /// Places taken by those that are just being started.
    starting: usize,
}

impl Shared {
    fn bump(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn change<T>(&self, id: &ThreadId, change: impl FnOnce(&mut Member) -> T) -> Option<T> {
        let mut members = self.members.lock();
        members
            .list
            .iter_mut()
            .find(|member| member.id == *id)
            .map(change)
    }

    /// Takes note of a frame of a member's log.
    pub(super) fn note(&self, id: &ThreadId, frame: &Frame) -> Option<Used> {
        if frame.delta().is_some() {
            return None;
        }
        let used = self.change(id, |member| member.note(frame)).flatten();
        self.bump();
        used
    }

    pub(super) fn stands(&self, id: &ThreadId, state: &ThreadState, last: Option<&Turn>) {
        self.change(id, |member| member.stands(state, last));
        self.bump();
    }

    pub(super) fn gone(&self, id: &ThreadId) {
        self.change(id, |member| member.standing = Standing::Gone);
        self.bump();
    }

    /// Ceases to follow a member that is not at work, if `idle` says that it has nothing new. Returns whether that is
    /// so.
    pub(super) fn let_go(&self, id: &ThreadId, idle: impl FnOnce() -> bool) -> bool {
        let done = self.change(id, |member| {
            let done = !member.runs() && idle();
            if done {
                member.let_go();
            }
            done
        });
        if done != Some(false) {
            self.bump();
        }
        done.unwrap_or(true)
    }

    /// Ceases to follow a member, whatever it does.
    pub(super) fn give_up(&self, id: &ThreadId) {
        self.change(id, Member::let_go);
        self.bump();
    }

    fn add(&self, id: &ThreadId, nickname: Option<&String>, place: Option<OwnedSemaphorePermit>) {
        {
            let mut members = self.members.lock();
            let known = members.list.iter().position(|member| member.id == *id);
            let index = known.unwrap_or_else(|| {
                members.list.push(Member::new(id.clone(), nickname.cloned()));
                members.list.len() - 1
            });
            if let Some(member) = members.list.get_mut(index) {
                member.standing = Standing::Running;
                member.followed = true;
                member.place = place.or(member.place.take());
            }
        }
        self.bump();
    }

    fn is_followed(&self, id: &ThreadId) -> bool {
        self.change(id, |member| member.followed).unwrap_or(false)
    }

    fn is_quiet(&self) -> bool {
        let members = self.members.lock();
        members.starting == 0 && !members.list.iter().any(|member| member.followed)
    }
}

/// A place among those at work, until its holder is a member.
struct Reserved {
    shared: Arc<Shared>,
    place: Option<OwnedSemaphorePermit>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.shared.members.lock().starting -= 1;
        self.shared.bump();
    }
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
                if begun_above(&state).as_ref() == Some(&self.parent.id) {
                    self.shared.add(&id, nickname.as_ref(), None);
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

    async fn spawned(&self, wish: Spawn) -> Done<Report> {
        let limits = self.hub.settings.sub_agents;
        if self.depth() >= limits.depth {
            return Err(SubAgentError::NotHere("subagents have none of their own here"));
        }
        if !plan::allows(&self.config) {
            return Err(SubAgentError::NotHere("its configuration says so"));
        }
        let mut reserved = self.reserve()?;
        let all = self.children(Closed::Included).await?;
        let open = all.iter().filter(|child| !is_closed(child));
        let others = self.shared.members.lock().starting - 1;
        if open.count() + others >= limits.open {
            return Err(SubAgentError::Full(format!(
                "{} subagents are open, which is as many as there may be; close one with CloseAgent, or give one that has \
                 ended more to do with SendInput",
                limits.open
            )));
        }
        if all.len() + others >= MAX_CHILDREN as usize {
            return Err(SubAgentError::Full(format!(
                "this thread has had {MAX_CHILDREN} subagents, which is as many as there may be; go on in another thread"
            )));
        }
        let nickname = wish.nickname.clone().filter(|name| !name.trim().is_empty());
        let config = self.configuration(wish.role.as_deref()).await;
        let (thread, source) = self.child(&wish, config, nickname.clone());
        let turn = self.input(wish.prompt);
        let (done, started) = oneshot::channel();
        let (hub, shared) = (self.hub.clone(), self.shared.clone());
        let parent = self.parent.id.clone();
        // Not dropped with the call: what has begun is followed.
        self.hub.own(async move {
            let id = match hub.start_child(thread, source, turn).await {
                Ok(snapshot) => snapshot.state.header.id.clone(),
                Err(error) => return drop(done.send(Err(error.into()))),
            };
            shared.add(&id, nickname.as_ref(), reserved.place.take());
            drop(reserved);
            let report = Report {
                id: id.clone(),
                nickname,
                standing: Standing::Running,
                closed: false,
            };
            // Nobody waits any more: it is stopped with its Turn.
            drop(done.send(Ok(report)));
            follow(hub.clone(), shared.clone(), id.clone(), Some(Seq(1))).await;
            if shared.over.is_cancelled() {
                hub.follow_parent(&parent, &id).await;
            }
        });
        started.await.unwrap_or(Err(CoreError::Stopping.into()))
    }

    /// Returns the configuration of a subagent: that of this Turn, with the approvals as they are now.
    async fn configuration(&self, role: Option<&str>) -> ThreadConfig {
        let mut config = plan::configuration(&self.config, role);
        let given = self.hub.settings.approval_policy_of(Some(&config));
        let now = self.hub.policy_below(given, Some(self.parent.id.clone())).await;
        if now != given {
            config.approval_policy = Some(now);
        }
        config
    }

    /// Returns a subagent's Thread to be.
    fn child(
        &self,
        wish: &Spawn,
        config: ThreadConfig,
        nickname: Option<String>,
    ) -> (NewThread, SubAgentSource) {
        let parent = &self.parent;
        let thread = NewThread {
            id: self.hub.fresh_thread_id(),
            identity: Identity {
                channel_name: parent.origin_channel.clone(),
                user_id: parent.user_id.clone(),
                channel_context: parent.channel_context.clone(),
                workspace_path: Some(parent.workspace_path.clone()),
            },
            config: Some(config),
            history_mode: HistoryMode::Server,
            display_name: nickname.clone(),
        };
        let source = SubAgentSource {
            parent: parent.id.clone(),
            parent_turn: self.shared.turn,
            spawn_call: wish.call.clone(),
            root: parent.root().clone(),
            depth: self.depth() + 1,
            nickname,
            role: wish.role.clone(),
        };
        (thread, source)
    }

    fn input(&self, text: String) -> StartTurn {
        StartTurn {
            input: vec![InputPart::Text { text }],
            sender: Some(sender(&self.parent.id)),
            channel: self.channel.clone(),
            features: self.features,
        }
    }

    async fn waited(
        &self,
        names: &[String],
        limit: Option<Duration>,
        cancel: &CancellationToken,
    ) -> Done<Vec<Report>> {
        let all = self.children(Closed::Included).await?;
        let wanted: Vec<&ThreadSummary> = if names.is_empty() {
            let members = self.shared.members.lock();
            let is_member =
                |child: &&ThreadSummary| members.list.iter().any(|member| member.id == child.header.id);
            all.iter().filter(is_member).collect()
        } else {
            names.iter().map(|name| find(&all, name)).collect::<Done<_>>()?
        };
        let mut changed = self.shared.changed.subscribe();
        let quiet = async {
            while wanted
                .iter()
                .any(|child| self.shared.is_followed(&child.header.id))
            {
                if changed.changed().await.is_err() {
                    break;
                }
            }
        };
        let late = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = quiet => {}
            () = cancel.cancelled() => {}
            () = late => {}
        }
        let mut reports = Vec::with_capacity(wanted.len());
        for child in wanted {
            reports.push(self.report(child).await?);
        }
        Ok(reports)
    }

    async fn found(&self, name: &str) -> Done<ThreadSummary> {
        let all = self.children(Closed::Included).await?;
        find(&all, name).cloned()
    }

    async fn sent(&self, name: &str, input: String) -> Done<Report> {
        let child = self.found(name).await?;
        let (id, nickname) = named(&child);
        if is_closed(&child) {
            return Err(SubAgentError::Closed(name.to_owned()));
        }
        // One that is at work has its place.
        let mut reserved = if self.shared.is_followed(&id) {
            None
        } else {
            Some(self.reserve()?)
        };
        let role = child
            .header
            .source
            .sub_agent()
            .and_then(|source| source.role.clone());
        let config = self.configuration(role.as_deref()).await;
        let wish = self.input(input);
        let (done, sent) = oneshot::channel();
        let (hub, shared) = (self.hub.clone(), self.shared.clone());
        self.hub.own(async move {
            let given = async {
                let handle = hub.thread(&id).await?;
                let before = hub.snapshot(&handle).await?.state;
                not_a_persons(&before)?;
                let before = before.header.config.clone();
                let config = plan::restricted(config, before.as_ref());
                // What the Thread above may do may have become less.
                if before.as_ref() != Some(&config) {
                    answer(&handle, |reply| Command::Configure { config, reply }).await?;
                }
                let seq = give(&hub, &handle, wish).await?;
                shown(&handle, seq).await;
                Ok::<_, SubAgentError>(seq)
            };
            let seq = match given.await {
                Ok(seq) => seq,
                Err(error) => return drop(done.send(Err(error))),
            };
            let report = Report {
                id: id.clone(),
                nickname: nickname.clone(),
                standing: Standing::Running,
                closed: false,
            };
            let followed = shared.is_followed(&id);
            if !followed {
                let place = reserved.as_mut().and_then(|reserved| reserved.place.take());
                shared.add(&id, nickname.as_ref(), place);
            }
            drop(reserved);
            // Nobody waits any more: it is stopped with its Turn.
            drop(done.send(Ok(report)));
            if !followed {
                follow(hub, shared, id, Some(seq)).await;
            }
        });
        sent.await.unwrap_or(Err(CoreError::Stopping.into()))
    }

    async fn edged(&self, name: &str, status: EdgeStatus) -> Done<Report> {
        let child = self.found(name).await?;
        let handle = self.hub.thread(&child.header.id).await?;
        let parent = self.parent.id.clone();
        let edged = answer(&handle, |reply| Command::Edge {
            parent,
            status,
            reply,
        });
        let edge = edged.await?.edge;
        let report = self.report(&child).await?;
        Ok(Report {
            closed: edge.status == EdgeStatus::Closed,
            ..report
        })
    }

    async fn report(&self, child: &ThreadSummary) -> Done<Report> {
        let (id, nickname) = named(child);
        let known = self.shared.change(&id, |member| member.standing.clone());
        let standing = match known {
            Some(standing) => standing,
            None if child.runtime.waiting_on_approval => Standing::Asking,
            None if child.runtime.running => Standing::Running,
            None => {
                let last = self.hub.turns_before(&id, TurnId(u32::MAX), 1).await?.pop();
                last.as_ref().map_or(Standing::Idle, standing_of)
            }
        };
        Ok(Report {
            id,
            nickname,
            standing,
            closed: is_closed(child),
        })
    }

    async fn reports(&self, wanted: impl Fn(&ThreadSummary) -> bool) -> Done<Vec<Report>> {
        let mut reports = Vec::new();
        for child in self
            .children(Closed::Included)
            .await?
            .iter()
            .filter(|child| wanted(child))
        {
            reports.push(self.report(child).await?);
        }
        Ok(reports)
    }
}

/// Begins a Turn with an input, or gives it to the one that runs. Returns the number of the first event.
async fn give(hub: &Arc<Hub>, handle: &ThreadHandle, wish: StartTurn) -> Done<Seq> {
    let again = wish.clone();
    match answer(handle, |reply| Command::StartTurn { wish, reply }).await {
        Ok(started) => return Ok(started.seq),
        Err(CoreError::Refused(Refusal::TurnInProgress { .. })) => {}
        Err(error) => return Err(error.into()),
    }
    let state = hub.snapshot(handle).await?.state;
    not_a_persons(&state)?;
    let wish = again;
    let queued = answer(handle, |reply| Command::Enqueue { wish, reply }).await?;
    // In a Turn that a person has begun since, it waits for the end.
    let running = queued
        .entry
        .ready_after
        .filter(|turn| queued.started.is_none() && state.live_turn() == Some(*turn));
    if let Some(turn) = running {
        let (id, expected) = (queued.entry.id, turn.to_string());
        let steered = answer(handle, |reply| Command::Steer {
            id,
            expected,
            sender: None,
            reply,
        });
        // That Turn has just ended: then it begins the next one.
        drop(steered.await);
    }
    Ok(queued.seq)
}

/// Refuses to break into the Turn of a subagent that a person began: that has its own configuration and its own end.
fn not_a_persons(state: &ThreadState) -> Done<()> {
    if state.live.is_some() && begun_above(state).is_none() {
        return Err(SubAgentError::Full(
            "a person is at work with this subagent; send it later, or start another one".to_owned(),
        ));
    }
    Ok(())
}

fn named(child: &ThreadSummary) -> (ThreadId, Option<String>) {
    let nickname = child
        .header
        .source
        .sub_agent()
        .and_then(|source| source.nickname.clone());
    (child.header.id.clone(), nickname)
}

fn is_closed(child: &ThreadSummary) -> bool {
    child.edge.is_some_and(|edge| edge.status == EdgeStatus::Closed)
}

/// Finds a subagent by its id, or the newest with a nickname.
fn find<'a>(all: &'a [ThreadSummary], name: &str) -> Done<&'a ThreadSummary> {
    let name = name.trim();
    let by_id = all.iter().find(|child| child.header.id.as_str() == name);
    let called = |child: &&ThreadSummary| {
        named(child)
            .1
            .is_some_and(|nickname| nickname.eq_ignore_ascii_case(name))
    };
    by_id.or_else(|| all.iter().rev().find(called)).ok_or_else(|| {
        let newest = all.iter().rev().take(LISTED);
        let known: Vec<String> = newest
            .map(|child| named(child).1.unwrap_or_else(|| child.header.id.to_string()))
            .collect();
        SubAgentError::Unknown {
            name: name.to_owned(),
            known: if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            },
        }
    })
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
