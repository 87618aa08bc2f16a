//! Bubblewrap as the configuration wants it: tried once, when it is first needed, and what became of that.
//!
//! A machine can have a bubblewrap that does not work, because the system lets nobody make namespaces or because we are
//! in a container ourselves. So it is run once with all that a command's view is made of, around the helper, before
//! anything is promised ([`super::bubblewrap_try`]). The result stays for the life of the process; one failure later has it
//! tried again, with our own binary as the helper, and where it fails a command once more although the try went well, it is
//! not used for a while. Bounds: one try at a time, of 25 s.

use std::ffi::OsString;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bobbin_children::{Children, Environment, ProcessSpec, Starter};
use bobbin_sandbox::{HANDED_ARGUMENT, HELPER_ARGUMENT, PLACES, Plan, REPORT_ARGUMENT, Seen, Support, find};
use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::bubblewrap_try::{Helpers, try_it};
use super::memory::file;
use super::wrapped::{MAX_WORD, Word, Wrapped, give, not_told, number, pair, text};

/// Whether commands are to be held by bubblewrap too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BubblewrapUse {
    /// No.
    #[default]
    Off,
    /// Where it works.
    Auto,
    /// Always: where it does not work, no command runs.
    Require,
}

/// Bubblewrap, and what is known of it. Clones share what is known.
#[derive(Debug, Clone, Default)]
pub struct Bubblewrap {
    wanted: BubblewrapUse,
    places: Vec<PathBuf>,
    children: Option<Children>,
    /// The helper as a program of its own; empty where there is none.
    carried: &'static [u8],
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    /// Replaced when what was found turns out to be so no more.
    found: Arc<OnceCell<Tried>>,
    /// It has failed a command, and held none since.
    has_failed: bool,
}

/// What a try has shown: what is run, or why it does not work.
pub(super) type Found = Result<Working, String>;
/// When it was tried, and what came of it.
pub(super) type Tried = (Instant, Found);

/// How long a failure counts: what was busy, broken or missing may be well again.
const FAILED_FOR: Duration = Duration::from_mins(1);

/// A bubblewrap that works.
#[derive(Debug, Clone)]
pub(super) struct Working {
    pub(super) program: PathBuf,
    /// The helper, open: its name may lead nowhere in a command's view, or to something else after an upgrade.
    pub(super) helper: Arc<OwnedFd>,
    /// Why that is not the one that is carried, if that was tried.
    pub(super) not_carried: Option<String>,
}

/// Whether a command has begun, or what was to hold it has failed before.
#[derive(Debug)]
pub struct Begun {
    told: UnixStream,
    heard: AtomicBool,
    /// The try that had it promised.
    by: Weak<OnceCell<Tried>>,
}

impl Begun {
    /// Whether all was held and the command was next. Of a process that goes on: up to now.
    pub fn has(&self) -> bool {
        let told = || (&self.told).read(&mut [0]).is_ok_and(|bytes| bytes == 1);
        self.heard.fetch_or(told(), Ordering::Relaxed) || self.heard.load(Ordering::Relaxed)
    }
}

impl Bubblewrap {
    /// Returns bubblewrap in its usual places, as it is wanted; `children` starts it when it is tried.
    pub fn new(wanted: BubblewrapUse, children: Children) -> Self {
        Self {
            wanted,
            places: PLACES.map(PathBuf::from).to_vec(),
            children: Some(children),
            carried: &[],
            known: Arc::default(),
        }
    }

    /// Takes a program that does what the helper does and begins sooner; used where it works.
    #[must_use]
    pub fn carrying(mut self, program: &'static [u8]) -> Self {
        self.carried = program;
        self
    }

    /// Looks in other places. They must be nobody's but root's, as the usual ones.
    #[must_use]
    pub fn with_places(mut self, places: Vec<PathBuf>) -> Self {
        self.places = places;
        self
    }

    /// Returns whether it is wanted.
    pub fn wanted(&self) -> BubblewrapUse {
        self.wanted
    }

    /// Whether it is wanted and there is one, which may work or not. Starts nothing.
    pub(crate) fn may_work(&self) -> bool {
        self.wanted != BubblewrapUse::Off && find(&self.places).is_ok()
    }

    /// Returns what was found, once it was tried: the program, or why it does not work.
    pub fn found(&self) -> Option<Result<PathBuf, String>> {
        let cell = self.known.lock().found.clone();
        let (_, found) = cell.get()?;
        Some(
            found
                .as_ref()
                .map(|working| working.program.clone())
                .map_err(Clone::clone),
        )
    }

    /// Returns why the helper that is carried does not work although bubblewrap does; `None` where it does, or was not tried.
    pub fn not_carried(&self) -> Option<String> {
        let cell = self.known.lock().found.clone();
        let (_, found) = cell.get()?;
        found.as_ref().ok()?.not_carried.clone()
    }

    /// Returns what starts a process within a plan's view, held by the helper there.
    ///
    /// # Errors
    /// Why it cannot be started so, as half a sentence.
    pub(super) fn wrap<W>(
        &self,
        plan: &Plan,
        inner: ProcessSpec,
        seen: Seen,
        hand: impl FnOnce(&[u8]) -> std::io::Result<(Arc<OwnedFd>, W)>,
    ) -> Result<Wrapped<W>, String> {
        let cell = self.known.lock().found.clone();
        let Some((_, Ok(working))) = cell.get() else {
            return Err("bubblewrap, which was to hold it, works no more".to_owned());
        };
        working.wrap(plan, inner, seen, hand, Arc::downgrade(&cell))
    }

    /// Returns what starts one that is told later what it is to hold, a process with these variables, and what tells it.
    /// `None` where it does not work.
    pub(super) fn untold(&self, environment: Environment) -> Option<(ProcessSpec, Untold)> {
        let cell = self.known.lock().found.clone();
        let (_, working) = cell.get()?;
        let working = working.as_ref().ok()?;
        working.untold(environment, Arc::downgrade(&cell))
    }

    /// Notes that it has held a command.
    pub(crate) fn has_held(&self) {
        self.known.lock().has_failed = false;
    }

    /// Notes that a command did not begin that it was to hold, and why, unless the command's time was over, which may have
    /// been too short for anything. It is tried again before the next one. The second reason counts for as long as a
    /// try that failed: a try does not show it.
    pub(crate) fn has_failed(&self, begun: &Begun, why: Option<&str>) {
        let mut known = self.known.lock();
        if !Weak::ptr_eq(&Arc::downgrade(&known.found), &begun.by) {
            // Another try has been asked for since.
            return;
        }
        let again = why.filter(|_| known.has_failed);
        let found = again.map(|why| (Instant::now(), Err(why.to_owned())));
        known.found = Arc::new(OnceCell::new_with(found));
        known.has_failed |= why.is_some();
    }

    /// Tries it, if it is wanted and was not tried yet, or failed a while ago.
    pub(super) async fn settle(&self, helper: &Path, kernel: Support, hide: &[PathBuf]) {
        let (false, Some(children)) = (self.wanted == BubblewrapUse::Off, &self.children) else {
            return;
        };
        let (cell, has_failed) = {
            let mut known = self.known.lock();
            if matches!(known.found.get(), Some((at, Err(_))) if at.elapsed() >= FAILED_FOR) {
                known.found = Arc::default();
            }
            (known.found.clone(), known.has_failed)
        };
        let tried = async || {
            let helpers = Helpers {
                // It may have been what failed.
                carried: if has_failed { &[] } else { self.carried },
                own: helper,
            };
            let found = try_it(&self.places, children, helpers, kernel, hide).await;
            (Instant::now(), found)
        };
        match &cell.get_or_init(tried).await.1 {
            Ok(working) => tracing::debug!(program = %working.program.display(), "bubblewrap works"),
            Err(why) => tracing::debug!(%why, "bubblewrap is not used"),
        }
    }
}

impl Working {
    /// Returns what starts a process within a plan's view, promised by a try.
    ///
    /// # Errors
    /// Why it cannot be started so, as half a sentence.
    pub(super) fn wrap<W>(
        &self,
        plan: &Plan,
        inner: ProcessSpec,
        seen: Seen,
        hand: impl FnOnce(&[u8]) -> std::io::Result<(Arc<OwnedFd>, W)>,
        by: Weak<OnceCell<Tried>>,
    ) -> Result<Wrapped<W>, String> {
        let ProcessSpec {
            program,
            args,
            cwd,
            env,
            input,
            ..
        } = inner;
        let (view, within) = texts(plan, &seen, &cwd, program, args)?;
        let for_bubblewrap = file(&view).map_err(|error| not_told(&error))?;
        let (for_helper, word) = hand(&within).map_err(|error| not_told(&error))?;
        let (spec, begun) = self.spec(cwd, env, for_bubblewrap, for_helper, by)?;
        Ok(Wrapped {
            spec: spec.input(input),
            begun: Some(begun),
            word,
            seen,
        })
    }

    /// Returns what starts it in a directory, to read its arguments and those of the helper, and where it is seen whether
    /// the command has begun.
    fn spec(
        &self,
        cwd: impl Into<PathBuf>,
        mut environment: Environment,
        for_bubblewrap: Arc<OwnedFd>,
        for_helper: Arc<OwnedFd>,
        by: Weak<OnceCell<Tried>>,
    ) -> Result<(ProcessSpec, Begun), String> {
        without_upkeep(&mut environment);
        let (told, theirs) = pair().map_err(|error| format!("its begin cannot be watched: {error}"))?;
        // Its first process is seen by the command, and by everybody outside: what it is called with names hidden places.
        let spec = ProcessSpec::new(&self.program, cwd, environment)
            .args(["--args".to_owned(), number(&for_bubblewrap)])
            .arg(format!("/proc/self/fd/{}", number(&self.helper)))
            .arg(HELPER_ARGUMENT)
            .args([REPORT_ARGUMENT.to_owned(), number(&theirs)])
            .args([HANDED_ARGUMENT.to_owned(), number(&for_helper)])
            .starter(Starter {
                open: vec![self.helper.clone(), theirs, for_bubblewrap, for_helper],
            });
        let heard = AtomicBool::new(false);
        Ok((spec, Begun { told, heard, by }))
    }

    /// Returns what starts one that is told later, and what tells it.
    fn untold(&self, environment: Environment, by: Weak<OnceCell<Tried>>) -> Option<(ProcessSpec, Untold)> {
        let (view, for_bubblewrap) = pair().ok()?;
        let (within, for_helper) = pair().ok()?;
        // Where it begins says nothing: it is told where the command runs.
        let (spec, begun) = self
            .spec("/", environment.clone(), for_bubblewrap, for_helper, by)
            .ok()?;
        let untold = Untold {
            environment,
            view,
            within,
            begun,
        };
        Some((spec, untold))
    }
}

/// What tells a bubblewrap that was started what it is to hold. It waits for its arguments, and has made nothing yet.
#[derive(Debug)]
pub(super) struct Untold {
    environment: Environment,
    view: UnixStream,
    within: UnixStream,
    begun: Begun,
}

impl Untold {
    /// Whether it was started as it would be now, for a process with these variables.
    pub(super) fn is_for(&self, bubblewrap: &Bubblewrap, environment: &Environment) -> bool {
        let now = Arc::downgrade(&bubblewrap.known.lock().found);
        Weak::ptr_eq(&now, &self.begun.by) && *environment == self.environment
    }

    /// Tells bubblewrap what it is to make, and returns whether it could be told that, and the helper its own later, without
    /// waiting. It must be ended before this is dropped where it could not.
    pub(super) fn tell(&self, view: &[u8], within: &[u8]) -> bool {
        view.len() <= MAX_WORD && within.len() <= MAX_WORD && give(&self.view, view).is_ok()
    }

    /// Returns what lets the command begin once bubblewrap was told, and where it is seen whether it has.
    pub(super) fn word(self, within: Vec<u8>) -> (Word, Begun) {
        (Word::to(self.within, within), self.begun)
    }
}

/// Returns what bubblewrap and the helper in it are told to hold a program in a directory.
///
/// # Errors
/// Why they cannot be, as half a sentence.
pub(super) fn texts(
    plan: &Plan,
    seen: &Seen,
    directory: &Path,
    program: OsString,
    arguments: Vec<OsString>,
) -> Result<(Vec<u8>, Vec<u8>), String> {
    let real = directory
        .canonicalize()
        .map_err(|error| format!("{} cannot be entered: {error}", directory.display()))?;
    let view = text(seen.arguments(&real))?;
    let within = text(plan.within().arguments(program, arguments))?;
    Ok((view, within))
}

/// Settings of git's: no upkeep of a repository behind a command's back. It would be killed with the command, and leave its
/// locks behind.
const NO_UPKEEP: [(&str, &str); 2] = [("gc.auto", "0"), ("maintenance.auto", "false")];
/// Where git looks for the number of settings among its variables.
const GIT_SETTINGS: &str = "GIT_CONFIG_COUNT";

/// Adds them behind those that are there.
fn without_upkeep(environment: &mut Environment) {
    let there = environment.get(GIT_SETTINGS).and_then(|count| count.to_str());
    let mut count: u32 = there.and_then(|count| count.parse().ok()).unwrap_or(0);
    for (name, value) in NO_UPKEEP {
        environment.set(format!("GIT_CONFIG_KEY_{count}"), name);
        environment.set(format!("GIT_CONFIG_VALUE_{count}"), value);
        count = count.saturating_add(1);
    }
    environment.set(GIT_SETTINGS, count.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(bubblewrap: &Bubblewrap) -> Begun {
        Begun {
            told: pair().unwrap().0,
            heard: AtomicBool::new(false),
            by: Arc::downgrade(&bubblewrap.known.lock().found),
        }
    }

    #[test]
    fn a_failure_has_it_tried_again_and_the_next_one_without_a_command_held_between_counts() {
        let bubblewrap = Bubblewrap::default();
        let (first, late) = (begun(&bubblewrap), begun(&bubblewrap));
        bubblewrap.has_failed(&first, Some("first"));
        bubblewrap.has_failed(&late, Some("held by what is tried no more"));
        assert_eq!(bubblewrap.found(), None);
        bubblewrap.has_failed(&begun(&bubblewrap), None);
        assert_eq!(bubblewrap.found(), None);
        bubblewrap.has_failed(&begun(&bubblewrap), Some("second"));
        assert_eq!(bubblewrap.found(), Some(Err("second".to_owned())));
        bubblewrap.has_held();
        bubblewrap.has_failed(&begun(&bubblewrap), None);
        bubblewrap.has_failed(&begun(&bubblewrap), Some("first again"));
        assert_eq!(bubblewrap.found(), None);
    }

    #[test]
    fn settings_of_gits_that_are_there_stay_before_ours() {
        for (count, first) in [(None, 0), (Some("0"), 0), (Some("3"), 3), (Some("many"), 0)] {
            let mut environment = Environment::empty();
            if let Some(count) = count {
                environment.set(GIT_SETTINGS, count);
            }
            environment.set("GIT_CONFIG_KEY_2", "core.pager");
            without_upkeep(&mut environment);
            let get = |name: String| environment.get(name).and_then(|value| value.to_str());
            assert_eq!(
                get(GIT_SETTINGS.to_owned()),
                Some((first + 2).to_string().as_str())
            );
            assert_eq!(get(format!("GIT_CONFIG_KEY_{first}")), Some("gc.auto"));
            assert_eq!(get(format!("GIT_CONFIG_VALUE_{}", first + 1)), Some("false"));
            assert_eq!(get("GIT_CONFIG_KEY_2".to_owned()), Some("core.pager"));
        }
    }
}
