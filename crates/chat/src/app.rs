//! The client itself: its state, the keys, and the loop around both.

use std::collections::VecDeque;
use std::io::{Stdout, stdout};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bobbin_client::{Answer, Client, Connect, Event, Events, Options, Question, RequestError, ThreadState};
use bobbin_model::{ApprovalPolicy, Effort, ModelListErrorCode};
use bobbin_native_wire::command::types::{CommandCategory, CommandListParams, CommandListResult};
use bobbin_native_wire::file::types::{WorkspaceFilesFindParams, WorkspaceFilesFindResult};
use bobbin_native_wire::handshake::types::{EmptyParams, EmptyResult};
use bobbin_native_wire::history::types::{
    ThreadForkParams, TurnDiffReadParams, TurnDiffReadResult, TurnRevertParams, TurnRevertResult,
};
use bobbin_native_wire::item::payload::ItemPayload;
use bobbin_native_wire::mcp::types::McpStatusListResult;
use bobbin_native_wire::models::types::{ModelListParams, ModelListResult, WorkspaceDefaultsResult};
use bobbin_native_wire::thread::config::ThreadConfiguration;
use bobbin_native_wire::thread::params::{
    ListIdentity, ListScope, ThreadConfigUpdateParams, ThreadListParams, ThreadListResult, ThreadReadParams,
    ThreadReadResult, ThreadRenameParams, ThreadResult, ThreadRollbackParams, ThreadRollbackResult,
    ThreadStartParams, ThreadTargetParams,
};
use bobbin_native_wire::thread::types::SessionIdentity;
use bobbin_native_wire::trust::types::{WorkspaceTrustResult, WorkspaceTrustSetParams};
use bobbin_native_wire::turn::input_types::{CommandRefPart, FileRefPart, InputPart};
use bobbin_native_wire::turn::params::{
    TurnEnqueueParams, TurnEnqueueResult, TurnInterruptParams, TurnQueueRemoveParams, TurnQueueResult,
    TurnStartParams, TurnStartResult, TurnSteerParams, TurnSteerResult,
};
use crossterm::event::{Event as Input, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal;
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::ask::{self, Asked};
use crate::cells::{self, Body, Call};
use crate::change;
use crate::commands::{self, Act, COMMANDS, KEYS};
use crate::compose::{Compose, Wanted};
use crate::picker::{self, Entry, Picker};
use crate::screen::{Place, Screen};
use crate::terminal::Modes;
use crate::text::{Line, Style, safe_line};
use crate::transcript::{BAD, GOOD, WARN, grouped, hanging, money, said};
use crate::view::{self, Printed, Status};

/// Turns that are read of a Thread at first.
const TURNS: u32 = 10;
/// Shortest time between two pictures.
const FRAME: Duration = Duration::from_millis(33);
/// Time between two pictures of the spinner.
const TICK: Duration = Duration::from_millis(125);
/// Time in which a second Ctrl-C or Esc belongs to the first.
const TWICE: Duration = Duration::from_secs(1);
/// Events that are taken before a picture is drawn.
const MAX_EVENTS: usize = 1_000;
/// Lines of a menu.
const MENU: usize = 8;
/// Rows of the prompt.
const PROMPT: usize = 10;
/// Threads in the list.
const THREADS: u32 = 200;
/// Longest wait for the server when the user leaves.
const LEAVING: Duration = Duration::from_secs(1);
/// Lines of a diff that are shown.
const MAX_DIFF: usize = 2_000;

/// What the client starts with.
#[derive(Debug)]
pub struct Settings {
    /// The workspace.
    pub workspace: String,
    /// The Thread.
    pub opens: Opens,
    /// The first prompt.
    pub prompt: Option<String>,
    /// The configuration of a new Thread.
    pub config: ThreadConfiguration,
    /// The items of the folder that its user trusts since this start, by their fingerprints.
    pub trusted: Option<Vec<String>>,
    /// The version of this program.
    pub version: &'static str,
    /// Whether colours are shown.
    pub has_colors: bool,
    /// The user's editor.
    pub editor: Option<String>,
}

/// The Thread that is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opens {
    /// A new one, with the first prompt.
    New,
    /// The one that its user chooses.
    Choice,
    /// The one that was active last.
    Last,
    /// This one.
    Thread(String),
}

/// The result of a request: what it does to the client.
type Outcome = Box<dyn FnOnce(&mut App) + Send>;

/// A list that is shown, and what is done with the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Threads,
    Models,
    Efforts,
    Policies,
    /// Back to an earlier message.
    Messages,
}

/// Completions below the prompt.
#[derive(Debug, Default)]
struct Menu {
    wanted: Option<Wanted>,
    /// The text that is inserted, and what is shown.
    entries: Vec<(String, Line)>,
    chosen: usize,
}

struct App {
    settings: Settings,
    client: Client,
    work: JoinSet<Outcome>,
    state: ThreadState,
    printed: Printed,
    /// The Thread that is followed.
    thread: Option<String>,
    /// Configuration of the next new Thread.
    draft: ThreadConfiguration,
    defaults: Option<WorkspaceDefaultsResult>,
    /// Commands of the server that are prompts.
    prompts: Vec<(String, String)>,
    /// Files that were chosen from the menu.
    files: Vec<String>,
    compose: Compose,
    asked: VecDeque<Asked>,
    picker: Option<(Purpose, Picker)>,
    menu: Menu,
    /// Lines of our own words that are not printed yet.
    notes: Vec<Line>,
    /// The reason why there is no connection.
    lost: Option<String>,
    /// A Thread is being started, so a second prompt waits.
    is_starting: bool,
    running_since: Option<Instant>,
    ticks: usize,
    /// The last key that counts twice, and when.
    once: Option<(KeyCode, Instant)>,
    bell: bool,
    is_over: bool,
    /// The editor is wanted, or the shell.
    leaves: Option<Leaves>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaves {
    ForEditor,
    ForShell,
    Redraws,
}

/// Runs the client until its user leaves. Returns the Thread that was open.
///
/// # Errors
/// There is no terminal, or the server refuses the client for good.
pub async fn run(connect: impl Connect, settings: Settings) -> anyhow::Result<Option<String>> {
    let mut options = Options::new("bobbin-chat", settings.version);
    let capabilities = &mut options.capabilities;
    capabilities.command_execution_streaming = true;
    capabilities.tool_execution_lifecycle = true;
    capabilities.workspace_trust = true;
    capabilities.sandboxed_policy = true;
    capabilities.person = Some(true);
    let (client, mut events) = Client::start(connect, options);
    let modes = Modes::take()?;
    let (columns, rows) = terminal::size()?;
    let size = (usize::from(columns), usize::from(rows));
    let mut screen = Screen::new(stdout(), size, settings.has_colors);
    let mut app = App::new(settings, client.clone());
    app.begin();
    let ended = app.serve(&mut events, &mut screen, &modes).await;
    drop(screen.clear());
    drop(modes);
    client.close().await;
    drop(tokio::time::timeout(LEAVING, events.ended()).await);
    ended?;
    Ok(app.thread)
}

impl App {
    fn new(settings: Settings, client: Client) -> Self {
        Self {
            draft: settings.config.clone(),
            settings,
            client,
            work: JoinSet::new(),
            state: ThreadState::default(),
            printed: Printed::default(),
            thread: None,
            defaults: None,
            prompts: Vec::new(),
            files: Vec::new(),
            compose: Compose::default(),
            asked: VecDeque::new(),
            picker: None,
            menu: Menu::default(),
            notes: Vec::new(),
            lost: None,
            is_starting: false,
            running_since: None,
            ticks: 0,
            once: None,
            bell: false,
            is_over: false,
            leaves: None,
        }
    }

    /// Opens the Thread that is wanted.
    fn begin(&mut self) {
        match self.settings.opens.clone() {
            Opens::New => {}
            Opens::Choice => self.list_threads(),
            Opens::Last => self.open_last(),
            Opens::Thread(id) => self.open(id),
        }
        if let (Opens::New, Some(prompt)) = (&self.settings.opens, self.settings.prompt.take()) {
            self.submit(prompt);
        }
    }

    async fn serve(
        &mut self,
        events: &mut Events,
        screen: &mut Screen<Stdout>,
        modes: &Modes,
    ) -> anyhow::Result<()> {
        let mut input = EventStream::new();
        let mut drawn = Instant::now() - FRAME;
        let mut is_changed = true;
        let mut next_tick = Instant::now() + TICK;
        loop {
            if is_changed && drawn.elapsed() >= FRAME {
                self.draw(screen)?;
                drawn = Instant::now();
                is_changed = false;
            }
            let is_working = self.state.open_turn().is_some();
            tokio::select! {
                Some(outcome) = self.work.join_next() => {
                    if let Ok(outcome) = outcome {
                        outcome(self);
                    }
                    is_changed = true;
                }
                event = events.next() => {
                    let Some(event) = event else { return Ok(()) };
                    self.event(event)?;
                    // A burst is one picture.
                    for _ in 0..MAX_EVENTS {
                        let Some(event) = events.next_now() else { break };
                        self.event(event)?;
                    }
                    is_changed = true;
                }
                typed = input.next() => {
                    // A terminal that is gone leaves no one to talk to.
                    let Some(Ok(typed)) = typed else { return Ok(()) };
                    self.input(typed, screen);
                    is_changed = true;
                }
                () = sleep_until(drawn + FRAME), if is_changed => {}
                () = sleep_until(next_tick), if is_working => {
                    next_tick = Instant::now() + TICK;
                    self.ticks += 1;
                    is_changed = true;
                }
            }
            if let Some(leaves) = self.leaves.take() {
                screen.clear()?;
                // Another program reads the keys meanwhile.
                drop(input);
                match leaves {
                    Leaves::ForShell => modes.suspend()?,
                    Leaves::Redraws => {}
                    Leaves::ForEditor => self.edit(modes),
                }
                let (columns, rows) = terminal::size()?;
                screen.resize((usize::from(columns), usize::from(rows)));
                input = EventStream::new();
                is_changed = true;
            }
            if self.is_over {
                return Ok(());
            }
        }
    }

    fn edit(&mut self, modes: &Modes) {
        let editor = self.settings.editor.as_deref().unwrap_or("vi");
        match modes.edit(editor, self.compose.text()) {
            Ok(text) => self.compose.set(text),
            Err(error) => self.complain(&format!("{error:#}")),
        }
    }

    // ---- News of the server

    fn event(&mut self, event: Event) -> anyhow::Result<()> {
        match event {
            Event::Connected(_) => {
                self.lost = None;
                self.ask_server();
            }
            Event::Disconnected { why, .. } => self.lost = Some(why),
            Event::Closed { why } => anyhow::bail!(why),
            Event::Read(read) => self.read(*read),
            Event::NotFollowed { why, .. } => self.complain(&format!("the thread cannot be shown: {why}")),
            Event::Notification(news) => {
                if news.thread.is_some() && news.thread == self.thread {
                    self.state.apply(&news);
                    self.thread_changed(&news);
                }
            }
            Event::Asked(question) => self.question(question),
            Event::Settled { request_id } => {
                let before = self.asked.len();
                self.asked
                    .retain(|asked| asked.question.request_id() != request_id);
                if self.asked.len() < before {
                    self.note("the question was settled elsewhere");
                }
            }
        }
        Ok(())
    }

    fn read(&mut self, read: ThreadReadResult) {
        if self.thread.as_deref() != Some(read.thread.id.as_str()) {
            return;
        }
        let is_first = self.state.thread.is_none();
        self.state.replace(read);
        if is_first && self.state.older.is_some() {
            self.note("earlier turns are not shown; `bobbin threads show` has them");
        }
        self.follow_clock();
        if let Some(prompt) = self.settings.prompt.take() {
            self.submit(prompt);
        }
    }

    fn thread_changed(&mut self, news: &bobbin_client::Notification) {
        match news.method.as_ref() {
            "thread/rolledBack" => {
                self.printed = Printed::up_to_now(&self.state);
                self.note("── the turns before this line were taken back ──");
            }
            "thread/configured" => self.read_configuration(),
            "thread/deleted" => {
                self.complain("the thread was deleted");
                self.forget_thread();
            }
            _ => {}
        }
        self.follow_clock();
    }

    /// Notes when the running Turn began.
    fn follow_clock(&mut self) {
        let is_running = self.state.open_turn().is_some();
        if is_running && self.running_since.is_none() {
            let started = self.state.open_turn().map_or(0, |turn| turn.turn.started_at.0);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let started = Duration::from_millis(u64::try_from(started).unwrap_or_default());
            let age = now.saturating_sub(started);
            self.running_since = Instant::now().checked_sub(age).or_else(|| Some(Instant::now()));
        } else if !is_running && self.running_since.take().is_some() {
            self.bell = true;
        }
    }

    fn question(&mut self, question: Question) {
        let call = self.call_of(&question);
        self.asked.push_back(Asked::new(question, call.as_ref()));
        self.bell = true;
    }

    /// Returns the call that waits for an answer.
    fn call_of(&self, question: &Question) -> Option<Call> {
        let Question::Approval(params) = question else {
            return None;
        };
        let id = params.call_id.as_deref()?;
        let turn = self.state.turn(&params.turn_id)?;
        cells::of_turn(turn).into_iter().find_map(|cell| match cell.body {
            Body::Call(call) if call.id == id => Some(*call),
            Body::Looks(calls) => calls.into_iter().find(|call| call.id == id),
            _ => None,
        })
    }

    // ---- Requests

    /// Makes a request, and does with its result what `then` says.
    fn ask<R: Send + 'static>(
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
    fn ask_server(&mut self) {
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
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .read::<CommandListResult>("command/list", &CommandListParams::default())
                    .await
            },
            |app, listed| {
                let own = listed.commands.into_iter();
                let own = own.filter(|command| command.category == CommandCategory::Custom);
                app.prompts = own
                    .map(|command| {
                        (
                            command.name.trim_start_matches('/').to_owned(),
                            command.description,
                        )
                    })
                    .collect();
            },
        );
    }

    fn read_configuration(&mut self) {
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

    fn identity(&self) -> SessionIdentity {
        SessionIdentity {
            channel_name: "cli".to_owned(),
            workspace_path: Some(self.settings.workspace.clone()),
            ..SessionIdentity::default()
        }
    }

    /// Follows another Thread.
    fn open(&mut self, id: String) {
        let before = self.thread.replace(id.clone());
        self.state = ThreadState::default();
        self.printed = Printed::default();
        self.asked.clear();
        self.running_since = None;
        let client = self.client.clone();
        self.ask(
            async move {
                if let Some(before) = before.filter(|before| *before != id) {
                    client.unfollow(&before).await;
                }
                client.follow(&id, TURNS).await;
                Ok(())
            },
            |_, ()| {},
        );
    }

    /// Goes on without a Thread: the next prompt starts one.
    fn forget_thread(&mut self) {
        if let Some(before) = self.thread.take() {
            let client = self.client.clone();
            self.ask(
                async move {
                    client.unfollow(&before).await;
                    Ok(())
                },
                |_, ()| {},
            );
        }
        self.state = ThreadState::default();
        self.printed = Printed::default();
        self.asked.clear();
        self.running_since = None;
    }

    fn threads_params(&self, limit: u32) -> ThreadListParams {
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

    fn open_last(&mut self) {
        let (client, params) = (self.client.clone(), self.threads_params(1));
        self.ask(
            async move { client.read::<ThreadListResult>("thread/list", &params).await },
            |app, listed| match listed.data.into_iter().next() {
                Some(thread) => app.open(thread.id),
                None => app.note("there is no thread yet: describe a task to start one"),
            },
        );
    }

    fn list_threads(&mut self) {
        let (client, params) = (self.client.clone(), self.threads_params(THREADS));
        self.ask(
            async move { client.read::<ThreadListResult>("thread/list", &params).await },
            |app, listed| {
                let entry = |thread: &bobbin_native_wire::thread::types::ThreadSummary| {
                    let runtime = thread.runtime.as_ref();
                    let state = match runtime {
                        Some(runtime) if runtime.waiting_on_approval || runtime.waiting_on_input => {
                            "needs your answer · "
                        }
                        Some(runtime) if runtime.running => "running · ",
                        _ => "",
                    };
                    let title = thread.display_name.as_deref().unwrap_or("without a title");
                    let at = thread.last_active_at.to_string();
                    let at = at.get(..16).unwrap_or_default().replace('T', " ");
                    Entry {
                        value: thread.id.clone(),
                        label: safe_line(title),
                        note: format!(
                            "{state}{at} · {} turns · {}",
                            thread.turn_count, thread.origin_channel
                        ),
                    }
                };
                let entries = listed
                    .data
                    .iter()
                    .filter(|thread| thread.turn_count > 0)
                    .map(entry);
                let picker = Picker::new("Threads", entries.collect(), app.thread.as_deref());
                app.picker = Some((Purpose::Threads, picker));
            },
        );
    }

    // ---- Prompts

    /// Sends a prompt, or does what it commands.
    fn submit(&mut self, text: String) {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return;
        }
        if let Some(line) = trimmed.strip_prefix('/') {
            let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            if let Some(command) = commands::find(name) {
                return self.act(command.act, argument.trim());
            }
        }
        let input = self.input_of(&text);
        self.send(text, input);
    }

    /// Returns a prompt as parts.
    fn input_of(&mut self, text: &str) -> Vec<InputPart> {
        let line = text.trim();
        if let Some(rest) = line.strip_prefix('/') {
            let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            if self.prompts.iter().any(|(known, _)| known == name) {
                return vec![InputPart::CommandRef(CommandRefPart {
                    name: name.to_owned(),
                    args_text: Some(arguments.trim().to_owned()),
                    raw_text: Some(line.to_owned()),
                })];
            }
        }
        let mut input = vec![InputPart::text(text)];
        for path in std::mem::take(&mut self.files) {
            if text.contains(&format!("@{path}")) {
                input.push(InputPart::FileRef(FileRefPart {
                    display_path: Some(path.clone()),
                    path,
                }));
            }
        }
        input
    }

    fn send(&mut self, text: String, input: Vec<InputPart>) {
        let client = self.client.clone();
        let Some(thread_id) = self.thread.clone() else {
            return self.start(text, input);
        };
        // What cannot be sent comes back into the prompt.
        let failed = move |app: &mut Self, error: &RequestError| {
            app.complain(&error.to_string());
            if app.compose.is_empty() {
                app.compose.set(text);
            }
        };
        let is_running = self.state.open_turn().is_some();
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
                    .map(drop)
            } else {
                let params = start_params(thread_id, input);
                client
                    .once::<TurnStartResult>("turn/start", &params)
                    .await
                    .map(drop)
            };
            let outcome: Outcome = Box::new(move |app: &mut Self| {
                if let Err(error) = &sent {
                    failed(app, error);
                }
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
        let client = self.client.clone();
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
                client.follow(&id, TURNS).await;
                let turn = start_params(id.clone(), input);
                let turn = client.once::<TurnStartResult>("turn/start", &turn).await;
                Ok::<_, RequestError>((id, turn))
            };
            let started = started.await;
            let outcome: Outcome = Box::new(move |app: &mut Self| {
                app.is_starting = false;
                let error = match started {
                    Ok((id, turn)) => {
                        app.started(id);
                        turn.err()
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

    /// Takes a Thread that was started, which is followed already.
    fn started(&mut self, id: String) {
        // Its reading may have come before this, and was for no Thread then.
        self.open(id);
    }

    /// Gives the prompt to the running Turn.
    fn send_now(&mut self) {
        let Some((thread_id, turn)) = self.thread.clone().zip(self.state.open_turn()) else {
            let text = self.compose.take();
            return self.submit(text);
        };
        let expected_turn_id = turn.turn.id.clone();
        let waiting = self
            .state
            .thread
            .iter()
            .flat_map(|thread| &thread.queued_inputs)
            .next();
        let (input, queued_input_id) = if self.compose.is_empty() {
            match waiting {
                Some(waiting) => (None, Some(waiting.id.clone())),
                None => return,
            }
        } else {
            let text = self.compose.take();
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

    /// Takes the last input that waits back into the prompt.
    fn take_back(&mut self) -> bool {
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

    fn interrupt(&mut self) {
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

    // ---- Commands

    fn act(&mut self, act: Act, argument: &str) {
        match act {
            Act::New => {
                self.forget_thread();
                self.note("── a new thread: describe a task ──");
            }
            Act::Threads => self.list_threads(),
            Act::Model if argument.is_empty() => self.list_models(),
            Act::Model => self.choose(Purpose::Models, argument.to_owned()),
            Act::Effort if argument.is_empty() => self.list_efforts(),
            Act::Effort => self.choose(Purpose::Efforts, argument.to_owned()),
            Act::Policy if argument.is_empty() => self.list_policies(),
            Act::Policy => self.choose(Purpose::Policies, argument.to_owned()),
            Act::Mode => self.change_mode(argument),
            Act::Diff => self.show_diff(),
            Act::Undo => self.undo(),
            Act::Edit => self.list_messages(),
            Act::Fork => self.fork(),
            Act::Compact => self.on_thread("thread/compact/start", |_| {}),
            Act::Archive => self.on_thread("thread/archive", |app| {
                app.forget_thread();
                app.note("── archived; a new thread: describe a task ──");
            }),
            Act::Rename => self.rename(argument),
            Act::Usage => self.show_usage(),
            Act::Mcp => self.show_servers(),
            Act::Help => self.help(),
            Act::Quit => self.is_over = true,
        }
    }

    /// Makes a request about the Thread that takes nothing but its id.
    fn on_thread(&mut self, method: &'static str, then: impl FnOnce(&mut Self) + Send + 'static) {
        let Some(thread_id) = self.thread.clone() else {
            return self.note("there is no thread yet");
        };
        let params = ThreadTargetParams {
            thread_id,
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<Value>(method, &params).await },
            move |app, _| then(app),
        );
    }

    fn config(&self) -> ThreadConfiguration {
        match &self.state.thread {
            Some(thread) => thread.configuration.clone().unwrap_or_default(),
            None => self.draft.clone(),
        }
    }

    /// Changes the configuration of the Thread, or of the next one.
    fn configure(&mut self, change: impl FnOnce(&mut ThreadConfiguration)) {
        let mut config = self.config();
        change(&mut config);
        self.draft.clone_from(&config);
        let Some(thread_id) = self.thread.clone() else {
            return;
        };
        let params = ThreadConfigUpdateParams {
            thread_id,
            config: config.clone(),
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<EmptyResult>("thread/config/update", &params).await },
            move |app, _| {
                if let Some(thread) = &mut app.state.thread {
                    thread.configuration = Some(config);
                }
            },
        );
    }

    fn change_mode(&mut self, wanted: &str) {
        let is_plan = self.config().mode.as_deref() == Some("plan");
        let mode = match wanted {
            "" if is_plan => "agent",
            "" => "plan",
            "agent" | "plan" => wanted,
            _ => return self.complain("the modes are agent and plan"),
        };
        let mode = mode.to_owned();
        self.configure(|config| config.mode = Some(mode));
    }

    fn list_models(&mut self) {
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .read::<ModelListResult>("model/list", &ModelListParams::default())
                    .await
            },
            |app, listed| app.show_models(listed),
        );
    }

    fn show_models(&mut self, listed: ModelListResult) {
        if !listed.success {
            let why = listed.error_message.unwrap_or_default();
            let is_missing = listed.error_code == Some(ModelListErrorCode::MissingApiKey);
            let more = if is_missing {
                " `bobbin setup` sets one up."
            } else {
                ""
            };
            return self.complain(&format!("the models cannot be listed: {why}{more}"));
        }
        let entry = |model: &bobbin_native_wire::models::types::ModelInfo| {
            let mut facts = Vec::new();
            if model.is_default {
                facts.push("default".to_owned());
            }
            facts.extend(
                model
                    .context_window
                    .map(|window| format!("{}k window", window / 1000)),
            );
            facts.extend(model.price.as_ref().map(|price| {
                format!(
                    "{} in, {} out per million",
                    money(price.input),
                    money(price.output)
                )
            }));
            Entry {
                value: model.id.clone(),
                label: safe_line(&model.id),
                note: facts.join(" · "),
            }
        };
        let entries = listed.models.iter().map(entry).collect();
        let current = self.model().to_owned();
        self.picker = Some((Purpose::Models, Picker::new("Model", entries, Some(&current))));
    }

    fn list_efforts(&mut self) {
        let entries = Effort::ALL.map(|effort| plain_entry(effort.name(), ""));
        let current = self.config().reasoning_effort.map(Effort::name);
        self.picker = Some((Purpose::Efforts, Picker::new("Effort", entries.into(), current)));
    }

    fn list_policies(&mut self) {
        let entries = POLICIES
            .iter()
            .map(|(policy, words)| plain_entry(policy_name(*policy), words));
        let current = self.config().approval_policy.map(policy_name);
        let picker = Picker::new("When you are asked", entries.collect(), current);
        self.picker = Some((Purpose::Policies, picker));
    }

    fn list_messages(&mut self) {
        let mut entries = Vec::new();
        for turn in &self.state.turns {
            let text = turn.items.iter().find_map(|item| match &item.item.payload {
                ItemPayload::UserMessage(message) => Some(message.text.clone()),
                _ => None,
            });
            if let Some(text) = text {
                entries.push(Entry {
                    value: turn.turn.id.clone(),
                    label: safe_line(text.lines().next().unwrap_or_default()),
                    note: String::new(),
                });
            }
        }
        if entries.is_empty() {
            return;
        }
        let last = entries.last().map(|entry| entry.value.clone());
        let picker = Picker::new("Go back to before", entries, last.as_deref());
        self.picker = Some((Purpose::Messages, picker));
    }

    /// Does what was chosen from a list.
    fn choose(&mut self, purpose: Purpose, value: String) {
        match purpose {
            Purpose::Threads => {
                self.open(value);
                self.note("──");
            }
            Purpose::Models => {
                self.configure(|config| config.model = Some(value));
            }
            Purpose::Efforts => match Effort::of_name(&value) {
                Some(effort) => self.configure(|config| config.reasoning_effort = Some(effort)),
                None => self.complain(&format!(
                    "the levels are {}",
                    Effort::ALL.map(Effort::name).join(", ")
                )),
            },
            Purpose::Policies => {
                let policy = POLICIES.iter().find(|(policy, _)| policy_name(*policy) == value);
                match policy {
                    Some((policy, _)) => self.configure(|config| config.approval_policy = Some(*policy)),
                    None => {
                        let names: Vec<&str> =
                            POLICIES.iter().map(|(policy, _)| policy_name(*policy)).collect();
                        self.complain(&format!("the policies are {}", names.join(", ")));
                    }
                }
            }
            Purpose::Messages => self.go_back(&value),
        }
    }

    /// Takes a Turn and those after it out of the conversation, and its prompt back into the prompt.
    fn go_back(&mut self, turn_id: &str) {
        let Some(place) = self.state.turns.iter().position(|turn| turn.turn.id == turn_id) else {
            return;
        };
        let Some(thread_id) = self.thread.clone() else {
            return;
        };
        let text = self.state.turns[place]
            .items
            .iter()
            .find_map(|item| match &item.item.payload {
                ItemPayload::UserMessage(message) => Some(message.text.clone()),
                _ => None,
            });
        let count = self.state.turns.len() - place;
        let params = ThreadRollbackParams {
            thread_id,
            num_turns: i64::try_from(count).unwrap_or(i64::MAX),
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .once::<ThreadRollbackResult>("thread/rollback", &params)
                    .await
            },
            move |app, _| {
                app.compose.set(text.unwrap_or_default());
                app.note("files are as they are; /undo puts back what a turn changed");
            },
        );
    }

    fn fork(&mut self) {
        let Some(thread_id) = self.thread.clone() else {
            return self.note("there is no thread yet");
        };
        let params = ThreadForkParams {
            thread_id,
            turn_id: None,
            fork_point: None,
            display_name: None,
            config: None,
            identity: Some(self.identity()),
            dynamic_tools: None,
            ephemeral: None,
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<ThreadResult>("thread/fork", &params).await },
            |app, forked| {
                app.open(forked.thread.id);
                app.note("── a copy of the thread ──");
            },
        );
    }

    fn rename(&mut self, title: &str) {
        let Some(thread_id) = self.thread.clone() else {
            return self.note("there is no thread yet");
        };
        if title.is_empty() {
            return self.complain("the title is missing: /rename TITLE");
        }
        let params = ThreadRenameParams {
            thread_id,
            display_name: title.to_owned(),
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<EmptyResult>("thread/rename", &params).await },
            |_, _| {},
        );
    }

    fn last_ended(&self) -> Option<(String, String)> {
        let last = self.state.turns.iter().rev().find(|turn| turn.has_ended())?;
        Some((self.thread.clone()?, last.turn.id.clone()))
    }

    fn show_diff(&mut self) {
        let last = self.state.turns.last().map(|turn| turn.turn.id.clone());
        let Some((thread_id, turn_id)) = self.thread.clone().zip(last) else {
            return self.note("nothing was changed yet");
        };
        let params = TurnDiffReadParams { thread_id, turn_id };
        let client = self.client.clone();
        self.ask(
            async move { client.read::<TurnDiffReadResult>("turn/diff/read", &params).await },
            |app, read| {
                if read.files.is_empty() {
                    return app.note("the turn changed no file");
                }
                let lines: Vec<String> = read.diff.lines().map(str::to_owned).collect();
                app.notes.push(Line::default());
                let width = app.width();
                app.notes.extend(change::lines(&lines, width, MAX_DIFF));
            },
        );
    }

    fn undo(&mut self) {
        let Some((thread_id, turn_id)) = self.last_ended() else {
            return self.note("no turn has ended yet");
        };
        let params = TurnRevertParams {
            thread_id,
            turn_id,
            force: None,
            client_request_id: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.once::<TurnRevertResult>("turn/revert", &params).await },
            |app, reverted| {
                if reverted.files.is_empty() {
                    app.note("the files are as they were before the turn");
                }
                for file in &reverted.files {
                    let line = Line::of("  ↶ ", GOOD).and(safe_line(&file.path), Style::PLAIN);
                    app.notes.push(line);
                }
                for note in reverted.notes {
                    app.note(&note);
                }
            },
        );
    }

    fn show_usage(&mut self) {
        let Some(thread) = &self.state.thread else {
            return self.note("there is no thread yet");
        };
        let (mut input, mut output) = (0, 0);
        for turn in &self.state.turns {
            let usage = turn.turn.token_usage.unwrap_or_default();
            input += usage.input_tokens;
            output += usage.output_tokens;
        }
        let mut text = format!(
            "{} in, {} out in the {} turns that are shown",
            grouped(input),
            grouped(output),
            self.state.turns.len()
        );
        if let Some(cost) = thread.cost {
            text += &format!("; {} in all", money(cost));
        }
        if let Some(usage) = &thread.context_usage {
            text += &format!(
                "; window {} of {}",
                grouped(usage.tokens),
                grouped(usage.context_window)
            );
        }
        self.note(&text);
    }

    fn show_servers(&mut self) {
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .read::<McpStatusListResult>("mcp/status/list", &EmptyParams {})
                    .await
            },
            |app, listed| {
                if listed.servers.is_empty() {
                    app.note("no tool server is configured; `bobbin mcp add` adds one");
                }
                for server in listed.servers {
                    let state = serde_json::to_value(server.startup_state).unwrap_or_default();
                    let state = state.as_str().unwrap_or_default().to_owned();
                    let tools = server
                        .tool_count
                        .map_or_else(String::new, |count| format!(", {count} tools"));
                    let why = server
                        .last_error
                        .map_or_else(String::new, |why| format!(": {}", safe_line(&why)));
                    app.note(&format!("{}: {state}{tools}{why}", safe_line(&server.name)));
                }
            },
        );
    }

    fn help(&mut self) {
        let mut lines = vec![Line::default()];
        for command in COMMANDS {
            let name = format!("  /{} {}", command.name, command.argument);
            lines.push(Line::of(format!("{name:<24}"), Style::BOLD).and(command.summary, Style::PLAIN));
        }
        for (name, description) in &self.prompts {
            let name = format!("  /{}", safe_line(name));
            lines
                .push(Line::of(format!("{name:<24}"), Style::BOLD).and(safe_line(description), Style::PLAIN));
        }
        lines.push(Line::default());
        for (key, what) in KEYS {
            lines.push(Line::of(format!("  {key:<28}"), Style::BOLD).and(*what, Style::PLAIN));
        }
        self.notes.extend(lines);
    }

    fn note(&mut self, text: &str) {
        let width = self.width();
        self.notes.extend(said(&safe_line(text), Style::DIM, width));
    }

    fn complain(&mut self, text: &str) {
        let width = self.width();
        self.notes
            .extend(hanging("! ", BAD, &safe_line(text), BAD, width));
    }

    fn width(&self) -> usize {
        terminal::size().map_or(80, |(columns, _)| usize::from(columns))
    }

    fn model(&self) -> &str {
        let own = match &self.state.thread {
            Some(thread) => thread.configuration.as_ref(),
            None => Some(&self.draft),
        };
        let own = own.and_then(|config| config.engine.as_deref().or(config.model.as_deref()));
        let usual = self.defaults.as_ref().map(|defaults| defaults.model.as_str());
        own.or(usual).unwrap_or_default()
    }

    // ---- Keys

    fn input(&mut self, typed: Input, screen: &mut Screen<Stdout>) {
        match typed {
            Input::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Input::Paste(text) => {
                if self.picker.is_none() && self.asked.is_empty() {
                    self.compose.paste(&text);
                }
            }
            Input::Resize(columns, rows) => screen.resize((usize::from(columns), usize::from(rows))),
            _ => {}
        }
        self.complete();
    }

    fn key(&mut self, key: KeyEvent) {
        if let Some((purpose, picker)) = &mut self.picker {
            let purpose = *purpose;
            match picker.key(key) {
                picker::Step::Stay => {}
                picker::Step::Close => self.picker = None,
                picker::Step::Chosen(value) => {
                    self.picker = None;
                    self.choose(purpose, value);
                }
            }
            return;
        }
        if let Some(asked) = self.asked.front_mut() {
            match asked.key(key) {
                ask::Step::Stay => return,
                ask::Step::Answered(answer) => return self.answer(answer),
                ask::Step::Other => {}
            }
        }
        if self.menu_key(key) {
            return;
        }
        self.global_key(key);
    }

    fn answer(&mut self, answer: Answer) {
        let Some(asked) = self.asked.pop_front() else {
            return;
        };
        let client = self.client.clone();
        self.ask(
            async move {
                client.answer(asked.question.request_id(), answer).await;
                Ok(())
            },
            |_, ()| {},
        );
    }

    /// Whether the key was pressed a moment ago too.
    fn is_second(&mut self, code: KeyCode) -> bool {
        let now = Instant::now();
        let is_second = self
            .once
            .is_some_and(|(known, at)| known == code && now - at < TWICE);
        self.once = Some((code, now));
        is_second
    }

    fn global_key(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_running = self.state.open_turn().is_some();
        match key.code {
            KeyCode::Char('c') if control => {
                if self.is_second(key.code) {
                    self.is_over = true;
                } else if !self.compose.is_empty() {
                    self.compose.clear();
                } else if is_running {
                    self.interrupt();
                } else {
                    self.note("Ctrl-C again leaves");
                }
                return;
            }
            KeyCode::Char('d') if control && self.compose.is_empty() => self.is_over = true,
            KeyCode::Char('z') if control => self.leaves = Some(Leaves::ForShell),
            KeyCode::Char('l') if control => self.leaves = Some(Leaves::Redraws),
            KeyCode::Char('g') if control => self.leaves = Some(Leaves::ForEditor),
            KeyCode::Char('t') if control => self.list_threads(),
            KeyCode::Char('s') if control => self.send_now(),
            KeyCode::BackTab => self.change_mode(""),
            KeyCode::Esc => {
                if is_running {
                    self.interrupt();
                } else if self.compose.is_empty() && self.is_second(key.code) {
                    self.list_messages();
                }
                return;
            }
            KeyCode::Up if self.compose.is_empty() && self.take_back() => {}
            KeyCode::Enter
                if key.modifiers.is_empty()
                    && !self.compose.text().ends_with('\\')
                    && self.asked.is_empty() =>
            {
                let text = self.compose.take();
                self.submit(text);
            }
            _ if self.asked.is_empty() => drop(self.compose.key(key)),
            _ => {}
        }
        self.once = None;
    }

    // ---- The menu of completions

    fn menu_key(&mut self, key: KeyEvent) -> bool {
        if self.menu.entries.is_empty() || !key.modifiers.is_empty() {
            return false;
        }
        let last = self.menu.entries.len() - 1;
        match key.code {
            KeyCode::Up => self.menu.chosen = self.menu.chosen.checked_sub(1).unwrap_or(last),
            KeyCode::Down => {
                self.menu.chosen = if self.menu.chosen < last {
                    self.menu.chosen + 1
                } else {
                    0
                }
            }
            KeyCode::Esc => {
                self.menu.entries.clear();
            }
            KeyCode::Tab | KeyCode::Enter => {
                let (text, _) = self.menu.entries[self.menu.chosen].clone();
                let is_whole = self.compose.text() == text.trim_end();
                if let Some(path) = text.strip_prefix('@') {
                    self.files.push(path.trim_end().to_owned());
                }
                self.compose.complete(&text);
                self.menu = Menu::default();
                // A command that takes nothing runs at once.
                if key.code == KeyCode::Enter && (is_whole || runs_alone(&text)) {
                    let text = self.compose.take();
                    self.submit(text);
                }
            }
            _ => return false,
        }
        true
    }

    /// Brings the menu up to the prompt.
    fn complete(&mut self) {
        let wanted = self
            .compose
            .wanted()
            .filter(|_| self.picker.is_none() && self.asked.is_empty());
        if wanted == self.menu.wanted {
            return;
        }
        self.menu = Menu {
            wanted: wanted.clone(),
            ..Menu::default()
        };
        match wanted {
            None => {}
            Some(Wanted::Command(start)) => {
                let own = COMMANDS.iter().map(|command| (command.name, command.summary));
                let prompts = self
                    .prompts
                    .iter()
                    .map(|(name, about)| (name.as_str(), about.as_str()));
                let fitting = own.chain(prompts).filter(|(name, _)| name.starts_with(&start));
                self.menu.entries = fitting
                    .map(|(name, about)| {
                        let shown = format!("  {:<16}", format!("/{}", safe_line(name)));
                        let line = Line::of(shown, Style::PLAIN).and(safe_line(about), Style::DIM);
                        (format!("/{name} "), line)
                    })
                    .collect();
            }
            Some(Wanted::File(part)) => self.find_files(part),
        }
    }

    fn find_files(&mut self, part: String) {
        let params = WorkspaceFilesFindParams {
            query: part.clone(),
            limit: Some(20),
        };
        let client = self.client.clone();
        self.ask(
            async move {
                client
                    .read::<WorkspaceFilesFindResult>("workspace/files/find", &params)
                    .await
            },
            move |app, found| {
                if app.menu.wanted != Some(Wanted::File(part)) {
                    return;
                }
                let entry = |file: &bobbin_native_wire::file::types::WorkspaceFile| {
                    let line = Line::of(format!("  {}", safe_line(&file.path)), Style::PLAIN);
                    (format!("@{} ", file.path), line)
                };
                app.menu.entries = found.files.iter().map(entry).collect();
            },
        );
    }

    // ---- The picture

    fn draw(&mut self, screen: &mut Screen<Stdout>) -> anyhow::Result<()> {
        let (width, rows) = screen.size();
        let (mut finished, growing) = self.printed.advance(&self.state, width);
        finished.append(&mut self.notes);
        let (below, cursor) = self.below(width, rows);
        let room = rows.saturating_sub(below.len() + 1);
        let mut live = growing;
        if live.len() > room {
            live.drain(..live.len() - room);
        }
        let cursor = cursor.map(|place| Place {
            row: place.row + live.len(),
            ..place
        });
        live.extend(below);
        screen.draw(&finished, live, cursor)?;
        if std::mem::take(&mut self.bell) {
            screen.signal("\u{7}")?;
        }
        Ok(())
    }

    /// Returns the lines below the transcript, and the place of the cursor in them.
    fn below(&self, width: usize, rows: usize) -> (Vec<Line>, Option<Place>) {
        let mut lines = vec![Line::default()];
        let elapsed = self
            .running_since
            .map(|since| since.elapsed())
            .unwrap_or_default();
        lines.extend(view::subagents(&self.state, width));
        if self.asked.is_empty() {
            lines.extend(view::working(&self.state, self.ticks, elapsed, width));
        }
        if self.state.open_turn().is_some() {
            lines.extend(view::plan(&self.state, width));
        }
        lines.extend(view::queued(&self.state, width));
        let room = rows.saturating_sub(lines.len() + 2);
        if let Some((_, picker)) = &self.picker {
            lines.extend(picker.lines(width, room));
            return (lines, None);
        }
        if let Some(asked) = self.asked.front() {
            lines.extend(asked.lines(width, room));
            if self.asked.len() > 1 {
                let more = format!("  {} more questions wait", self.asked.len() - 1);
                lines.push(Line::of(more, WARN).cut(width));
            }
            return (lines, None);
        }
        let hint = match self.state.open_turn() {
            Some(_) => "Queue a follow-up",
            None => "Describe a task. @ adds files, / runs commands",
        };
        let (prompt, place) = self.compose.lines(width, PROMPT.min(room.max(1)), hint);
        let cursor = Place {
            row: lines.len() + place.row,
            column: place.column,
        };
        lines.extend(prompt);
        let first = self.menu.chosen.saturating_sub(MENU - 1);
        for (at, (_, line)) in self.menu.entries.iter().enumerate().skip(first).take(MENU) {
            let mut line = line.clone();
            if at == self.menu.chosen {
                for span in &mut line.0 {
                    span.style = Style::REVERSED;
                }
            }
            lines.push(line.cut(width));
        }
        let config = self.config();
        let policy = config
            .approval_policy
            .filter(|policy| *policy != ApprovalPolicy::Default);
        let policy = policy.or(self.defaults.as_ref().map(|defaults| defaults.approval_policy));
        let facts = Status {
            model: self.model(),
            effort: config.reasoning_effort.map(Effort::name),
            mode: config.mode.as_deref().filter(|mode| *mode != "agent"),
            policy: policy.map_or("", policy_words),
            lost: self.lost.as_deref(),
        };
        lines.push(view::status(&self.state, &facts, width));
        (lines, Some(cursor))
    }
}

/// Whether the text of the menu is a command that takes nothing.
fn runs_alone(text: &str) -> bool {
    let name = text.trim().trim_start_matches('/');
    text.starts_with('/')
        && commands::find(name).is_some_and(|command| !command.argument.starts_with(char::is_uppercase))
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

fn plain_entry(value: &str, note: &str) -> Entry {
    Entry {
        value: value.to_owned(),
        label: value.to_owned(),
        note: note.to_owned(),
    }
}

/// The policies that a user chooses from, with their words.
const POLICIES: &[(ApprovalPolicy, &str)] = &[
    (ApprovalPolicy::Default, "as the workspace is configured"),
    (ApprovalPolicy::Ask, "ask about what no rule allows"),
    (
        ApprovalPolicy::Sandboxed,
        "run what the sandbox confines, ask about the rest",
    ),
    (ApprovalPolicy::AskWrites, "ask, also before each edit"),
    (ApprovalPolicy::AutoApprove, "never ask"),
    (ApprovalPolicy::Interrupt, "stop when approval is needed"),
];

fn policy_name(policy: ApprovalPolicy) -> &'static str {
    match policy {
        ApprovalPolicy::Default => "default",
        ApprovalPolicy::Ask => "ask",
        ApprovalPolicy::Sandboxed => "sandboxed",
        ApprovalPolicy::AskWrites => "askWrites",
        ApprovalPolicy::AutoApprove => "autoApprove",
        ApprovalPolicy::Interrupt => "interrupt",
        ApprovalPolicy::Refuse => "refuse",
    }
}

/// Returns a policy as the page names it.
fn policy_words(policy: ApprovalPolicy) -> &'static str {
    match policy {
        ApprovalPolicy::Default | ApprovalPolicy::Ask => "asks",
        ApprovalPolicy::Sandboxed => "auto in sandbox",
        ApprovalPolicy::AskWrites => "asks before edits",
        ApprovalPolicy::AutoApprove => "never asks",
        ApprovalPolicy::Interrupt => "stops instead of asking",
        ApprovalPolicy::Refuse => "refuses instead of asking",
    }
}
