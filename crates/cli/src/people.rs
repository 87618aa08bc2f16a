//! `bobbin people`: the people who may use the user's servers, and their roles.
//!
//! The record belongs to the user, so no server is asked; those that run notice within a second.

use std::process::ExitCode;

use anyhow::bail;
use bobbin_agent_api::{Clock as _, SystemClock};
use bobbin_model::{Need, Role, UnixMillis};
use bobbin_page::DeviceFile;
use bobbin_people::{PeopleFile, PersonRecord};
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{config, console, environment, sandbox, state, telemetry};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use jiff::{Span, Timestamp};
use serde_json::{Value, json};

/// Arguments of `bobbin people`.
#[derive(Debug, Args)]
pub(crate) struct People {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Give a person a role, or another one.
    ///
    /// A viewer reads. An author prompts too, and stops their own turns. An approver answers questions too. An owner may do
    /// what you can. `bobbin token --for NAME` and `bobbin pair --for NAME` let them in.
    Add {
        /// The name, as records show it.
        name: String,
        /// The role.
        #[arg(long, value_name = "ROLE", value_parser = PossibleValuesParser::new(Role::ALL.map(Role::word)))]
        role: String,
        /// The workspace in which the role counts, by its name at the node (`bobbin workspace list`); all when left out.
        #[arg(long, value_name = "NAME")]
        workspace: Option<String>,
    },
    /// List the people and their roles.
    List {
        /// Print JSON, a person a line.
        #[arg(long)]
        json: bool,
    },
    /// Take all roles, tokens and paired browsers of a person back, and end their connections.
    Remove {
        /// The name.
        name: String,
    },
}

/// Changes or lists.
pub(crate) async fn run(people: People) -> anyhow::Result<ExitCode> {
    telemetry::start(&LogOptions::default(), "error")?;
    let file = PeopleFile::of(state::directory()?.path());
    match people.action {
        Action::Add {
            name,
            role,
            workspace,
        } => {
            let Some(role) = Role::ALL.into_iter().find(|known| known.word() == role) else {
                bail!("there is no role {role}");
            };
            if role.may(Need::Prompt) && !role.may(Need::Own) {
                check_confinement(role).await?;
            }
            if let Some(workspace) = &workspace
                && !state::directory()?
                    .named()?
                    .iter()
                    .any(|named| named.name == *workspace)
            {
                bail!("the node serves no workspace {workspace}; `bobbin workspace list` names them");
            }
            file.give(&name, role, workspace.as_deref())?;
            let place = workspace.map_or_else(
                || "all workspaces".to_owned(),
                |name| format!("the workspace {name}"),
            );
            console::say(&format!("{name} is {} in {place}.", role.word()));
            console::note(&format!(
                "`bobbin token --for {name}` makes a token, `bobbin pair --for {name}` lets a browser in."
            ));
        }
        Action::List { json } => list(&file.read()?, json),
        Action::Remove { name } => {
            file.remove(&name)?;
            // The next person of this name is another one.
            DeviceFile::of(state::directory()?.path()).revoke_of(&name)?;
            console::say(&format!("{name} is out."));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a role whose Turns run commands where bubblewrap does not confine them.
async fn check_confinement(role: Role) -> anyhow::Result<()> {
    let workspace = state::workspace(None)?;
    let home = state::home();
    let config = config::read(&workspace.root, home.as_deref())?;
    let sandbox = sandbox::of(&config, &workspace, home.as_deref(), &environment::children());
    sandbox.settle().await;
    if !sandbox.is_bubblewrapped() {
        bail!(
            "bubblewrap does not confine commands here, so the commands of other people would read your files: only the \
             roles viewer and owner can be given, not {}. `bobbin doctor` says what is missing",
            role.word()
        );
    }
    Ok(())
}

fn list(people: &[PersonRecord], as_json: bool) {
    let now = SystemClock.now();
    if as_json {
        for person in people {
            console::say(&as_value(person, now).to_string());
        }
        return;
    }
    if people.is_empty() {
        console::say("Nobody but you. `bobbin people add NAME --role viewer` gives a person a role.");
    }
    for person in people {
        let everywhere = person.role.map(|role| role.word().to_owned());
        let single = person
            .workspaces
            .iter()
            .map(|(name, role)| format!("{} in {name}", role.word()));
        let roles: Vec<String> = everywhere.into_iter().chain(single).collect();
        let tokens = person.tokens.iter().filter(|token| token.counts(now)).count();
        let tokens = format!("{tokens} {}", if tokens == 1 { "token" } else { "tokens" });
        console::say(&format!("{}  {}  {tokens}", person.name, roles.join(", ")));
    }
}

fn as_value(person: &PersonRecord, now: UnixMillis) -> Value {
    let tokens = person
        .tokens
        .iter()
        .filter(|token| token.counts(now))
        .map(|token| {
            json!({
                "createdAt": time(token.created_at),
                "expiresAt": token.expires_at.map(time),
            })
        });
    json!({
        "name": person.name,
        "role": person.role,
        "workspaces": person.workspaces,
        "tokens": tokens.collect::<Vec<_>>(),
    })
}

fn time(at: UnixMillis) -> String {
    Timestamp::from_millisecond(at.0).unwrap_or_default().to_string()
}

/// Makes a token for a person, which counts for a time such as `30d`, or for ever.
pub(crate) fn token_for(name: &str, expires: Option<Span>) -> anyhow::Result<String> {
    let now = Timestamp::now();
    let expires_at = match expires {
        Some(span) => {
            let now = now.to_zoned(jiff::tz::TimeZone::UTC);
            let at = now.checked_add(span)?.timestamp();
            if at <= now.timestamp() {
                bail!("--expires must be a time from now on, such as 30d");
            }
            Some(UnixMillis(at.as_millisecond()))
        }
        None => None,
    };
    let file = PeopleFile::of(state::directory()?.path());
    Ok(file.issue(name, UnixMillis(now.as_millisecond()), expires_at)?)
}
