//! Threads of the workspace that need an answer: they are followed, so that the server asks their questions here too.

use std::collections::BTreeMap;

use bobbin_client::Notification;
use bobbin_model::Runtime;
use bobbin_native_wire::thread::notifications::{
    ThreadRenamedNotification, ThreadRuntimeChangedNotification, ThreadStartedNotification,
};
use bobbin_native_wire::thread::params::{ThreadListParams, ThreadListResult};
use bobbin_native_wire::thread::types::ThreadSource;

use crate::ask::Asked;
use crate::picker::{Entry, Picker};
use crate::text::{Line, safe_line};
use crate::transcript::WARN;

use super::{App, Purpose, TURNS};

/// Most Threads that are followed beside the open one.
const MOST: usize = 50;
/// Most Threads whose titles are known.
const MAX_KNOWN: usize = 1_000;

/// A Thread of the workspace.
#[derive(Debug, Default)]
struct Known {
    title: Option<String>,
    /// Of a subagent: the Thread at the top.
    root: Option<String>,
    /// Of a subagent: its name.
    agent: Option<String>,
    /// It has a question.
    asks: bool,
    /// It has a plan that its user has not seen yet.
    has_plan: bool,
}

impl Known {
    fn describe(&mut self, title: Option<String>, source: ThreadSource) {
        self.title = title;
        (self.root, self.agent) = match source {
            ThreadSource::User => (None, None),
            ThreadSource::SubAgent { sub_agent } => (
                Some(sub_agent.root_thread_id),
                sub_agent.agent_nickname.or(sub_agent.agent_role),
            ),
        };
    }

    fn put(&mut self, runtime: Runtime) {
        self.asks = runtime.waiting_on_approval || runtime.waiting_on_input;
        self.has_plan = runtime.waiting_on_plan_confirmation && !runtime.running;
    }
}

/// The Threads of the workspace, and which of them are followed.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    known: BTreeMap<String, Known>,
    /// Threads that are followed: the open one with the number of its opening, others with 0.
    followed: BTreeMap<String, u64>,
    /// Counts openings: a Thread that is opened again is read again.
    openings: u64,
    /// A change of what is followed is under way.
    is_busy: bool,
}

impl App {
    /// Reads the Threads of the workspace.
    pub(super) fn read_workspace(&mut self) {
        let client = self.client.clone();
        let params = ThreadListParams {
            include_sub_agents: true,
            ..self.threads_params(100)
        };
        self.ask(
            async move { client.read::<ThreadListResult>("thread/list", &params).await },
            |app, listed| {
                app.workspace.known.clear();
                for thread in listed.data {
                    let known = app.workspace.known.entry(thread.id).or_default();
                    known.describe(thread.display_name, thread.source);
                    if let Some(runtime) = thread.runtime {
                        known.put(runtime);
                    }
                }
                app.follow();
            },
        );
    }

    /// Takes a change of any Thread of the workspace.
    pub(super) fn workspace_changed(&mut self, news: &Notification) {
        let Some(id) = news.thread.as_deref() else { return };
        match news.method.as_ref() {
            "thread/runtimeChanged" => {
                let Some(changed) = news.params::<ThreadRuntimeChangedNotification>() else {
                    return;
                };
                if let Some(known) = self.workspace.known.get_mut(id) {
                    known.put(changed.runtime);
                    self.follow();
                }
            }
            "thread/started" => {
                let started = news.params::<ThreadStartedNotification>();
                if let (Some(started), Some(known)) = (started, self.workspace.entry(id)) {
                    known.describe(started.thread.display_name, started.thread.source);
                }
            }
            "thread/renamed" => {
                let renamed = news.params::<ThreadRenamedNotification>();
                if let (Some(renamed), Some(known)) = (renamed, self.workspace.known.get_mut(id)) {
                    known.title = Some(renamed.display_name);
                }
            }
            "thread/deleted" => {
                self.workspace.known.remove(id);
                self.follow();
            }
            _ => {}
        }
    }

    /// Notes that another Thread is open, or the same one again.
    pub(super) fn opened(&mut self) {
        self.workspace.openings += 1;
        let all: Vec<Asked> = self.asked.drain(..).chain(self.elsewhere.drain(..)).collect();
        for asked in all {
            self.place(asked);
        }
        self.follow();
    }

    /// Shows a question if it is one of the open Thread or of its subagents, and has those of other Threads wait.
    pub(super) fn place(&mut self, mut asked: Asked) {
        let id = asked.question.thread_id();
        let root = self.workspace.root(id);
        let is_open = self.thread.as_deref() == Some(id);
        asked.agent = self.workspace.agent(id).filter(|_| !is_open);
        let is_other = Some(root) != self.thread.as_deref() && self.workspace.known.contains_key(root);
        if is_other || self.thread.is_none() {
            asked.title = Some(self.workspace.title(root));
            self.elsewhere.push(asked);
        } else {
            asked.title = None;
            self.asked.push_back(asked);
        }
    }

    /// Follows the open Thread and those that have a question, one change at a time.
    pub(super) fn follow(&mut self) {
        if self.workspace.is_busy {
            return;
        }
        let open = self.thread.as_deref();
        let known = self.workspace.known.iter();
        // Questions of the open Thread's subagents come with it.
        let asking =
            known.filter(|(_, known)| known.asks && (open.is_none() || known.root.as_deref() != open));
        let mut wanted: BTreeMap<String, u64> = asking.take(MOST).map(|(id, _)| (id.clone(), 0)).collect();
        if let Some(open) = &self.thread {
            wanted.insert(open.clone(), self.workspace.openings);
        }
        let followed = &self.workspace.followed;
        let gone: Vec<String> = followed
            .keys()
            .filter(|id| !wanted.contains_key(*id))
            .cloned()
            .collect();
        let new: Vec<(String, u32)> = wanted
            .iter()
            .filter(|(id, opening)| match followed.get(*id) {
                None => true,
                Some(known) => **opening != 0 && known != *opening,
            })
            .map(|(id, opening)| (id.clone(), if *opening == 0 { 1 } else { TURNS }))
            .collect();
        self.workspace.followed = wanted;
        if gone.is_empty() && new.is_empty() {
            return;
        }
        self.workspace.is_busy = true;
        let client = self.client.clone();
        self.ask(
            async move {
                for id in gone {
                    client.unfollow(&id).await;
                }
                for (id, turns) in new {
                    client.follow(&id, turns).await;
                }
                Ok(())
            },
            |app, ()| {
                app.workspace.is_busy = false;
                app.follow();
            },
        );
    }

    /// Lists all that needs an answer in the workspace.
    pub(super) fn list_waiting(&mut self) {
        let mut entries: Vec<Entry> = self
            .elsewhere
            .iter()
            .map(|asked| Entry {
                value: asked.question.request_id().to_owned(),
                label: safe_line(asked.title.as_deref().unwrap_or_default()),
                note: asked.summary(),
            })
            .collect();
        let planned = self.workspace.known.iter().filter(|(_, known)| known.has_plan);
        let planned = planned.filter(|(id, _)| Some(id.as_str()) != self.thread.as_deref());
        entries.extend(planned.map(|(id, _)| Entry {
            value: id.clone(),
            label: safe_line(&self.workspace.title(id)),
            note: "has a plan to review".to_owned(),
        }));
        if entries.is_empty() {
            return self.note("no other thread needs your attention");
        }
        self.picker = Some((Purpose::Waiting, Picker::new("Needs attention", entries, None)));
    }

    /// Shows the question that was chosen, or opens the Thread with the plan.
    pub(super) fn choose_waiting(&mut self, value: &str) {
        let place = self
            .elsewhere
            .iter()
            .position(|asked| asked.question.request_id() == value);
        match place {
            Some(place) => {
                let asked = self.elsewhere.remove(place);
                self.asked.push_front(asked);
            }
            None if self.workspace.known.contains_key(value) => self.open(value.to_owned()),
            None => self.note("the question is settled"),
        }
    }

    /// Returns the line that says that other Threads wait.
    pub(super) fn waiting_line(&self, width: usize) -> Option<Line> {
        let text = match self.elsewhere.len() {
            0 => return None,
            1 => "  ? 1 question in another thread · Ctrl-Q shows it".to_owned(),
            count => format!("  ? {count} questions in other threads · Ctrl-Q shows them"),
        };
        Some(Line::of(text, WARN).cut(width))
    }
}

impl Workspace {
    fn entry(&mut self, id: &str) -> Option<&mut Known> {
        if self.known.len() >= MAX_KNOWN && !self.known.contains_key(id) {
            return None;
        }
        Some(self.known.entry(id.to_owned()).or_default())
    }

    /// Returns the Thread at the top of a subagent's, or the same one.
    fn root<'a>(&'a self, id: &'a str) -> &'a str {
        let known = self.known.get(id).and_then(|known| known.root.as_deref());
        known.unwrap_or(id)
    }

    /// Returns the name of the subagent that has this Thread.
    fn agent(&self, id: &str) -> Option<String> {
        match self.known.get(id) {
            // Only a subagent's questions come before its Thread is known.
            None => Some("of this thread".to_owned()),
            Some(Known { root: None, .. }) => None,
            Some(known) => Some(known.agent.clone().unwrap_or_else(|| self.title(id))),
        }
    }

    fn title(&self, id: &str) -> String {
        let title = self.known.get(id).and_then(|known| known.title.clone());
        title.unwrap_or_else(|| "without a title".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use bobbin_client::Question;
    use serde_json::json;

    use super::*;
    use crate::app::Opens;
    use crate::app::tests::app;

    #[tokio::test]
    async fn a_question_of_a_subagent_has_its_name() {
        let mut app = app(Opens::New, None);
        app.thread = Some("t".to_owned());
        for (id, source) in [
            ("t", json!({ "kind": "user" })),
            (
                "named",
                json!({ "kind": "subagent", "subAgent": {
                    "parentThreadId": "t", "rootThreadId": "t", "depth": 1, "agentNickname": "Fido",
                    "supportsSendInput": true, "supportsSendMessage": true, "supportsFollowupTask": true,
                    "supportsResume": true, "supportsClose": true,
                }}),
            ),
        ] {
            let source = serde_json::from_value(source).unwrap();
            app.workspace.entry(id).unwrap().describe(None, source);
        }
        let mut asks = |thread: &str| {
            let params = json!({
                "threadId": thread, "turnId": "u", "itemId": "i", "requestId": thread, "approvalType": "shell",
                "operation": "rm x", "target": "/w", "scopeKey": "shell:rm x", "expiresAt": "2027-01-01T00:00:00.000Z",
            });
            app.place(Asked::new(Question::Approval(
                serde_json::from_value(params).unwrap(),
            )));
            app.asked.back().unwrap().agent.clone()
        };
        assert_eq!(asks("t"), None);
        assert_eq!(asks("named").as_deref(), Some("Fido"));
        assert_eq!(asks("unknown").as_deref(), Some("of this thread"));
    }
}
