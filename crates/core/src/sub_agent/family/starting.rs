//! Starting a subagent: whether there is room, and what it is given of the Thread above.

use bobbin_agent_api::sub_agent::{Report, Spawn, Standing, SubAgentError};
use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{HistoryMode, Identity, InputPart, Seq, SubAgentSource, ThreadConfig};
use bobbin_store::Closed;
use tokio::sync::oneshot;

use super::reporting::is_closed;
use super::{Done, Family};
use crate::CoreError;
use crate::sub_agent::follow::follow;
use crate::sub_agent::{MAX_CHILDREN, plan, sender};

impl Family {
    pub(super) async fn spawned(&self, wish: Spawn) -> Done<Report> {
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
    pub(super) async fn configuration(&self, role: Option<&str>) -> ThreadConfig {
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

    pub(super) fn input(&self, text: String) -> StartTurn {
        StartTurn {
            input: vec![InputPart::Text { text }],
            sender: Some(sender(&self.parent.id)),
            channel: self.channel.clone(),
            features: self.features,
        }
    }
}
