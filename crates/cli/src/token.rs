//! `bobbin token`: the token that clients present.

use std::process::ExitCode;

use bobbin_server::token::{of_state, replace};
use bobbin_server::{config, console, state};
use clap::Args;
use jiff::Span;

use crate::people;

/// Arguments of `bobbin token`.
#[derive(Debug, Args)]
pub(crate) struct Token {
    /// Make another one. Servers that run go on with the old one until they are restarted.
    #[arg(long, conflicts_with = "person")]
    new: bool,
    /// Make a token for a person with a role (`bobbin people`). It is printed once; only its digest is stored.
    #[arg(long = "for", value_name = "NAME")]
    person: Option<String>,
    /// How long that token counts, such as 30d or 12h; for ever when left out.
    #[arg(long, value_name = "TIME", requires = "person")]
    expires: Option<Span>,
}

/// Prints the token of this user.
pub(crate) fn run(token: &Token) -> anyhow::Result<ExitCode> {
    if let Some(person) = &token.person {
        console::say(&people::token_for(person, token.expires)?);
        return Ok(ExitCode::SUCCESS);
    }
    let state = state::directory()?;
    let text = if token.new {
        let text = replace(state.path())?;
        console::note("This is the new token. Restart the servers that run: they want the old one.");
        text
    } else {
        of_state(state.path())?
    };
    let configured = state::workspace(None)
        .and_then(|workspace| config::read(&workspace.root, state::home().as_deref()))
        .is_ok_and(|config| config.listener.token.is_some());
    if configured {
        console::note(
            "AppServer.WebSocket.Token of your ~/.craft/config.json is in force instead; remove it to use this one.",
        );
    }
    console::say(&text);
    Ok(ExitCode::SUCCESS)
}
