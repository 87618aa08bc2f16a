//! The runner of the tests: a program whose handlers do what the tests need, or a recorded runner.

use std::collections::BTreeMap;
use std::ffi::OsString;

use bobbin_finecode_runner::{
    Action, ActionResult, Call, CommandLine, Dialect, Done, Failure, Json, Program, run,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

#[derive(Deserialize, JsonSchema)]
struct Words {
    /// Words to tally.
    words: Vec<String>,
}

#[derive(Default, Serialize, Deserialize)]
struct Tally {
    counts: BTreeMap<String, i64>,
    trail: Vec<String>,
    bad: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob: Option<Json>,
}

impl ActionResult for Tally {
    fn merge(&mut self, other: Self) {
        for (word, count) in other.counts {
            *self.counts.entry(word).or_default() += count;
        }
        self.trail.extend(other.trail);
        self.bad |= other.bad;
        self.blob = other.blob.or(self.blob.take());
    }

    fn text(&self) -> String {
        let words: Vec<_> = self
            .counts
            .iter()
            .map(|(word, count)| format!("{word}={count}"))
            .collect();
        format!("{} ({})", words.join(" "), self.trail.join(" "))
    }

    fn return_code(&self) -> i64 {
        i64::from(self.bad)
    }
}

type LabCall = Call<Words, Tally>;

fn left(trail: impl Into<String>) -> Tally {
    Tally {
        trail: vec![trail.into()],
        ..Tally::default()
    }
}

async fn count(call: LabCall) -> Result<Done<Tally>, Failure> {
    let mut tally = left("count");
    for word in call.payload()?.words {
        *tally.counts.entry(word).or_default() += 1;
    }
    Ok(Done::Result(tally))
}

async fn peek(call: LabCall) -> Result<Done<Tally>, Failure> {
    let sum: i64 = match call.current() {
        Ok(current) => current.map_or(0, |tally| tally.counts.values().sum()),
        Err(Failure(why)) => return Ok(Done::Result(left(why))),
    };
    Ok(Done::Result(left(format!("peek:{sum}"))))
}

async fn stream(call: LabCall) -> Result<Done<Tally>, Failure> {
    let words = call.payload()?.words;
    call.begin("tallying", Some(words.len() as u64)).await?;
    for (at, word) in words.iter().enumerate() {
        let percentage = (at + 1) * 100 / words.len();
        call.report(word, u8::try_from(percentage)?).await?;
        let mut tally = left("stream");
        tally.counts.insert(word.clone(), 1);
        call.partial(&tally).await?;
    }
    call.end(None).await?;
    Ok(Done::Nothing)
}

/// Does what the words say, one after the other.
async fn back(call: LabCall) -> Result<Done<Tally>, Failure> {
    let manager = call.manager();
    let empty = RawValue::from_string(r#"{"words":["x"]}"#.to_owned())?;
    let mut tally = left(format!("back:{}", call.meta().orchestration_depth));
    for word in call.payload()?.words {
        let (what, about) = word.split_once(' ').unwrap_or((&word, ""));
        let came = match what {
            "config" => {
                let config = manager.raw_config(about).await?;
                config
                    .pointer("/tool/finecode/action")
                    .map_or(0, |actions| actions.as_object().map_or(0, serde_json::Map::len))
                    .to_string()
            }
            "project" => match manager.run_in_project(about, &empty).await {
                Ok(nested) => nested
                    .result
                    .map_or_else(String::new, |result| result.get().to_owned()),
                Err(Failure(why)) => why,
            },
            "stream" => {
                let (nested, partials) = manager.stream_in_project(about, &empty).await?;
                let partials: Vec<_> = partials.iter().map(|partial| partial.get()).collect();
                format!("{} {}", nested.return_code, partials.join(" "))
            }
            "workspace" => match manager.run_in_workspace(about, &empty, None, true).await {
                Ok(results) => results.to_string(),
                Err(Failure(why)) => why,
            },
            "ask" => match manager
                .ask(about, json!({ "parentActionSource": "lab.Tally" }))
                .await
            {
                Ok(answer) => answer.to_string(),
                Err(Failure(why)) => why,
            },
            "edit" => {
                let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 999_999, "character": 999_999 } });
                let edits = [json!({ "range": range, "newText": "EDITED" })];
                let document = json!({ "uri": about, "version": null });
                let edit = json!({ "documentChanges": [{ "textDocument": document, "edits": edits }] });
                manager.apply_edit(&edit).await?.to_string()
            }
            "document" => call.open_document(about).unwrap_or_default(),
            _ => return Err(Failure(format!("no such word: {word}"))),
        };
        tally.trail.push(came);
    }
    Ok(Done::Result(tally))
}

/// Runs itself.
async fn recurse(call: LabCall) -> Result<Done<Tally>, Failure> {
    let depth = format!("depth {}", call.meta().orchestration_depth);
    let empty = RawValue::from_string(r#"{"words":[]}"#.to_owned())?;
    let inner = match call.manager().run_in_project("lab.actions.Other", &empty).await {
        Ok(nested) => serde_json::from_str(nested.result.as_ref().map_or("{}", |result| result.get()))?,
        Err(Failure(why)) => left(why),
    };
    let mut tally = inner;
    let at = tally.trail.len() - 1;
    tally.trail.insert(at, depth);
    // The deepest is first.
    tally.trail[..=at].sort_by(|a, b| b.cmp(a));
    Ok(Done::Result(tally))
}

async fn hang(call: LabCall) -> Result<Done<Tally>, Failure> {
    call.begin("hanging", None).await?;
    call.partial(&left("hang")).await?;
    std::future::pending().await
}

async fn block(call: LabCall) -> Result<Done<Tally>, Failure> {
    call.begin("blocking", None).await?;
    loop {
        std::thread::park();
    }
}

fn lab() -> Program {
    // One of each kind, so that every layout can be configured.
    let action = |name: &str| {
        Action::<Words, Tally>::new(&format!("lab.actions.{name}"))
            .alias(&format!("lab.{name}"))
            .handler("lab.Count", count)
            .handler("lab.Peek", peek)
            .handler("lab.Stream", stream)
            .handler("lab.Back", back)
            .handler("lab.Recurse", recurse)
            .handler("lab.Hang", hang)
            .handler("lab.Block", block)
            .handler("lab.Stop", |_| async {
                Ok(Done::Stop(Tally {
                    bad: true,
                    ..left("stop")
                }))
            })
            .handler("lab.Bad", |_| async {
                Ok(Done::Result(Tally {
                    bad: true,
                    ..left("bad")
                }))
            })
            .handler("lab.Fail", |_| async { Err(Failure("boom".to_owned())) })
            .handler("lab.Die", |_| async { std::process::exit(7) })
            .handler("lab.Echo", |call: LabCall| async move {
                let blob = Some(call.raw_payload().to_owned());
                Ok(Done::Result(Tally { blob, ..left("echo") }))
            })
    };
    Program::new()
        .action(action("Tally"))
        .action(action("Other"))
        .action(action("Third"))
        .action(action("Fan").concurrent())
}

fn variable(name: &str) -> String {
    let found = std::env::vars().find(|(other, _)| other == name);
    found.map(|(_, value)| value).unwrap_or_default()
}

/// Serves until the manager is gone, and ends the process.
pub(crate) fn serve() {
    let mode = variable("LAB_MODE");
    println!("warming up, before the first frame");
    eprintln!("the lab starts as {mode}");
    if mode == "replay" {
        crate::replay::serve(
            &variable("LAB_FIXTURE"),
            &variable("LAB_ARGS"),
            !variable("LAB_PORT").is_empty(),
        );
        std::process::exit(0);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let arguments: Vec<OsString> = variable("LAB_ARGS").split(' ').map(OsString::from).collect();
    let CommandLine::Start {
        project,
        env,
        wal,
        port: _,
        dialect: _,
        both,
    } = CommandLine::read(arguments).unwrap()
    else {
        panic!("no start");
    };
    let command = CommandLine::Start {
        project,
        env,
        wal,
        both,
        port: !variable("LAB_PORT").is_empty(),
        dialect: Dialect::from_name(&variable("LAB_DIALECT")),
    };
    runtime.block_on(run(lab(), command)).unwrap();
    std::process::exit(0);
}
