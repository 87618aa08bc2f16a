//! The environment of commands: the user's, without what looks like a secret and what does not work in a command.
//!
//! A command chosen by a model can print its environment, and projects need far more variables than a list could name.
//! So a variable passes unless its name or its value says that it is a secret. Settings pass, drop and set others.
//! Pure.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::Environment;
use crate::environment::looks_secret;

/// The variables of commands: yours, without what looks like a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct VariableRules {
    /// Variables to set.
    #[schemars(extend("maxProperties" = 256))]
    pub set: BTreeMap<String, String>,
    /// Variables that commands get although they look like secrets; `*` stands for any text.
    #[schemars(length(max = 256), inner(length(min = 1)))]
    #[serde(rename = "Keep")]
    pub pass: Vec<String>,
    /// Variables that commands do not get, whatever else is said; `*` stands for any text.
    #[schemars(length(max = 256), inner(length(min = 1)))]
    pub drop: Vec<String>,
}

/// Why a variable does not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dropped {
    /// The rules drop it.
    Rule,
    /// Its name looks like that of a secret.
    Name,
    /// Its value looks like a secret.
    Value,
    /// A shell reads it at its start, or it belongs to the process that started the server.
    Shell,
}

impl fmt::Display for Dropped {
    /// Writes the reason, for a list of names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rule => "dropped as configured",
            Self::Name => "dropped for their names",
            Self::Value => "dropped for values that look like secrets",
            Self::Shell => "dropped as a shell's own",
        })
    }
}

/// Words of a name that mark a secret, beside those that mark one for every child.
const SECRET_WORDS: &[&str] = &["PASS", "PWD", "PW", "AUTH", "PAT", "COOKIE", "COOKIES", "JWT"];
/// Names that have such a word and are none.
const NO_SECRETS: &[&str] = &["SSH_AUTH_SOCK"];
/// Beginnings of the keys and tokens of well-known services.
const KEYS: &[&str] = &[
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "npm_",
    "pypi-",
    "hf_",
    "dop_v1_",
    "SG.",
    "eyJ",
    "hvs.",
];
/// Fewest characters of such a key.
const KEY_LENGTH: usize = 20;
/// The beginning of a key in the form of a text.
const KEY_TEXT: &str = "-----BEGIN";

/// Variables with which a shell reads a line otherwise than the rules do, or runs something before it; functions that
/// bash exports; and what the server's own parents have left.
const OF_SHELLS: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_FUNC_*",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
    "POSIXLY_CORRECT",
    "PS4",
    "PROMPT_COMMAND",
    "ZDOTDIR",
    "_",
    "SHLVL",
    "PWD",
    "OLDPWD",
    "BOBBIN_*",
];
/// Variables that lead to services of the machine and of the user.
const OF_SERVICES: &[&str] = &[
    "DBUS_*",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "SSH_ASKPASS*",
    "GIT_ASKPASS",
    "SUDO_ASKPASS",
    "GPG_AGENT_INFO",
    "GPG_TTY",
    "DISPLAY",
    "WAYLAND_*",
    "XAUTHORITY",
    "ICEAUTHORITY",
    "SESSION_MANAGER",
    "XDG_RUNTIME_DIR",
    "PULSE_*",
    "PIPEWIRE_*",
    "DOCKER_HOST",
    "NOTIFY_SOCKET",
    "JOURNAL_STREAM",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "TMUX",
    "STY",
    "VSCODE_IPC_*",
    "VSCODE_GIT_*",
    "KITTY_LISTEN_ON",
    "I3SOCK",
    "SWAYSOCK",
];

/// Variables that no shell of the user gets: secrets and settings of the server, and what belongs to the terminal, the
/// shell or the service manager that started the server.
const OF_THE_SERVER: &[&str] = &[
    "BOBBIN_*",
    "TERM_PROGRAM*",
    "VTE_VERSION",
    "TMUX*",
    "STY",
    "LINES",
    "COLUMNS",
    "_",
    "SHLVL",
    "PWD",
    "OLDPWD",
    "NOTIFY_SOCKET",
    "JOURNAL_STREAM",
    "INVOCATION_ID",
    "LISTEN_*",
    "WATCHDOG_*",
];

impl VariableRules {
    /// Returns the variables of commands, and the names of those that do not pass.
    pub fn environment(
        &self,
        base: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> (Environment, Vec<(String, Dropped)>) {
        let (mut environment, mut left_out) = (Environment::empty(), Vec::new());
        for (name, value) in base {
            match self.dropped(&name, &value) {
                None => environment.set(name, value),
                Some(why) => left_out.push((name.to_string_lossy().into_owned(), why)),
            }
        }
        for (name, value) in self.set.iter().filter(|(name, _)| !matches(&self.drop, name)) {
            environment.set(name, value);
        }
        left_out.retain(|(name, _)| environment.get(name).is_none());
        left_out.sort();
        (environment, left_out)
    }

    fn dropped(&self, name: &OsStr, value: &OsStr) -> Option<Dropped> {
        // A rule cannot name a variable whose name is no text.
        let Some(name) = name.to_str() else {
            return Some(Dropped::Name);
        };
        if matches(&self.drop, name) {
            return Some(Dropped::Rule);
        }
        if matches(&self.pass, name) {
            return None;
        }
        if matches(OF_SHELLS, name) {
            return Some(Dropped::Shell);
        }
        if is_secret_name(name) {
            return Some(Dropped::Name);
        }
        is_secret_value(&value.to_string_lossy()).then_some(Dropped::Value)
    }
}

impl Environment {
    /// Returns the variables of a shell that the user types into: all of `base` but the server's own, keys of the user
    /// included. Such a shell has the user's rights and reads the user's files anyway.
    pub fn of_user_shell(base: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut environment = Self::empty();
        for (name, value) in base {
            if !name.to_str().is_some_and(|name| matches(OF_THE_SERVER, name)) {
                environment.set(name, value);
            }
        }
        environment.set("TERM", "xterm-256color");
        environment.set("COLORTERM", "truecolor");
        environment
    }

    /// Removes the variables that lead to services of the machine, which a command without the network does not reach.
    pub fn without_services(&mut self) {
        self.retain(|name| !name.to_str().is_some_and(|name| matches(OF_SERVICES, name)));
    }
}

fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let words = upper.split('_').any(|word| SECRET_WORDS.contains(&word));
    (words || looks_secret(name)) && !NO_SECRETS.contains(&name)
}

fn is_secret_value(value: &str) -> bool {
    let mut words = value.split(|sign: char| !(sign.is_ascii_alphanumeric() || "-_.".contains(sign)));
    value.contains(KEY_TEXT)
        || has_password(value)
        || words.any(|word| word.len() >= KEY_LENGTH && KEYS.iter().any(|key| word.starts_with(key)))
}

/// Returns whether a text has an address with a password, or with a token in place of a user.
fn has_password(value: &str) -> bool {
    let mut addresses = value.split("://").zip(value.split("://").skip(1));
    addresses.any(|(before, after)| {
        let end = after.find(['/', '?', '#', ' ', '"', '\'']).unwrap_or(after.len());
        let user = after
            .get(..end)
            .and_then(|host| host.rsplit_once('@'))
            .map(|(user, _)| user);
        user.is_some_and(|user| user.contains(':') || before.ends_with("http") || before.ends_with("https"))
    })
}

/// Returns whether one of some patterns stands for a name.
fn matches(patterns: &[impl AsRef<str>], name: &str) -> bool {
    patterns.iter().any(|pattern| stands_for(pattern.as_ref(), name))
}

fn stands_for(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut left) = name.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = left.split_once(part) else {
            return false;
        };
        left = after;
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(variables: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    fn names(environment: &Environment) -> Vec<&str> {
        environment
            .iter()
            .map(|(name, _)| name.to_str().unwrap())
            .collect()
    }

    #[test]
    fn a_users_shell_has_all_but_the_servers_own_variables() {
        let base = pairs(&[
            ("OPENAI_API_KEY", "sk-mine"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("BOBBIN_TOKEN", "t"),
            ("TMUX_PANE", "%1"),
            ("NOTIFY_SOCKET", "/run/notify"),
            ("TERM", "dumb"),
        ]);
        let environment = Environment::of_user_shell(base);
        let names: Vec<_> = environment.iter().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["COLORTERM", "OPENAI_API_KEY", "SSH_AUTH_SOCK", "TERM"]);
        assert_eq!(environment.get("TERM"), Some(OsStr::new("xterm-256color")));
    }

    #[test]
    fn what_projects_need_passes_and_what_looks_like_a_secret_does_not() {
        let ordinary = [
            ("ANDROID_HOME", "/opt/android"),
            ("COMPASS", "north"),
            ("DATABASE_URL", "postgres://mika@localhost/tea"),
            ("EDITOR", "vi"),
            ("HOMEPAGE", "https://example.com/@mika"),
            ("LD_LIBRARY_PATH", "/x"),
            ("NODE_OPTIONS", "--max-old-space-size=4096"),
            ("PATH", "/usr/bin"),
            ("PYTHONPATH", "/pp"),
            ("RUSTFLAGS", "-g"),
            ("SSH_AUTH_SOCK", "/run/user/1/agent"),
            ("https_proxy", "http://proxy:3128"),
        ];
        let secret = [
            ("ANTHROPIC_API_KEY", "x"),
            ("AWS_SECRET_ACCESS_KEY", "x"),
            ("DB_PASS", "x"),
            ("GH_TOKEN", "x"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "x"),
            ("MYSQL_PWD", "x"),
            ("NPM_AUTH", "x"),
            ("PGPASSWORD", "x"),
        ];
        let valued = [
            ("A", "postgres://mika:pw@db/tea"),
            ("B", "https://0123456789@sentry.example/1"),
            ("C", "x ghp_0123456789abcdefghij"),
            ("D", "-----BEGIN OPENSSH"),
            ("E", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.x"),
        ];
        let own = [
            ("BASH_ENV", "x"),
            ("BASH_FUNC_ls%%", "() { rm x; }"),
            ("BOBBIN_STATE", "/s"),
            ("PWD", "/"),
        ];
        let all = [&ordinary[..], &secret, &valued, &own].concat();
        let (environment, dropped) = VariableRules::default().environment(pairs(&all));
        assert_eq!(names(&environment), ordinary.map(|(name, _)| name));
        let of = |why| -> Vec<&str> {
            let of = dropped.iter().filter(|(_, found)| *found == why);
            of.map(|(name, _)| name.as_str()).collect()
        };
        assert_eq!(of(Dropped::Name), secret.map(|(name, _)| name));
        assert_eq!(of(Dropped::Value), valued.map(|(name, _)| name));
        assert_eq!(of(Dropped::Shell), own.map(|(name, _)| name));
    }

    #[test]
    fn rules_set_keep_and_drop_and_dropping_counts_most() {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let rules = VariableRules {
            set: [("NODE_ENV", "test"), ("GONE", "x")]
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            pass: texts(&["NPM_TOKEN", "MY_*"]),
            drop: texts(&["GONE", "*_OFF", "MY_*_NOT*"]),
        };
        let base = [
            ("NODE_ENV", "dev"),
            ("NPM_TOKEN", "t"),
            ("MY_KEY", "k"),
            ("MY_KEY_NOT_ME", "k"),
            ("TEA_OFF", "1"),
        ];
        let (environment, dropped) = rules.environment(pairs(&base));
        assert_eq!(names(&environment), ["MY_KEY", "NODE_ENV", "NPM_TOKEN"]);
        assert_eq!(environment.get("NODE_ENV"), Some(OsStr::new("test")));
        let expected = ["MY_KEY_NOT_ME", "TEA_OFF"].map(|name| (name.to_owned(), Dropped::Rule));
        assert_eq!(dropped, expected);
    }

    #[test]
    fn what_leads_to_services_is_removed_where_they_are_not_reached() {
        let base = [
            ("DBUS_SESSION_BUS_ADDRESS", "x"),
            ("DISPLAY", ":0"),
            ("LANG", "C"),
            ("SSH_AUTH_SOCK", "/a"),
        ];
        let (mut environment, _) = VariableRules::default().environment(pairs(&base));
        assert_eq!(names(&environment).len(), 4);
        environment.without_services();
        assert_eq!(names(&environment), ["LANG"]);
    }
}
