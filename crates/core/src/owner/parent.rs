//! A subagent and its parent: the edge between them, and the inputs that the parent leaves in the queue.
//!
//! When the parent's Turn ends, the queued inputs of the parent's agent are dropped, since no agent waits for them.

use bobbin_model::state::StartTurn;
use bobbin_model::sub_agent::{is_from_parent, queue_of_users, started_by_parent};
use bobbin_model::{EdgeStatus, Event, Refusal, Sender, ThreadId};

use super::Owner;
use super::record::{Effect, Staged};
use super::run::BY_CALLER;
use crate::CoreError;
use crate::answer::Edged;
use crate::command::Reply;

impl Owner {
    /// Decides on a request to start a Turn.
    pub(super) fn decide_start(&self, request: StartTurn) -> Result<Vec<Event>, Refusal> {
        self.check_takes_from(request.sender.as_ref())?;
        self.state.decide_start_turn(request, self.now())
    }

    /// Decides on an input for the queue.
    pub(super) fn decide_enqueue(&self, request: StartTurn) -> Result<Vec<Event>, Refusal> {
        self.check_takes_from(request.sender.as_ref())?;
        let now = self.now();
        self.state
            .decide_enqueue(self.threads.ids.queued_input(now), request, now)
    }

    /// Checks the sender of an input: a closed subagent accepts none from its parent's agent.
    fn check_takes_from(&self, sender: Option<&Sender>) -> Result<(), Refusal> {
        let closed = self
            .state
            .edge
            .is_some_and(|edge| edge.status == EdgeStatus::Closed);
        if closed && is_from_parent(&self.state, sender) {
            let id = &self.state.header.id;
            return Err(Refusal::NotNow(format!(
                "Subagent {id} is closed; open it again first."
            )));
        }
        Ok(())
    }

    /// Stages the queue without the inputs of the parent's agent.
    pub(super) fn stage_users_queue(&mut self) -> Staged {
        let queue = queue_of_users(&self.state);
        self.stage(
            queue
                .map(|queue| Event::QueueChanged { queue })
                .into_iter()
                .collect(),
        )
    }

    /// Stops the Turn that the parent's ended Turn started.
    pub(super) async fn parent_ended(&mut self, reply: Reply<()>) -> Result<(), CoreError> {
        let events = match started_by_parent(&self.state) {
            Some(_) => self.state.decide_cancel(BY_CALLER, self.now()),
            None => Vec::new(),
        };
        let mut staged = self.stage(events);
        staged.append(self.stage_users_queue());
        self.commit(staged, Effect::answer(Box::new(reply))).await?;
        self.stop_engine().await
    }

    pub(super) async fn change_edge(
        &mut self,
        parent: &ThreadId,
        status: EdgeStatus,
        reply: Reply<Edged>,
    ) -> Result<(), CoreError> {
        let Some(source) = self
            .state
            .header
            .source
            .sub_agent()
            .filter(|source| source.parent == *parent)
        else {
            let refusal = Refusal::ThreadNotFound(self.state.header.id.clone());
            return self.refuse(refusal, reply).await;
        };
        let source = source.clone();
        let events = match self.state.decide_edge(status, self.now()) {
            Ok(events) => events,
            Err(refusal) => return self.refuse(refusal, reply).await,
        };
        let mut staged = self.stage(events);
        if status == EdgeStatus::Closed {
            staged.append(self.stage_users_queue());
        }
        let edge = self.state.edge;
        let answer = Effect::answer(Box::new(move |done: Result<(), CoreError>| {
            let edged = edge.map(|edge| Edged { source, edge });
            reply(done.and_then(|()| edged.ok_or(CoreError::Busy)));
        }));
        self.commit(staged, answer).await?;
        self.stop_engine().await
    }
}
