//! Logs go to stderr, always: stdout may be the protocol.

use tracing_subscriber::EnvFilter;

/// Starts logging at a level or filter such as `info` or `bobbin_core=debug`.
///
/// # Errors
/// The filter cannot be read.
pub(crate) fn start(filter: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| anyhow::anyhow!("the log filter {filter:?} cannot be read: {error}"))?;
    let color = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(color)
        // Of a log that cannot be written there is nobody to tell; saying so would panic with nobody behind stderr.
        .log_internal_errors(false)
        .init();
    Ok(())
}
