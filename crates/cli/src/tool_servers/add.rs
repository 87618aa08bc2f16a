//! `bobbin mcp add` and `bobbin mcp remove`: one server in a configuration file, the rest of which stays as it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bobbin_agent_api::tool_server::{Secrets, ServerAccess, ToolServerConfig};
use bobbin_mcp::settings::{self, of_server};
use bobbin_settings::{FILE, edit};
use clap::Args;

use bobbin_server::trust::TrustFile;

/// Arguments of `bobbin mcp add`.
#[derive(Debug, Args)]
pub(super) struct Add {
    /// Its name.
    name: String,
    /// Add it to the workspace's file instead of your own, and allow it.
    #[arg(long)]
    here: bool,
    /// Address of a server that is reached over streamable HTTP.
    #[arg(long, value_name = "URL", conflicts_with_all = ["command", "env", "pass"])]
    url: Option<String>,
    /// With --url: the variable with the bearer token.
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    bearer_env: Option<String>,
    /// With --url: a header of each request, whose value is in a variable.
    #[arg(long, value_name = "HEADER=VARIABLE", requires = "url")]
    header_env: Vec<String>,
    /// A variable that is set for it. Others can read the file: pass secrets with --pass.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A variable of yours that it gets.
    #[arg(long, value_name = "VARIABLE")]
    pass: Vec<String>,
    /// The program and its arguments, behind `--`.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Arguments of `bobbin mcp remove`.
#[derive(Debug, Args)]
pub(super) struct Remove {
    /// Its name.
    name: String,
    /// Remove it from the workspace's file instead of your own.
    #[arg(long)]
    here: bool,
}

/// The directories with the configured servers of a user and of a workspace.
pub(super) struct Files<'a> {
    pub(super) home: Option<&'a Path>,
    pub(super) root: &'a Path,
    pub(super) trust: &'a TrustFile,
}

impl Files<'_> {
    fn path(&self, here: bool) -> anyhow::Result<PathBuf> {
        if here {
            return Ok(self.root.join(FILE));
        }
        let home = self.home.context("there is no home directory; use --here")?;
        Ok(edit::users_file(home))
    }

    /// Adds a server, or replaces the one of its name. Returns what it says on success.
    pub(super) fn add(&self, add: Add) -> anyhow::Result<String> {
        let (here, config) = (add.here, add.into_config()?);
        if let Err(why) = settings::check(&config) {
            bail!("{} is not added: {why}", config.name);
        }
        let path = self.path(here)?;
        if here {
            // Who runs this command has written the definition.
            let fingerprint = of_server(&config, self.root);
            self.trust.change(|record| record.add(&fingerprint))?;
        }
        settings::put(&path, &config)?;
        let name = &config.name;
        Ok(format!(
            "{name} is in {}; try it with `bobbin mcp test {name}`",
            path.display()
        ))
    }

    /// Removes a server that is `known` in its file. Returns what it says on success.
    pub(super) fn remove(&self, remove: &Remove, known: bool) -> anyhow::Result<String> {
        let (name, path) = (&remove.name, self.path(remove.here)?);
        if !known {
            bail!(
                "there is no MCP server {name} in {}; `bobbin mcp list` shows those there are",
                path.display()
            );
        }
        settings::remove(&path, name)?;
        Ok(format!("{name} is not in {} any more", path.display()))
    }
}

impl Remove {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_here(&self) -> bool {
        self.here
    }
}

impl Add {
    fn into_config(self) -> anyhow::Result<ToolServerConfig> {
        let access = match (self.url, self.command.split_first()) {
            (Some(url), _) => ServerAccess::Http {
                url,
                bearer_token_env_var: self.bearer_env,
                headers: Secrets::default(),
                env_headers: pairs(&self.header_env, "--header-env HEADER=VARIABLE")?,
            },
            (None, Some((command, args))) => ServerAccess::Stdio {
                command: command.clone(),
                args: args.to_vec(),
                env: Secrets(pairs(&self.env, "--env NAME=VALUE")?),
                env_vars: self.pass,
                cwd: None,
            },
            (None, None) => {
                bail!("say how it is reached: `bobbin mcp add NAME -- COMMAND…`, or --url URL")
            }
        };
        Ok(ToolServerConfig {
            name: self.name,
            enabled: true,
            access,
            outside_sandbox: false,
            start_timeout: None,
            call_timeout: None,
        })
    }
}

fn pairs(texts: &[String], form: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty())?;
        Some((name.to_owned(), value.to_owned()))
    };
    let read = texts
        .iter()
        .map(|text| pair(text).with_context(|| format!("write {form}")));
    read.collect()
}
