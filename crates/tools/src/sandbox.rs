//! The sandbox of a server's commands, and the consequence when it is impossible.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_children::{Confinement, ProcessSpec, ResourceLimits};
use bobbin_model::SandboxProfile;
use bobbin_sandbox::{Files, GitSettings, Network, Outer, Plan, Profile, SandboxError, Support};
use schemars::JsonSchema;
use serde::Deserialize;

use super::bubblewrap::{Bubblewrap, BubblewrapUse, without_upkeep};
use super::program_sandbox::{ProgramNeeds, ProgramNetwork};

/// How commands are sandboxed. The default confines nothing.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// The rights of commands.
    pub profile: Profile,
    /// The confinement that the kernel supports.
    pub support: Support,
    /// The bubblewrap around the helper.
    pub bubblewrap: Bubblewrap,
    /// The limits of one command's resources.
    pub limits: ResourceLimits,
    /// The directory for temporary files of commands that may write.
    pub temporary: Option<PathBuf>,
    /// Whether a command that reaches addresses has its own `/tmp` too.
    pub private_tmp: bool,
    /// Further places that commands may write.
    pub write: Vec<PathBuf>,
    /// Places whose files commands may not read.
    pub hide: Vec<PathBuf>,
    /// Places in hidden ones that they read all the same.
    pub reveal: Vec<PathBuf>,
    /// Whether other people may prompt in the workspace, which confines commands more.
    pub sharing: Sharing,
    /// The folder that the server serves.
    pub folder: PathBuf,
    /// Places in the folder whose files commands may not read, by the folder's own configuration. This needs no trust,
    /// because it only restricts: if a place cannot be hidden, commands are refused.
    pub hidden_by_folder: Vec<PathBuf>,
    /// Places that bubblewrap makes read-only, wherever they are. Without bubblewrap, the rights of the place around them
    /// apply.
    pub read_only: Vec<PathBuf>,
    /// Places whose files bubblewrap hides, wherever they are. Without bubblewrap, the rights of the place around them
    /// apply.
    pub blank: Vec<PathBuf>,
    /// Places in which services of the machine listen. A command with a network of its own does not see them.
    pub services: Vec<PathBuf>,
    /// Places in `/tmp` that a command with its own `/tmp` also sees.
    pub show: Vec<PathBuf>,
    /// Subfolders of the folder with git repositories, by real name, as of the server's start. Repositories that commands
    /// make later are not among them, so commands can remove those.
    pub repositories: Vec<PathBuf>,
    /// The directory with worktrees of the folder's repository, by real name. A command that runs in one may write it,
    /// and not the folder.
    pub worktrees: Option<PathBuf>,
    /// The consequence when the profile cannot be enforced.
    pub when_missing: WhenMissing,
}

/// Says, as of now, what commands of a workspace do not see because other people may prompt in it. Nobody may by default.
#[derive(Clone, Default)]
pub struct Sharing(Option<Arc<dyn Fn() -> Option<SharedPlaces> + Send + Sync>>);

/// The places of the owner that commands do not see in a workspace where other people may prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedPlaces {
    /// The hidden places: the owner's home and other workspaces.
    pub hide: Vec<PathBuf>,
    /// Places in these that commands read all the same.
    pub reveal: Vec<PathBuf>,
}

impl Sharing {
    /// Returns the answers of a function: `None` if nobody but the owner may prompt.
    pub fn new(places: impl Fn() -> Option<SharedPlaces> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(places)))
    }

    fn places(&self) -> Option<SharedPlaces> {
        self.0.as_ref()?()
    }
}

impl fmt::Debug for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sharing").field(&self.0.is_some()).finish()
    }
}

/// How commands run where they cannot be confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WhenMissing {
    /// Every command but plain reads is asked about.
    #[default]
    Ask,
    /// Commands are refused.
    Refuse,
}

/// The confinement of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandSandbox {
    /// None, and none is required.
    NotNeeded,
    /// The helper, with this plan.
    Confined(Plan),
    /// None, although one is required; with the reason, as half a sentence.
    Missing(String),
    /// None, because of the folder's content; with the reason, as half a sentence. The command does not run.
    Refused(String),
}

/// Returns the rights of commands under a user's profile and the configured network.
pub fn profile_of(profile: SandboxProfile, network: Network) -> Profile {
    match profile {
        SandboxProfile::ReadOnly => Profile {
            files: Files::ReadOnly,
            network,
        },
        SandboxProfile::WorkspaceWrite => Profile {
            files: Files::WorkspaceWrite,
            network,
        },
        SandboxProfile::Full => Profile::OPEN,
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            profile: Profile::OPEN,
            support: Support::NONE,
            bubblewrap: Bubblewrap::default(),
            limits: ResourceLimits::default(),
            temporary: None,
            private_tmp: false,
            write: Vec::new(),
            hide: Vec::new(),
            reveal: Vec::new(),
            sharing: Sharing::default(),
            folder: PathBuf::new(),
            hidden_by_folder: Vec::new(),
            read_only: Vec::new(),
            blank: Vec::new(),
            services: Vec::new(),
            show: Vec::new(),
            repositories: Vec::new(),
            worktrees: None,
            when_missing: WhenMissing::default(),
        }
    }
}

impl Sandbox {
    /// Returns the same sandbox with another profile; `full` has a network.
    #[must_use]
    pub fn with_profile(&self, profile: SandboxProfile) -> Self {
        let mut sandbox = self.clone();
        sandbox.profile = profile_of(profile, self.profile.network);
        sandbox
    }

    /// Returns the sandbox as of now. Where other people may prompt, bubblewrap confines each command to the workspace,
    /// whatever is configured: what one of them leaves in a file may run in anybody's Turn.
    pub fn now(&self) -> Cow<'_, Self> {
        let Some(SharedPlaces { hide, reveal }) = self.sharing.places() else {
            return Cow::Borrowed(self);
        };
        let mut sandbox = self.clone();
        sandbox.sharing = Sharing::default();
        sandbox.profile.files = sandbox.profile.files.min(Files::WorkspaceWrite);
        if sandbox.profile.network == Network::On {
            // A local socket leads to services of the owner, which start programs outside of the sandbox.
            sandbox.profile.network = Network::Internet;
        }
        sandbox.bubblewrap = sandbox.bubblewrap.required();
        sandbox.hide.extend(hide);
        sandbox.reveal.extend(reveal);
        Cow::Owned(sandbox)
    }

    /// Runs the trial of bubblewrap if necessary. Call it before relying on bubblewrap.
    pub async fn settle(&self) {
        let now = self.now();
        if now.profile.restricts_something() {
            now.bubblewrap.settle(now.support).await;
        }
    }

    /// Does the same on a blocking thread; returns at once if the result is known.
    pub fn settle_now(&self) {
        let now = self.now();
        if now.profile.restricts_something()
            && now.bubblewrap.wants_a_try()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.block_on(now.settle());
        }
    }

    /// Returns the confinement that is known to work here.
    pub fn support_now(&self) -> Support {
        let outer = match self.bubblewrap.found() {
            Some(Ok(_)) => Outer::Bubblewrap,
            Some(Err(_)) | None => Outer::Nothing,
        };
        Support {
            outer,
            ..self.support
        }
    }

    /// Whether bubblewrap confines commands. Before its trial, whether bubblewrap is wanted and installed.
    pub fn is_bubblewrapped(&self) -> bool {
        let now = self.now();
        let works = match now.bubblewrap.found() {
            Some(found) => found.is_ok(),
            None => now.bubblewrap.may_work(),
        };
        now.profile.files != Files::Full && works
    }

    /// Returns why commands are not sandboxed here although they should be, as half a sentence; `None` if they are.
    pub fn missing(&self) -> Option<String> {
        self.now().missing_now()
    }

    fn missing_now(&self) -> Option<String> {
        let support = self.support_now();
        if self.profile.restricts_something()
            && self.bubblewrap.wanted() == BubblewrapUse::Require
            && support.outer == Outer::Nothing
        {
            let why = match self.bubblewrap.found() {
                Some(Err(why)) => why,
                Some(Ok(_)) | None => "it was not tried".to_owned(),
            };
            return Some(format!(
                "bubblewrap is required (by Sandbox.Bubblewrap, or since other people may prompt here) and cannot be used: {why}"
            ));
        }
        support.missing(self.profile)
    }

    /// Returns the consequence for a command that should be sandboxed and cannot be.
    pub fn when_missing(&self) -> WhenMissing {
        match self.now().bubblewrap.wanted() {
            BubblewrapUse::Require => WhenMissing::Refuse,
            BubblewrapUse::Off | BubblewrapUse::Auto => self.when_missing,
        }
    }

    /// Returns the plan of a command that may write these places, as far as the profile allows.
    pub fn plan(&self, write: Vec<PathBuf>) -> Plan {
        let support = self.support_now();
        Plan {
            profile: self.profile,
            write,
            hide: self.hide.clone(),
            read_only: self.read_only.clone(),
            blank: self.blank.clone(),
            services: self.services.clone(),
            show: self.show.clone(),
            reveal: self.reveal.clone(),
            temporary: self.temporary.clone(),
            private_tmp: self.private_tmp,
            repositories: self.repositories.clone(),
            git_settings: GitSettings::ReadOnly,
            landlock: support.landlock,
            outer: support.outer,
        }
    }

    /// Returns the confinement of a command that runs in `root`.
    pub fn of_command(&self, root: &Path) -> CommandSandbox {
        self.now().of_command_now(root)
    }

    fn of_command_now(&self, root: &Path) -> CommandSandbox {
        if !self.profile.restricts_something() {
            return CommandSandbox::NotNeeded;
        }
        if let Some(why) = self.missing_now() {
            return CommandSandbox::Missing(why);
        }
        let worktree = WorktreePlaces::of(self, root);
        if worktree.is_none() && self.hides_foreign(root) {
            let root = root.display();
            return CommandSandbox::Refused(format!("{root} lies in a place that is hidden from commands"));
        }
        let top = worktree.as_ref().map_or(root, |worktree| &worktree.top);
        let write = std::iter::once(top.to_owned());
        let write = write.chain(self.temporary.clone()).chain(self.write.clone());
        let mut plan = self.plan(write.collect());
        if let Some(worktree) = &worktree {
            plan.reveal.push(worktree.top.clone());
            plan.show
                .extend([worktree.repository.clone(), worktree.top.clone()]);
            let hide: Vec<PathBuf> = self
                .hide
                .iter()
                .filter(|path| !self.read_only.contains(path))
                .cloned()
                .collect();
            plan.hide.extend(worktree.same(&hide, &self.folder));
        }
        // In a workspace that is also the home, the server's own files are confined as in others.
        let own = |path: &PathBuf| self.read_only.contains(path) && path.parent() == Some(root);
        plan.hide.retain(|path| !own(path));
        self.add_places_of(root, &mut plan);
        if let Some(link) = plan.replaceable() {
            // Without bubblewrap, a link that a command made could bypass the protection that only bubblewrap gives.
            return CommandSandbox::Refused(SandboxError::Link(link).to_string());
        }
        if let Some(path) = plan.exposed() {
            let path = path.display();
            return CommandSandbox::Missing(format!("{path} is hidden and lies where commands may write"));
        }
        plan.hide
            .extend(places_of_folder(&self.hidden_by_folder, &self.folder));
        if let Some(worktree) = &worktree {
            let hidden: Vec<PathBuf> = worktree.same(&self.hidden_by_folder, &self.folder).collect();
            plan.hide.extend(places_of_folder(&hidden, &worktree.folder));
        }
        if let Some(path) = plan.exposed() {
            let path = path.display();
            return CommandSandbox::Refused(format!(
                "the folder's own Sandbox.Hidden hides {path}, which takes bubblewrap; install it, or remove that entry"
            ));
        }
        CommandSandbox::Confined(plan)
    }

    /// Returns the plan of a command that runs in `root`: `None` if none is required.
    ///
    /// # Errors
    /// A confinement is required and impossible: the reason, as half a sentence, and the consequence for commands.
    pub fn confinement(&self, root: &Path) -> Result<Option<Plan>, (String, WhenMissing)> {
        match self.of_command(root) {
            CommandSandbox::NotNeeded => Ok(None),
            CommandSandbox::Confined(plan) => Ok(Some(plan)),
            CommandSandbox::Missing(why) => Err((why, self.when_missing())),
            CommandSandbox::Refused(why) => Err((why, WhenMissing::Refuse)),
        }
    }

    /// Returns the confinement of a command that may read as one of [`Sandbox::of_command`], and may change only temporary
    /// files, whatever the profile allows.
    pub(super) fn of_reading(&self, root: &Path) -> (CommandSandbox, Self) {
        let mut sandbox = self.clone();
        sandbox.profile.files = Files::WorkspaceWrite;
        sandbox.settle_now();
        let mut hold = sandbox.of_command(root);
        if let CommandSandbox::Confined(plan) = &mut hold {
            plan.write.retain(|place| Some(place) == self.temporary.as_ref());
            // The command does not write in `root`, but `root` may lie in `/tmp`.
            plan.show.push(root.to_owned());
        }
        (hold, sandbox)
    }

    /// Returns the sandbox of a program with these needs.
    pub(super) fn of_program(&self, needs: &ProgramNeeds) -> Self {
        let mut sandbox = self.clone();
        sandbox.write.extend(needs.write.iter().cloned());
        match needs.network {
            ProgramNetwork::Internet if self.profile.network == Network::Off => {
                sandbox.profile.network = Network::Internet;
            }
            // Without any confinement, it has all that the user has.
            ProgramNetwork::Own if self.profile.restricts_something() => {
                sandbox.profile.network = Network::Off;
            }
            ProgramNetwork::AsCommands | ProgramNetwork::Internet | ProgramNetwork::Own => {}
        }
        sandbox.private_tmp = needs.private_tmp;
        sandbox
    }

    /// Whether a folder that is not the server's lies in a hidden place.
    fn hides_foreign(&self, root: &Path) -> bool {
        let lies_in = |place: &PathBuf| {
            root.starts_with(place) || place.canonicalize().is_ok_and(|real| root.starts_with(real))
        };
        !root.starts_with(&self.folder) && self.hide.iter().any(lies_in)
    }

    /// Adds this server's read-only and hidden places in `root`, which may be the workspace of another server, to a
    /// plan.
    fn add_places_of(&self, root: &Path, plan: &mut Plan) {
        for place in &self.read_only {
            let theirs = place.file_name().map(|name| root.join(name));
            let Some(theirs) = theirs.filter(|theirs| !self.read_only.contains(theirs)) else {
                continue;
            };
            let within = self
                .blank
                .iter()
                .filter_map(|blank| blank.strip_prefix(place).ok());
            plan.blank.extend(within.map(|name| theirs.join(name)));
            plan.read_only.push(theirs);
        }
    }

    /// Returns a process that a plan confines, with its variables and limits.
    ///
    /// # Errors
    /// The reason why the process cannot be confined as planned, as half a sentence. Do not start it without the plan.
    pub fn confined(&self, plan: &Plan, mut spec: ProcessSpec) -> Result<ProcessSpec, String> {
        let bubblewrap = match plan.outer {
            Outer::Bubblewrap => {
                without_upkeep(&mut spec.env);
                Some(self.bubblewrap.program()?)
            }
            Outer::Nothing => None,
        };
        if plan.profile.network != Network::On {
            spec.env.without_services();
        }
        let temporary = self.temporary.as_deref();
        let temporary = temporary.filter(|_| plan.profile.files == Files::WorkspaceWrite);
        if plan.has_own_tmp() {
            spec.env.set("TMPDIR", "/tmp");
        } else if let Some(temporary) = temporary {
            spec.env.set("TMPDIR", temporary);
        }
        let plan = plan.clone();
        Ok(spec.confined(Confinement { plan, bubblewrap }))
    }

    /// Returns the sentence for the model that describes the sandbox.
    pub(super) fn description(&self) -> &'static str {
        match (self.profile.files, self.profile.network) {
            (Files::Full, Network::On) => "",
            (Files::ReadOnly, _) => {
                " Commands run in a sandbox in which no file can be written; set outsideSandbox for one that must write or \
                 needs the network, and a person is asked."
            }
            (Files::WorkspaceWrite, Network::Off) if self.bubblewrap.may_work() => {
                " Commands run in a sandbox: only files of the workspace and of /tmp can be written, and the only network is \
                 a loopback of its own, where servers and tests can listen. Other tools do not see the commands' /tmp. Set \
                 outsideSandbox for a command that needs more, and a person is asked."
            }
            (_, Network::Off | Network::Internet) => {
                " Commands run in a sandbox without network, in which only files of the workspace and of $TMPDIR can be \
                 written; set outsideSandbox for one that needs more, and a person is asked."
            }
            (Files::WorkspaceWrite, Network::On) => {
                " Commands run in a sandbox in which only files of the workspace and of $TMPDIR can be written; set \
                 outsideSandbox for one that needs more, and a person is asked."
            }
        }
    }
}

/// The places of a command that runs in a worktree.
struct WorktreePlaces {
    /// The worktree.
    top: PathBuf,
    /// The folder in it that corresponds to the server's folder.
    folder: PathBuf,
    /// The folder with the repository.
    repository: PathBuf,
}

impl WorktreePlaces {
    /// Returns them if `root` lies in a worktree of the server.
    fn of(sandbox: &Sandbox, root: &Path) -> Option<Self> {
        let worktrees = sandbox.worktrees.as_ref()?;
        let name = root.strip_prefix(worktrees).ok()?.components().next()?;
        let top = worktrees.join(name);
        let folder = &sandbox.folder;
        let repository = folder.ancestors().find(|folder| folder.join(".git").exists());
        let repository = repository.unwrap_or(folder);
        Some(Self {
            folder: top.join(folder.strip_prefix(repository).unwrap_or(Path::new(""))),
            repository: repository.to_owned(),
            top,
        })
    }

    /// Returns those of some places that lie in the server's folder, as places of the worktree.
    fn same<'a>(&'a self, places: &'a [PathBuf], folder: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
        let inside = places
            .iter()
            .filter_map(move |place| place.strip_prefix(folder).ok());
        let inside = inside.filter(|place| !place.as_os_str().is_empty());
        inside.map(|place| self.folder.join(place))
    }
}

/// Returns the places that a folder hides, without those whose real path is outside of the folder: commands or
/// bubblewrap could need them.
fn places_of_folder(hidden: &[PathBuf], folder: &Path) -> Vec<PathBuf> {
    let lies_in = |place: &&PathBuf| {
        if let Ok(real) = place.canonicalize() {
            return real != folder && real.starts_with(folder);
        }
        // The place may exist in a directory that cannot be searched now.
        let mut way = place.ancestors().take_while(|ancestor| *ancestor != folder);
        !way.any(Path::is_symlink)
    };
    hidden.iter().filter(lies_in).cloned().collect()
}

#[cfg(test)]
mod tests {
    use bobbin_children::Environment;

    use super::*;

    fn strict() -> Sandbox {
        Sandbox {
            profile: Profile {
                files: Files::WorkspaceWrite,
                network: Network::Off,
            },
            support: Support {
                landlock: 6,
                seccomp: true,
                outer: Outer::Nothing,
            },
            temporary: Some("/w/.craft/tmp".into()),
            ..Sandbox::default()
        }
    }

    #[test]
    fn a_command_is_confined_as_planned_or_not_started() {
        let sandbox = strict();
        let spec = || ProcessSpec::new("/bin/sh", "/w", Environment::empty());
        let plan = sandbox.plan(vec!["/w".into()]);
        let confined = sandbox.confined(&plan, spec()).unwrap();
        assert_eq!(
            confined.env.get("TMPDIR").and_then(|value| value.to_str()),
            Some("/w/.craft/tmp")
        );
        let confinement = confined.confinement.unwrap();
        assert_eq!((&confinement.plan, confinement.bubblewrap), (&plan, None));
        // Planned with a bubblewrap that has failed since.
        let plan = Plan {
            outer: Outer::Bubblewrap,
            ..plan
        };
        assert!(sandbox.confined(&plan, spec()).is_err());
    }

    #[test]
    fn what_cannot_be_held_is_never_taken_for_held() {
        assert_eq!(
            Sandbox::default().of_command(Path::new("/w")),
            CommandSandbox::NotNeeded
        );
        let none = Sandbox {
            support: Support::NONE,
            ..strict()
        };
        assert!(matches!(
            none.of_command(Path::new("/w")),
            CommandSandbox::Missing(_)
        ));
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join(".ssh")).unwrap();
        let exposed = Sandbox {
            hide: vec![place.path().join(".ssh")],
            ..strict()
        };
        assert!(matches!(
            exposed.of_command(place.path()),
            CommandSandbox::Missing(_)
        ));
        assert!(matches!(
            exposed.of_command(Path::new("/w")),
            CommandSandbox::Confined(_)
        ));
    }

    #[test]
    fn where_others_may_prompt_bubblewrap_confines_whatever_is_configured() {
        let places = || SharedPlaces {
            hide: vec!["/h".into()],
            reveal: vec!["/h/cache".into()],
        };
        let open = Sandbox {
            support: strict().support,
            sharing: Sharing::new(move || Some(places())),
            ..Sandbox::default()
        };
        let now = open.now();
        assert_eq!(
            now.profile,
            Profile {
                files: Files::WorkspaceWrite,
                network: Network::Internet,
            }
        );
        let plan = now.plan(Vec::new());
        assert_eq!((plan.hide, plan.reveal), (places().hide, places().reveal));
        assert!(matches!(
            open.of_command(Path::new("/w")),
            CommandSandbox::Missing(_)
        ));
        assert_eq!(open.when_missing(), WhenMissing::Refuse);
        let alone = Sandbox {
            sharing: Sharing::new(|| None),
            ..strict()
        };
        assert_eq!(alone.now().profile, alone.profile);
        assert_eq!(alone.when_missing(), WhenMissing::Ask);
    }

    #[test]
    fn what_a_folder_hides_is_hidden_or_refused_and_lies_in_it() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let [work, other] = ["work", "other"].map(|name| top.join(name));
        for directory in [work.join("keys"), other.clone()] {
            std::fs::create_dir_all(directory).unwrap();
        }
        std::os::unix::fs::symlink(&other, work.join("out")).unwrap();
        std::os::unix::fs::symlink("..", work.join("up")).unwrap();
        let hold = |name: &str, root: &Path| {
            let sandbox = Sandbox {
                folder: work.clone(),
                hidden_by_folder: vec![work.join(name)],
                ..strict()
            };
            sandbox.of_command(root)
        };
        assert!(matches!(hold("keys", &work), CommandSandbox::Refused(_)));
        for name in [".", "out", "up", "missing"] {
            let CommandSandbox::Confined(plan) = hold(name, &work) else {
                panic!("{name} is not held");
            };
            assert!(plan.hide.is_empty() || name == "missing", "{name}: {plan:?}");
        }
        let CommandSandbox::Confined(plan) = hold("keys", &other) else {
            panic!("it is held elsewhere");
        };
        assert_eq!(plan.hide, [work.join("keys")]);
    }

    #[test]
    fn the_servers_own_files_are_kept_in_every_workspace_and_hidden_in_a_home_that_is_not_its_own() {
        let place = tempfile::tempdir().unwrap();
        let [work, home, other] = ["w", "home", "other"].map(|name| place.path().join(name));
        for root in [&work, &home, &other] {
            std::fs::create_dir_all(root.join(".craft")).unwrap();
        }
        let sandbox = |own: &Path| Sandbox {
            hide: vec![home.join(".craft")],
            read_only: vec![own.join(".craft")],
            blank: vec![own.join(".craft/bobbin.db"), own.join("elsewhere")],
            ..strict()
        };
        let held = |own: &Path, root: &Path| match sandbox(own).of_command(root) {
            CommandSandbox::Confined(plan) => Some((plan.hide.len(), plan.read_only, plan.blank)),
            CommandSandbox::NotNeeded | CommandSandbox::Missing(_) | CommandSandbox::Refused(_) => None,
        };
        let (keep, blank) = (vec![work.join(".craft")], sandbox(&work).blank);
        assert_eq!(held(&work, &work), Some((1, keep.clone(), blank.clone())));
        let theirs = (
            1,
            [keep, vec![other.join(".craft")]].concat(),
            [blank, vec![other.join(".craft/bobbin.db")]].concat(),
        );
        assert_eq!(held(&work, &other), Some(theirs));
        // Without bubblewrap, a home with a hidden place cannot be confined; its own server hides nothing there.
        assert_eq!(held(&work, &home), None);
        assert_eq!(held(&home, &home).map(|(hidden, ..)| hidden), Some(0));
        assert_eq!(held(&home, &other).map(|(hidden, ..)| hidden), Some(1));
    }

    #[test]
    fn a_command_in_a_worktree_writes_that_and_nothing_else_of_the_state() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (folder, state) = (top.join("tea/leaf"), top.join("state"));
        let (worktrees, own) = (state.join("worktrees"), state.join("worktrees/a"));
        for made in [&folder, &top.join("tea/.git"), &own.join("leaf")] {
            std::fs::create_dir_all(made).unwrap();
        }
        let sandbox = Sandbox {
            folder: folder.clone(),
            hide: vec![state.clone(), folder.join("keys")],
            hidden_by_folder: vec![folder.join("secret")],
            worktrees: Some(worktrees.clone()),
            temporary: None,
            support: Support {
                landlock: 6,
                seccomp: true,
                outer: Outer::Nothing,
            },
            ..strict()
        };
        for root in [own.clone(), own.join("leaf")] {
            let CommandSandbox::Confined(plan) = sandbox.of_command(&root) else {
                panic!("{root:?}");
            };
            assert_eq!((plan.write, plan.reveal), (vec![own.clone()], vec![own.clone()]));
            assert!(plan.show.contains(&top.join("tea")));
            for hidden in ["keys", "secret"] {
                assert!(plan.hide.contains(&folder.join(hidden)), "{hidden}");
                assert!(plan.hide.contains(&own.join("leaf").join(hidden)), "{hidden}");
            }
        }
        for root in [&state, &worktrees] {
            assert!(
                matches!(sandbox.of_command(root), CommandSandbox::Refused(_)),
                "{root:?}"
            );
        }
        let CommandSandbox::Confined(plan) = sandbox.of_command(&folder) else {
            panic!("the folder");
        };
        assert_eq!((plan.write, plan.reveal), (vec![folder], Vec::new()));
    }
}
