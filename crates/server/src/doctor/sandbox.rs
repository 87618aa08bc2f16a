//! Checks the sandbox of this machine with a command that writes to an allowed and to a forbidden path.

use std::path::Path;

use bobbin_children::{Children, Environment, Exit, ProcessSpec, ResourceLimits, Shell};
use bobbin_sandbox::{Files, Network, Outer, Support};
use bobbin_tools::{BubblewrapUse, Sandbox, WhenMissing};

use super::{Report, run_child};
use crate::environment::children;
use crate::state;
use bobbin_config::Config;
use bobbin_native::groups::doctor::types::DoctorLevel;
use bobbin_workspace::Workspace;

/// Reports how commands are confined here, and tests it.
pub(super) async fn sandbox(
    config: &Config,
    workspace: &Workspace,
    environment: &Environment,
    report: &mut Report,
) {
    const WHAT: &str = "sandbox";
    let children = children();
    let home = state::home();
    let sandbox = crate::sandbox::of(config, workspace, home.as_deref(), &children);
    let profile = sandbox.profile;
    if !profile.restricts_something() {
        let text =
            "none, as configured: commands run with your own rights, guarded by approvals and rules only";
        return report.add(WHAT, DoctorLevel::Warning, text);
    }
    sandbox.settle().await;
    let plan = match sandbox.confinement(&workspace.root) {
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
    let tried = match tempfile::tempdir() {
        Ok(place) => try_sandbox(&sandbox, &children, environment, place.path()).await,
        Err(error) => Err(format!("no temporary directory: {error}")),
    };
    match tried {
        Ok(()) => {
            let holders = plan.holders();
            let text = format!("{profile}; {holders}, tried just now");
            report.add(WHAT, DoctorLevel::Ok, text);
            match (sandbox.bubblewrap.wanted(), sandbox.bubblewrap.found()) {
                (_, Some(Ok(program))) => {
                    let text = format!("bubblewrap is {}", program.display());
                    report.add(WHAT, DoctorLevel::Ok, text);
                }
                (_, Some(Err(why))) => {
                    let text = format!("bubblewrap is not used: {why}");
                    let mend = "`apt install bubblewrap` or `dnf install bubblewrap` installs it";
                    report.add_mendable(WHAT, DoctorLevel::Warning, text, mend);
                    lacks(&sandbox, report);
                }
                (BubblewrapUse::Off, None) => {
                    let text = "bubblewrap is not used: Sandbox.Bubblewrap is off";
                    report.add(WHAT, DoctorLevel::Warning, text);
                    lacks(&sandbox, report);
                }
                (BubblewrapUse::Auto | BubblewrapUse::Require, None) => {}
            }
            report.add(WHAT, DoctorLevel::Ok, limits(&sandbox));
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
fn lacks(sandbox: &Sandbox, report: &mut Report) {
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
    let outcome = run_child(children, spec)
        .await
        .map_err(|error| error.to_string())?;
    if outcome.exit != Exit::Exited(0) {
        return Err(format!("no command can be held: {}", outcome.output.text.trim()));
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
        Err("it does not hold: a command wrote where it must not, or could not where it may".to_owned())
    }
}
