//! `bobbin trust`: shows what a folder brings along, and takes what its user says about it.

use std::io::{BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;

use bobbin_agent_api::trust::{TrustChange, TrustItem, TrustKind};
use clap::Args;

use bobbin_server::config;
use bobbin_server::console;
use bobbin_server::state;
use bobbin_server::trust::{Scan, TrustRecord};
use bobbin_workspace::{TrustFile, Workspace, records};

/// Arguments of `bobbin trust`.
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The folder; the workspace around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Trust it without a question.
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,
    /// List the folders that you trust.
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Take back all trust in the folder.
    #[arg(long)]
    revoke: bool,
}

/// Does what was asked.
pub(crate) fn run(trust: &Trust) -> anyhow::Result<ExitCode> {
    let state = state::directory()?;
    if trust.list {
        let records = records(&state)?;
        if records.is_empty() {
            console::say("You trust no folder.");
        }
        for (root, record) in records {
            let part = if record.trusted {
                ""
            } else {
                "  (single things of it)"
            };
            console::say(&format!("{}{part}", root.display()));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let workspace = state::workspace(trust.workspace.as_deref())?;
    let file = TrustFile::of(&state, &workspace.root);
    let shown = workspace.root.display();
    if trust.revoke {
        file.change(TrustRecord::revoke)?;
        console::say(&format!("Nothing of {shown} counts any more."));
        say_effect(&workspace);
        return Ok(ExitCode::SUCCESS);
    }
    let record = file.read();
    let home = state::home();
    let config = config::read_with(&workspace.root, home.as_deref(), &record)?;
    for warning in &config.warnings {
        console::complain(warning);
    }
    let scan = Scan::of(&config, &record, &workspace.root, home.as_deref());
    if scan.items.is_empty() {
        console::say(&format!("{shown} has nothing that needs trust."));
        return Ok(ExitCode::SUCCESS);
    }
    let mut items: Vec<&TrustItem> = scan.items.iter().filter(|item| item.trusted).collect();
    if !items.is_empty() {
        console::say(&format!("What counts of {shown}:"));
        items.drain(..).for_each(|item| console::say_quoted(&line(item)));
    }
    if scan.waiting().next().is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    console::say(&format!("What waits in {shown}:"));
    scan.waiting().for_each(|item| console::say_quoted(&line(item)));
    let asks = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !trust.yes && !asks {
        console::say("`bobbin trust --yes` trusts this folder with all of it.");
        return Ok(ExitCode::SUCCESS);
    }
    if trust.yes || answer() {
        file.change(|record| scan.apply(&TrustChange::TrustAll, record))?;
        console::say("You trust this folder. `bobbin trust --revoke` takes that back.");
        say_effect(&workspace);
        return Ok(ExitCode::SUCCESS);
    }
    console::say("Nothing was changed; everything else works.");
    Ok(ExitCode::SUCCESS)
}

/// Says when it counts where a server runs.
fn say_effect(workspace: &Workspace) {
    if workspace.holder().is_some() {
        console::say(
            "A server runs here. Texts count at once; MCP servers, hooks and settings from its next start, or once a client \
             says the same.",
        );
    }
}

/// Shows on stderr what waits, asks the user at this terminal whether it counts, and returns the answer.
pub(crate) fn ask(scan: &Scan) -> bool {
    console::note("This folder brings along what counts only if you trust it:");
    scan.waiting().for_each(|item| console::note_quoted(&line(item)));
    answer()
}

fn answer() -> bool {
    console::ask("Trust this folder? Its author can then do what you can. [y]es, [n]o: ");
    let mut line = String::new();
    drop(std::io::stdin().lock().read_line(&mut line));
    matches!(line.trim(), "y" | "Y" | "yes")
}

/// Returns the lines that say what a user needs to know about a thing. The author of the folder wrote its texts.
fn line(item: &TrustItem) -> String {
    let (name, detail) = (&item.name, &item.detail);
    let whole = || format!("{name}: {detail}");
    match item.kind {
        TrustKind::Server => console::labelled("  runs      ", &whole()),
        TrustKind::Setting if !detail.is_empty() => console::labelled("  loosens   ", &whole()),
        TrustKind::Setting => console::labelled("  loosens   ", name),
        TrustKind::Text if !detail.is_empty() => console::labelled("  instructs ", &whole()),
        TrustKind::Text => console::labelled("  instructs ", name),
    }
}
