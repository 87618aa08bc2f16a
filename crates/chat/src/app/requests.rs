//! The requests of the client: Threads and prompts.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use bobbin_client::{Client, RequestError, ThreadState};
use bobbin_model::QueueStatus;
use bobbin_native_wire::command::types::{CommandListParams, CommandListResult};
use bobbin_native_wire::handshake::types::{EmptyParams, EmptyResult};
use bobbin_native_wire::models::types::WorkspaceDefaultsResult;
use bobbin_native_wire::thread::config::ThreadConfiguration;
use bobbin_native_wire::thread::params::{
    ListIdentity, ListScope, ThreadListParams, ThreadListResult, ThreadReadParams, ThreadReadResult,
    ThreadResult, ThreadStartParams,
};
use bobbin_native_wire::thread::types::SessionIdentity;
use bobbin_native_wire::trust::types::{WorkspaceTrustResult, WorkspaceTrustSetParams};
use bobbin_native_wire::turn::input_types::{CommandRefPart, FileRefPart, InputPart};
use bobbin_native_wire::turn::params::{
    ThreadShellCommandParams, TurnEnqueueParams, TurnEnqueueResult, TurnInterruptParams,
    TurnQueueRemoveParams, TurnQueueResult, TurnStartParams, TurnStartResult, TurnSteerParams,
    TurnSteerResult,
};
use bobbin_native_wire::turn::queue_types::QueuedTurnInput;

use crate::commands::{self, COMMANDS};
use crate::pictures::{media_type, picture};
use crate::view::Printed;

use super::{App, Outcome};

/// Commands of the server that a client cannot send as a prompt.
const NO_PROMPTS: [&str; 2] = ["cron", "heartbeat"];

impl App {
    /// Makes a request, and does with its result what `then` says.
    pub(super) fn ask<R: Send + 'static>(
        &mut self,
        request: impl Future<Output = Result<R, RequestError>> + Send + 'static,
        then: impl FnOnce(&mut Self, R) + Send + 'static,
    ) {
        self.work.spawn(async move {
            let result = request.await;
            let outcome: Outcome = Box::new(move |app: &mut Self| match result {
                Ok(result) => then(app, result),
                Err(error) => app.complain(&error.to_string()),
            });
            outcome
        });
    }

    /// Reads what each connection may bring anew.
    pub(super) fn ask_server(&mut self) {
        if let Some(fingerprints) = self.settings.trusted.take() {
            // A server that runs already puts it into effect.
            let params = WorkspaceTrustSetParams {
                trusted: true,
                fingerprints: Some(fingerprints),
                client_request_id: None,
            };
            let client = self.client.clone();
            self.ask(
                async move {
                    client
                        .once::<WorkspaceTrustResult>("workspace/trust/set", &params)
                        .await
                },
                |_, _| {},
            );
        }
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .read::<WorkspaceDefaultsResult>("workspace/defaults/read", &EmptyParams {})
                    .await
            },
            |app, defaults| {
                if app.defaults.is_none()
                    && let Some(notice) = &defaults.notice
                {
                    app.note(&notice.clone());
                }
                app.defaults = Some(defaults);
            },
        );
        self.read_commands();
    }

    /// Reads the commands for the Thread. Those of another agent come with its Turns.
    pub(super) fn read_commands(&mut self) {
        self.ask(self.commands(), Self::set_commands);
    }

    fn commands(&self) -> impl Future<Output = Result<CommandListResult, RequestError>> + Send + 'static {
        let client = self.client.clone();
        let params = CommandListParams {
            thread_id: self.thread.clone(),
            ..CommandListParams::default()
        };
        async move { client.read::<CommandListResult>("command/list", &params).await }
    }

    fn set_commands(&mut self, listed: CommandListResult) {
        let named = listed.commands.into_iter().map(|command| {
            let name = command.name.trim_start_matches('/').to_owned();
            (name, command.description)
        });
        let is_prompt = |name: &str| commands::find(name).is_none() && !NO_PROMPTS.contains(&name);
        self.prompts = Some(named.filter(|(name, _)| is_prompt(name)).collect());
    }

    /// Submits a text when the server's commands are known.
    fn submit_later(&mut self, text: String) {
        let listed = self.commands();
        self.work.spawn(async move {
            let listed = listed.await;
            let outcome: Outcome = Box::new(move |app: &mut Self| match listed {
                Ok(listed) => {
                    app.set_commands(listed);
                    app.submit(text);
                }
                Err(error) => app.not_sent(text, &error),
            });
            outcome
        });
    }

    pub(super) fn read_configuration(&mut self) {
        let Some(thread_id) = self.thread.clone() else {
            return;
        };
        let client = self.client.clone();
        let params = ThreadReadParams {
            thread_id: thread_id.clone(),
            include_turns: false,
            turn_limit: None,
            cursor: None,
        };
        self.ask(
            async move { client.read::<ThreadReadResult>("thread/read", &params).await },
            move |app, read| {
                if let Some(thread) = app.state.thread.as_mut().filter(|thread| thread.id == thread_id) {
                    thread.configuration = read.thread.configuration;
                }
            },
        );
    }

    pub(super) fn identity(&self) -> SessionIdentity {
        SessionIdentity {
            channel_name: "cli".to_owned(),
            workspace_path: Some(self.settings.workspace.clone()),
            ..SessionIdentity::default()
        }
    }

    /// Follows another Thread.
    pub(super) fn open(&mut self, id: String) {
        self.store_draft();
        self.load_draft(Some(&id));
        self.show_thread(id);
    }

    fn show_thread(&mut self, id: String) {
        self.thread = Some(id);
        self.state = ThreadState::default();
        self.printed = Printed::default();
        self.running_since = None;
        self.terminals.clear();
        self.opened();
        self.list_terminals();
    }

    /// Goes on without a Thread: the next prompt starts one.
    pub(super) fn forget_thread(&mut self) {
        self.store_draft();
        self.thread = None;
        // The prompt stays, and nothing of it is the draft of a new Thread yet.
        self.stored.clear();
        self.terminals.clear();
        self.state = ThreadState::default();
        self.printed = Printed::default();
        self.running_since = None;
        self.opened();
    }

    pub(super) fn threads_params(&self, limit: u32) -> ThreadListParams {
        ThreadListParams {
            identity: Some(ListIdentity {
                channel_name: Some("cli".to_owned()),
                user_id: None,
                channel_context: None,
                workspace_path: Some(self.settings.workspace.clone()),
            }),
            scope: Some(ListScope::Workspace),
            include_archived: false,
            include_sub_agents: false,
            cross_channel_origins: None,
            channel_name: None,
            query: None,
            limit: Some(limit),
            cursor: None,
        }
    }

    pub(super) fn open_last(&mut self) {
        let (client, params) = (self.client.clone(), self.threads_params(1));
        self.ask(
            async move { client.read::<ThreadListResult>("thread/list", &params).await },
            |app, listed| match listed.data.into_iter().next() {
                Some(thread) => app.open(thread.id),
                None => app.note("there is no thread yet: describe a task to start one"),
            },
        );
    }

    /// Sends a prompt, or does what it commands.
    pub(super) fn submit(&mut self, text: String) {
        if text.trim().is_empty() || self.carries_out(&text) {
            return;
        }
        let input = self.input_of(&text);
        self.send(text, input);
    }

    /// Carries a command out, or puts an unknown one back into the prompt. Returns whether the text is no prompt.
    fn carries_out(&mut self, text: &str) -> bool {
        let Some(name) = commands::command_of(text) else {
            return false;
        };
        if let Some(command) = commands::find(name) {
            self.act(command.act, text[1 + name.len()..].trim());
            return true;
        }
        let Some(prompts) = &self.prompts else {
            self.submit_later(text.to_owned());
            return true;
        };
        if prompts.iter().any(|(known, _)| known == name) {
            return false;
        }
        let all = COMMANDS.iter().map(|command| command.name);
        let all = all.chain(prompts.iter().map(|(known, _)| known.as_str()));
        let nearest = commands::nearest(name, all);
        let offer = offered(nearest.into_iter().map(|name| format!("/{name}")));
        self.complain(&format!(
            "There is no command /{name}{offer} A blank in front sends it as a text; /help lists the commands."
        ));
        self.compose.set(text);
        true
    }

    /// Returns a prompt as parts.
    pub(super) fn input_of(&mut self, text: &str) -> Vec<InputPart> {
        let mut prompts = self.prompts.iter().flatten();
        if let Some(name) = commands::command_of(text)
            && prompts.any(|(known, _)| known == name)
        {
            return vec![InputPart::CommandRef(CommandRefPart {
                name: name.to_owned(),
                args_text: Some(text[1 + name.len()..].trim().to_owned()),
                raw_text: Some(text.trim().to_owned()),
            })];
        }
        let root = self.state.thread.as_ref().map(|thread| thread.cwd.clone());
        let root = PathBuf::from(root.unwrap_or_else(|| self.settings.workspace.clone()));
        let mut pictures = self.compose.take_pictures(text);
        let files = std::mem::take(&mut self.files).into_iter();
        let named = files.filter(|path| text.contains(&format!("@{path}")));
        let (shown, files): (Vec<_>, Vec<_>) = named.partition(|path| media_type(Path::new(path)).is_some());
        pictures.extend(shown.iter().map(|path| root.join(path)));
        let mut input = parts(text, &files);
        for path in pictures {
            match picture(&path) {
                Ok(part) => input.push(InputPart::LocalImage(part)),
                Err(error) => self.complain(&format!("{error:#}")),
            }
        }
        input
    }

    fn send(&mut self, text: String, input: Vec<InputPart>) {
        let client = self.client.clone();
        let Some(thread_id) = self.thread.clone() else {
            return self.start(text, input);
        };
        let command = own_command(&text);
        let is_running = self.state.open_turn().is_some();
        if command.is_some() && is_running {
            self.complain("A command of your own runs when the turn has ended; Esc interrupts it.");
            return self.compose.set(text);
        }
        self.work.spawn(async move {
            let sent = if is_running {
                let params = TurnEnqueueParams {
                    thread_id,
                    input,
                    sender: None,
                    client_user_message_id: None,
                    client_request_id: None,
                };
                client
                    .once::<TurnEnqueueResult>("turn/enqueue", &params)
                    .await
                    .map(|_| None)
            } else {
                start_turn(&client, thread_id, command, input).await.map(Some)
            };
            let outcome: Outcome = Box::new(move |app: &mut Self| match sent {
                Ok(turn) => app.sent = turn,
                Err(error) => app.not_sent(text, &error),
            });
            outcome
        });
    }

    /// Starts a Thread with its first prompt.
    fn start(&mut self, text: String, input: Vec<InputPart>) {
        if std::mem::replace(&mut self.is_starting, true) {
            self.compose.set(text);
            return;
        }
        let (client, command) = (self.client.clone(), own_command(&text));
        let config = Some(self.draft.clone()).filter(|config| *config != ThreadConfiguration::default());
        let params = ThreadStartParams {
            identity: self.identity(),
            config,
            history_mode: None,
            display_name: None,
            dynamic_tools: None,
            client_request_id: None,
        };
        self.work.spawn(async move {
            let started = async {
                let started = client.once::<ThreadResult>("thread/start", &params).await?;
                let id = started.thread.id;
                let turn = start_turn(&client, id.clone(), command, input).await;
                Ok::<_, RequestError>((id, turn))
            };
            let started = started.await;
            let outcome: Outcome = Box::new(move |app: &mut Self| {
                app.is_starting = false;
                let error = match started {
                    Ok((id, turn)) => {
                        // What is typed by now belongs to this Thread.
                        app.store_draft_as("");
                        app.show_thread(id);
                        turn.map(|turn| app.sent = Some(turn)).err()
                    }
                    Err(error) => Some(error),
                };
                if let Some(error) = error {
                    app.complain(&error.to_string());
                    app.compose.set(text);
                }
            });
            outcome
        });
    }

    /// Gives the prompt, or what waits first, to the running Turn. Without one, starts a Turn with it.
    pub(super) fn send_now(&mut self) {
        let mut inputs = self.state.thread.iter().flat_map(|thread| &thread.queued_inputs);
        let waiting = inputs.find(|input| input.status == QueueStatus::Queued && self.compose.is_empty());
        let Some((thread_id, turn)) = self.thread.clone().zip(self.state.open_turn()) else {
            if let Some(waiting) = waiting.cloned() {
                return self.start_waiting(waiting);
            }
            let text = self.compose.take();
            return self.submit(text);
        };
        let expected_turn_id = turn.turn.id.clone();
        let (input, queued_input_id) = if self.compose.is_empty() {
            match waiting {
                Some(waiting) => (None, Some(waiting.id.clone())),
                None => return,
            }
        } else {
            let text = self.compose.take();
            if self.carries_out(&text) {
                return;
            }
            (Some(self.input_of(&text)), None)
        };
        let params = TurnSteerParams {
            thread_id,
            expected_turn_id,
            queued_input_id,
            input,
            sender: None,
            client_user_message_id: None,
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<TurnSteerResult>("turn/steer", &params).await },
            |app, _| app.note("the turn takes it up at its next step"),
        );
    }

    /// Starts a Turn with an input that waits: its own was to follow one that did not complete.
    fn start_waiting(&mut self, waiting: QueuedTurnInput) {
        let client = self.client.clone();
        let remove = TurnQueueRemoveParams {
            thread_id: waiting.thread_id.clone(),
            queued_input_id: waiting.id,
            client_request_id: None,
        };
        let (thread_id, text) = (waiting.thread_id, waiting.display_text);
        self.ask(
            async move { client.once::<TurnQueueResult>("turn/queue/remove", &remove).await },
            move |app, _| {
                let client = app.client.clone();
                app.work.spawn(async move {
                    let sent = start_turn(&client, thread_id, None, waiting.native_input_parts).await;
                    let outcome: Outcome = Box::new(move |app: &mut Self| match sent {
                        Ok(turn) => app.sent = Some(turn),
                        Err(error) => app.not_sent(text, &error),
                    });
                    outcome
                });
            },
        );
    }

    /// Puts what could not be sent back into the prompt.
    fn not_sent(&mut self, text: String, error: &RequestError) {
        self.complain(&error.to_string());
        if self.compose.is_empty() {
            self.compose.set(text);
        }
    }

    /// Takes the last input that waits back into the prompt.
    pub(super) fn take_back(&mut self) -> bool {
        let inputs = self.state.thread.iter().flat_map(|thread| &thread.queued_inputs);
        let Some(last) = inputs.last().cloned() else {
            return false;
        };
        let Some(thread_id) = self.thread.clone() else {
            return false;
        };
        let params = TurnQueueRemoveParams {
            thread_id,
            queued_input_id: last.id,
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<TurnQueueResult>("turn/queue/remove", &params).await },
            move |app, _| {
                if app.compose.is_empty() {
                    app.compose.set(last.display_text);
                }
            },
        );
        true
    }

    pub(super) fn interrupt(&mut self) {
        let Some(thread_id) = self.thread.clone() else {
            return;
        };
        let params = TurnInterruptParams {
            thread_id,
            turn_id: String::new(),
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<EmptyResult>("turn/interrupt", &params).await },
            |_, _| {},
        );
    }
}

/// Returns the end of a sentence that offers names.
pub(super) fn offered(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        return ".".to_owned();
    }
    format!("; the nearest: {}.", names.join(", "))
}

/// Returns a text as parts, with each of the files where the text names it.
fn parts(text: &str, files: &[String]) -> Vec<InputPart> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let named = files.iter().filter_map(|path| {
            let at = rest.find(&format!("@{path}"))?;
            Some((at, path))
        });
        // Of two paths at one place, the longer one.
        let first = named.min_by_key(|(at, path)| (*at, Reverse(path.len())));
        let text = first.map_or(rest, |(at, _)| &rest[..at]);
        if !text.is_empty() || parts.is_empty() && first.is_none() {
            parts.push(InputPart::text(text));
        }
        let Some((at, path)) = first else {
            return parts;
        };
        parts.push(InputPart::FileRef(FileRefPart {
            display_path: Some(path.clone()),
            path: path.clone(),
        }));
        rest = &rest[at + 1 + path.len()..];
        if rest.is_empty() {
            return parts;
        }
    }
}

/// Returns the command that a text asks for: `!` and the line.
fn own_command(text: &str) -> Option<String> {
    let line = text.trim().strip_prefix('!')?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// Starts a Turn: of a prompt, or of the user's own command. Returns its id.
async fn start_turn(
    client: &Client,
    thread_id: String,
    command: Option<String>,
    input: Vec<InputPart>,
) -> Result<String, RequestError> {
    let started: TurnStartResult = match command {
        Some(command) => {
            let params = ThreadShellCommandParams {
                thread_id,
                command,
                client_request_id: None,
            };
            client.once("thread/shellCommand", &params).await?
        }
        None => client.once("turn/start", &start_params(thread_id, input)).await?,
    };
    Ok(started.turn.id)
}

fn start_params(thread_id: String, input: Vec<InputPart>) -> TurnStartParams {
    TurnStartParams {
        thread_id,
        input,
        sender: None,
        client_user_message_id: None,
        reasoning_effort: None,
        allow: None,
        sandbox: None,
        messages: None,
        client_request_id: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::app::Opens;
    use crate::app::tests::app;

    #[tokio::test]
    async fn an_unknown_command_stays_in_the_prompt_and_a_path_is_sent() {
        let mut app = app(Opens::New, None);
        app.prompts = Some(vec![("brew".to_owned(), String::new())]);
        app.submit("/nonsense and more".to_owned());
        app.submit("/modle".to_owned());
        assert_eq!((app.compose.text(), app.work.len()), ("/modle", 0));
        let said: String = app.notes.iter().map(|line| line.text() + "\n").collect();
        assert!(said.contains("There is no command /nonsense."), "{said}");
        assert!(said.contains("/modle; the nearest: /model"), "{said}");

        for text in ["/etc/hosts is a file", " /nonsense", "/brew tea"] {
            app.compose.clear();
            app.is_starting = false;
            app.submit(text.to_owned());
            assert!(app.is_starting && app.compose.is_empty(), "{text}");
        }
        let input = app.input_of("/brew green tea");
        assert!(
            matches!(&input[..], [InputPart::CommandRef(part)] if part.args_text.as_deref() == Some("green tea"))
        );
    }

    #[tokio::test]
    async fn before_the_prompts_are_known_a_command_waits_for_them() {
        let mut app = app(Opens::New, None);
        app.submit("/brew tea".to_owned());
        assert_eq!((app.is_starting, app.work.len()), (false, 1));
        app.submit("brew tea".to_owned());
        assert_eq!((app.is_starting, app.work.len()), (true, 2));
    }

    #[tokio::test]
    async fn an_input_that_is_left_of_a_stopped_turn_can_be_sent() {
        let mut app = app(Opens::New, None);
        let at = "2027-01-01T00:00:00.000Z";
        let input = json!({
            "id": "q", "threadId": "t", "nativeInputParts": [], "materializedInputParts": [], "displayText": "then",
            "status": "queued", "createdAt": at,
        });
        let thread = json!({
            "id": "t", "sessionId": "t", "workspacePath": "/w", "effectiveWorkspacePath": "/w", "cwd": "/w",
            "runtimeWorkspaceRoots": ["/w"], "ephemeral": false, "worktree": null, "originChannel": "cli",
            "source": { "kind": "user" }, "status": "active", "createdAt": at, "lastActiveAt": at,
            "historyMode": "server", "metadata": {}, "queuedInputs": [input], "turns": [],
            "runtime": { "running": false, "waitingOnApproval": false, "waitingOnPlanConfirmation": false },
        });
        let read = json!({ "thread": thread, "seq": 1 });
        app.state.replace(serde_json::from_value(read).unwrap());
        app.thread = Some("t".to_owned());
        app.send_now();
        assert_eq!(app.work.len(), 1);
    }

    fn kinds(parts: &[InputPart]) -> Vec<String> {
        let kind = |part: &InputPart| match part {
            InputPart::Text(part) => part.text.clone(),
            InputPart::FileRef(part) => format!("<{}>", part.path),
            _ => String::new(),
        };
        parts.iter().map(kind).collect()
    }

    #[test]
    fn files_are_parts_where_the_text_names_them() {
        let files = ["a".to_owned(), "a.rs".to_owned()];
        let all = kinds(&parts("see @a.rs and @a", &files));
        assert_eq!(all, ["see ", "<a.rs>", " and ", "<a>"]);
        assert_eq!(
            kinds(&parts("@a, twice: @a", &files)),
            ["<a>", ", twice: ", "<a>"]
        );
        assert_eq!(kinds(&parts("@b", &files)), ["@b"]);
    }
}
