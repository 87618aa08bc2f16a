//! A try of bubblewrap: whether it makes what a command's view is made of, and which helper it can start there.
//!
//! The helper that the server carries within it is a program in memory, which some systems do not let anybody execute. So it
//! is tried first, and the helper mode of our own binary after it.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bobbin_children::{Children, Environment, Exit, Limits, Outcome, ProcessSpec};
use bobbin_sandbox::{Outer, Plan, Profile, Seen, Support, find};
use tokio_util::sync::CancellationToken;

use super::bubblewrap::{Found, Working};
use super::memory::program;
use super::wrapped::{Wrapped, at_once};

/// Time for a try with our own binary. Many times what a busy machine needs.
const TRY_TIME: Duration = Duration::from_secs(20);
/// Time for one with the carried helper, behind which there is the other.
const TRY_TIME_OF_CARRIED: Duration = Duration::from_secs(5);
/// What is told of a failure, characters.
const MAX_SAID: usize = 300;
/// Output kept of a try.
const TRY_OUTPUT: usize = 4 << 10;
/// What systems say of namespaces that only some may make: where, what, and what that means.
const RESTRICTIONS: [(&str, &str, &str); 3] = [
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor lets only named programs make user namespaces (kernel.apparmor_restrict_unprivileged_userns)",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "only root may make user namespaces (kernel.unprivileged_userns_clone)",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "nobody may make user namespaces (user.max_user_namespaces)",
    ),
];

/// What does what the helper does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Helpers<'a> {
    /// A program of its own; empty where there is none.
    pub(super) carried: &'static [u8],
    /// A program with the helper mode.
    pub(super) own: &'a Path,
}

/// Runs a harmless command as strictly as any can be held, with the carried helper and, where that fails, with our own.
pub(super) async fn try_it(
    places: &[PathBuf],
    children: &Children,
    helpers: Helpers<'_>,
    kernel: Support,
    hide: &[PathBuf],
) -> Found {
    let bubblewrap = find(places).map_err(|unfit| unfit.to_string())?;
    let plan = Plan {
        profile: Profile::default(),
        hide: hide.to_vec(),
        landlock: kernel.landlock,
        outer: Outer::Bubblewrap,
        ..Plan::default()
    };
    let working = |helper: OwnedFd, not_carried: Option<String>| Working {
        program: bubblewrap.clone(),
        helper: Arc::new(helper),
        not_carried,
    };
    let mut not_carried = None;
    if !helpers.carried.is_empty() {
        let why = match program(helpers.carried) {
            Ok(carried) => {
                let working = working(carried, None);
                match try_with(&working, &plan, children, TRY_TIME_OF_CARRIED).await {
                    Ok(()) => return Ok(working),
                    Err(why) => why,
                }
            }
            Err(error) => format!("there can be no program in memory: {error}"),
        };
        not_carried = Some(why);
    }
    let own = std::fs::File::open(helpers.own)
        .map_err(|error| format!("{} cannot be opened: {error}", helpers.own.display()))?;
    let working = working(own.into(), not_carried);
    match try_with(&working, &plan, children, TRY_TIME).await {
        Ok(()) => Ok(working),
        Err(why) => Err(match working.not_carried {
            Some(other) if other != why => format!("{why}; before, with the helper it carries: {other}"),
            Some(_) | None => why,
        }),
    }
}

/// Runs it with one of them.
async fn try_with(working: &Working, plan: &Plan, children: &Children, time: Duration) -> Result<(), String> {
    let seen = Seen::of(plan, Path::new("/"));
    let harmless = ProcessSpec::new("/bin/sh", "/", Environment::empty())
        .arg("-c")
        .arg(":");
    let wrapped = working.wrap(plan, harmless, seen, at_once, Weak::new())?;
    let Wrapped { spec, begun, .. } = wrapped;
    let limits = Limits {
        wall_clock: time,
        grace: Duration::from_secs(1),
        captured_bytes: TRY_OUTPUT,
    };
    let name = working.program.display().to_string();
    let outcome = children
        .run(spec, &limits, None, &CancellationToken::new())
        .await
        .map_err(|error| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            format!("{error}{}", cause.unwrap_or_default())
        })?;
    match outcome.exit {
        Exit::Exited(0) if begun.is_some_and(|begun| begun.has()) => Ok(()),
        Exit::Exited(0) => Err(format!("{name} ran, and what it was to start did not")),
        Exit::TimedOut => Err(format!("{name} did not end within {} s", time.as_secs())),
        Exit::Exited(_) | Exit::Signaled(_) | Exit::Cancelled => {
            let restricted = RESTRICTIONS.iter().find(|(path, value, _)| {
                std::fs::read_to_string(path).is_ok_and(|text| text.trim() == *value)
            });
            let why = restricted.map(|(_, _, why)| format!("; {why}"));
            Err(format!(
                "{name} fails: {}{}",
                said(&outcome),
                why.unwrap_or_default()
            ))
        }
    }
}

/// Returns what a process said before it ended, or how it ended.
pub(crate) fn said(outcome: &Outcome) -> String {
    let text = outcome.output.text.trim();
    if text.is_empty() {
        return match outcome.exit {
            Exit::Exited(code) => format!("it ended with exit code {code}"),
            Exit::Signaled(signal) => format!("it was ended by signal {signal}"),
            Exit::TimedOut | Exit::Cancelled => "it was ended".to_owned(),
        };
    }
    text.chars().take(MAX_SAID).collect::<String>().replace('\n', " ")
}
