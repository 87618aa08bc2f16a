//! Starting a subagent: checks for room, and the settings that it gets from its parent.

use bobbin_agent_api::sub_agent::{Report, Spawn, SubAgentError, SubAgentStatus};
use bobbin_core::{Closed, CoreError, MAX_CHILDREN};
use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::sub_agent::{configuration, may_have_subagents, parent_agent};
use bobbin_model::{
    HistoryMode, Identity, InputPart, Mode, Seq, SubAgentProfile, SubAgentRuntime, SubAgentSource,
    ThreadConfig,
};
use tokio::sync::oneshot;

use crate::failed;
use crate::follow::follow;
use crate::report::is_closed;
use crate::scope::{Done, SubAgentScope};

impl SubAgentScope {
    pub(crate) async fn start_child(&self, request: Spawn) -> Done<Report> {
        let limits = self.limits;
        if self.depth() >= limits.depth {
            return Err(SubAgentError::NotHere("subagents have none of their own here"));
        }
        if !may_have_subagents(&self.config) {
            return Err(SubAgentError::NotHere("its configuration says so"));
        }
        let profile = self.profiles.resolve(request.profile.as_deref());
        let profile = profile.map_err(SubAgentError::Failed)?;
        let mut reserved = self.reserve()?;
        let all = self.children(Closed::Included).await?;
        let open = all.iter().filter(|child| !is_closed(child));
        let others = self.shared.all.lock().starting - 1;
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
        let nickname = request.nickname.clone().filter(|name| !name.trim().is_empty());
        let config = self
            .configuration(request.role.as_deref(), profile.as_ref())
            .await;
        if config.mode() == Mode::Plan
            && let Some(profile) = &profile
            && profile.runtime != SubAgentRuntime::Native
        {
            return Err(SubAgentError::Failed(format!(
                "the profile {:?} runs another program, which a subagent that only reads may not",
                profile.name
            )));
        }
        let (thread, source) = self.child(&request, profile, config, nickname.clone());
        let turn = self.turn_with(request.prompt);
        let (done, started) = oneshot::channel();
        let (context, shared) = (self.turn.clone(), self.shared.clone());
        // A task of its own: a subagent that has started is followed even when the call is dropped.
        self.threads().own(async move {
            let threads = context.threads().clone();
            let id = match threads.start_child(thread, source, turn).await {
                Ok(snapshot) => snapshot.state.header.id.clone(),
                Err(error) => return drop(done.send(Err(failed(error)))),
            };
            shared.add(&id, nickname.as_ref(), reserved.place.take());
            drop(reserved);
            let report = Report {
                id: id.clone(),
                nickname,
                status: SubAgentStatus::Running,
                closed: false,
            };
            // When the call is gone, the subagent is stopped with the Turn.
            drop(done.send(Ok(report)));
            follow(context.clone(), shared.clone(), id.clone(), Some(Seq(1))).await;
            if shared.over.is_cancelled() {
                threads.follow_parent(context.thread(), &id).await;
            }
        });
        started.await.unwrap_or_else(|_| Err(failed(CoreError::Stopping)))
    }

    /// Returns the configuration of a subagent: that of this Turn, with the approval policy in force now.
    pub(crate) async fn configuration(
        &self,
        role: Option<&str>,
        profile: Option<&SubAgentProfile>,
    ) -> ThreadConfig {
        let mut config = configuration(&self.config, role, profile);
        let turn = &self.turn.at_start().features;
        let own = self.threads().settings().approval_policy_of(Some(&config), turn);
        let now = self
            .threads()
            .strictest_policy(own, Some(self.parent().id.clone()))
            .await;
        if now != own {
            config.approval_policy = Some(now.of_thread());
        }
        config
    }

    /// Returns the Thread of a new subagent, and its position in the tree.
    fn child(
        &self,
        request: &Spawn,
        profile: Option<SubAgentProfile>,
        config: ThreadConfig,
        nickname: Option<String>,
    ) -> (NewThread, SubAgentSource) {
        let parent = self.parent();
        let thread = NewThread {
            id: self.threads().fresh_thread_id(),
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
            parent_turn: self.turn.turn(),
            spawn_call: request.call.clone(),
            root: parent.root().clone(),
            depth: self.depth() + 1,
            nickname,
            role: request.role.clone(),
            profile,
        };
        (thread, source)
    }

    /// Returns a Turn of a subagent with an input of this agent.
    pub(crate) fn turn_with(&self, text: String) -> StartTurn {
        let live = self.turn.at_start();
        StartTurn {
            client_message_id: None,
            trigger: None,
            input: vec![InputPart::Text { text }],
            sender: Some(parent_agent(self.turn.thread())),
            channel: live.turn.origin_channel.clone(),
            features: live.features.clone(),
        }
    }
}
