//! Turns a declared server into the host's specification: absolute paths, values of variables, defaults. The
//! environment is an argument. Only the check before a start reads the disk.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::tool_server::ServerAccess;
use bobbin_children::{Environment, ProcessSpec};
use bobbin_model::Reach;
use bobbin_workspace::Workspace;

use crate::settings::DeclaredServer;
use crate::{HttpSpec, Launch, Secret, ServerSpec, StartCheck, TokenFile};

/// Default time for a server to start (guess: a package that must be fetched first).
const START: Duration = Duration::from_secs(30);
/// Default time for a call.
const CALL: Duration = Duration::from_mins(2);
/// Longest times that a file can set.
const LONGEST_START: Duration = Duration::from_mins(10);
const LONGEST_CALL: Duration = Duration::from_hours(24);

/// Directories that servers use.
#[derive(Debug, Clone)]
pub struct ServerPlaces {
    /// The workspace, where servers of the folder start.
    pub root: PathBuf,
    /// Tokens of logins.
    pub logins: PathBuf,
    /// The folder where the user's own servers start. In the workspace `npx` or `python -m` would find files of the
    /// agent and run them outside of the sandbox.
    pub own: PathBuf,
    /// The caches of the folder's servers, which they may write in their sandbox.
    pub caches: PathBuf,
}

impl ServerPlaces {
    /// Returns the directories of a workspace.
    pub fn of(workspace: &Workspace, logins: PathBuf) -> Self {
        Self {
            root: workspace.root.clone(),
            logins,
            own: workspace.folder().join("mcp"),
            caches: workspace.folder().join("mcp-caches"),
        }
    }
}

/// Returns the specification of a server. The host starts it only if it is trusted. `variables` is our own
/// environment.
pub fn resolve(
    declared: &DeclaredServer,
    places: &ServerPlaces,
    variables: &[(OsString, OsString)],
) -> ServerSpec {
    let config = &declared.config;
    let name = &config.name;
    // Values of variables may be secrets.
    let filled_in = RefCell::new(Vec::new());
    let fill_in = |wanted: &str| {
        let value = variable(variables, wanted);
        filled_in.borrow_mut().extend(value.clone().map(Secret));
        value
    };
    let reach = match &config.access {
        ServerAccess::Stdio { command, args, .. } => Reach::Stdio {
            command: command.clone(),
            args: args.clone(),
        },
        ServerAccess::Http { url, .. } => Reach::Http { url: url.clone() },
    };
    let (launch, mut secrets) = match declared.access(&fill_in) {
        Ok(access) => {
            let owner = if is_sandboxed(declared) {
                Owner::Sandboxed
            } else if declared.is_of_folder() {
                Owner::Folder
            } else {
                Owner::User
            };
            launch(name, access, owner, places, variables)
        }
        Err(missing) => {
            let why = format!(
                "the variable {missing}, which it is filled in with, is not set; export it before you start bobbin"
            );
            (Launch::Withheld(why), Vec::new())
        }
    };
    secrets.extend(filled_in.into_inner());
    let launch = if !config.enabled {
        Launch::Disabled
    } else if declared.trusted {
        launch
    } else {
        Launch::Withheld(
            "it comes with the workspace, which you have not trusted with it; `bobbin trust` shows what it runs".to_owned(),
        )
    };
    ServerSpec {
        name: name.clone(),
        origin: declared.origin,
        read_only: declared.is_read_only(),
        reach,
        launch,
        sandbox: None,
        check: still_trusted(declared, &places.root),
        start_timeout: config.start_timeout.unwrap_or(START).min(LONGEST_START),
        call_timeout: config.call_timeout.unwrap_or(CALL).min(LONGEST_CALL),
        secrets,
    }
}

/// Whether a server runs in the sandbox of commands.
pub(crate) fn is_sandboxed(declared: &DeclaredServer) -> bool {
    declared.is_of_folder() && !declared.config.outside_sandbox
}

/// The owner of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The user's own.
    User,
    /// The folder's, outside of the sandbox.
    Folder,
    /// The folder's, in the sandbox.
    Sandboxed,
}

/// Returns how to start a server, and the values that must not be shown.
fn launch(
    name: &str,
    access: ServerAccess,
    owner: Owner,
    places: &ServerPlaces,
    variables: &[(OsString, OsString)],
) -> (Launch, Vec<Secret>) {
    match access {
        ServerAccess::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
        } => {
            let mut environment = Environment::from_base(variables.iter().cloned());
            if owner == Owner::Sandboxed {
                environment.set_caches(&env.0, &places.caches);
            }
            let mut secrets: Vec<Secret> = env.0.values().cloned().map(Secret).collect();
            // The entry names these variables for this program, so even secrets pass.
            for (name, value) in variables {
                if name
                    .to_str()
                    .is_some_and(|name| env_vars.iter().any(|wanted| wanted == name))
                {
                    secrets.extend(value.to_str().map(|value| Secret(value.to_owned())));
                    environment.set(name, value);
                }
            }
            for (name, value) in &env.0 {
                environment.set(name, value);
            }
            let cwd = match (cwd, owner) {
                // An absolute path stays as it is.
                (Some(cwd), _) => places.root.join(cwd),
                (None, Owner::User) => places.own.clone(),
                (None, Owner::Folder | Owner::Sandboxed) => places.root.clone(),
            };
            let process = ProcessSpec::new(command, cwd, environment).args(args);
            (Launch::Child(Box::new(process)), secrets)
        }
        ServerAccess::Http {
            url,
            bearer_token_env_var,
            headers,
            env_headers,
        } => {
            let from_variables = env_headers
                .into_iter()
                .filter_map(|(header, name)| Some((header, variable(variables, &name)?)));
            let headers: Vec<(String, String)> = headers.0.into_iter().chain(from_variables).collect();
            let bearer = bearer_token_env_var.and_then(|name| variable(variables, &name));
            let values = headers.iter().map(|(_, value)| value).chain(&bearer);
            let secrets = values.cloned().map(Secret).collect();
            let http = HttpSpec {
                tokens: TokenFile::of(&places.logins, name, &url),
                url,
                bearer,
                headers,
            };
            (Launch::Http(Box::new(http)), secrets)
        }
    }
}

fn variable(variables: &[(OsString, OsString)], wanted: &str) -> Option<String> {
    let found = variables.iter().find(|(name, _)| *name == *wanted);
    found.and_then(|(_, value)| value.to_str()).map(ToOwned::to_owned)
}

/// Returns the check, before each start, whether a folder's server is unchanged since the user trusted it.
fn still_trusted(declared: &DeclaredServer, root: &Path) -> Option<StartCheck> {
    let of_plugin = declared.plugin.as_ref().and_then(|plugin| plugin.digest.as_ref());
    declared.fingerprint.as_ref().or(of_plugin)?;
    let (declared, root) = (declared.clone(), root.to_owned());
    Some(StartCheck(Arc::new(move || {
        if declared.is_unchanged(&root) {
            Ok(())
        } else {
            let what = match declared.plugin {
                Some(_) => "its plugin",
                None => "a file that its command line names",
            };
            Err(format!(
                "{what} has changed since you trusted it; `bobbin trust` shows it"
            ))
        }
    })))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use bobbin_workspace::TrustRecord;

    use super::*;
    use crate::settings::ServerFile;

    fn declared(entry: &serde_json::Value, trusted: bool) -> DeclaredServer {
        let section = serde_json::from_value(json!({ "pantry": entry })).unwrap();
        let config = crate::settings::read(section, &mut Vec::new()).remove(0);
        let declared = DeclaredServer::of_folder(
            config,
            ServerFile::Config,
            Path::new("/"),
            &TrustRecord::default(),
        );
        DeclaredServer { trusted, ..declared }
    }

    fn places(root: &str) -> ServerPlaces {
        ServerPlaces {
            root: root.into(),
            logins: "/logins".into(),
            own: "/state/mcp".into(),
            caches: "/state/mcp-caches".into(),
        }
    }

    fn process(entry: &serde_json::Value, variables: &[(&str, &str)]) -> ProcessSpec {
        let variables: Vec<_> = variables.iter().map(|(a, b)| (a.into(), b.into())).collect();
        let spec = resolve(&declared(entry, true), &places("/srv/tea"), &variables);
        let Launch::Child(process) = spec.launch else {
            panic!("it is started");
        };
        *process
    }

    #[test]
    fn it_gets_what_is_named_for_it_and_nothing_else() {
        let entry = json!({ "Command": "x", "EnvironmentVariables": { "SHELF": "2" }, "EnvVars": ["PANTRY_TOKEN"], "Cwd": "sub" });
        let ours = [
            ("PATH", "/bin"),
            ("PANTRY_TOKEN", "t"),
            ("OTHER_TOKEN", "o"),
            ("EXTRA", "e"),
        ];
        let process = process(&entry, &ours);
        assert_eq!(process.cwd, Path::new("/srv/tea/sub"));
        let names: Vec<_> = process.env.iter().map(|(name, _)| name.to_owned()).collect();
        let caches = [
            "UV_CACHE_DIR",
            "UV_PYTHON_INSTALL_DIR",
            "UV_TOOL_DIR",
            "XDG_CACHE_HOME",
            "npm_config_cache",
        ];
        let expected: Vec<_> = ["PANTRY_TOKEN", "PATH", "SHELF"]
            .into_iter()
            .chain(caches)
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn what_the_folders_own_file_names_is_filled_in_and_not_shown() {
        let of = |variables: &[(&str, &str)]| {
            let entry = json!({
                "Command": "pantry", "Arguments": ["--key", "${KEY}"], "EnvironmentVariables": { "SHELF": "${SHELF:-2}" },
            });
            let declared = DeclaredServer {
                file: ServerFile::McpJson,
                ..declared(&entry, true)
            };
            let variables: Vec<_> = variables.iter().map(|(a, b)| (a.into(), b.into())).collect();
            assert!(declared.what_runs().ends_with("filled in with your KEY, SHELF"));
            resolve(&declared, &places("/"), &variables)
        };
        let found = of(&[("KEY", "hunter2")]);
        assert!(found.secrets.contains(&Secret("hunter2".to_owned())));
        assert!(!format!("{:?}", found.reach).contains("hunter2"));
        let Launch::Child(process) = found.launch else {
            panic!("it is started");
        };
        assert_eq!(process.args, ["--key", "hunter2"]);
        assert_eq!(process.env.get("SHELF").unwrap(), "2");
        let Launch::Withheld(why) = of(&[]).launch else {
            panic!("it is withheld");
        };
        assert!(why.contains("KEY"), "{why}");
    }

    #[test]
    fn the_users_own_start_apart_and_those_of_the_folder_have_caches_of_their_own() {
        let entry = json!({ "Command": "x", "EnvironmentVariables": { "UV_CACHE_DIR": "/own" } });
        let folders = process(&entry, &[("XDG_CACHE_HOME", "/home/u/.cache")]);
        assert_eq!(folders.cwd, Path::new("/srv/tea"));
        assert_eq!(folders.env.get("XDG_CACHE_HOME").unwrap(), "/state/mcp-caches/");
        assert_eq!(folders.env.get("UV_CACHE_DIR").unwrap(), "/own");
        let outside = process(&json!({ "Command": "x", "Sandbox": false }), &[]);
        assert!(outside.env.get("UV_CACHE_DIR").is_none());
        let of_user = |entry| {
            let declared = declared(&entry, true);
            let own = DeclaredServer::own(declared.config, bobbin_model::ServerOrigin::User);
            match resolve(&own, &places("/srv/tea"), &[]).launch {
                Launch::Child(process) => process.cwd,
                _ => panic!("it is started"),
            }
        };
        assert_eq!(of_user(json!({ "Command": "x" })), Path::new("/state/mcp"));
        assert_eq!(
            of_user(json!({ "Command": "x", "Cwd": "." })),
            Path::new("/srv/tea")
        );
    }

    #[test]
    fn without_trust_it_is_not_started() {
        let declared = declared(&json!({ "Command": "x" }), false);
        let spec = resolve(&declared, &places("/"), &[]);
        let Launch::Withheld(why) = spec.launch else {
            panic!("it is withheld");
        };
        assert!(why.contains("bobbin trust"), "{why}");
    }
}
