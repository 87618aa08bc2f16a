//! `cargo xtask model-server`: the scripted provider of the tests, by hand.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use bobbin_testkit::{ModelServer, Script};
use clap::Args;

/// Its arguments.
#[derive(Debug, Args)]
pub(crate) struct ModelServerArgs {
    /// A script, as `bobbin_testkit::Script` describes it; without one the prompt says what to do.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Where to listen; a free port when it is 0.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// The key to ask for; any when left out.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

/// Serves until it is ended from outside.
pub(crate) fn run(args: &ModelServerArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")?;
    runtime.block_on(serve(args))
}

async fn serve(args: &ModelServerArgs) -> anyhow::Result<()> {
    let mut script = match &args.script {
        None => Script::default(),
        Some(path) => {
            let text =
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            let script = Script::parse(&text).map_err(anyhow::Error::msg);
            script.with_context(|| format!("{} is no script", path.display()))?
        }
    };
    if args.key.is_some() {
        script.key.clone_from(&args.key);
    }
    if script.models.is_empty() {
        script.models.push("scripted".to_owned());
    }
    let server = ModelServer::start_at(SocketAddr::from(([127, 0, 0, 1], args.port)), script).await;
    let server = server.context("cannot listen")?;
    let example = serde_json::json!({
        "Model": "script/scripted",
        "Providers": { "script": { "Wire": "messages", "BaseUrl": server.base_url() } },
    });
    writeln!(
        std::io::stdout(),
        "Listening on {} (Wire may be chat, responses or messages). In ~/.craft/config.json:\n{example:#}\n\
         Without a script the prompt says what to do: `say hi`, `think hm`, `call Exec {{\"command\": \"ls\"}}`, \
         `error 429`, `pause 500`, `stall`, `cut`.",
        server.base_url(),
    )
    .context("cannot print")?;
    server.run().await;
    Ok(())
}
