//! The sandbox of a workspace's commands, with the paths that it hides by default.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_agent_api::SystemClock;
use bobbin_children::Children;
use bobbin_people::{People, PeopleFile, Scope};
use bobbin_sandbox::{Support, repositories_in};
use bobbin_tools::{Bubblewrap, Sandbox, SharedPlaces, Sharing};

use bobbin_config::{Config, PasswordPlace};
use bobbin_workspace::{StateDirectory, Workspace};

/// Paths in a home with keys or the user's typed lines. No command in the sandbox reads them. The list has secrets
/// only, not caches, since builds need those.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".craft",
    ".netrc",
    ".git-credentials",
    ".pypirc",
    ".npmrc",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/containers/auth.json",
    ".config/rclone",
    ".config/op",
    ".config/sops",
    ".config/hub",
    ".config/glab-cli",
    ".config/doctl",
    ".config/heroku",
    ".config/helm/registry",
    ".docker/config.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings-security.xml",
    ".gem/credentials",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".s3cfg",
    ".boto",
    ".fly",
    ".local/share/keyrings",
    ".password-store",
    ".age",
    ".config/age",
    ".kaggle",
    ".huggingface",
    ".cache/huggingface/token",
    ".oci",
    ".databrickscfg",
    ".databricks.cfg",
    ".databricks",
    ".snowflake/config.toml",
    ".snowflake/connections.toml",
    ".config/snowflake",
    ".config/stripe",
    ".config/pypoetry/auth.toml",
    ".sentryclirc",
    ".wrangler",
    ".config/.wrangler",
    ".pulumi/credentials.json",
    ".Xauthority",
    // Wallets.
    ".bitcoin",
    ".ethereum",
    ".electrum",
    ".config/solana",
    // Agents.
    ".craft/hub",
    ".cursor/mcp.json",
    ".config/Code/User/globalStorage",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".config/github-copilot",
    ".local/share/opencode/auth.json",
    // Browsers, with their cookies and passwords.
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/opera",
    ".config/vivaldi",
    "snap/firefox",
    "snap/chromium",
    // Stores of passwords.
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    // Messengers.
    ".purple/accounts.xml",
    ".config/Signal",
    ".config/Slack",
    ".config/discord",
    // Histories of typed lines.
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".rediscli_history",
    ".sqlite_history",
    ".lesshst",
    ".viminfo",
];

/// Settings of build tools, hidden only if they contain a secret. The tools fail if they cannot read them.
const SETTINGS: &[&str] = &[
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".bundle/config",
    ".yarnrc.yml",
    ".terraformrc",
    ".nuget/NuGet/NuGet.Config",
];
/// Largest file of settings; a larger one is hidden.
const MAX_SETTINGS_BYTES: u64 = 256 << 10;
/// Words that mark a secret in settings, in lower case.
const SECRET_WORDS: &[&str] = &[
    "password",
    "passphrase",
    "privatekey",
    "secret",
    "token",
    "credential",
    "apikey",
    "api_key",
    "auth",
];

/// Caches and toolchains in a home, and git's settings, which have the names of authors. Where other people may prompt,
/// commands read nothing else of it.
const CACHES: &[&str] = &[
    ".asdf",
    ".bun",
    ".cache/Cypress",
    ".cache/bazel",
    ".cache/deno",
    ".cache/go-build",
    ".cache/ms-playwright",
    ".cache/node",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pypoetry",
    ".cache/uv",
    ".cache/yarn",
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/git",
    ".cargo/registry",
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".deno",
    ".gitconfig",
    ".gradle/caches",
    ".gradle/wrapper",
    ".ivy2/cache",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2/repository",
    ".m2/wrapper",
    ".npm/_cacache",
    ".nuget/packages",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go/bin",
    "go/pkg",
];

/// The directory of the machine's services, with their sockets.
const SERVICES: &str = "/run";

/// Returns the paths where services of the machine and of the user listen. A command without network cannot reach
/// them. Sockets that are open at its start are hidden anyway; services may open others later.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the environment is read"
)]
fn services() -> Vec<PathBuf> {
    // In a container, the listener may be outside and missing in the kernel's list.
    let variables = ["XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DOCKER_HOST"].map(std::env::var_os);
    let named = variables.into_iter().flatten().map(|value| {
        let text = value.to_str().and_then(|text| text.strip_prefix("unix://"));
        text.map_or_else(|| PathBuf::from(&value), PathBuf::from)
    });
    let named = named.filter(|path| path.is_absolute() && path.parent().is_some());
    std::iter::once(SERVICES.into()).chain(named).collect()
}

/// Returns the sandbox of a workspace's commands on this machine. Commands may not read the files of the models'
/// keys. `children` starts the processes of its tests.
pub fn of(config: &Config, workspace: &Workspace, home: Option<&Path>, children: &Children) -> Sandbox {
    let said = &config.sandbox;
    let place = |text: &String| match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => workspace.root.join(text),
    };
    let secrets = home.map(|home| SECRETS.iter().map(|name| home.join(name)).collect());
    let mut hide: Vec<PathBuf> = secrets.unwrap_or_default();
    let settings = home
        .into_iter()
        .flat_map(|home| SETTINGS.iter().map(|name| home.join(name)));
    hide.extend(settings.filter(|path| holds_a_secret(path)));
    hide.extend(said.hidden.iter().map(place));
    hide.extend(config.models.key_files(home));
    if let PasswordPlace::File(path) = &config.database.password {
        hide.push(path.clone());
    }
    let sharing = sharing(workspace, home.map(Path::to_path_buf));
    Sandbox {
        private_tmp: false,
        profile: said.profile,
        support: Support::probe(),
        bubblewrap: Bubblewrap::new(said.bubblewrap, children.clone()),
        limits: said.limits,
        temporary: Some(workspace.temporary()),
        write: said.writable.iter().map(place).collect(),
        hide,
        reveal: Vec::new(),
        sharing,
        folder: workspace.root.clone(),
        hidden_by_folder: said.hidden_by_folder.iter().map(place).collect(),
        read_only: vec![workspace.craft()],
        blank: ["", "-wal", "-shm"]
            .map(|end| with_ending(workspace.foreign_database(), end))
            .to_vec(),
        services: services(),
        show: home.map(Path::to_path_buf).into_iter().collect(),
        repositories: repositories_in(&workspace.root),
        worktrees: Some(workspace.worktrees()),
        when_missing: said.when_missing,
    }
}

/// Returns what commands do not see as soon as other people may prompt in the workspace. That stays so until the server
/// ends: a Turn of a person who is removed may still run.
fn sharing(workspace: &Workspace, home: Option<PathBuf>) -> Sharing {
    let workspace = workspace.clone();
    let state = workspace.state_directory().clone();
    let scope = Scope::Workspace(Box::new(workspace.clone()));
    let people = People::new(PeopleFile::of(state.path()), scope, Arc::new(SystemClock));
    let was_shared = AtomicBool::new(false);
    Sharing::new(move || {
        if people.may_prompt() {
            was_shared.store(true, Ordering::Relaxed);
        }
        was_shared
            .load(Ordering::Relaxed)
            .then(|| places_of_owner(&workspace, &state, home.as_deref()))
    })
}

/// Returns the home and the other workspaces of the server's owner, as far as the workspace is not in their place.
fn places_of_owner(workspace: &Workspace, state: &StateDirectory, home: Option<&Path>) -> SharedPlaces {
    let own = &workspace.root;
    let home = home
        .and_then(|home| home.canonicalize().ok())
        .filter(|home| !home.starts_with(own) && home.parent().is_some());
    let others = state.workspaces().unwrap_or_else(|error| {
        tracing::warn!(%error, "commands may see other workspaces");
        Vec::new()
    });
    // A folder around the home is not hidden as a whole: programs of the machine lie there, too.
    let is_around_home = |root: &Path| home.as_ref().is_some_and(|home| home.starts_with(root));
    let others = others.into_iter().map(|(root, _)| root);
    let others = others.filter(|root| root != own && root.parent().is_some() && !is_around_home(root));
    let mut hide: Vec<PathBuf> = others.collect();
    let mut reveal = vec![own.clone()];
    if let Some(home) = home {
        reveal.extend(CACHES.iter().map(|name| home.join(name)));
        reveal.retain(|path| !has_login(path));
        // A workspace that is a part of a repository needs the whole of it.
        let repository = own.ancestors().find(|folder| folder.join(".git").exists());
        reveal.extend(
            repository
                .filter(|folder| !home.starts_with(folder))
                .map(Path::to_path_buf),
        );
        hide.push(home);
    }
    SharedPlaces { hide, reveal }
}

fn with_ending(path: PathBuf, ending: &str) -> PathBuf {
    let mut path = path.into_os_string();
    path.push(ending);
    path.into()
}

/// Whether a file of settings contains a secret, or cannot be read.
fn holds_a_secret(path: &Path) -> bool {
    match bobbin_files::read_text(path, MAX_SETTINGS_BYTES) {
        Ok(text) => {
            let text = text.to_ascii_lowercase();
            has_user(&text) || SECRET_WORDS.iter().any(|word| text.contains(word))
        }
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Whether a text has an address with a user, as `https://name:password@host`.
fn has_user(text: &str) -> bool {
    text.split("://")
        .skip(1)
        .filter_map(|rest| rest.split(['/', ' ', '\n', '"', '<']).next())
        .any(|host| host.contains('@'))
}

/// Whether a file of settings that commands need says how to log in somewhere.
fn has_login(path: &Path) -> bool {
    let is_settings = path.file_name().is_some_and(|name| {
        [".gitconfig", "config", "config.toml"]
            .iter()
            .any(|known| name == *known)
    });
    is_settings
        && bobbin_files::read_text(path, MAX_SETTINGS_BYTES).is_ok_and(|text| {
            let text = text.to_ascii_lowercase();
            has_user(&text)
                || ["extraheader", "token", "password"]
                    .iter()
                    .any(|word| text.contains(word))
        })
}
