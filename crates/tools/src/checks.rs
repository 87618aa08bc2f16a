//! Checks of commands: their sandbox, with a command that writes to an allowed and to a forbidden path, and their
//! environment.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::Path;

use bobbin_agent_api::checks::{DoctorLevel, DoctorReport};
use bobbin_children::{
    Children, Dropped, Environment, Exit, Limits, ProcessSpec, ResourceLimits, Shell, VariableRules,
};
use bobbin_sandbox::{Files, Network, Outer, Support};
use tokio_util::sync::CancellationToken;

use crate::{BubblewrapUse, Sandbox, WhenMissing};

/// Reports how commands of the workspace `root` are confined, and tests it in the temporary directory `place`.
pub async fn check_sandbox(
    sandbox: &Sandbox,
    root: &Path,
    (children, environment): (&Children, &Environment),
    place: &Path,
    report: &mut DoctorReport,
) {
    const WHAT: &str = "sandbox";
    let now = sandbox.now();
    let is_shared = matches!(now, Cow::Owned(_));
    let sandbox = &*now;
    let profile = sandbox.profile;
    if !profile.restricts_something() {
        let text =
            "none, as configured: commands run with your own rights, guarded by approvals and rules only";
        return report.add(WHAT, DoctorLevel::Warning, text);
    }
    sandbox.settle().await;
    let plan = match sandbox.confinement(root) {
        Ok(plan) => plan.unwrap_or_default(),
        Err((missing, then)) => {
            let then = match then {
                WhenMissing::Ask if sandbox.missing().is_none() => {
                    "every command but plain reads is asked about; programs that the folder brings do not start"
                }
                WhenMissing::Ask => {
                    "every command but plain reads is asked about; servers and extensions that the folder brings start \
                     unconfined once you trust them, its hooks do not run"
                }
                WhenMissing::Refuse => "commands are refused, and so are programs that the folder brings",
            };
            let text = format!("wanted ({profile}), but {missing}; {then}");
            return report.add(WHAT, DoctorLevel::Error, text);
        }
    };
    match try_sandbox(sandbox, children, environment, place).await {
        Ok(()) => {
            let holders = plan.holders();
            let text = format!("{profile}; {holders}, tried just now");
            report.add(WHAT, DoctorLevel::Ok, text);
            if is_shared {
                let text = "other people may prompt here: commands see no other workspace, and of your home only caches";
                report.add(WHAT, DoctorLevel::Ok, text);
            }
            match (sandbox.bubblewrap.wanted(), sandbox.bubblewrap.found()) {
                (_, Some(Ok(program))) => {
                    let text = format!("bubblewrap is {}", program.display());
                    report.add(WHAT, DoctorLevel::Ok, text);
                }
                (_, Some(Err(why))) => {
                    let text = format!("bubblewrap is not used: {why}");
                    let mend = "`apt install bubblewrap` or `dnf install bubblewrap` installs it";
                    report.add_mendable(WHAT, DoctorLevel::Warning, text, mend);
                    lacks(sandbox, report);
                }
                (BubblewrapUse::Off, None) => {
                    let text = "bubblewrap is not used: Sandbox.Bubblewrap is off";
                    report.add(WHAT, DoctorLevel::Warning, text);
                    lacks(sandbox, report);
                }
                (BubblewrapUse::Auto | BubblewrapUse::Require, None) => {}
            }
            report.add(WHAT, DoctorLevel::Ok, limits(sandbox));
            let support = Support {
                outer: plan.outer,
                ..sandbox.support
            };
            for gap in support.gaps(profile) {
                report.add(WHAT, DoctorLevel::Warning, format!("not covered: {gap}"));
            }
        }
        Err(error) => report.add(WHAT, DoctorLevel::Error, error),
    }
}

/// Reports what commands cannot do without bubblewrap.
fn lacks(sandbox: &Sandbox, report: &mut DoctorReport) {
    if sandbox.profile.network == Network::Off {
        let text = "without bubblewrap commands have no sockets, not even on 127.0.0.1: tests that start a server, worker \
                    pools and development servers fail";
        report.add("sandbox", DoctorLevel::Warning, text);
    }
}

/// Describes the resource limits of a command.
fn limits(sandbox: &Sandbox) -> String {
    let ResourceLimits {
        processes,
        memory_bytes,
        file_bytes,
    } = sandbox.limits;
    #[expect(clippy::cast_precision_loss, reason = "a figure of one decimal")]
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    // Bubblewrap creates no user namespace for root, so nothing limits the processes.
    let counted = sandbox.support_now().outer == Outer::Bubblewrap && !nix::unistd::geteuid().is_root();
    let processes = match processes {
        Some(most) if counted => format!("{most} processes"),
        Some(_) => "processes unlimited (a limit needs bubblewrap and a user other than root)".to_owned(),
        None => "processes unlimited".to_owned(),
    };
    let memory = memory_bytes.map_or("memory unlimited".to_owned(), |most| {
        format!("{} memory", gib(most))
    });
    let files = file_bytes.map_or("files unlimited".to_owned(), |most| {
        format!("{} per file", gib(most))
    });
    format!("limits per command: {memory}, {files}; {processes}")
}

async fn try_sandbox(
    sandbox: &Sandbox,
    children: &Children,
    environment: &Environment,
    place: &Path,
) -> Result<(), String> {
    let (inside, outside) = (place.join("inside"), place.join("outside"));
    for directory in [&inside, &outside] {
        std::fs::create_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    let plan = sandbox.plan(vec![inside.clone()]);
    let script = "true > file; true > ../outside/file; exit 0";
    let spec = ProcessSpec::shell(&Shell::Posix, script, &inside, environment.clone());
    let spec = sandbox.confined(&plan, spec)?;
    let (limits, stop) = (Limits::default(), CancellationToken::new());
    let outcome = children.run(spec, &limits, None, &stop).await;
    let outcome = outcome.map_err(|error| error.to_string())?;
    if outcome.exit != Exit::Exited(0) {
        return Err(format!(
            "no command can be confined: {}",
            outcome.output.text.trim()
        ));
    }
    let wrote = |directory: &Path| directory.join("file").exists();
    let wanted = match sandbox.profile.files {
        Files::ReadOnly => (false, false),
        Files::WorkspaceWrite => (true, false),
        Files::Full => (true, true),
    };
    if (wrote(&inside), wrote(&outside)) == wanted {
        Ok(())
    } else {
        Err("it does not confine: a command wrote where it must not, or could not where it may".to_owned())
    }
}

/// Reports the variables of `own` that commands do not get, by their names only.
pub fn check_variables(
    rules: &VariableRules,
    own: impl IntoIterator<Item = (OsString, OsString)>,
    report: &mut DoctorReport,
) {
    const WHAT: &str = "environment";
    let (environment, dropped) = rules.environment(own);
    let count = environment.iter().count();
    report.add(
        WHAT,
        DoctorLevel::Ok,
        format!("commands get {count} variables of yours"),
    );
    for kind in [Dropped::Rule, Dropped::Name, Dropped::Value] {
        let names = dropped.iter().filter(|(_, why)| *why == kind);
        let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        let text = format!("{kind}: {}", names.join(", "));
        match kind {
            Dropped::Name | Dropped::Value => {
                let mend = "Commands.Environment.Keep lets one pass";
                report.add_mendable(WHAT, DoctorLevel::Warning, text, mend);
            }
            Dropped::Rule | Dropped::Shell => report.add(WHAT, DoctorLevel::Warning, text),
        }
    }
}
