//! Descriptions of servers for messages.

use bobbin_agent_api::tool_server::{ServerAccess, ToolServerConfig};

/// Describes what a server runs or its address. Leaves out values of the user's own file.
pub fn what_runs(config: &ToolServerConfig, is_users: bool) -> String {
    match &config.access {
        ServerAccess::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
        } => {
            let line = [command].into_iter().chain(args);
            let line: Vec<String> = line.map(|word| format!("{word:?}")).collect();
            let set = env.0.iter().map(|(name, value)| {
                if is_users {
                    plain(name)
                } else {
                    format!("{}={value:?}", plain(name))
                }
            });
            let passed = env_vars.iter().map(|name| format!("your {}", plain(name)));
            let with = list(" with ", set.chain(passed));
            let place = cwd.iter().map(|cwd| format!(" in {cwd:?}"));
            let outside = if config.outside_sandbox && !is_users {
                "outside of the sandbox "
            } else {
                ""
            };
            let line = line.join(" ");
            format!("runs {outside}{line}{with}{}", place.collect::<String>())
        }
        ServerAccess::Http {
            url,
            headers,
            env_headers,
            bearer_token_env_var,
        } => {
            let named = headers.0.keys().map(|name| format!("the header {}", plain(name)));
            let filled = env_headers
                .iter()
                .map(|(header, name)| format!("your {} in the header {}", plain(name), plain(header)));
            let bearer = bearer_token_env_var
                .iter()
                .map(|name| format!("your {} as its token", plain(name)));
            let sent = list(", which is sent ", bearer.chain(filled).chain(named));
            format!("is at {}{sent}", plain(url))
        }
    }
}

fn list(before: &str, parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("{before}{}", parts.join(", "))
    }
}

/// Returns a text unchanged if it is printable without blanks, otherwise quoted with escapes.
pub fn plain(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic()) {
        text.to_owned()
    } else {
        format!("{text:?}")
    }
}
