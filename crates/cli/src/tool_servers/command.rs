//! `bobbin mcp`: shows, adds, removes and tries MCP servers, and says which of the workspace's own may run.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use bobbin_mcp::{Host, Login, OAuthClient, Secret, ServerSpec};
use bobbin_model::ServerOrigin;
use clap::{Args, Subcommand};

use super::add::{Add, Files, Remove};
use bobbin_config::Config;
use bobbin_mcp::settings::{DeclaredServer, ServerFile};
use bobbin_mcp::{ServerPlaces, logins, over_http, resolve};
use bobbin_server::config;
use bobbin_server::console;
use bobbin_server::environment::children;
use bobbin_server::models;
use bobbin_server::state;
use bobbin_server::trust::TrustFile;
use bobbin_settings::plain;
use bobbin_workspace::Workspace;

/// Arguments of `bobbin mcp`.
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR", global = true)]
    workspace: Option<PathBuf>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the servers, what they run, and whether they may.
    List,
    /// Add a server, or replace the one of its name.
    Add(Add),
    /// Remove a server.
    Remove(Remove),
    /// Log in at a server that is reached over HTTP.
    Login {
        /// Its name.
        name: String,
        /// Our name at its authorization server, if that registers no clients by itself.
        #[arg(long, value_name = "ID")]
        client_id: Option<String>,
        /// With --client-id: the variable with the secret of that client, if it has one.
        #[arg(long, value_name = "VARIABLE", requires = "client_id")]
        client_secret_env: Option<String>,
    },
    /// Remove what a login has given.
    Logout {
        /// Its name.
        name: String,
    },
    /// Start a server, ask it for its tools, end it.
    Test {
        /// Its name.
        name: String,
    },
    /// Allow a server that comes with the workspace to run, exactly as it is defined now.
    Allow {
        /// Its name.
        name: String,
    },
    /// Take that back. A server that runs goes on until it is stopped.
    Revoke {
        /// Its name.
        name: String,
    },
}

/// Does what was asked.
pub(crate) async fn run(mcp: Mcp) -> anyhow::Result<ExitCode> {
    let workspace = state::workspace(mcp.workspace.as_deref())?;
    let home = state::home();
    let config = config::read(&workspace.root, home.as_deref())?;
    let file = TrustFile::of(&state::directory()?, &workspace.root);
    match mcp.action {
        Action::List => {
            for warning in &config.warnings {
                console::complain(warning);
            }
            if config.tool_servers.is_empty() {
                console::say("No MCP servers are configured.");
            }
            for declared in &config.tool_servers {
                console::say(&line(declared));
            }
        }
        Action::Add(add) => {
            let files = Files {
                home: home.as_deref(),
                root: &workspace.root,
                trust: &file,
            };
            console::say(&files.add(add)?);
        }
        Action::Remove(remove) => {
            let known = config.tool_servers.iter().any(|declared| {
                let is_here = declared.origin == ServerOrigin::Workspace;
                declared.file == ServerFile::Config
                    && is_here == remove.is_here()
                    && declared.config.name.to_lowercase() == remove.name().to_lowercase()
            });
            let files = Files {
                home: home.as_deref(),
                root: &workspace.root,
                trust: &file,
            };
            console::say(&files.remove(&remove, known)?);
        }
        Action::Test { name } => test(runnable(&config, &workspace, &name)?).await?,
        Action::Login {
            name,
            client_id,
            client_secret_env,
        } => {
            let secret = client_secret_env.map(|variable| secret(&variable)).transpose()?;
            let client = client_id.map(|id| OAuthClient { id, secret });
            log_in(runnable(&config, &workspace, &name)?, client).await?;
        }
        Action::Logout { name } => {
            let spec = runnable(&config, &workspace, &name)?;
            let name = plain(&spec.name);
            let server = over_http(spec).map_err(anyhow::Error::msg)?;
            let said = if server.tokens.remove()? {
                "is logged out"
            } else {
                "was not logged in"
            };
            console::say(&format!("{name} {said}"));
        }
        Action::Allow { name } => {
            let mut declared = of_workspace(&config, &name)?.clone();
            file.change(|record| declared.fingerprint.iter().for_each(|one| record.add(one)))?;
            declared.trusted = true;
            console::say(&line(&declared));
            console::say(
                "A server that runs already takes note at its next start, or when a client starts it.",
            );
        }
        Action::Revoke { name } => {
            let mut declared = of_workspace(&config, &name)?.clone();
            file.change(|record| declared.fingerprint.iter().for_each(|one| record.remove(one)))?;
            declared.trusted = false;
            console::say(&line(&declared));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a server that may run. Of two with one name this is the workspace's, as when the server runs.
fn runnable(config: &Config, workspace: &Workspace, name: &str) -> anyhow::Result<ServerSpec> {
    let named = |declared: &&DeclaredServer| declared.config.name.to_lowercase() == name.to_lowercase();
    let mut found: Vec<&DeclaredServer> = config.tool_servers.iter().filter(named).collect();
    found.sort_by_key(|declared| (declared.trusted, !declared.is_users()));
    let Some(declared) = found.pop() else {
        bail!("there is no MCP server {name}; `bobbin mcp list` shows those there are");
    };
    if !declared.trusted {
        bail!("{name} may not run yet: read `bobbin mcp list`, then `bobbin mcp allow {name}`");
    }
    let variables: Vec<_> = std::env::vars_os().collect();
    let logins = logins(state::directory()?.path());
    let places = ServerPlaces::of(workspace, logins);
    // Where the user's own start.
    std::fs::create_dir_all(&places.own)?;
    Ok(resolve(declared, &places, &variables))
}

async fn test(spec: ServerSpec) -> anyhow::Result<()> {
    let host = Host::new(children(), Arc::new(drop));
    let tried = host.probe(&spec).await;
    host.end().await;
    match tried {
        Ok(tools) => console::say(&format!("{}: works, {tools} tools", plain(&spec.name))),
        Err(why) => bail!("{}: {why}", plain(&spec.name)),
    }
    Ok(())
}

/// Returns the secret that a variable has.
fn secret(variable: &str) -> anyhow::Result<Secret> {
    let value = models::variable(variable);
    let missing = || format!("the variable {variable} has no secret: set it, and run this again");
    value.map(Secret).with_context(missing)
}

async fn log_in(spec: ServerSpec, client: Option<OAuthClient>) -> anyhow::Result<()> {
    let name = plain(&spec.name);
    let server = over_http(spec).map_err(anyhow::Error::msg)?;
    let failed = |why| anyhow::anyhow!("{name} {why}");
    let login = Login::start(&server, client).await.map_err(failed)?;
    console::say("Open this page and log in:");
    console::say(login.link());
    login.finish().await.map_err(failed)?;
    console::say(&format!(
        "{name} is logged in; try it with `bobbin mcp test {name}`"
    ));
    Ok(())
}

fn of_workspace<'a>(config: &'a Config, name: &str) -> anyhow::Result<&'a DeclaredServer> {
    let named = |declared: &&DeclaredServer| declared.config.name.to_lowercase() == name.to_lowercase();
    let mut found = config.tool_servers.iter().filter(named);
    match found.clone().find(|declared| !declared.is_users()) {
        Some(declared) => Ok(declared),
        None if found.next().is_some() => bail!("the MCP server {name} is your own: it may run already"),
        None => bail!("there is no MCP server {name}; `bobbin mcp list` shows those there are"),
    }
}

/// Returns the facts about a server for a user who may allow it. Its text comes from others, and control characters
/// are made visible; values from the user's own file may be secrets and are left out.
fn line(declared: &DeclaredServer) -> String {
    let config = &declared.config;
    let runs = declared.what_runs();
    let whose = match declared.origin {
        ServerOrigin::User => "yours",
        // In a workspace that is the user's home.
        ServerOrigin::Workspace if declared.is_users() => "yours",
        ServerOrigin::Workspace => "the workspace's",
        ServerOrigin::Plugin => "a plugin's",
    };
    let may = match (config.enabled, declared.trusted) {
        (false, _) => "disabled",
        (true, true) => "allowed",
        (true, false) => "not allowed yet",
    };
    format!(
        "{} ({whose}, from {}, {may}) {runs}",
        plain(&config.name),
        declared.place()
    )
}
