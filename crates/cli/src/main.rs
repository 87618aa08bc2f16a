//! `bobbin`, the binary: the command line and its commands. `server` makes the server that some of them start.

mod acp;
mod audit;
mod call;
mod chat;
mod cli;
mod codex;
mod config;
mod copies;
mod detached;
mod devices;
mod doctor;
mod eca;
mod exec;
mod finecode;
mod first_start;
mod forward;
mod hermes;
mod hub;
mod models;
mod node;
mod other_agents;
mod people;
mod plugin;
mod resume;
mod rules;
mod servers;
mod setup;
mod state_command;
mod threads;
mod token;
mod tool_servers;
mod trust;
mod turns;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The parent of a child has one thread and writes no log; so has what becomes a command in bubblewrap.
    #[cfg(target_os = "linux")]
    if std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == bobbin_children::RUN_CHILD_ARGUMENT)
    {
        return bobbin_children::run_child();
    }
    #[cfg(target_os = "linux")]
    if let Some(code) = bobbin_sandbox::helped(std::env::args_os()) {
        return code;
    }
    if eca::is_asked_for_its_version() {
        return ExitCode::SUCCESS;
    }
    give_memory_back();
    bobbin_server::held_sockets::note();
    let cli = match cli::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return bobbin_server::exit::report(&anyhow::anyhow!("cannot start: {error}")),
    };
    let ended = runtime.block_on(cli::run(cli));
    // A thread may still sit in a read of stdin, which nothing can end but the process's end.
    runtime.shutdown_background();
    bobbin_server::telemetry::finish();
    match ended {
        Ok(code) => code,
        Err(error) => bobbin_server::exit::report(&error),
    }
}

/// Has the allocator return large blocks to the system when they are freed. Otherwise it learns from the first large answer to
/// cut the next ones out of its heap, where a small block behind them prevents their return for good.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library's setting has no safe form")]
fn give_memory_back() {
    use nix::libc;
    /// From here on a block is a mapping of its own.
    const LARGE: libc::c_int = 1 << 20;
    // SAFETY: takes integers. No other thread runs yet. A failure leaves the allocator as it is.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}

/// Other allocators do so by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_memory_back() {}
