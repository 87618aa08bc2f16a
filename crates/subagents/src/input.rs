//! Sending a subagent another input, closing it and opening it again.

use std::sync::Arc;

use bobbin_agent_api::sub_agent::{Report, SubAgentError, SubAgentStatus};
use bobbin_core::{Command, CoreError, Guidance, ThreadHandle, Threads};
use bobbin_model::state::StartTurn;
use bobbin_model::sub_agent::{restricted, started_by_parent};
use bobbin_model::{EdgeStatus, Refusal, Seq, ThreadState};
use tokio::sync::oneshot;

use crate::failed;
use crate::follow::{follow, shown};
use crate::report::{is_closed, named};
use crate::scope::{Done, SubAgentScope};

impl SubAgentScope {
    pub(crate) async fn send_input(&self, name: &str, input: String) -> Done<Report> {
        let child = self.found(name).await?;
        let (id, nickname) = named(&child);
        if is_closed(&child) {
            return Err(SubAgentError::Closed(name.to_owned()));
        }
        // A running subagent has its place, and stays followed until the input has arrived.
        let pending_input = self.shared.expect_input(&id);
        let mut reserved = match pending_input {
            Some(_) => None,
            None => Some(self.reserve()?),
        };
        let source = child.header.source.sub_agent();
        let role = source.and_then(|source| source.role.as_deref());
        let profile = source.and_then(|source| source.profile.as_ref());
        let config = self.configuration(role, profile).await;
        let turn = self.turn_with(input);
        let (done, sent) = oneshot::channel();
        let (context, shared) = (self.turn.clone(), self.shared.clone());
        let name = name.to_owned();
        self.threads().own(async move {
            let threads = context.threads().clone();
            // A client may have closed it meanwhile.
            let refused = |error: CoreError| match error {
                CoreError::Refused(Refusal::NotNow(_)) => SubAgentError::Closed(name.clone()),
                error => failed(error),
            };
            let sending = async {
                let handle = threads.thread(&id).await.map_err(failed)?;
                let before = threads.snapshot(&handle).await.map_err(failed)?.state;
                check_not_a_users(&before)?;
                let before = before.header.config.clone();
                let config = restricted(config, before.as_ref());
                // The parent may be allowed less than before.
                if before.as_ref() != Some(&config) {
                    let configured = handle.ask(|reply| Command::Configure { config, reply });
                    configured.await.map_err(refused)?;
                }
                let seq = deliver(&threads, &handle, turn, refused).await?;
                shown(&handle, seq).await;
                Ok::<_, SubAgentError>(seq)
            };
            let seq = match sending.await {
                Ok(seq) => seq,
                Err(error) => return drop(done.send(Err(error))),
            };
            let report = Report {
                id: id.clone(),
                nickname: nickname.clone(),
                status: SubAgentStatus::Running,
                closed: false,
            };
            // It is followed if it was followed before and the scope is not over.
            let followed = shared.is_followed(&id);
            if !followed {
                let place = reserved.as_mut().and_then(|reserved| reserved.place.take());
                shared.add(&id, nickname.as_ref(), place);
            }
            drop((reserved, pending_input));
            // When the call is gone, the subagent is stopped with the Turn.
            drop(done.send(Ok(report)));
            if !followed {
                follow(context, shared, id, Some(seq)).await;
            }
        });
        sent.await.unwrap_or_else(|_| Err(failed(CoreError::Stopping)))
    }

    pub(crate) async fn set_edge(&self, name: &str, status: EdgeStatus) -> Done<Report> {
        let child = self.found(name).await?;
        let threads = self.threads();
        let handle = threads.thread(&child.header.id).await.map_err(failed)?;
        let parent = self.parent().id.clone();
        if status == EdgeStatus::Open {
            let room = threads.check_room_for_child(&parent, &child.header.id);
            room.await.map_err(failed)?;
        }
        let edged = handle.ask(|reply| Command::Edge {
            parent,
            status,
            reply,
        });
        let edge = edged.await.map_err(failed)?.edge;
        let report = self.report(&child).await?;
        Ok(Report {
            closed: edge.status == EdgeStatus::Closed,
            ..report
        })
    }
}

/// Starts a Turn with an input, or gives the input to the Turn that runs. Returns the number of the first event.
async fn deliver(
    threads: &Arc<Threads>,
    handle: &ThreadHandle,
    turn: StartTurn,
    refused: impl Fn(CoreError) -> SubAgentError,
) -> Done<Seq> {
    let request = turn.clone();
    match handle.ask(|reply| Command::StartTurn { request, reply }).await {
        Ok(started) => return Ok(started.seq),
        Err(CoreError::Refused(Refusal::TurnInProgress { .. })) => {}
        Err(error) => return Err(refused(error)),
    }
    let state = threads.snapshot(handle).await.map_err(failed)?.state;
    check_not_a_users(&state)?;
    let queued = handle.ask(|reply| Command::Enqueue { request: turn, reply });
    let queued = queued.await.map_err(refused)?;
    // A user may have started a Turn since: then the input waits for its end.
    let running = queued
        .entry
        .ready_after
        .filter(|turn| queued.started.is_none() && state.live_turn() == Some(*turn));
    if let Some(turn) = running {
        let (id, expected) = (queued.entry.id, turn.to_string());
        let what = Guidance::Queued { id, sender: None };
        let steered = handle.ask(|reply| Command::Steer {
            what,
            expected,
            reply,
        });
        // When that Turn has just ended, the input starts the next one.
        drop(steered.await);
    }
    Ok(queued.seq)
}

/// Checks that no user has started the open Turn of a subagent: that has its own configuration and its own end.
fn check_not_a_users(state: &ThreadState) -> Done<()> {
    if state.live.is_some() && started_by_parent(state).is_none() {
        return Err(SubAgentError::Full(
            "a user is at work with this subagent; send it later, or start another one".to_owned(),
        ));
    }
    Ok(())
}
