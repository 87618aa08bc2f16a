//! A try of bubblewrap: whether it makes what a command's view is made of, and can start the helper there.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bobbin_children::{Children, Environment, Exit, Limits, Outcome, ProcessSpec};
use bobbin_sandbox::{Outer, Plan, Profile, Support, find};
use tokio_util::sync::CancellationToken;

use super::bubblewrap::{Found, Working};
use super::wrapped::Wrapped;

/// Time for a try. Many times what a busy machine needs.
const TRY_TIME: Duration = Duration::from_secs(20);
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

/// Runs a harmless command as strictly as any can be held.
pub(super) async fn try_it(
    places: &[PathBuf],
    children: &Children,
    helper: &Path,
    kernel: Support,
    hide: &[PathBuf],
) -> Found {
    let program = find(places).map_err(|unfit| unfit.to_string())?;
    let plan = Plan {
        profile: Profile::default(),
        hide: hide.to_vec(),
        landlock: kernel.landlock,
        outer: Outer::Bubblewrap,
        ..Plan::default()
    };
    let helper = std::fs::File::open(helper)
        .map_err(|error| format!("{} cannot be opened: {error}", helper.display()))?;
    let helper = Arc::new(helper.into());
    let working = Working { program, helper };
    try_with(&working, &plan, children).await?;
    Ok(working)
}

async fn try_with(working: &Working, plan: &Plan, children: &Children) -> Result<(), String> {
    let harmless = ProcessSpec::new("/bin/sh", "/", Environment::empty())
        .arg("-c")
        .arg(":");
    let wrapped = working.wrap(plan, harmless, Weak::new())?;
    let Wrapped { spec, begun } = wrapped;
    let limits = Limits {
        wall_clock: TRY_TIME,
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
        Exit::TimedOut => Err(format!("{name} did not end within {} s", TRY_TIME.as_secs())),
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
