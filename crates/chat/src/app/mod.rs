//! The client itself: its state, the keys, and the loop around both.

mod acts;
mod keys;
mod plain;
mod requests;
mod terminals;
mod threads;
mod waiting;

use std::collections::{BTreeMap, VecDeque};
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::time::Duration;

use bobbin_client::{Client, Connect, Event, Events, Options, Question, ThreadState};
use bobbin_model::{ApprovalPolicy, Effort};
use bobbin_native_wire::item::approval::ApprovalRequestParams;
use bobbin_native_wire::item::payload::ItemPayload;
use bobbin_native_wire::models::types::WorkspaceDefaultsResult;
use bobbin_native_wire::terminal::types::BackgroundTerminal;
use bobbin_native_wire::thread::config::ThreadConfiguration;
use bobbin_native_wire::thread::params::{ThreadReadParams, ThreadReadResult};
use bobbin_native_wire::turn::notifications::ApprovalResolvedNotification;
use crossterm::event::{EventStream, KeyCode};
use crossterm::terminal;
use futures_util::StreamExt as _;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::ask::{self, Asked};
use crate::cells::{self, Body, Call};
use crate::compose::{Compose, Wanted};
use crate::drafts::Drafts;
use crate::picker::Picker;
use crate::screen::{Place, Screen};
use crate::terminal::Modes;
use crate::text::{Line, Style, safe_line};
use crate::theme::Theme;
use crate::transcript::{BAD, WARN, hanging, said};
use crate::view::{self, Printed, Status};

use threads::Search;
use waiting::Workspace;

/// Turns that are read of a Thread at first.
const TURNS: u32 = 10;
/// Shortest time between two pictures.
const FRAME: Duration = Duration::from_millis(33);
/// Time after which a draft is stored.
const STORE: Duration = Duration::from_millis(500);
/// Time between two pictures of the spinner.
const TICK: Duration = Duration::from_millis(125);
/// Events that are taken before a picture is drawn.
const MAX_EVENTS: usize = 1_000;
/// Lines of a menu.
const MENU: usize = 8;
/// Columns that the whole hint needs.
const WHOLE_HINT: usize = 50;
/// Rows of the prompt.
const PROMPT: usize = 10;
/// Longest wait for the server when the user leaves.
const LEAVING: Duration = Duration::from_secs(1);

/// The client's start.
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
    /// Whether the client writes and reads lines only.
    pub is_plain: bool,
    /// Whether colours are shown.
    pub has_colors: bool,
    /// The user's editor.
    pub editor: Option<String>,
    /// The file in which drafts are stored.
    pub drafts: Option<PathBuf>,
    /// The file in which the choice of colours is stored.
    pub theme: Option<PathBuf>,
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
    Themes,
    /// Back to an earlier message.
    Messages,
    /// All that needs an answer.
    Waiting,
    /// The output of a command in the background.
    Terminals,
    /// The end of one.
    Stops,
}

/// Completions of the prompt.
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
    /// Commands of the server that are prompts; `None` until they are read.
    prompts: Option<Vec<(String, String)>>,
    /// Files that were chosen from the menu.
    files: Vec<String>,
    compose: Compose,
    drafts: Drafts,
    /// The part of the prompt that is in that file, and when the prompt is stored next.
    stored: String,
    store_at: Option<Instant>,
    /// Commands of the Thread that run in the background, by their ids.
    terminals: BTreeMap<String, BackgroundTerminal>,
    asked: VecDeque<Asked>,
    /// Questions of other Threads.
    elsewhere: Vec<Asked>,
    /// Questions that were answered here, the latest ones.
    answered: VecDeque<String>,
    workspace: Workspace,
    picker: Option<(Purpose, Picker)>,
    search: Search,
    theme: Theme,
    menu: Menu,
    /// Columns of the terminal.
    width: usize,
    /// Lines of our own words that are not printed yet.
    notes: Vec<Line>,
    /// Whether the last line that was printed is one of them.
    ends_in_note: bool,
    /// The reason why there is no connection.
    lost: Option<String>,
    /// A Thread is being started, so a second prompt waits.
    is_starting: bool,
    /// A Turn that was started here and has not shown itself yet.
    sent: Option<String>,
    running_since: Option<Instant>,
    ticks: usize,
    /// The last key that counts twice, and when.
    once: Option<(KeyCode, Instant)>,
    /// When the prompt took a key last.
    typed_at: Option<Instant>,
    bell: bool,
    /// Something else than the next picture is wanted.
    leaves: Option<Leaves>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaves {
    ForGood,
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
    capabilities.background_terminals = true;
    capabilities.person = Some(true);
    let (client, mut events) = Client::start(connect, options);
    let is_plain = settings.is_plain;
    let mut app = App::new(settings, client.clone());
    let ended = if is_plain {
        app.open_first();
        app.serve_plain(&mut events).await
    } else {
        app.serve_screen(&mut events).await
    };
    client.close().await;
    drop(tokio::time::timeout(LEAVING, events.ended()).await);
    ended?;
    Ok(app.thread)
}

impl App {
    fn new(settings: Settings, client: Client) -> Self {
        // The plain mode has no prompt that could be a draft.
        let drafts = settings.drafts.clone().filter(|_| !settings.is_plain);
        let drafts = Drafts::new(drafts);
        let theme = match &settings.theme {
            _ if !settings.has_colors => Theme::Colorless,
            Some(file) => Theme::read(file),
            None => Theme::default(),
        };
        Self {
            theme,
            drafts,
            stored: String::new(),
            store_at: None,
            terminals: BTreeMap::new(),
            draft: settings.config.clone(),
            settings,
            client,
            work: JoinSet::new(),
            state: ThreadState::default(),
            printed: Printed::default(),
            thread: None,
            defaults: None,
            prompts: None,
            files: Vec::new(),
            compose: Compose::default(),
            asked: VecDeque::new(),
            elsewhere: Vec::new(),
            answered: VecDeque::new(),
            workspace: Workspace::default(),
            picker: None,
            search: Search::default(),
            menu: Menu::default(),
            width: plain::WIDTH,
            notes: Vec::new(),
            ends_in_note: false,
            lost: None,
            is_starting: false,
            sent: None,
            running_since: None,
            ticks: 0,
            once: None,
            typed_at: None,
            bell: false,
            leaves: None,
        }
    }

    /// Opens the Thread that is wanted.
    fn open_first(&mut self) {
        match self.settings.opens.clone() {
            Opens::New => self.load_draft(None),
            Opens::Choice => self.list_threads(),
            Opens::Last => self.open_last(),
            Opens::Thread(id) => self.open(id),
        }
        if let (Opens::New, Some(prompt)) = (&self.settings.opens, self.settings.prompt.take()) {
            self.submit(prompt);
        }
    }

    /// Serves a terminal until its user leaves.
    async fn serve_screen(&mut self, events: &mut Events) -> anyhow::Result<()> {
        let modes = Modes::take()?;
        let (columns, rows) = terminal::size()?;
        let size = (usize::from(columns), usize::from(rows));
        self.width = size.0;
        let mut screen = Screen::new(stdout(), size, self.theme);
        self.open_first();
        let ended = self.serve(events, &mut screen).await;
        self.store_draft();
        drop(screen.clear());
        drop(modes);
        ended
    }

    async fn serve(&mut self, events: &mut Events, screen: &mut Screen<impl Write>) -> anyhow::Result<()> {
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
                    if self.store_at.is_none() && self.compose.whole() != self.stored {
                        self.store_at = Some(Instant::now() + STORE);
                    }
                }
                () = sleep_until(self.store_at.unwrap_or(drawn)), if self.store_at.is_some() => self.store_draft(),
                () = sleep_until(self.search.due().unwrap_or(drawn)), if self.search.due().is_some() => {
                    self.search_threads();
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
                    Leaves::ForGood => return Ok(()),
                    Leaves::ForShell => Modes::suspend()?,
                    Leaves::Redraws => {}
                    Leaves::ForEditor => self.edit(),
                }
                let (columns, rows) = terminal::size()?;
                self.resize(screen, columns, rows);
                input = EventStream::new();
                is_changed = true;
            }
        }
    }

    fn resize(&mut self, screen: &mut Screen<impl Write>, columns: u16, rows: u16) {
        self.width = usize::from(columns);
        screen.resize((self.width, usize::from(rows)));
    }

    /// Stores the prompt of the open Thread.
    fn store_draft(&mut self) {
        let text = self.compose.whole();
        self.store_draft_as(&text);
    }

    /// Stores a text as the draft. A draft that was never in the prompt stays as it is.
    fn store_draft_as(&mut self, text: &str) {
        self.store_at = None;
        if self.stored != text {
            text.clone_into(&mut self.stored);
            // A draft that cannot be stored is still on the screen.
            drop(self.drafts.store(self.thread.as_deref(), text));
        }
    }

    /// Replaces the prompt by the draft of a Thread, or of a new one.
    fn load_draft(&mut self, thread: Option<&str>) {
        self.stored = self.drafts.of(thread);
        self.compose.clear();
        self.compose.set(self.stored.as_str());
    }

    fn edit(&mut self) {
        let editor = self.settings.editor.as_deref().unwrap_or("vi");
        match Modes::edit(editor, self.compose.text()) {
            Ok(text) => self.compose.set(text),
            Err(error) => self.complain(&format!("{error:#}")),
        }
    }

    fn event(&mut self, event: Event) -> anyhow::Result<()> {
        match event {
            Event::Connected(_) => {
                self.lost = None;
                self.ask_server();
                self.list_terminals();
                self.read_workspace();
            }
            Event::Disconnected { why, .. } => self.lost = Some(why),
            Event::Closed { why } => anyhow::bail!(why),
            Event::Read(read) => self.read(*read),
            Event::NotFollowed { why, .. } => self.complain(&format!("the thread cannot be shown: {why}")),
            Event::Notification(news) => {
                self.workspace_changed(&news);
                self.terminal_changed(&news);
                self.settled_by(&news);
                if news.thread.is_some() && news.thread == self.thread {
                    let turns = self.state.turns.len();
                    self.state.apply(&news);
                    self.thread_changed(&news, turns);
                }
            }
            Event::Asked(question) => self.question(question),
            Event::Settled { request_id } => {
                self.asked
                    .retain(|asked| asked.question.request_id() != request_id);
                self.elsewhere
                    .retain(|asked| asked.question.request_id() != request_id);
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
        if is_first {
            let turns = self.state.turns.iter().flat_map(|turn| &turn.items);
            for item in turns {
                if let ItemPayload::UserMessage(message) = &item.item.payload {
                    self.compose.remember(&message.text);
                }
            }
        }
        if let Some(prompt) = self.settings.prompt.take() {
            self.submit(prompt);
        }
    }

    /// Follows news of the open Thread, which had so many Turns before.
    fn thread_changed(&mut self, news: &bobbin_client::Notification, turns: usize) {
        match news.method.as_ref() {
            "thread/rolledBack" => {
                self.printed = Printed::up_to_now(&self.state);
                match turns.saturating_sub(self.state.turns.len()) {
                    0 => self.note("── earlier turns were taken back ──"),
                    1 => self.note("── the last turn was taken back ──"),
                    count => self.note(&format!("── the last {count} turns were taken back ──")),
                }
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

    /// Notes since when this client sees the Turn run.
    fn follow_clock(&mut self) {
        let is_running = self.state.open_turn().is_some();
        if is_running && self.running_since.is_none() {
            self.running_since = Some(Instant::now());
        } else if !is_running && self.running_since.take().is_some() {
            self.read_commands();
            self.bell = true;
        }
    }

    fn question(&mut self, question: Question) {
        self.bell = true;
        let mut asked = Asked::new(question);
        match &asked.question {
            Question::Approval(params) => match call_of(&self.state, params) {
                Some(call) => asked.show_change(&call),
                None => self.read_call(params.clone()),
            },
            Question::UserInput(_) => {}
        }
        self.place(asked);
    }

    /// Reads the call that a question is about: of a subagent, of another Thread, or of one that is being opened.
    fn read_call(&mut self, params: Box<ApprovalRequestParams>) {
        let read = ThreadReadParams {
            thread_id: params.thread_id.clone(),
            include_turns: true,
            turn_limit: Some(1),
            cursor: None,
        };
        let client = self.client.clone();
        self.ask(
            async move { client.read::<ThreadReadResult>("thread/read", &read).await },
            move |app, read| {
                let mut state = ThreadState::default();
                state.replace(read);
                let Some(call) = call_of(&state, &params) else {
                    return;
                };
                let asked = app.asked.iter_mut().chain(&mut app.elsewhere);
                for asked in asked.filter(|asked| asked.question.request_id() == params.request_id) {
                    asked.show_change(&call);
                }
            },
        );
    }

    /// Notes who answered a question of the open Thread, if that was not here.
    fn settled_by(&mut self, news: &bobbin_client::Notification) {
        if news.method.as_ref() != "item/approval/resolved" || news.thread != self.thread {
            return;
        }
        let Some(resolved) = news.params::<ApprovalResolvedNotification>() else {
            return;
        };
        let (Some(by), ItemPayload::ApprovalResponse(response)) =
            (resolved.answered_by, &resolved.item.payload)
        else {
            return;
        };
        if !self.answered.contains(&response.request_id) {
            let words = ask::words_of(response.decision);
            let by = response.actor.as_ref().map_or(by, ToString::to_string);
            self.note(&format!("{by} answered: {words}"));
        }
    }

    fn note(&mut self, text: &str) {
        self.notes.extend(said(&safe_line(text), Style::DIM, self.width));
    }

    fn complain(&mut self, text: &str) {
        self.notes
            .extend(hanging("! ", BAD, &safe_line(text), BAD, self.width));
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

    fn draw(&mut self, screen: &mut Screen<impl Write>) -> anyhow::Result<()> {
        screen.set_theme(self.theme);
        let (width, rows) = screen.size();
        let (mut finished, growing) = self.printed.advance(&self.state, width);
        if !finished.is_empty() {
            self.ends_in_note = false;
        }
        if !self.notes.is_empty() && !std::mem::replace(&mut self.ends_in_note, true) {
            finished.push(Line::default());
        }
        finished.append(&mut self.notes);
        let (rest, cursor) = self.rest(width, rows);
        let room = rows.saturating_sub(rest.len() + 1);
        let mut live = growing;
        if live.len() > room {
            live.drain(..live.len() - room);
        }
        let cursor = cursor.map(|place| Place {
            row: place.row + live.len(),
            ..place
        });
        live.extend(rest);
        screen.draw(&finished, live, cursor)?;
        if std::mem::take(&mut self.bell) {
            screen.signal("\u{7}")?;
        }
        Ok(())
    }

    /// Returns the lines after the transcript, and the place of the cursor in them.
    fn rest(&self, width: usize, rows: usize) -> (Vec<Line>, Option<Place>) {
        let mut lines = vec![Line::default()];
        let elapsed = self
            .running_since
            .map(|since| since.elapsed())
            .unwrap_or_default();
        lines.extend(view::subagents(&self.state, width));
        lines.extend(self.terminal_lines(width));
        // Without a server nobody knows.
        if self.asked.is_empty() && self.lost.is_none() {
            lines.extend(view::working(&self.state, self.ticks, elapsed, width));
        }
        if self.state.open_turn().is_some() {
            lines.extend(view::plan(&self.state, width));
        }
        lines.extend(view::queued(&self.state, width));
        let room = rows.saturating_sub(lines.len() + 3);
        if let Some((_, picker)) = &self.picker {
            lines.extend(picker.lines(width, room));
            return (lines, None);
        }
        lines.extend(self.waiting_line(width));
        if let Some(asked) = self.asked.front() {
            let room = room.saturating_sub(usize::from(!self.compose.is_empty()));
            lines.extend(asked.lines(width, room));
            if self.asked.len() > 1 {
                let more = format!("  {} more questions wait", self.asked.len() - 1);
                lines.push(Line::of(more, WARN).cut(width));
            }
            if let Some(last) = self.compose.text().lines().last() {
                lines.push(Line::of(format!("› {}", safe_line(last)), Style::DIM).cut(width));
            }
            return (lines, None);
        }
        let hint = match self.state.open_turn() {
            Some(_) => "Queue a follow-up",
            None if width < WHOLE_HINT => "Describe a task",
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
            policy: policy.map_or("", acts::policy_words),
            lost: self.lost.as_deref(),
        };
        lines.push(view::status(&self.state, &facts, width));
        (lines, Some(cursor))
    }
}

/// Returns the call that waits for an answer.
fn call_of(state: &ThreadState, params: &ApprovalRequestParams) -> Option<Call> {
    let id = params.call_id.as_deref()?;
    let turn = state.turn(&params.turn_id)?;
    cells::of_turn(turn).into_iter().find_map(|cell| match cell.body {
        Body::Call(call) if call.id == id => Some(*call),
        Body::Looks(calls) => calls.into_iter().find(|call| call.id == id),
        _ => None,
    })
}

#[cfg(test)]
mod screens;

#[cfg(test)]
mod tests {
    use bobbin_framing::Transport;

    use super::*;

    struct Never;

    impl Connect for Never {
        fn connect(&mut self) -> futures_util::future::BoxFuture<'_, Result<Transport, String>> {
            Box::pin(std::future::pending())
        }
    }

    pub(super) fn app(opens: Opens, drafts: Option<PathBuf>) -> App {
        let (client, _) = Client::start(Never, Options::new("test", "1"));
        let settings = Settings {
            workspace: "/w".to_owned(),
            opens,
            prompt: None,
            config: ThreadConfiguration::default(),
            trusted: None,
            version: "1",
            is_plain: false,
            has_colors: false,
            editor: None,
            drafts,
            theme: None,
        };
        App::new(settings, client)
    }

    #[tokio::test]
    async fn only_what_was_in_the_prompt_is_stored() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("drafts.json");
        let drafts = Drafts::new(Some(file.clone()));
        drafts.store(None, "half a prompt").unwrap();
        drafts.store(Some("t"), "another").unwrap();

        // Leaving the list of Threads.
        let mut at_list = app(Opens::Choice, Some(file.clone()));
        at_list.open_first();
        at_list.store_draft();
        assert_eq!(drafts.of(None), "half a prompt");

        let mut at_thread = app(Opens::Thread("t".to_owned()), Some(file.clone()));
        at_thread.open_first();
        assert_eq!(at_thread.compose.text(), "another");
        at_thread.compose.clear();
        at_thread.forget_thread();
        at_thread.store_draft();
        assert_eq!(
            [drafts.of(None), drafts.of(Some("t"))],
            ["half a prompt".to_owned(), String::new()]
        );
        at_thread.compose.set("typed");
        at_thread.open("t".to_owned());
        assert_eq!(drafts.of(None), "typed");

        let mut at_new = app(Opens::New, Some(file));
        at_new.open_first();
        assert_eq!(at_new.compose.text(), "typed");
        at_new.compose.clear();
        at_new.store_draft();
        assert_eq!(drafts.of(None), "");
    }
}
