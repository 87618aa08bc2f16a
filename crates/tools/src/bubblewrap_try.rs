//! A trial of bubblewrap: whether it makes a command's view and can start the helper in the view.

use std::path::PathBuf;
use std::time::Duration;

use bobbin_children::{ChildError, Children, Confinement, Environment, Exit, Limits, ProcessSpec};
use bobbin_sandbox::{Outer, Plan, Profile, Support, find};
use tokio_util::sync::CancellationToken;

use super::bubblewrap::Found;

/// Time for a trial: many times as long as one takes on a busy machine.
const TRY_TIME: Duration = Duration::from_secs(20);
/// Most output of a trial.
const TRY_OUTPUT: usize = 4 << 10;
/// How systems report restricted namespaces: the place, the text, and its meaning.
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

/// Runs a harmless command in the strictest sandbox, and returns the program of bubblewrap. The plan names no place, so
/// that no file of a workspace can make a trial fail.
pub(super) async fn try_it(places: &[PathBuf], children: &Children, kernel: Support) -> Found {
    let program = find(places).map_err(|unfit| unfit.to_string())?;
    let plan = Plan {
        profile: Profile::default(),
        landlock: kernel.landlock,
        outer: Outer::Bubblewrap,
        ..Plan::default()
    };
    let confinement = Confinement {
        plan,
        bubblewrap: Some(program.clone()),
    };
    let harmless = ProcessSpec::new("/bin/sh", "/", Environment::empty())
        .arg("-c")
        .arg(":")
        .confined(confinement);
    let limits = Limits {
        wall_clock: TRY_TIME,
        grace: Duration::from_secs(1),
        captured_bytes: TRY_OUTPUT,
    };
    let name = program.display();
    match children
        .run(harmless, &limits, None, &CancellationToken::new())
        .await
    {
        Ok(outcome) if outcome.exit == Exit::Exited(0) => Ok(program),
        Ok(outcome) => Err(format!(
            "{name} ran, and a harmless command in it did not end well: {:?}",
            outcome.exit
        )),
        Err(ChildError::Confinement(why)) => {
            let restricted = RESTRICTIONS.iter().find(|(path, value, _)| {
                std::fs::read_to_string(path).is_ok_and(|text| text.trim() == *value)
            });
            let restricted = restricted.map(|(_, _, why)| format!("; {why}"));
            Err(format!("{name} fails: {why}{}", restricted.unwrap_or_default()))
        }
        Err(ChildError::NotStarted(after)) => {
            Err(format!("{name} had started nothing after {} s", after.as_secs()))
        }
        Err(error) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            Err(format!("{error}{}", cause.unwrap_or_default()))
        }
    }
}
