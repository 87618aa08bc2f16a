//! Checks of MCP servers. Starts none of them.

use std::ffi::OsStr;
use std::path::Path;

use bobbin_agent_api::checks::{DoctorLevel, DoctorReport};
use bobbin_agent_api::tool_server::{ServerAccess, ToolServerConfig};

use crate::settings::DeclaredServer;

/// Reports for each server whether something prevents it from running. `path` is the search path of programs, and
/// `variable` returns the value of a variable.
pub fn check(
    servers: &[DeclaredServer],
    root: &Path,
    path: &OsStr,
    variable: &dyn Fn(&str) -> Option<String>,
    report: &mut DoctorReport,
) {
    for declared in servers {
        let (level, text, mend) = check_one(declared, root, path, variable);
        let text = format!("{} ({}): {text}", declared.config.name, declared.place());
        match mend {
            Some(mend) => report.add_mendable("MCP server", level, text, mend),
            None => report.add("MCP server", level, text),
        }
    }
}

fn check_one(
    declared: &DeclaredServer,
    root: &Path,
    path: &OsStr,
    variable: &dyn Fn(&str) -> Option<String>,
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
    let access = match declared.access(variable) {
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
            let cwd = root.join(cwd.as_deref().unwrap_or_default());
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
