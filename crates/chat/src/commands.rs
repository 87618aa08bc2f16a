//! Commands of the prompt that this client carries out itself.

/// A command: its name, what may follow it, and what it does.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) argument: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) act: Act,
}

/// The act of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Archive,
    Compact,
    Diff,
    Edit,
    Effort,
    Fork,
    Help,
    Mcp,
    Mode,
    Model,
    New,
    Policy,
    Quit,
    Redo,
    Rename,
    Rules,
    Stop,
    Terminals,
    Threads,
    Undo,
    Usage,
    Waiting,
}

const fn command(name: &'static str, argument: &'static str, summary: &'static str, act: Act) -> Command {
    Command {
        name,
        argument,
        summary,
        act,
    }
}

/// The commands, in the order of the menu.
pub(crate) const COMMANDS: &[Command] = &[
    command("new", "", "Start a new thread", Act::New),
    command("resume", "", "Go on with another thread", Act::Threads),
    command("waiting", "", "Answer questions of other threads", Act::Waiting),
    command("model", "[NAME]", "Choose the model", Act::Model),
    command(
        "effort",
        "[LEVEL]",
        "Choose how much the model reasons",
        Act::Effort,
    ),
    command("mode", "[agent|plan]", "Plan first, or work", Act::Mode),
    command("policy", "[NAME]", "Choose when you are asked", Act::Policy),
    command("diff", "", "Show what the last turn changed", Act::Diff),
    command(
        "undo",
        "",
        "Put back the files that the last turn changed; again, the turn before it",
        Act::Undo,
    ),
    command(
        "redo",
        "",
        "Make the changes again that were undone last",
        Act::Redo,
    ),
    command("edit", "", "Go back to an earlier message", Act::Edit),
    command("fork", "", "Go on in a copy of this thread", Act::Fork),
    command(
        "compact",
        "",
        "Summarize the conversation for the model",
        Act::Compact,
    ),
    command("rename", "TITLE", "Give this thread a title", Act::Rename),
    command(
        "archive",
        "",
        "Archive this thread and start a new one",
        Act::Archive,
    ),
    command(
        "terminals",
        "",
        "Show the output of commands in the background",
        Act::Terminals,
    ),
    command("stop", "", "Stop a command in the background", Act::Stop),
    command("rules", "", "Show what runs without a question", Act::Rules),
    command("usage", "", "Show tokens and cost of this thread", Act::Usage),
    command("mcp", "", "Show the tool servers", Act::Mcp),
    command("help", "", "Show commands and keys", Act::Help),
    command("quit", "", "Leave; a running turn goes on", Act::Quit),
];

/// The keys, for the help.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("Enter", "sends; while a turn runs, the text waits for its end"),
    (
        "Ctrl-S",
        "sends now: the running turn takes it up at its next step",
    ),
    ("Ctrl-J, Alt-Enter, \\ Enter", "a new line"),
    (
        "↑ ↓",
        "earlier prompts; with an empty prompt, takes back what waits",
    ),
    ("!", "and a command: runs it yourself, in the sandbox"),
    ("@", "files of the workspace; Tab completes"),
    (
        "Esc",
        "interrupts the turn; twice with an empty prompt, an earlier message",
    ),
    ("Shift-Tab", "plan first, or work"),
    ("Ctrl-T", "other threads"),
    ("Ctrl-Q", "questions of other threads"),
    ("Ctrl-O", "shows the whole output of the last call"),
    ("Ctrl-G", "edits the prompt in $EDITOR"),
    ("Ctrl-L", "draws the screen anew"),
    ("Ctrl-Z", "back to the shell; fg returns"),
    (
        "Ctrl-C",
        "clears the prompt, interrupts the turn, and leaves when pressed twice",
    ),
    ("Ctrl-D", "leaves"),
];

/// Returns the command with this name.
pub(crate) fn find(name: &str) -> Option<&'static Command> {
    let is_it = |command: &&Command| command.name == name || command.act == Act::Threads && name == "threads";
    COMMANDS.iter().find(is_it)
}
