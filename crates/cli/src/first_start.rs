//! The question of a first start on a terminal: whether commands that the sandbox confines run without a question.

use std::io::BufRead as _;

use bobbin_agent_api::workspace_config::ConfigChange;
use bobbin_server::trust::Scan;
use bobbin_server::{config, config_files, console, environment, sandbox, state};
use bobbin_workspace::{TrustFile, Workspace};

/// Has the user of a terminal choose how commands are allowed, and writes the answer into the user's own file. Asks nothing
/// where a file says it already, where a server runs, where something in the folder waits for trust, or where bubblewrap
/// confines no commands.
///
/// # Errors
/// The configuration cannot be used or written.
pub(crate) async fn choose_policy(workspace: &Workspace) -> anyhow::Result<()> {
    let home = state::home();
    let trust = TrustFile::of(&state::directory()?, &workspace.root);
    let record = trust.read();
    let config = config::read_with(&workspace.root, home.as_deref(), &record)?;
    let waits = || Scan::of(&config, &record, &workspace.root, home.as_deref()).sentence();
    if home.is_none() || config.permissions.is_policy_set || workspace.holder().is_some() || waits().is_some()
    {
        return Ok(());
    }
    let sandbox = sandbox::of(&config, workspace, home.as_deref(), &environment::children());
    sandbox.settle().await;
    if !sandbox.is_bubblewrapped() {
        return Ok(());
    }
    let Some(policy) = tokio::task::spawn_blocking(ask).await? else {
        return Ok(());
    };
    let change = ConfigChange {
        default_approval_policy: Some(Some(policy)),
        for_all_folders: true,
        ..ConfigChange::default()
    };
    config_files::change(&workspace.root, home.as_deref(), trust, &change)?;
    console::note(
        "Stored. `bobbin config set Permissions.DefaultApprovalPolicy default` or `automatic` changes it.",
    );
    Ok(())
}

/// Returns the policy that the user chooses, as files spell it; `None` at the end of the input.
fn ask() -> Option<&'static str> {
    console::note(
        "How should commands of the agent run? In its sandbox a command writes only in this folder, without network.",
    );
    console::note("  1  in the sandbox without a question; what leaves it, after your approval");
    console::note("  2  without a question if they only read; all others after your approval");
    loop {
        console::ask("Number [1]: ");
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        match line.trim() {
            "" | "1" => return Some("automatic"),
            "2" => return Some("default"),
            _ => console::note("Type 1 or 2."),
        }
    }
}
