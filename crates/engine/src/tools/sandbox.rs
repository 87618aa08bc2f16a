//! How the commands of a server are held, and what is done about those that cannot be.

use std::path::{Path, PathBuf};

use bobbin_children::{ProcessSpec, Starter};
use bobbin_sandbox::{Files, HANDED_ARGUMENT, HELPER_ARGUMENT, Network, Outer, Plan, Profile, Support};

use super::bubblewrap::{Bubblewrap, BubblewrapUse};
use super::wrapped::{Wrapped, handed, number};

/// How commands are held. A value; the default holds nothing.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// What commands are let do.
    pub profile: Profile,
    /// What the kernel can hold.
    pub support: Support,
    /// What can be put around the helper.
    pub bubblewrap: Bubblewrap,
    /// The program with the helper mode: usually our own binary.
    pub helper: PathBuf,
    /// The directory for temporary files of commands that may write.
    pub temporary: Option<PathBuf>,
    /// Further places they may write.
    pub write: Vec<PathBuf>,
    /// Places whose files they may not read.
    pub hide: Vec<PathBuf>,
    /// Places that bubblewrap keeps from being written wherever they lie. Without it they are as the place they lie in.
    pub keep: Vec<PathBuf>,
    /// Places whose files bubblewrap keeps from being read wherever they lie. As `keep`.
    pub blank: Vec<PathBuf>,
    /// What is done where the profile cannot be held.
    pub when_missing: WhenMissing,
}

/// What is done with a command that should be held and cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenMissing {
    /// A person is asked, whatever rules allow; nobody there to ask means no.
    #[default]
    Ask,
    /// It is refused.
    Refuse,
}

/// What holds one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Nothing, and nothing should.
    Open,
    /// The helper, with this plan.
    Held(Plan),
    /// Nothing, although something should: why, as half a sentence.
    Missing(String),
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            profile: Profile::OPEN,
            support: Support::NONE,
            bubblewrap: Bubblewrap::default(),
            helper: PathBuf::new(),
            temporary: None,
            write: Vec::new(),
            hide: Vec::new(),
            keep: Vec::new(),
            blank: Vec::new(),
            when_missing: WhenMissing::default(),
        }
    }
}

impl Sandbox {
    /// Finds out what it takes a process to find out. Before that, nothing is promised that depends on it.
    pub async fn settle(&self) {
        if self.profile.holds_something() {
            self.bubblewrap
                .settle(&self.helper, self.support, &self.hide)
                .await;
        }
    }

    /// Does the same on a thread that may be held, and nothing where all is known.
    pub(crate) fn settle_now(&self) {
        if self.profile.holds_something()
            && self.bubblewrap.wants_a_try()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.block_on(self.settle());
        }
    }

    /// Returns what can be held here, as far as is known.
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

    /// Returns why nothing holds commands here that should, as half a sentence; `None` when something does.
    pub fn missing(&self) -> Option<String> {
        let support = self.support_now();
        if self.profile.holds_something()
            && self.bubblewrap.wanted() == BubblewrapUse::Require
            && support.outer == Outer::Nothing
        {
            let why = match self.bubblewrap.found() {
                Some(Err(why)) => why,
                Some(Ok(_)) | None => "it was not tried".to_owned(),
            };
            return Some(format!(
                "bubblewrap is required (Sandbox.Bubblewrap) and cannot be used: {why}"
            ));
        }
        support.missing(self.profile)
    }

    /// Returns what is done with a command that should be held and cannot be.
    pub fn when_missing(&self) -> WhenMissing {
        match self.bubblewrap.wanted() {
            BubblewrapUse::Require => WhenMissing::Refuse,
            BubblewrapUse::Off | BubblewrapUse::Auto => self.when_missing,
        }
    }

    /// Returns how a command is held that may write these places, as far as the profile lets it.
    pub fn plan(&self, write: Vec<PathBuf>) -> Plan {
        let support = self.support_now();
        Plan {
            profile: self.profile,
            write,
            hide: self.hide.clone(),
            keep: self.keep.clone(),
            blank: self.blank.clone(),
            landlock: support.landlock,
            outer: support.outer,
        }
    }

    /// Returns what holds a command that runs in `root`.
    pub(crate) fn hold(&self, root: &Path) -> Hold {
        if !self.profile.holds_something() {
            return Hold::Open;
        }
        if let Some(why) = self.missing() {
            return Hold::Missing(why);
        }
        let write = std::iter::once(root.to_owned());
        let write = write.chain(self.temporary.clone()).chain(self.write.clone());
        let mut plan = self.plan(write.collect());
        // The server's own files in a workspace that is also the home are held as in others.
        let own = |path: &PathBuf| self.keep.contains(path) && path.parent() == Some(root);
        plan.hide.retain(|path| !own(path));
        self.keep_those_of(root, &mut plan);
        if let Some(path) = plan.exposed() {
            let path = path.display();
            return Hold::Missing(format!("{path} is hidden and lies where commands may write"));
        }
        if let Some(path) = plan.replaceable() {
            let path = path.display();
            return Hold::Missing(format!("{path} is a link, which a command could replace"));
        }
        Hold::Held(plan)
    }

    /// Has kept in `root`, which may be the workspace of another server, what is kept in that of this one, and its private
    /// files back.
    fn keep_those_of(&self, root: &Path, plan: &mut Plan) {
        for kept in &self.keep {
            let theirs = kept.file_name().map(|name| root.join(name));
            let Some(theirs) = theirs.filter(|theirs| !self.keep.contains(theirs)) else {
                continue;
            };
            let within = self
                .blank
                .iter()
                .filter_map(|place| place.strip_prefix(kept).ok());
            plan.blank.extend(within.map(|name| theirs.join(name)));
            plan.keep.push(theirs);
        }
    }

    /// Returns what starts a process so that a plan holds it.
    ///
    /// # Errors
    /// Why it cannot be held as planned, as half a sentence. It must not be started otherwise then.
    pub fn wrap(&self, plan: &Plan, inner: ProcessSpec) -> Result<Wrapped, String> {
        let inner = self.outfit(plan, inner);
        if plan.outer == Outer::Bubblewrap {
            return self.bubblewrap.wrap(plan, inner);
        }
        let ProcessSpec {
            program,
            args,
            cwd,
            env,
            input,
            starter: _,
        } = inner;
        let theirs = handed(plan.arguments(program, args))?;
        let spec = ProcessSpec::new(&self.helper, cwd, env)
            .arg(HELPER_ARGUMENT)
            .args([HANDED_ARGUMENT.to_owned(), number(&theirs)])
            .input(input)
            .starter(Starter { open: vec![theirs] });
        Ok(Wrapped { spec, begun: None })
    }

    /// Returns the process that a plan holds with the variables that it gets for that.
    fn outfit(&self, plan: &Plan, mut inner: ProcessSpec) -> ProcessSpec {
        if let Some(temporary) = self
            .temporary
            .as_ref()
            .filter(|_| plan.profile.files == Files::WorkspaceWrite)
        {
            inner.env.set("TMPDIR", temporary);
        }
        inner
    }

    /// Returns what the model is told of it.
    pub(super) fn description(&self) -> &'static str {
        match (self.profile.files, self.profile.network) {
            (Files::Full, Network::On) => {
                "Runs a command line in the workspace with the system's shell and returns its output. There is no terminal \
                 and no standard input."
            }
            (Files::ReadOnly, _) => {
                "Runs a command line in the workspace with the system's shell and returns its output. There is no terminal \
                 and no standard input. Commands run in a sandbox in which no file can be written; set outsideSandbox for \
                 one that must write or needs the network, and a person is asked."
            }
            (_, Network::Off) => {
                "Runs a command line in the workspace with the system's shell and returns its output. There is no terminal \
                 and no standard input. Commands run in a sandbox without network, in which only files of the workspace and \
                 of $TMPDIR can be written; set outsideSandbox for one that needs more, and a person is asked."
            }
            (Files::WorkspaceWrite, Network::On) => {
                "Runs a command line in the workspace with the system's shell and returns its output. There is no terminal \
                 and no standard input. Commands run in a sandbox in which only files of the workspace and of $TMPDIR can be \
                 written; set outsideSandbox for one that needs more, and a person is asked."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;

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
            helper: "/bobbin".into(),
            temporary: Some("/w/.craft/tmp".into()),
            ..Sandbox::default()
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_command_is_started_through_the_helper_with_all_its_own() {
        let place = tempfile::tempdir().unwrap();
        let work = place.path().canonicalize().unwrap();
        let temporary = work.join("temporary");
        std::fs::create_dir(&temporary).unwrap();
        let sandbox = Sandbox {
            temporary: Some(temporary.clone()),
            ..strict()
        };
        let Hold::Held(plan) = sandbox.hold(&work) else {
            panic!("not held")
        };
        let inner = ProcessSpec::new("/bin/sh", &work, Environment::empty())
            .arg("-c")
            .arg("ls");
        let Wrapped { spec, begun, .. } = sandbox.wrap(&plan, inner).unwrap();
        assert!(begun.is_none());
        assert_eq!(
            (spec.program.to_str(), spec.cwd.as_path()),
            (Some("/bobbin"), work.as_path())
        );
        assert_eq!(spec.env.get("TMPDIR"), Some(temporary.as_os_str()));
        let [first, flag, number] = spec.args.as_slice() else {
            panic!("{:?}", spec.args)
        };
        assert_eq!(
            (first.to_str(), flag.to_str()),
            (Some(HELPER_ARGUMENT), Some(HANDED_ARGUMENT))
        );
        // What it is to become is told to nobody but the helper.
        let open = spec.starter.unwrap().open.remove(0);
        assert_eq!(number.to_str(), Some(open.as_raw_fd().to_string().as_str()));
        let mut text = String::new();
        std::fs::File::from(open.try_clone().unwrap())
            .read_to_string(&mut text)
            .unwrap();
        let told = text.strip_suffix('\0').unwrap().split('\0').map(OsString::from);
        let (read, program, arguments) = Plan::read(told).unwrap();
        assert_eq!((read, program), (plan, "/bin/sh".into()));
        assert_eq!(arguments, ["-c", "ls"]);
    }

    #[test]
    fn what_cannot_be_held_is_never_taken_for_held() {
        assert_eq!(Sandbox::default().hold(Path::new("/w")), Hold::Open);
        let none = Sandbox {
            support: Support::NONE,
            ..strict()
        };
        assert!(matches!(none.hold(Path::new("/w")), Hold::Missing(_)));
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join(".ssh")).unwrap();
        let exposed = Sandbox {
            hide: vec![place.path().join(".ssh")],
            ..strict()
        };
        assert!(matches!(exposed.hold(place.path()), Hold::Missing(_)));
        assert!(matches!(exposed.hold(Path::new("/w")), Hold::Held(_)));
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
            keep: vec![own.join(".craft")],
            blank: vec![own.join(".craft/bobbin.db"), own.join("elsewhere")],
            ..strict()
        };
        let held = |own: &Path, root: &Path| match sandbox(own).hold(root) {
            Hold::Held(plan) => Some((plan.hide.len(), plan.keep, plan.blank)),
            Hold::Open | Hold::Missing(_) => None,
        };
        let (keep, blank) = (vec![work.join(".craft")], sandbox(&work).blank);
        assert_eq!(held(&work, &work), Some((1, keep.clone(), blank.clone())));
        let theirs = (
            1,
            [keep, vec![other.join(".craft")]].concat(),
            [blank, vec![other.join(".craft/bobbin.db")]].concat(),
        );
        assert_eq!(held(&work, &other), Some(theirs));
        // Without bubblewrap a home is not held in which something is hidden; its own server hides nothing there.
        assert_eq!(held(&work, &home), None);
        assert_eq!(held(&home, &home).map(|(hidden, ..)| hidden), Some(0));
        assert_eq!(held(&home, &other).map(|(hidden, ..)| hidden), Some(1));
    }
}
