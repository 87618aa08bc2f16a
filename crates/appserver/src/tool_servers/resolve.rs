//! From a declared server to what the host needs: paths made absolute, variables looked up, defaults filled in.
//! The environment comes in as a value; the disk is read by the check before a start alone.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::tool_server::ServerAccess;
use bobbin_children::{Environment, ProcessSpec};
use bobbin_mcp::{HttpSpec, Launch, Secret, ServerSpec, StartCheck, TokenFile};
use bobbin_model::{Reach, ServerOrigin};

use crate::trust;
use bobbin_config::Declared;

/// How long a server may take to start when nothing is said (guess: a package that must be fetched first).
const START: Duration = Duration::from_secs(30);
/// How long a call may take when nothing is said.
const CALL: Duration = Duration::from_mins(2);
/// The longest of both that can be asked for.
const LONGEST_START: Duration = Duration::from_mins(10);
const LONGEST_CALL: Duration = Duration::from_hours(24);

/// Returns what the host is told of a server, which is started only if it is trusted. `logins` is the directory of tokens,
/// `variables` our own environment.
pub(super) fn spec(
    declared: &Declared,
    root: &Path,
    logins: &Path,
    variables: &[(OsString, OsString)],
) -> ServerSpec {
    let config = &declared.config;
    let name = &config.name;
    let (reach, launch, secrets) = match &config.access {
        ServerAccess::Stdio {
            command,
            args,
            env,
            env_vars,
            cwd,
        } => {
            let reach = Reach::Stdio {
                command: command.clone(),
                args: args.clone(),
            };
            let mut environment = Environment::from_base(variables.iter().cloned(), &[]);
            let mut secrets: Vec<Secret> = env.0.values().cloned().map(Secret).collect();
            // Named for this very program, so that even a secret passes.
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
            // An absolute one stays as it is.
            let cwd = root.join(cwd.as_deref().unwrap_or_default());
            let process = ProcessSpec::new(command, cwd, environment).args(args);
            (reach, Launch::Child(Box::new(process)), secrets)
        }
        ServerAccess::Http {
            url,
            bearer_token_env_var,
            headers,
            env_headers,
        } => {
            let variable = |wanted: &String| {
                let found = variables.iter().find(|(name, _)| *name == **wanted);
                found.and_then(|(_, value)| value.to_str()).map(ToOwned::to_owned)
            };
            let from_variables = env_headers
                .iter()
                .filter_map(|(header, name)| Some((header.clone(), variable(name)?)));
            let headers: Vec<(String, String)> =
                headers.0.clone().into_iter().chain(from_variables).collect();
            let bearer = bearer_token_env_var.as_ref().and_then(variable);
            let values = headers.iter().map(|(_, value)| value).chain(&bearer);
            let secrets = values.cloned().map(Secret).collect();
            let http = HttpSpec {
                url: url.clone(),
                bearer,
                headers,
                tokens: TokenFile::of(logins, name, url),
            };
            (
                Reach::Http { url: url.clone() },
                Launch::Http(Box::new(http)),
                secrets,
            )
        }
    };
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
        read_only: declared.origin == ServerOrigin::User,
        reach,
        launch,
        check: still_trusted(declared, root),
        start_timeout: config.start_timeout.unwrap_or(START).min(LONGEST_START),
        call_timeout: config.call_timeout.unwrap_or(CALL).min(LONGEST_CALL),
        secrets,
    }
}

/// Returns what finds out, before each start, whether a server of the folder is still the one that its user trusts.
fn still_trusted(declared: &Declared, root: &Path) -> Option<StartCheck> {
    let trusted = declared.fingerprint.clone()?;
    let (config, root) = (declared.config.clone(), root.to_owned());
    Some(StartCheck(Arc::new(move || {
        if trust::of_server(&config, &root) == trusted {
            Ok(())
        } else {
            Err("a file that its command line names has changed since you trusted it; `bobbin trust` shows it".to_owned())
        }
    })))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::trust::TrustRecord;

    fn declared(entry: &serde_json::Value, trusted: bool) -> Declared {
        let entry = serde_json::from_value(entry.clone()).unwrap();
        let section = [("pantry".to_owned(), entry)].into();
        let config = bobbin_config::servers::read(section, &mut Vec::new()).remove(0);
        let declared = Declared::of_folder(config, Path::new("/"), &TrustRecord::default());
        Declared { trusted, ..declared }
    }

    fn process(entry: &serde_json::Value, variables: &[(&str, &str)]) -> ProcessSpec {
        let variables: Vec<_> = variables.iter().map(|(a, b)| (a.into(), b.into())).collect();
        let spec = spec(&declared(entry, true), Path::new("/srv/tea"), Path::new("/logins"), &variables);
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
        assert_eq!(names, ["PANTRY_TOKEN", "PATH", "SHELF"]);
    }

    #[test]
    fn without_trust_it_is_not_started() {
        let declared = declared(&json!({ "Command": "x" }), false);
        let spec = spec(&declared, Path::new("/"), Path::new("/logins"), &[]);
        let Launch::Withheld(why) = spec.launch else {
            panic!("it is withheld");
        };
        assert!(why.contains("bobbin trust"), "{why}");
    }
}
