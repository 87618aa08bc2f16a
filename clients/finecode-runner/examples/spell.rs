//! A runner with one action, to try by hand: it finds words that are misspelled.
//!
//! Put it where a manager looks for Python, and it is the runner of that environment:
//!
//! ```console
//! $ cargo build -p bobbin-finecode-runner --example spell
//! $ mkdir -p shop/.venvs/tools/bin
//! $ cp target/debug/examples/spell shop/.venvs/tools/bin/python
//! ```
#![expect(clippy::print_stderr, reason = "a program of its own")]

use bobbin_finecode_runner::{Action, ActionResult, Call, CommandLine, Done, Failure, Program, run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Finds misspelled words.
#[derive(Deserialize, JsonSchema)]
struct Text {
    /// What is looked at.
    text: String,
}

#[derive(Serialize, Deserialize)]
struct Misses {
    misses: Vec<String>,
}

impl ActionResult for Misses {
    fn merge(&mut self, other: Self) {
        self.misses.extend(other.misses);
    }

    fn text(&self) -> String {
        format!("{} misses: {}", self.misses.len(), self.misses.join(", "))
    }

    fn return_code(&self) -> i64 {
        i64::from(!self.misses.is_empty())
    }
}

#[derive(Deserialize)]
struct Settings {
    /// Words that are wrong.
    wrong: Vec<String>,
}

async fn dictionary(call: Call<Text, Misses>) -> Result<Done<Misses>, Failure> {
    let (text, settings): (Text, Settings) = (call.payload()?, call.config()?);
    let words: Vec<_> = text.text.split_whitespace().collect();
    call.begin("spelling", Some(words.len() as u64)).await?;
    for (at, word) in words.iter().enumerate() {
        let percentage = u8::try_from((at + 1) * 100 / words.len())?;
        call.report(word, percentage).await?;
        if settings.wrong.iter().any(|wrong| wrong == word) {
            let misses = vec![(*word).to_owned()];
            call.partial(&Misses { misses }).await?;
        }
    }
    call.end(None).await?;
    Ok(Done::Nothing)
}

fn main() {
    let spell = Action::<Text, Misses>::new("shop_tools.actions.SpellAction")
        .alias("shop_tools.SpellAction")
        .handler("shop_tools.Dictionary", dictionary);
    let command = match CommandLine::read(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ran = runtime.and_then(|runtime| runtime.block_on(run(Program::new().action(spell), command)));
    // A thread may still wait for standard input, so the process is ended here.
    std::process::exit(i32::from(ran.is_err()));
}
