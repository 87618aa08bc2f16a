//! Checks of a server's surroundings: a port, a certificate, the page's address, a writable workspace.

use std::net::TcpListener;

use bobbin_agent_api::checks::{DoctorLevel, DoctorReport};
use bobbin_config::Config;
use bobbin_transport::{PageOrigin, Tls};
use bobbin_workspace::Workspace;
use nix::unistd::{AccessFlags, access};

use crate::held_sockets;
use crate::page_origin::{Others, Reached, decide};

/// Reports a workspace whose files cannot be changed.
pub(super) fn rights(workspace: &Workspace, report: &mut DoctorReport) {
    let root = &workspace.root;
    if let Err(error) = access(root, AccessFlags::W_OK) {
        let text = format!(
            "you cannot write to it ({}): the agent reads and changes nothing",
            error.desc()
        );
        let mend = format!("`chmod u+w {}`, or serve a copy", root.display());
        report.add_mendable("workspace", DoctorLevel::Error, text, mend);
    }
}

/// Reports whether the configured certificate can be used.
pub(super) fn tls(config: &Config, report: &mut DoctorReport) {
    const WHAT: &str = "TLS";
    let Some((certificate, key)) = &config.listener.tls else {
        if !config.listener.address().ip().is_loopback() {
            let text = "none: others on the network can read along";
            let mend = "AppServer.Tls names a certificate, or use a proxy";
            report.add_mendable(WHAT, DoctorLevel::Warning, text, mend);
        }
        return;
    };
    match Tls::open(certificate, key) {
        Ok(_) => report.add(
            WHAT,
            DoctorLevel::Ok,
            format!("{} and its key belong together", certificate.display()),
        ),
        Err(error) => report.add(WHAT, DoctorLevel::Error, error.to_string()),
    }
}

/// Reports whether the page's address is stable, why, and what is not protected.
pub(super) fn page(config: &Config, report: &mut DoctorReport) {
    const WHAT: &str = "page";
    let others = Others::of(config);
    let why = match &others {
        Others::Account(name) => format!("{name} can run programs here too"),
        Others::Unknown => "/etc/passwd cannot be read, or is too large to look at".to_owned(),
        Others::Nobody => "nobody else has an account here".to_owned(),
        Others::Configured(true) => "AppServer.WebSocket.SharedMachine is true".to_owned(),
        Others::Configured(false) => "AppServer.WebSocket.SharedMachine is false".to_owned(),
    };
    let reached = Reached {
        address: config.listener.address(),
        has_tls: config.listener.tls.is_some(),
        is_held: held_sockets::are_held(),
    };
    match decide(&others, reached) {
        Err(error) => report.add(WHAT, DoctorLevel::Error, error.to_string()),
        Ok(PageOrigin::Fresh(_)) => {
            let text =
                format!("{why}, so the page has another address after each start; `bobbin open` opens it");
            let mend = "TLS or the unit bobbin@.socket gives it one that stays";
            report.add_mendable(WHAT, DoctorLevel::Ok, text, mend);
        }
        Ok(PageOrigin::Numeric) if reached.is_held => {
            let text = format!("{why}, and systemd holds the port, so the page's address stays");
            report.add(WHAT, DoctorLevel::Ok, text);
        }
        Ok(PageOrigin::Encrypted) => {
            let text = format!("{why}, so browsers reach the page by https:// alone; its address stays");
            report.add(WHAT, DoctorLevel::Ok, text);
        }
        Ok(PageOrigin::Numeric) => {
            let text = format!(
                "{why}: a program of theirs at the port of a server that has ended gets the secrets of your browsers"
            );
            let mend = "AppServer.Tls names a certificate, or listen on 127.0.0.1";
            report.add_mendable(WHAT, DoctorLevel::Warning, text, mend);
        }
        Ok(PageOrigin::Stable) => {
            let text = format!(
                "{why}, so its address stays; a program of yours at the port of a server that has ended gets the \
                 secrets of your browsers"
            );
            report.add(WHAT, DoctorLevel::Ok, text);
        }
    }
}

/// Reports whether a server could listen on the configured address. For workspaces without a running server.
pub(super) fn port(config: &Config, report: &mut DoctorReport) {
    const WHAT: &str = "port";
    let address = config.listener.address();
    match TcpListener::bind(address) {
        Ok(_) => report.add(WHAT, DoctorLevel::Ok, format!("{address} is free")),
        Err(error) if config.listener.port.is_none() && error.kind() == std::io::ErrorKind::AddrInUse => {
            let text = format!("{address} is taken, so `bobbin` takes a free one and prints it");
            let mend = "`bobbin serve --listen ws://HOST:PORT` chooses one";
            report.add_mendable(WHAT, DoctorLevel::Warning, text, mend);
        }
        Err(error) => {
            let text = format!("{address} cannot be listened on ({error})");
            let mend = "change AppServer.WebSocket in ~/.craft/config.json, or use `bobbin serve --listen ws://127.0.0.1:0`";
            report.add_mendable(WHAT, DoctorLevel::Error, text, mend);
        }
    }
}
