//! `bobbin import --from AGENT`: conversations that another agent has stored for this folder.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use bobbin_imports::conversations::{
    Agent, Conversation, Taken, files, of_opencode, opencode_database, read, take,
};
use bobbin_model::{Lines, visible};
use bobbin_server::console;
use bobbin_server::exit;
use bobbin_server::state;
use bobbin_store::Store as _;
use bobbin_store_sqlite::{Opencode, OpencodeSession, Options, SqliteStore};
use bobbin_workspace::Workspace;

use crate::copies::{Import, OtherAgent, hold};

/// Lists conversations, or takes them as finished history.
pub(crate) async fn import(
    from: OtherAgent,
    import: &Import,
    workspace: &Workspace,
) -> anyhow::Result<ExitCode> {
    let home = state::home().context("there is no HOME to look for conversations in")?;
    let mut source = Source::open(from, home, workspace.root.clone()).await?;
    let done = if import.all || !import.what.is_empty() {
        take_all(&mut source, import, workspace).await
    } else {
        list(&mut source).await
    };
    source.close().await;
    done
}

async fn list(source: &mut Source) -> anyhow::Result<ExitCode> {
    let mut count = 0;
    while let Some(found) = source.next().await? {
        count += 1;
        let active = jiff::Timestamp::from_millisecond(found.last_active_at.0).unwrap_or_default();
        console::say(&format!(
            "{}  {}  {:>9}  {}",
            visible(&found.id, Lines::One),
            active.strftime("%Y-%m-%d %H:%M UTC"),
            counted(found.turn_count(), "turn"),
            visible(&found.shown_title(), Lines::One)
        ));
    }
    if count == 0 {
        console::say(&format!(
            "{} has no conversations in {}.",
            source.name(),
            source.workspace.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn counted(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}

/// The result of an import.
#[derive(Default)]
struct Done {
    taken: usize,
    known: usize,
    changed: Vec<String>,
    notes: Vec<String>,
}

async fn take_all(source: &mut Source, import: &Import, workspace: &Workspace) -> anyhow::Result<ExitCode> {
    let locked = hold(workspace).await?;
    let store = SqliteStore::open(&workspace.database(), Options::default()).await?;
    let taken = take_chosen(source, &import.what, &store, workspace).await;
    store.close().await;
    drop(locked);
    let (done, missing) = taken?;
    report(&done, source.name());
    for id in &missing {
        console::say(&format!(
            "{} has no conversation {id} in this folder; `bobbin import --from {} --list` lists them.",
            source.name(),
            source.word()
        ));
    }
    Ok(if missing.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::FAILED)
    })
}

/// Takes the conversations with these ids, or all. Returns the ids that were not found, too.
async fn take_chosen(
    source: &mut Source,
    ids: &[String],
    store: &SqliteStore,
    workspace: &Workspace,
) -> anyhow::Result<(Done, Vec<String>)> {
    let root = workspace.root.to_string_lossy();
    let (mut done, mut missing) = (Done::default(), ids.to_vec());
    while let Some(found) = source.next().await? {
        if !ids.is_empty() && !ids.contains(&found.id) {
            continue;
        }
        missing.retain(|id| *id != found.id);
        match take(store, &found, &root).await? {
            Taken::New(_) => {
                done.taken += 1;
                done.notes.extend(notes(&found));
            }
            Taken::Known(_) => done.known += 1,
            Taken::Changed(id) => done.changed.push(id.as_str().to_owned()),
        }
    }
    Ok((done, missing))
}

fn notes(found: &Conversation) -> Vec<String> {
    let id = visible(&found.id, Lines::One);
    let damaged =
        (found.damaged > 0).then(|| format!("{id}: damaged lines were skipped: {}.", found.damaged));
    let left_out = (found.left_out > 0).then(|| {
        format!(
            "{id}: it is too large; its {} oldest turns were left out.",
            found.left_out
        )
    });
    let parts = found.parts_left_out();
    let parts =
        (parts > 0).then(|| format!("{id}: a turn is too large; {parts} of its parts were left out."));
    damaged.into_iter().chain(left_out).chain(parts).collect()
}

fn report(done: &Done, name: &str) {
    console::say(&format!(
        "Imported {} of {name} as finished history.",
        counted(done.taken, "conversation")
    ));
    done.notes.iter().for_each(|note| console::say(note));
    if done.known > 0 {
        console::say(&format!(
            "Left out, since they are here already: {}.",
            counted(done.known, "conversation")
        ));
    }
    for id in &done.changed {
        console::say(&format!(
            "{id} was left as it is here: there it has grown since it was imported. `bobbin threads delete {id}` and another \
             import take it anew."
        ));
    }
}

/// The conversations of an agent in a folder, one after the other.
struct Source {
    from: OtherAgent,
    workspace: PathBuf,
    left: Left,
}

/// The conversations that were not read yet, newest last.
enum Left {
    Files(Agent, Vec<PathBuf>),
    Sessions(Opencode, Vec<OpencodeSession>),
    Nothing,
}

impl Source {
    async fn open(from: OtherAgent, home: PathBuf, workspace: PathBuf) -> anyhow::Result<Self> {
        let left = match from {
            OtherAgent::Claude => of_files(Agent::Claude, &home, &workspace).await?,
            OtherAgent::Codex => of_files(Agent::Codex, &home, &workspace).await?,
            OtherAgent::Opencode => {
                let database = opencode_database(&home);
                if database.exists() {
                    let mut opened = Opencode::open(&database).await?;
                    let mut sessions = opened.sessions(&workspace.to_string_lossy()).await?;
                    sessions.reverse();
                    Left::Sessions(opened, sessions)
                } else {
                    Left::Nothing
                }
            }
        };
        Ok(Self {
            from,
            workspace,
            left,
        })
    }

    fn name(&self) -> &'static str {
        match self.from {
            OtherAgent::Claude => "Claude Code",
            OtherAgent::Codex => "Codex",
            OtherAgent::Opencode => "opencode",
        }
    }

    fn word(&self) -> &'static str {
        match self.from {
            OtherAgent::Claude => "claude",
            OtherAgent::Codex => "codex",
            OtherAgent::Opencode => "opencode",
        }
    }

    /// Reads the next conversation, newest first. A file that cannot be read is reported and left out.
    async fn next(&mut self) -> anyhow::Result<Option<Conversation>> {
        loop {
            let found = match &mut self.left {
                Left::Nothing => return Ok(None),
                Left::Files(agent, files) => {
                    let Some(file) = files.pop() else { return Ok(None) };
                    let (agent, workspace, shown) = (*agent, self.workspace.clone(), file.clone());
                    match tokio::task::spawn_blocking(move || read(agent, &file, &workspace)).await? {
                        Ok(found) => found,
                        Err(error) => {
                            console::say(&format!("{} is left out: {error}", shown.display()));
                            None
                        }
                    }
                }
                Left::Sessions(opened, sessions) => {
                    let Some(session) = sessions.pop() else {
                        return Ok(None);
                    };
                    of_opencode(&session, &opened.messages(&session.id).await?)
                }
            };
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    async fn close(self) {
        if let Left::Sessions(opened, _) = self.left {
            opened.close().await;
        }
    }
}

async fn of_files(agent: Agent, home: &Path, workspace: &Path) -> anyhow::Result<Left> {
    let (home, workspace) = (home.to_owned(), workspace.to_owned());
    let mut found = tokio::task::spawn_blocking(move || files(agent, &home, &workspace)).await?;
    found.reverse();
    Ok(Left::Files(agent, found))
}
