//! A FineCode runner whose action does nothing: what remains is the protocol.

use std::ffi::OsString;

use bobbin_finecode_runner::{Action, ActionResult, Call, CommandLine, Done, Failure, Program, run};
use serde::{Deserialize, Serialize};

/// What the sources of its actions begin with.
pub(crate) const SOURCE: &str = "bench.actions.";
/// The source of its handler.
pub(crate) const HANDLER: &str = "bench.Nothing";

#[derive(Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

#[derive(Serialize, Deserialize)]
struct Length {
    length: usize,
}

impl ActionResult for Length {
    fn merge(&mut self, other: Self) {
        self.length += other.length;
    }

    fn text(&self) -> String {
        self.length.to_string()
    }

    fn return_code(&self) -> i64 {
        0
    }
}

async fn look(call: Call<Text, Length>) -> Result<Done<Length>, Failure> {
    let text: Text = call.payload()?;
    Ok(Done::Result(Length {
        length: text.text.len(),
    }))
}

/// Serves a manager as a command line says, until the manager is gone.
///
/// # Errors
/// The command line cannot be used, or the pipes do not work.
pub async fn serve_runner(arguments: Vec<OsString>) -> anyhow::Result<()> {
    let look = Action::<Text, Length>::new(&format!("{SOURCE}look")).handler(HANDLER, look);
    run(Program::new().action(look), CommandLine::read(arguments)?).await?;
    Ok(())
}
