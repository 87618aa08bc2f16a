//! Checks of a server's surroundings: keys, git, MCP servers, a port, a writable workspace. Starts no server.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use bobbin_agent_api::SystemClock;
use bobbin_agent_api::tool_server::{ServerAccess, ToolServerConfig};
use bobbin_children::{Dropped, Environment};
use bobbin_transport::{PageOrigin, Tls};
use bobbin_undo::FileUndo;
use nix::unistd::{AccessFlags, access};

use super::Report;
use crate::environment::children;
use crate::models::variable;
use crate::page_origin::{Others, Reached, decide};
use crate::{held_sockets, managed, state};
use bobbin_config::Config;
use bobbin_mcp::settings::DeclaredServer;
use bobbin_native::groups::doctor::types::DoctorLevel;
use bobbin_plugins::wire::DiagnosticSeverity;
use bobbin_workspace::{TrustFile, Workspace};

/// Reports a workspace whose files cannot be changed.
pub(super) fn rights(workspace: &Workspace, report: &mut Report) {
    let root = &workspace.root;
    if let Err(error) = access(root, AccessFlags::W_OK) {
        let text = format!(
            "you cannot write to it ({}): the agent reads and changes nothing",
            error.desc()
        );
        let mend = format!("`chmod u+w {}`, or serve a copy", root.display());
        report.add_mendable("workspace", DoctorLevel::Error, text, mend);
    }
}

/// Reports whether Turns can be undone, by opening snapshots in a temporary directory.
pub(super) async fn undo(workspace: &Workspace, environment: &Environment, report: &mut Report) {
    const WHAT: &str = "undo";
    let Ok(place) = tempfile::tempdir() else {
        return report.add(
            WHAT,
            DoctorLevel::Warning,
            "not tried: there is no temporary directory",
        );
    };
    let clock = Arc::new(SystemClock);
    match FileUndo::open(place.path(), &workspace.root, children(), environment, clock).await {
        Ok(undo) => {
            undo.end().await;
            report.add(WHAT, DoctorLevel::Ok, "turns can be undone");
        }
        Err(error) => report.add(
            WHAT,
            DoctorLevel::Warning,
            format!("turns cannot be undone: {error}"),
        ),
    }
}

/// Reports the variables that commands do not get, by their names only.
pub(super) fn variables(config: &Config, report: &mut Report) {
    const WHAT: &str = "environment";
    let (environment, dropped) = config.variables.environment(managed::own_variables());
    let count = environment.iter().count();
    report.add(
        WHAT,
        DoctorLevel::Ok,
        format!("commands get {count} variables of yours"),
    );
    for kind in [Dropped::Rule, Dropped::Name, Dropped::Value] {
        let names = dropped.iter().filter(|(_, why)| *why == kind);
        let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        let text = format!("{kind}: {}", names.join(", "));
        match kind {
            Dropped::Name | Dropped::Value => {
                let mend = "Commands.Environment.Keep keeps one";
                report.add_mendable(WHAT, DoctorLevel::Warning, text, mend);
            }
            Dropped::Rule | Dropped::Shell => report.add(WHAT, DoctorLevel::Warning, text),
        }
    }
}

/// Reports for each MCP server whether something prevents it from running.
pub(super) fn tool_servers(
    config: &Config,
    workspace: &Workspace,
    environment: &Environment,
    report: &mut Report,
) {
    let path = environment.get("PATH").unwrap_or_default();
    for declared in &config.tool_servers {
        let (level, text, mend) = tool_server(declared, workspace, path);
        let text = format!("{} ({}): {text}", declared.config.name, declared.place());
        match mend {
            Some(mend) => report.add_mendable("MCP server", level, text, mend),
            None => report.add("MCP server", level, text),
        }
    }
}

/// Reports problems of plugins.
pub(super) fn plugins(config: &Config, workspace: &Workspace, report: &mut Report) {
    let place = crate::plugins::place(&workspace.root, state::home().as_deref());
    let record = state::directory().map(|state| TrustFile::of(&state, &workspace.root).read());
    for problem in bobbin_plugins::problems(&place, &config.plugins, &record.unwrap_or_default()) {
        let level = match problem.severity {
            DiagnosticSeverity::Error => DoctorLevel::Error,
            DiagnosticSeverity::Warning => DoctorLevel::Warning,
            DiagnosticSeverity::Info => continue,
        };
        let id = problem.plugin_id.map(|id| format!("{id}: ")).unwrap_or_default();
        let path = problem.path.map(|path| format!("{path}: ")).unwrap_or_default();
        report.add("plugins", level, format!("{id}{path}{}", problem.message));
    }
}

fn tool_server(
    declared: &DeclaredServer,
    workspace: &Workspace,
    path: &OsStr,
) -> (DoctorLevel, String, Option<&'static str>) {
    const EXPORT: Option<&str> = Some("export it before you start bobbin");
    let ToolServerConfig { name, enabled, .. } = &declared.config;
    if !enabled {
        return (
            DoctorLevel::Warning,
            "disabled".to_owned(),
            Some("set Enabled of it to true"),
        );
    }
    if !declared.trusted {
        let text =
            format!("not trusted yet: `bobbin mcp allow {name}`, once you have read `bobbin mcp list`");
        return (DoctorLevel::Warning, text, None);
    }
    let access = match declared.access(&variable) {
        Ok(access) => access,
        Err(missing) => {
            let text = format!("the variable {missing}, which it is filled in with, is not set");
            return (DoctorLevel::Error, text, EXPORT);
        }
    };
    let (named, program) = match &access {
        ServerAccess::Stdio {
            command,
            cwd,
            env_vars,
            ..
        } => {
            let cwd = workspace.root.join(cwd.as_deref().unwrap_or_default());
            (env_vars.iter().collect(), Some((command, cwd)))
        }
        ServerAccess::Http {
            bearer_token_env_var,
            env_headers,
            ..
        } => {
            let named: Vec<&String> = bearer_token_env_var.iter().chain(env_headers.values()).collect();
            (named, None)
        }
    };
    if let Some((command, cwd)) = &program
        && !is_there(command, cwd, path)
    {
        let text = format!("there is no program {command:?}");
        return (
            DoctorLevel::Error,
            text,
            Some("install it, or correct its Command"),
        );
    }
    if let Some(missing) = named.iter().find(|name| variable(name).is_none()) {
        let text = format!("the variable {missing}, which it gets, is not set");
        return (DoctorLevel::Warning, text, EXPORT);
    }
    let text = match program {
        Some((command, _)) => format!("starts {command:?}"),
        None => "is reached over HTTP, not tried".to_owned(),
    };
    (DoctorLevel::Ok, text, None)
}

/// Whether a command names an existing file, by a path or by a name on the search path.
fn is_there(command: &str, cwd: &Path, path: &OsStr) -> bool {
    if command.contains('/') {
        return cwd.join(command).is_file();
    }
    std::env::split_paths(path).any(|place| cwd.join(place).join(command).is_file())
}

/// Reports whether the configured certificate can be used.
pub(super) fn tls(config: &Config, report: &mut Report) {
    const WHAT: &str = "TLS";
    let Some((certificate, key)) = &config.listener.tls else {
        if !config.listener.address().ip().is_loopback() {
            let text = "none: others on the network can read along";
            let mend = "AppServer.Tls names a certificate, or use a proxy";
            report.add_mendable(WHAT, DoctorLevel::Warning, text, mend);
        }
        return;
    };
    match Tls::open(certificate, key) {
        Ok(_) => report.add(
            WHAT,
            DoctorLevel::Ok,
            format!("{} and its key belong together", certificate.display()),
        ),
        Err(error) => report.add(WHAT, DoctorLevel::Error, error.to_string()),
    }
}

/// Reports whether the page's address is stable, why, and what is not protected.
pub(super) fn page(config: &Config, report: &mut Report) {
    const WHAT: &str = "page";
    let others = Others::of(config);
    let why = match &others {
        Others::Account(name) => format!("{name} can run programs here too"),
        Others::Unknown => "/etc/passwd cannot be read, or is too large to look at".to_owned(),
        Others::Nobody => "nobody else has an account here".to_owned(),
        Others::Configured(true) => "AppServer.WebSocket.SharedMachine is true".to_owned(),
        Others::Configured(false) => "AppServer.WebSocket.SharedMachine is false".to_owned(),
    };
    let reached = Reached {
        address: config.listener.address(),
        has_tls: config.listener.tls.is_some(),
        is_held: held_sockets::are_held(),
    };
    match decide(&others, reached) {
        Err(error) => report.add(WHAT, DoctorLevel::Error, error.to_string()),
        Ok(PageOrigin::Fresh(_)) => {
            let text =
                format!("{why}, so the page has another address after each start; `bobbin open` opens it");
            let mend = "TLS or the unit bobbin@.socket gives it one that stays";
            report.add_mendable(WHAT, DoctorLevel::Ok, text, mend);
        }
        Ok(PageOrigin::Numeric) if reached.is_held => {
            let text = format!("{why}, and systemd holds the port, so the page's address stays");
            report.add(WHAT, DoctorLevel::Ok, text);
        }
        Ok(PageOrigin::Encrypted) => {
            let text = format!("{why}, so browsers reach the page by https:// alone; its address stays");
            report.add(WHAT, DoctorLevel::Ok, text);
        }
        Ok(PageOrigin::Numeric) => {
            let text = format!(
                "{why}: a program of theirs at the port of a server that has ended gets the secrets of your browsers"
            );
            let mend = "AppServer.Tls names a certificate, or listen on 127.0.0.1";
            report.add_mendable(WHAT, DoctorLevel::Warning, text, mend);
        }
        Ok(PageOrigin::Stable) => {
            let text = format!(
                "{why}, so its address stays; a program of yours at the port of a server that has ended gets the \
                 secrets of your browsers"
            );
            report.add(WHAT, DoctorLevel::Ok, text);
        }
    }
}

/// Reports whether a server could listen on the configured address. For workspaces without a running server.
pub(super) fn port(config: &Config, report: &mut Report) {
    const WHAT: &str = "port";
    let address = config.listener.address();
    match TcpListener::bind(address) {
        Ok(_) => report.add(WHAT, DoctorLevel::Ok, format!("{address} is free")),
        Err(error) if config.listener.port.is_none() && error.kind() == std::io::ErrorKind::AddrInUse => {
            let text = format!("{address} is taken, so `bobbin` takes a free one and prints it");
            let mend = "`bobbin serve --listen ws://HOST:PORT` chooses one";
            report.add_mendable(WHAT, DoctorLevel::Warning, text, mend);
        }
        Err(error) => {
            let text = format!("{address} cannot be listened on ({error})");
            let mend = "change AppServer.WebSocket in ~/.craft/config.json, or use `bobbin serve --listen ws://127.0.0.1:0`";
            report.add_mendable(WHAT, DoctorLevel::Error, text, mend);
        }
    }
}
