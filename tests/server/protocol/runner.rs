//! A FineCode runner with one action, which finds misspelled words.

use bobbin_finecode_runner::{
    Action, ActionResult, Call, CommandLine, Done, Failure, MessageLevel, Program, run,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Words to look at.
#[derive(Deserialize, JsonSchema)]
struct Words {
    words: Vec<String>,
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

async fn spell(call: Call<Words, Misses>) -> Result<Done<Misses>, Failure> {
    call.begin("spelling", None).await?;
    let old = "The dictionary is ten years old.";
    call.manager().show_message(MessageLevel::Warning, old).await?;
    for word in call.payload()?.words {
        if word == "wait" {
            std::future::pending::<()>().await;
        }
        if word == "edit" {
            let range =
                json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 3 } });
            let document = json!({ "uri": "file:///ws/shop/a.py", "version": null });
            let change = json!({ "textDocument": document, "edits": [{ "range": range, "newText": "the" }] });
            call.manager()
                .apply_edit(&json!({ "documentChanges": [change] }))
                .await?;
        }
        if word == "teh" {
            call.partial(&Misses { misses: vec![word] }).await?;
        }
    }
    call.end(None).await?;
    Ok(Done::Nothing)
}

/// Serves until the input ends. The shell script in the place of Python sets the arguments.
#[expect(
    clippy::disallowed_methods,
    reason = "a test's program takes its arguments from the environment"
)]
pub(super) fn serve() {
    let arguments = std::env::var("RUNNER_ARGS").unwrap();
    let action = Action::<Words, Misses>::new("shop_tools.Spell").handler("shop_tools.Dictionary", spell);
    let command = CommandLine::read(arguments.split(' ').map(Into::into)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime
        .block_on(run(Program::new().action(action), command))
        .unwrap();
    std::process::exit(0);
}
