//! `bobbin open`, `bobbin pair` and `bobbin devices`: browsers that connect without the token.
//!
//! A code comes from the server that runs in the workspace. The record of devices belongs to the user, so listing and
//! revoking want no server; servers that run notice within a second.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use bobbin_model::UnixMillis;
use bobbin_node::wire::{self, Invitation, InviteParams};
use bobbin_page::group::types::{DeviceInviteParams, DeviceInviteResult};
use bobbin_page::{Device, DeviceFile, Invited};
use bobbin_workspace::{NodeRecord, State, Workspace, write_small};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::json;

use crate::call::{ask_running, asking, call};
use bobbin_server::models::variable;
use bobbin_server::state;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::{console, telemetry};

/// The file that leads a browser to the page.
const REDIRECT: &str = "open.html";

/// Arguments of `bobbin open`.
#[derive(Debug, Args)]
pub(crate) struct Open {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Print the address only.
    #[arg(long)]
    print: bool,
}

/// Arguments of `bobbin pair`.
#[derive(Debug, Args)]
pub(crate) struct Pair {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The name of the device in `bobbin devices`.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The person with a role whose device it is (`bobbin people`); yours when left out.
    #[arg(long = "for", value_name = "NAME")]
    person: Option<String>,
}

/// Arguments of `bobbin devices`.
#[derive(Debug, Args)]
pub(crate) struct DevicesCommand {
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the paired browsers (the default).
    List,
    /// Take the secrets of browsers back and end their connections.
    Revoke {
        /// Their ids, as `bobbin devices` lists them.
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// All of them.
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
}

/// Opens the page.
pub(crate) async fn open(open: Open) -> anyhow::Result<ExitCode> {
    let invited = invite(open.workspace.as_deref(), Invited::default(), open.print).await?;
    let address = with_code(&invited.page_url, &invited);
    console::say(&address);
    if open.print || !has_desktop() {
        return Ok(ExitCode::SUCCESS);
    }
    // Other users see the arguments of programs, so the browser is not started with the code.
    let redirect = state::directory()?.path().join(REDIRECT);
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={address}\"><a href=\"{address}\">Bobbin</a>\n"
    );
    write_small(&redirect, page.as_bytes())?;
    open::that_detached(&redirect).context("no browser can be started; open the address above")?;
    Ok(ExitCode::SUCCESS)
}

/// Shows how another device gets in.
pub(crate) async fn pair(pair: Pair) -> anyhow::Result<ExitCode> {
    let device = Invited {
        label: pair.name,
        person: pair.person,
    };
    let is_of_person = device.person.is_some();
    let invited = invite(pair.workspace.as_deref(), device, false).await?;
    let remote = invited.remote_urls.first();
    // Another person comes through a tunnel, or with another browser of this machine.
    let here = Some(&invited.page_url).filter(|_| is_of_person);
    let Some(best) = remote.or(here) else {
        bail!(
            "no other device reaches the server: it listens on this machine only, or this machine is in no network. Serve with \
             --listen ws://0.0.0.0:9100 and --tls-cert, or behind a proxy (docs/connecting.md); `bobbin open` is for a browser here"
        );
    };
    let address = with_code(best, &invited);
    if std::io::stdout().is_terminal() {
        let image = QrCode::new(&address).context("the address does not fit into a QR code")?;
        // Light on dark, as most terminals are; cameras read both.
        let image = image
            .render::<Dense1x2>()
            .dark_color(Dense1x2::Light)
            .light_color(Dense1x2::Dark)
            .build();
        image.lines().for_each(console::say);
    }
    console::say(&address);
    for url in invited.remote_urls.iter().skip(1) {
        console::say(&format!("or {}", with_code(url, &invited)));
    }
    console::say(&match &invited.code {
        Some(code) => {
            format!("Open it on the device within five minutes, or type {code} on the page. It counts once.")
        }
        None => "Open it on the device. The server asks for no token, so there is no code.".to_owned(),
    });
    if remote.is_some_and(|url| url.starts_with("http://")) {
        console::complain(
            "this address is not encrypted: who reads the network reads the device's secret; --tls-cert encrypts",
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks the server of a workspace, or the node that serves it. A node that does not serve it leads to its list, unless
/// `only_here`.
async fn invite(
    workspace: Option<&Path>,
    device: Invited,
    only_here: bool,
) -> anyhow::Result<DeviceInviteResult> {
    telemetry::start(&LogOptions::default(), "error")?;
    let workspace = state::workspace(workspace)?;
    let server = workspace.holder();
    if server.as_ref().is_none_or(State::can_listen) {
        if (workspace.name().is_some() || !only_here)
            && let Some(invited) = invite_at_node(&workspace, &device).await?
        {
            return Ok(invited);
        }
        let root = workspace.root.display();
        match server {
            Some(_) => bail!("the server of {root} has no page: run `bobbin` there, which has it listen"),
            None if workspace.name().is_some() => {
                bail!("no node runs, and no server in {root}: start one with `bobbin node` or `bobbin`")
            }
            None => bail!("no server runs in {root}: start one with `bobbin`"),
        }
    }
    ask_running(&workspace, asking("bobbin-devices"), async |client| {
        let params = DeviceInviteParams {
            label: device.label,
            person: device.person,
        };
        call(client, "device/invite", &params).await
    })
    .await
}

/// Asks the node, where one runs: for the page of a workspace that it serves, else for the list of those that it does.
async fn invite_at_node(
    workspace: &Workspace,
    device: &Invited,
) -> anyhow::Result<Option<DeviceInviteResult>> {
    let state = state::directory()?;
    if NodeRecord::of(&state).is_none() {
        return Ok(None);
    }
    let params = InviteParams {
        label: device.label.clone(),
        person: device.person.clone(),
    };
    let invited: Invitation = bobbin_node::ask(&state, wire::INVITE, &params).await?;
    let name = workspace.name();
    if name.is_none() {
        let root = workspace.root.display();
        console::note(&format!(
            "the node does not serve {root}; `bobbin workspace add` adds it"
        ));
    }
    let path = name.map_or_else(|| "w/".to_owned(), |name| format!("w/{name}/"));
    let page = |url: String| format!("{url}{path}");
    Ok(Some(DeviceInviteResult {
        code: invited.code,
        expires_at: None,
        page_url: page(invited.page_url),
        remote_urls: invited.remote_urls.into_iter().map(page).collect(),
    }))
}

fn with_code(url: &str, invited: &DeviceInviteResult) -> String {
    match &invited.code {
        Some(code) => format!("{url}#{code}"),
        None => url.to_owned(),
    }
}

/// Whether a browser with a window can be started.
fn has_desktop() -> bool {
    cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY"]
            .into_iter()
            .any(|name| variable(name).is_some())
}

/// Lists or revokes.
pub(crate) fn run(command: &DevicesCommand) -> anyhow::Result<ExitCode> {
    telemetry::start(&LogOptions::default(), "error")?;
    let file = DeviceFile::of(state::directory()?.path());
    match &command.action {
        None | Some(Action::List) => list(&file.read()?, command.json),
        Some(Action::Revoke { ids, all }) => {
            let before = file.read()?;
            if let Some(unknown) = ids
                .iter()
                .find(|id| !before.iter().any(|device| device.id == **id))
            {
                bail!("there is no device {unknown}; `bobbin devices` lists them");
            }
            let left = file.revoke((!all).then_some(ids))?;
            if command.json {
                list(&left, true);
            } else {
                console::say(&format!("Revoked: {}.", before.len() - left.len()));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(devices: &[Device], as_json: bool) {
    let time = |at: UnixMillis| Timestamp::from_millisecond(at.0).unwrap_or_default();
    if as_json {
        let devices = devices.iter().map(|device| {
            json!({
                "id": device.id,
                "label": device.label,
                "createdAt": time(device.created_at),
                "lastUsedAt": time(device.last_used_at),
                "person": device.person,
            })
        });
        return console::data(&devices.collect::<Vec<_>>());
    }
    if devices.is_empty() {
        console::say(
            "No paired browsers. `bobbin open` pairs one here, `bobbin pair` one on another device.",
        );
    }
    let minute = |at| time(at).strftime("%Y-%m-%d %H:%M").to_string();
    for device in devices {
        let whose = device.person.as_ref().map(|person| format!("  of {person}"));
        console::say(&format!(
            "{}  {}{}  paired {}, last used {} UTC",
            device.id,
            device.label,
            whose.unwrap_or_default(),
            minute(device.created_at),
            minute(device.last_used_at)
        ));
    }
}
