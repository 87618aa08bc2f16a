//! Giving a subagent more to do, closing it and opening it again.

use std::sync::Arc;

use bobbin_agent_api::sub_agent::{Report, Standing, SubAgentError};
use bobbin_model::state::StartTurn;
use bobbin_model::{EdgeStatus, Refusal, Seq, ThreadState};
use tokio::sync::oneshot;

use super::reporting::{is_closed, named};
use super::{Done, Family};
use crate::sub_agent::follow::{answer, follow, shown};
use crate::sub_agent::{begun_above, plan};
use crate::{Command, CoreError, Hub, ThreadHandle};

impl Family {
    pub(super) async fn sent(&self, name: &str, input: String) -> Done<Report> {
        let child = self.found(name).await?;
        let (id, nickname) = named(&child);
        if is_closed(&child) {
            return Err(SubAgentError::Closed(name.to_owned()));
        }
        // One that is at work has its place, and keeps it until it has been given this.
        let held = self.shared.hold(&id);
        let mut reserved = match held {
            Some(_) => None,
            None => Some(self.reserve()?),
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
        let name = name.to_owned();
        self.hub.own(async move {
            // Somebody may have closed it meanwhile.
            let refused = |error: CoreError| match error {
                CoreError::Refused(Refusal::NotNow(_)) => SubAgentError::Closed(name.clone()),
                error => error.into(),
            };
            let given = async {
                let handle = hub.thread(&id).await?;
                let before = hub.snapshot(&handle).await?.state;
                not_a_persons(&before)?;
                let before = before.header.config.clone();
                let config = plan::restricted(config, before.as_ref());
                // What the Thread above may do may have become less.
                if before.as_ref() != Some(&config) {
                    let configured = answer(&handle, |reply| Command::Configure { config, reply });
                    configured.await.map_err(refused)?;
                }
                let seq = give(&hub, &handle, wish, refused).await?;
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
            // One that was held is, unless nothing goes on any more: then it is stopped.
            let followed = shared.is_followed(&id);
            if !followed {
                let place = reserved.as_mut().and_then(|reserved| reserved.place.take());
                shared.add(&id, nickname.as_ref(), place);
            }
            drop((reserved, held));
            // Nobody waits any more: it is stopped with its Turn.
            drop(done.send(Ok(report)));
            if !followed {
                follow(hub, shared, id, Some(seq)).await;
            }
        });
        sent.await.unwrap_or(Err(CoreError::Stopping.into()))
    }

    pub(super) async fn edged(&self, name: &str, status: EdgeStatus) -> Done<Report> {
        let child = self.found(name).await?;
        let handle = self.hub.thread(&child.header.id).await?;
        let parent = self.parent.id.clone();
        if status == EdgeStatus::Open {
            self.hub.check_room_below(&parent, &child.header.id).await?;
        }
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
}

/// Begins a Turn with an input, or gives it to the one that runs. Returns the number of the first event.
async fn give(
    hub: &Arc<Hub>,
    handle: &ThreadHandle,
    wish: StartTurn,
    refused: impl Fn(CoreError) -> SubAgentError,
) -> Done<Seq> {
    let again = wish.clone();
    match answer(handle, |reply| Command::StartTurn { wish, reply }).await {
        Ok(started) => return Ok(started.seq),
        Err(CoreError::Refused(Refusal::TurnInProgress { .. })) => {}
        Err(error) => return Err(refused(error)),
    }
    let state = hub.snapshot(handle).await?.state;
    not_a_persons(&state)?;
    let wish = again;
    let queued = answer(handle, |reply| Command::Enqueue { wish, reply });
    let queued = queued.await.map_err(refused)?;
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
