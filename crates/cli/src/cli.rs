//! The command line.

use std::io::IsTerminal as _;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::{
    acp, audit, chat, codex, config, copies, detached, devices, doctor, eca, exec, finecode, forward, hermes,
    hub, models, node, people, plugin, resume, rules, servers, setup, state_command, threads, token,
    tool_servers, trust, turns,
};
use bobbin_agent_api::model_catalog::DefaultSource;
use bobbin_config::Config;
use bobbin_config::Mode;
use bobbin_local::{ListenRequest, Opened};
use bobbin_server::attach::Borrowed;
use bobbin_server::exit::{self, Failure};
use bobbin_server::listen::{Listen, Listening, TlsOptions};
use bobbin_server::models::variable;
use bobbin_server::server::{Endpoints, Greeting};
use bobbin_server::signals::Signals;
use bobbin_server::telemetry::LogOptions;
use bobbin_server::token::TokenOptions;
use bobbin_server::{console, managed, server, state, telemetry};
use bobbin_workspace::{NodeRecord, Workspace};

/// Hosts coding-agent conversations for a workspace, for many clients at once.
///
/// Without a command it serves the current directory and prints how to connect. Without a configured model
/// an offline engine answers.
#[derive(Debug, Parser)]
#[command(
    name = "bobbin",
    version,
    after_help = "Examples:\n  bobbin                          serve this directory\n  bobbin exec 'run `ls -la`'      one prompt, then exit\n  bobbin app-server               speak JSON-RPC lines on stdio, for a program that starts us\n  bobbin doctor                   say what works here and what does not"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
    /// The directory of conversations and answers; `$XDG_STATE_HOME/bobbin` or `~/.local/state/bobbin` when left out.
    #[arg(long, global = true, value_name = "DIR", env = "BOBBIN_STATE")]
    state: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a workspace on a WebSocket and print how to connect (the default).
    Serve(Serve),
    /// Serve a workspace to the program that starts us, on stdio, or to others on a WebSocket.
    ///
    /// On stdio alone it joins the server that runs in the workspace, and starts it where there is none.
    AppServer(AppServer),
    /// Serve a workspace to the programs that ask for it at its socket, until nothing uses it: they start it.
    #[command(hide = true)]
    Detached(detached::Detached),
    /// List your servers that run: workspace, address, clients, turns and open questions.
    Ps(servers::Ps),
    /// End the server of a workspace. Turns and questions that are open go on when it starts again.
    Stop(servers::Stop),
    /// Serve all your workspaces at one address, until Ctrl-C.
    ///
    /// Its page is at /w/, that of a workspace at /w/NAME/, its WebSocket at /w/NAME/ws. `bobbin workspace add` says what it
    /// serves. Servers of workspaces start when a client comes, and end when nothing uses them.
    Node(node::NodeCommand),
    /// Add folders to those that the node serves, list them, take them out.
    Workspace(node::WorkspaceCommand),
    /// Start the servers of workspaces for clients that ask, and end them.
    ///
    /// One process of a user. Clients find it by `~/.craft/hub/hub.lock`, and start it themselves.
    Hub(hub::HubCommand),
    /// Speak ECA on stdio, for an editor's plugin that starts us.
    ///
    /// The workspace is the first folder that the editor names. Joins the server that runs there, and starts it where there is
    /// none.
    #[command(alias = "server")]
    Eca(eca::Eca),
    /// Speak the Agent Client Protocol on stdio, for an editor that starts us.
    ///
    /// Each session has the directory that the editor names. Joins the server that runs there, and starts it where there is
    /// none.
    Acp(acp::Acp),
    /// Talk with an agent in this terminal.
    ///
    /// Any number of clients may have the same thread at once: other terminals, the page, editors. Joins the server of the
    /// workspace, and starts it where there is none. `/help` shows commands and keys.
    Chat(Box<chat::Chat>),
    /// Run the Codex terminal client on this workspace's server.
    ///
    /// `codex` must be installed. Its threads are those of every other client, on the models of this server. What follows goes
    /// to `codex`: a prompt, or `resume --last`.
    Codex(codex::Codex),
    /// Run one prompt, show what happens, exit.
    ///
    /// Exit codes: 0 done, 1 could not start, 2 wrong usage, 3 the turn failed, 4 an approval was refused, 5 interrupted,
    /// 6 the workspace belongs to a process that cannot be joined, 7 the database was removed meanwhile, 8 the answer does not
    /// fit --output-schema, 9 the time is over, 10 another machine serves the workspace.
    Exec(exec::Exec),
    /// Go on with a conversation, in this terminal or with one prompt.
    ///
    /// Without --thread it is the conversation that was active last. Without a prompt it opens as `chat` does; without a
    /// terminal it shows the last exchange and ends. With a prompt it takes the options of `exec`.
    Resume(Box<resume::Resume>),
    /// Show what the last turn that changed files has changed.
    Diff(turns::OfThread),
    /// Put back the files that the last turn that changed files has changed; again, those of the turn before it.
    Undo(turns::Undo),
    /// Make the changes again that were undone last.
    Redo(turns::Undo),
    /// Copy a thread, whole or up to a turn, and print the copy's id.
    Fork(turns::OfThread),
    /// Summarize a thread for its model now, so that the window has room again.
    Compact(turns::Compact),
    /// List the models that can be chosen.
    Models(models::Models),
    /// Show what a folder brings along to run, to loosen or to instruct, and say whether it counts.
    Trust(trust::Trust),
    /// List and search the workspace's threads; show, rename, archive, export or delete one.
    Threads(threads::Threads),
    /// Make a port of a thread's commands reachable on this machine, until Ctrl-C.
    Forward(forward::Forward),
    /// Show the workspace's MCP servers, try one, and allow those that come with it to run.
    Mcp(tool_servers::Mcp),
    /// List, install and remove plugins, and switch them on and off.
    Plugin(plugin::PluginCommand),
    /// List the Hermes extensions of the configuration, or check an HL7 message.
    Hermes(hermes::HermesCommand),
    /// List and run the actions of FineCode projects.
    #[command(name = "finecode")]
    FineCode(finecode::FineCodeCommand),
    /// Copy the workspace's conversations to a file, also while a server runs.
    Backup(copies::Backup),
    /// Take the conversations of a backup, or of an earlier version's `.craft/bobbin.db`, as finished history.
    ///
    /// Nothing that was allowed there counts here, and no turn goes on. Works while no server runs.
    Import(copies::Import),
    /// List, move or remove the state of workspaces.
    State(state_command::State),
    /// Show the rules in force and what is always allowed, change that, explain what happens to a command line.
    Rules(rules::Rules),
    /// Show who did what in the workspace, and check that nothing of it is missing or was changed.
    Audit(audit::Audit),
    /// Write the first configuration of the current directory: its model, and a provider's address and key.
    Setup(setup::Setup),
    /// Say what configuration files can have.
    Config(config::ConfigCommand),
    /// Print the token that clients present, which is yours for all workspaces, or make one for another person.
    Token(token::Token),
    /// Give other people roles on your servers, list them, take their roles back.
    People(people::People),
    /// Open the page of the server that runs in the workspace, and let the browser in.
    Open(devices::Open),
    /// Let a browser on another device in: shows an address and a QR code.
    Pair(devices::Pair),
    /// List the paired browsers, or revoke them.
    Devices(devices::DevicesCommand),
    /// Check the workspace, the configuration and this machine.
    Doctor(doctor::Doctor),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

#[derive(Debug, Args, Clone, Default)]
struct Common {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[command(flatten)]
    log: LogOptions,
}

#[derive(Debug, Args, Clone, Default)]
struct Serve {
    #[command(flatten)]
    common: Common,
    /// The address to listen on, as `ws://HOST:PORT`; a free port when the default one, 9100, is taken.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    #[command(flatten)]
    token: TokenOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

#[derive(Debug, Args)]
struct AppServer {
    #[command(flatten)]
    common: Common,
    /// stdio://, ws://HOST:PORT or ws+stdio://HOST:PORT; the configuration's AppServer.Mode when left out.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    #[command(flatten)]
    token: TokenOptions,
    #[command(flatten)]
    tls: TlsOptions,
}

/// Reads a command line. Options of `serve` before another command would have no effect, so they are refused.
pub(crate) fn parse(words: impl IntoIterator<Item = std::ffi::OsString>) -> Result<Cli, clap::Error> {
    let mut cli = Cli::command();
    let matches = cli.try_get_matches_from_mut(words)?;
    if let Some(command) = matches.subcommand_name() {
        // Clap hands a value between an option of the command's own subcommands and ours of the same name.
        let is_shared = |option: &clap::Arg| {
            let of_command = cli.find_subcommand(command).into_iter();
            let mut options = of_command.flat_map(clap::Command::get_arguments);
            options.any(|other| other.get_id() == option.get_id() && other.is_global_set())
        };
        let is_given = |option: &&clap::Arg| {
            let source = matches.value_source(option.get_id().as_str());
            source == Some(ValueSource::CommandLine) && !option.is_global_set() && !is_shared(option)
        };
        let given = cli.get_arguments().find(is_given);
        let name = given.and_then(clap::Arg::get_long).map(str::to_owned);
        if let Some(name) = name {
            let words = format!(
                "--{name} has no effect before a command; write it behind, if that command has it: bobbin {command} --{name} ..."
            );
            return Err(cli.error(ErrorKind::ArgumentConflict, words));
        }
    }
    Cli::from_arg_matches(&matches)
}

/// Runs a command line.
pub(crate) async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    if let Some(directory) = cli.state {
        state::choose(directory);
    }
    match cli.command {
        None => serve(cli.serve).await,
        Some(Command::Serve(serve_)) => serve(serve_).await,
        Some(Command::AppServer(app_server_)) => app_server(app_server_).await,
        Some(Command::Detached(detached)) => detached::run(detached).await,
        Some(Command::Ps(ps)) => servers::ps(ps).await,
        Some(Command::Stop(stop)) => servers::stop(stop).await,
        Some(Command::Node(command)) => node::run(command).await,
        Some(Command::Workspace(command)) => node::workspace(command).await,
        Some(Command::Hub(command)) => hub::run(command).await,
        Some(Command::Eca(eca)) => eca::run(eca).await,
        Some(Command::Acp(acp)) => acp::run(acp).await,
        Some(Command::Chat(chat)) => chat::run(*chat).await,
        Some(Command::Codex(codex)) => codex::run(codex).await,
        Some(Command::Exec(exec)) => exec::run(exec).await,
        Some(Command::Diff(of)) => turns::diff(of).await,
        Some(Command::Undo(undo)) => turns::undo(undo, false).await,
        Some(Command::Redo(undo)) => turns::undo(undo, true).await,
        Some(Command::Fork(of)) => turns::fork(of).await,
        Some(Command::Compact(of)) => turns::compact(of).await,
        Some(Command::Resume(resume)) => resume::run(*resume).await,
        Some(Command::Models(models)) => models::run(models).await,
        Some(Command::Trust(trust)) => trust::run(&trust),
        Some(Command::Threads(threads)) => threads::run(threads).await,
        Some(Command::Forward(forward)) => forward::run(forward).await,
        Some(Command::Mcp(mcp)) => tool_servers::run(mcp).await,
        Some(Command::Plugin(command)) => plugin::run(command).await,
        Some(Command::FineCode(finecode)) => finecode::run(finecode).await,
        Some(Command::Backup(backup)) => copies::backup(backup).await,
        Some(Command::Import(import)) => copies::import(import).await,
        Some(Command::State(state)) => state_command::run(state).await,
        Some(Command::Rules(rules)) => rules::run(rules).await,
        Some(Command::Audit(command)) => audit::run(command).await,
        Some(Command::Hermes(command)) => hermes::run(command).await,
        Some(Command::Setup(setup)) => setup::run(setup).await,
        Some(Command::Config(command)) => config::run(command),
        Some(Command::Token(token)) => token::run(&token),
        Some(Command::People(people)) => people::run(people).await,
        Some(Command::Open(open)) => devices::open(open).await,
        Some(Command::Pair(pair)) => devices::pair(pair).await,
        Some(Command::Devices(command)) => devices::run(&command),
        Some(Command::Doctor(doctor)) => doctor::run(doctor).await,
        Some(Command::Completions { shell }) => {
            // Written at once it would panic where a reader such as `head` has left.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "bobbin", &mut script);
            console::stream(&String::from_utf8_lossy(&script));
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn serve(serve: Serve) -> anyhow::Result<ExitCode> {
    telemetry::start(&serve.common.log, "warn")?;
    let workspace = state::workspace(serve.common.workspace.as_deref())?;
    let config = bobbin_server::config::read(&workspace.root, state::home().as_deref())?;
    let token = serve.token.wanted(&config)?;
    let listen = match &serve.listen {
        Some(address) => Listen {
            token,
            tls: serve.tls,
            ..listen_address(address)?
        },
        None => Listen {
            address: config.listener.address(),
            may_move: config.listener.port.is_none(),
            token,
            tls: serve.tls,
        },
    };
    let wants_code = std::io::stdout().is_terminal();
    let greet = |opened: &Opened| greet(&workspace, &config, opened);
    let locked = match workspace.hold().await {
        Ok(locked) => locked,
        Err(error) if error.is_busy() => {
            return borrow(
                &workspace,
                listen,
                (Stdio::Nothing, wants_code),
                greet,
                error.into(),
            )
            .await;
        }
        Err(error) => return Err(error.into()),
    };
    let endpoints = Endpoints {
        listen: Some(listen),
        ..Endpoints::default()
    };
    server::run(locked, &config, endpoints, |greeting| {
        complain(&greeting);
        if let Some(shown) = greeting.listening {
            greet(&shown.opened(wants_code));
        }
    })
    .await
}

/// Reads the address of a listener.
pub(crate) fn listen_address(text: &str) -> anyhow::Result<Listen> {
    match parse_listen(text)? {
        Endpoints {
            listen: Some(listen),
            stdio: false,
            ..
        } => Ok(listen),
        Endpoints { .. } => bail!("this listens on ws://HOST:PORT; `bobbin app-server` speaks on stdio"),
    }
}

/// The role of the stdio of this process.
enum Stdio {
    /// A client of the native dialect.
    Client,
    /// Nothing, or a user.
    Nothing,
}

/// Has the server that runs in the workspace listen until a signal comes, or until it ends.
async fn borrow(
    workspace: &Workspace,
    listen: Listen,
    (stdio, wants_code): (Stdio, bool),
    greet: impl FnOnce(&Opened),
    busy: anyhow::Error,
) -> anyhow::Result<ExitCode> {
    if !workspace.holder().is_some_and(|server| server.can_listen()) {
        return Err(busy);
    }
    let mut signals = Signals::listen()?;
    let wanted = ListenRequest {
        address: listen.address,
        may_move: listen.may_move,
        token: listen.token,
        tls: listen.tls.absolute()?,
        wants_code,
    };
    let borrowed = Borrowed::open(workspace, &wanted).await?;
    let pid = borrowed.pid;
    console::note(&format!(
        "process {pid} serves this folder already and listens for you; Ctrl-C ends that alone"
    ));
    greet(&borrowed.opened);
    let stdio = async {
        match stdio {
            Stdio::Client => drop(detached::bridge(workspace, &LogOptions::default()).await),
            Stdio::Nothing => std::future::pending().await,
        }
    };
    tokio::select! {
        () = stdio => {
            borrowed.close().await;
            Ok(ExitCode::SUCCESS)
        }
        () = signals.next() => {
            borrowed.close().await;
            Ok(ExitCode::SUCCESS)
        }
        () = borrowed.closed() => Err(Failure {
            code: exit::FAILED,
            message: "the server of this folder has ended".to_owned(),
        }
        .into()),
    }
}

/// Prints what a user should know who has started a server.
fn complain(greeting: &Greeting<'_>) {
    let waiting = greeting.waiting.into_iter();
    for line in waiting.chain(greeting.warnings.iter().map(String::as_str)) {
        console::complain(line);
    }
}

/// Prints where a server listens, and what to do next.
fn greet(workspace: &Workspace, config: &Config, opened: &Opened) {
    if let Some(page) = &opened.page {
        // On a terminal, where only the user reads it, the code is in the address.
        let code = opened.code.as_ref().map(|code| format!("#{code}"));
        console::say(&format!("{page}{}", code.unwrap_or_default()));
    }
    console::say(&format!("Bobbin serves {}", workspace.root.display()));
    console::say(&format!("  WebSocket  {}", opened.web_socket));
    if opened.is_guarded {
        console::say("  Token      `bobbin token` prints it; clients add ?token=TOKEN to the address");
    }
    if let (Some(url), Some(_)) = (opened.elsewhere.first(), &opened.page) {
        console::say(&format!("  Elsewhere  {url}   (`bobbin pair` lets a device in)"));
    }
    if let Some(page) = at_node(workspace) {
        console::say(&format!(
            "  Node       {page}   (all your workspaces are at its address)"
        ));
    }
    // The Codex client is named where it is there.
    let path = variable("PATH").unwrap_or_default();
    let has_codex = std::env::split_paths(&path).any(|folder| folder.join(codex::PROGRAM).is_file());
    let or_codex = if has_codex { ", or `bobbin codex`" } else { "" };
    console::say(&format!(
        "  Terminal   `bobbin chat`{or_codex}, in the same directory"
    ));
    console::say(&match (&config.models.model, &config.models.source) {
        (Some(model), DefaultSource::Key { variable }) => {
            format!("  Model      {model}, because {variable} is set and no `Model` is")
        }
        (Some(model), _) => format!("  Model      {model}"),
        (None, DefaultSource::Setting) => "  Model      offline".to_owned(),
        (None, _) => "  Model      none yet (`bobbin setup` sets one up; so does the page)".to_owned(),
    });
    console::say("  Stop       Ctrl-C");
}

/// Returns the address of a workspace's page at the node, if one runs and serves it.
fn at_node(workspace: &Workspace) -> Option<String> {
    NodeRecord::of(workspace.state_directory())?.page_of(&workspace.name()?)
}

async fn app_server(app_server: AppServer) -> anyhow::Result<ExitCode> {
    telemetry::start(&app_server.common.log, "warn")?;
    // The program that starts us names the workspace, by the directory if by nothing else.
    let named = app_server.common.workspace.as_deref();
    let workspace = state::workspace(Some(named.unwrap_or(Path::new("."))))?;
    let mut config = bobbin_server::config::read(&workspace.root, state::home().as_deref())?;
    let managed = if app_server.listen.is_none() {
        managed::managed()?
    } else {
        None
    };
    let endpoints = match (managed, app_server.listen.as_deref()) {
        (Some(managed), _) => managed::endpoints(managed, &mut config)?,
        (None, listen) => {
            let mut endpoints = listen.map_or_else(|| configured_endpoints(&config), parse_listen)?;
            if let Some(listen) = &mut endpoints.listen {
                listen.token = app_server.token.wanted(&config)?;
                listen.tls = app_server.tls;
            }
            endpoints
        }
    };
    let Some(listen) = &endpoints.listen else {
        return detached::bridge(&workspace, &app_server.common.log).await;
    };
    let locked = match workspace.hold().await {
        Ok(locked) => locked,
        Err(error) if error.is_busy() => {
            let stdio = if endpoints.stdio {
                Stdio::Client
            } else {
                Stdio::Nothing
            };
            let greet = |opened: &Opened| tracing::info!(address = opened.web_socket, "listening");
            return borrow(&workspace, listen.clone(), (stdio, false), greet, error.into()).await;
        }
        Err(error) => return Err(error.into()),
    };
    server::run(locked, &config, endpoints, |greeting| {
        complain(&greeting);
        if let Some(Listening { web_socket, .. }) = greeting.listening {
            tracing::info!(address = web_socket, "listening");
        }
    })
    .await
}

fn configured_endpoints(config: &Config) -> anyhow::Result<Endpoints> {
    let listen = Listen {
        address: config.listener.address(),
        token: None,
        may_move: false,
        tls: TlsOptions::default(),
    };
    Ok(match config.listener.mode {
        Mode::Disabled => {
            bail!("AppServer.Mode is Disabled in the configuration; use --listen to serve anyway")
        }
        Mode::Stdio => Endpoints {
            stdio: true,
            ..Endpoints::default()
        },
        Mode::WebSocket => Endpoints {
            listen: Some(listen),
            ..Endpoints::default()
        },
        Mode::StdioAndWebSocket => Endpoints {
            stdio: true,
            listen: Some(listen),
            idle: None,
        },
    })
}

fn parse_listen(text: &str) -> anyhow::Result<Endpoints> {
    let wrong = || anyhow::anyhow!("--listen {text} is not stdio://, ws://HOST:PORT or ws+stdio://HOST:PORT");
    let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
    let rest = rest.trim_end_matches('/');
    let stdio = match scheme {
        "stdio" if rest.is_empty() => {
            return Ok(Endpoints {
                stdio: true,
                ..Endpoints::default()
            });
        }
        "ws" => false,
        "ws+stdio" => true,
        _ => return Err(wrong()),
    };
    let (host, port) = rest.rsplit_once(':').ok_or_else(wrong)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host: IpAddr = if host.eq_ignore_ascii_case("localhost") {
        [127, 0, 0, 1].into()
    } else {
        host.parse().map_err(|_| wrong())?
    };
    let Ok(port) = port.parse() else {
        let is_number = !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
        return Err(if is_number {
            anyhow::anyhow!("--listen {text}: the port {port} is out of range, 0 to 65535")
        } else {
            wrong()
        });
    };
    let listen = Listen {
        address: SocketAddr::new(host, port),
        token: None,
        may_move: false,
        tls: TlsOptions::default(),
    };
    Ok(Endpoints {
        stdio,
        listen: Some(listen),
        idle: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_out_of_range_is_said_so() {
        let refused = |text: &str| parse_listen(text).err().map(|error| error.to_string());
        assert_eq!(
            refused("ws://localhost:99999").unwrap(),
            "--listen ws://localhost:99999: the port 99999 is out of range, 0 to 65535"
        );
        for text in ["ws://localhost:", "ws://localhost:-1", "ws://localhost:x"] {
            assert!(refused(text).unwrap().contains("is not stdio://"), "{text}");
        }
        assert_eq!(refused("ws://localhost:65535"), None);
    }

    #[test]
    fn options_before_a_command_are_refused_unless_they_count_for_all() {
        let read = |line: &str| parse(line.split(' ').map(Into::into));
        for (line, option) in [
            ("bobbin --log info exec hi", "--log"),
            ("bobbin --log-format json doctor", "--log-format"),
            ("bobbin --log-file x exec hi", "--log-file"),
            ("bobbin --workspace x exec hi", "--workspace"),
            ("bobbin --listen ws://127.0.0.1:1 serve", "--listen"),
            ("bobbin --token-file x open", "--token-file"),
            ("bobbin --tls-cert x --tls-key y serve", "--tls-cert"),
        ] {
            let error = read(line).unwrap_err();
            let command = line
                .split(' ')
                .rfind(|word| ["exec", "doctor", "serve", "open"].contains(word));
            let advice = format!("bobbin {} {option}", command.unwrap());
            assert!(error.to_string().contains(&advice), "{line}: {error}");
            assert_eq!(error.exit_code(), 2);
        }
        for line in [
            "bobbin",
            "bobbin --log info",
            "bobbin --state x exec hi",
            "bobbin exec --log info hi",
            "bobbin serve --listen ws://127.0.0.1:1 --log info",
            "bobbin threads list --workspace x",
            "bobbin rules --workspace x explain ls",
            "bobbin mcp list --workspace x",
        ] {
            assert!(read(line).is_ok(), "{line}: {:?}", read(line).err());
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn listen_addresses_follow_the_table() {
        for (text, stdio, address) in [
            ("stdio://", true, None),
            ("ws://127.0.0.1:9100", false, Some("127.0.0.1:9100")),
            ("ws://localhost:0/", false, Some("127.0.0.1:0")),
            ("ws+stdio://[::1]:9100", true, Some("[::1]:9100")),
        ] {
            let endpoints = parse_listen(text).unwrap();
            let found = endpoints.listen.map(|listen| listen.address.to_string());
            assert_eq!((endpoints.stdio, found.as_deref()), (stdio, address), "{text}");
        }
        for text in [
            "",
            "9100",
            "http://127.0.0.1:9100",
            "ws://tea:9100",
            "ws://127.0.0.1",
            "ws://127.0.0.1:x",
            "stdio://x",
        ] {
            assert!(parse_listen(text).is_err(), "{text}");
        }
    }
}
