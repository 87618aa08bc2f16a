//! Finding subagents, waiting for them and reporting their status.

use std::time::Duration;

use bobbin_agent_api::sub_agent::{Report, SubAgentError, SubAgentStatus};
use bobbin_core::{Closed, ThreadSummary};
use bobbin_model::{EdgeStatus, ThreadId, TurnId};
use tokio_util::sync::CancellationToken;

use crate::failed;
use crate::scope::{Done, SubAgentScope};
use crate::shared::{Awaited, WaitingForUsers};
use crate::sub_agent::status_of;

/// Most names in the error for an unknown name.
const LISTED: usize = 20;

impl SubAgentScope {
    pub(crate) async fn wait_for(
        &self,
        names: &[String],
        limit: Option<Duration>,
        cancel: &CancellationToken,
    ) -> Done<Vec<Report>> {
        let all = self.children(Closed::Included).await?;
        let wanted: Vec<&ThreadSummary> = if names.is_empty() {
            let known = self.shared.all.lock();
            let turn = self.turn.turn();
            // This run does not know the Turn's subagents that ended before a restart.
            let is_ours = |child: &&ThreadSummary| {
                let source = child.header.source.sub_agent();
                source.is_some_and(|source| source.parent_turn == turn)
                    || known.list.iter().any(|known| known.id == child.header.id)
            };
            all.iter().filter(is_ours).collect()
        } else {
            names.iter().map(|name| find(&all, name)).collect::<Done<_>>()?
        };
        let mut changed = self.shared.changed.subscribe();
        let quiet = async {
            let ids: Vec<&ThreadId> = wanted.iter().map(|child| &child.header.id).collect();
            let mut waiting_for_users = None;
            loop {
                match self.shared.awaited(&ids) {
                    Awaited::Done => break,
                    Awaited::AtWork => waiting_for_users = None,
                    Awaited::Asking => {
                        waiting_for_users.get_or_insert_with(|| WaitingForUsers::new(&self.shared));
                    }
                }
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

    pub(crate) async fn found(&self, name: &str) -> Done<ThreadSummary> {
        let all = self.children(Closed::Included).await?;
        find(&all, name).cloned()
    }

    pub(crate) async fn report(&self, child: &ThreadSummary) -> Done<Report> {
        let (id, nickname) = named(child);
        let known = self.shared.status(&id);
        let status = match known {
            Some(status) => status,
            None if child.runtime.waiting_on_approval => SubAgentStatus::Asking,
            None if child.runtime.running => SubAgentStatus::Running,
            None => {
                let last = self.threads().turns_before(&id, TurnId(u32::MAX), 1).await;
                last.map_err(failed)?
                    .last()
                    .map_or(SubAgentStatus::Idle, status_of)
            }
        };
        Ok(Report {
            id,
            nickname,
            status,
            closed: is_closed(child),
        })
    }

    pub(crate) async fn reports(&self, wanted: impl Fn(&ThreadSummary) -> bool) -> Done<Vec<Report>> {
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

pub(crate) fn named(child: &ThreadSummary) -> (ThreadId, Option<String>) {
    let nickname = child
        .header
        .source
        .sub_agent()
        .and_then(|source| source.nickname.clone());
    (child.header.id.clone(), nickname)
}

pub(crate) fn is_closed(child: &ThreadSummary) -> bool {
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
