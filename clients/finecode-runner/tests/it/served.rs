//! A runner on an in-memory connection, as a manager calls it.

use bobbin_finecode_runner::{
    Action, ActionResult, Call, CommandLine, Dialect, Done, Failure, Program, Setup, serve,
};
use bobbin_finecode_wire::framed;
use bobbin_peer::{CallError, Handlers, Mode, Peer, PeerOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{duplex, split};
use tokio::sync::mpsc::{Receiver, channel};

#[derive(Deserialize, JsonSchema)]
struct Words {
    words: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Seen {
    seen: Vec<String>,
}

impl ActionResult for Seen {
    fn merge(&mut self, other: Self) {
        self.seen.extend(other.seen);
    }

    fn text(&self) -> String {
        self.seen.join(" ")
    }
}

async fn look(call: Call<Words, Seen>) -> Result<Done<Seen>, Failure> {
    let mut context = call.context().lock();
    let count = context.get("count").and_then(Value::as_i64).unwrap_or(0) + 1;
    context.insert("count".to_owned(), json!(count));
    drop(context);
    let mut seen = call.payload()?.words;
    let settings: Value = call.config()?;
    seen.push(format!(
        "{}{count}",
        settings["mark"].as_str().unwrap_or_default()
    ));
    Ok(Done::Result(Seen { seen }))
}

async fn send(call: Call<Words, Seen>) -> Result<Done<Seen>, Failure> {
    for word in call.payload()?.words {
        call.partial(&Seen { seen: vec![word] }).await?;
    }
    Ok(Done::Nothing)
}

fn handler(name: &str, source: &str, env: &str) -> Value {
    json!({ "name": name, "source": source, "config": {}, "env": env })
}

/// Returns the manager of a configured runner, and the progress that it gets.
async fn manager(dialect: Dialect, both: bool) -> (Peer, Receiver<Value>) {
    let action = Action::<Words, Seen>::new("x.actions.Look")
        .alias("x.Look")
        .handler("x.Handler", look)
        .handler("x.Send", send)
        .handler("x.Stop", |_| async {
            let seen = vec!["stop".to_owned()];
            Ok(Done::Stop(Seen { seen }))
        })
        .handler("x.Hang", |_| std::future::pending());
    let (near, far) = duplex(1 << 20);
    let (read, write) = split(far);
    let setup = Setup {
        project: "/ws".into(),
        env: "tools".to_owned(),
        dialect,
        both,
        wal: None,
    };
    tokio::spawn(serve(Program::new().action(action), setup, framed(read, write)));
    let (read, write) = split(near);
    let (progress, seen) = channel(100);
    let peer = Peer::start(framed(read, write), PeerOptions::default(), |_| {
        Handlers::new().on_notification_deferred("$/progress", Mode::ordered("p"), move |call| {
            drop(progress.try_send(call.decode::<Value>().unwrap()));
            async {}
        })
    });
    let peer = peer.unwrap();
    let early: Value = peer
        .call("actions/run", json!({ "actionName": "look" }))
        .await
        .unwrap();
    assert_eq!(early, json!({ "error": "the runner is not configured yet" }));
    let looks = [
        handler("a", "x.Handler", "tools"),
        handler("far", "x.Absent", "docs"),
        handler("b", "x.Handler", "tools"),
    ];
    let sends = [
        handler("h", "x.Send", "tools"),
        handler("stop", "x.Stop", "docs"),
        handler("hang", "x.Hang", "docs"),
    ];
    let actions = json!([
        { "name": "look", "source": "x.Look", "config": {}, "handlers": looks },
        { "name": "send", "source": "x.actions.Look", "config": {}, "handlers": sends },
        { "name": "lost", "source": "x.Lost", "config": {}, "handlers": [] },
    ]);
    let config = json!({ "actions": actions, "action_handler_configs": { "x.Handler": { "mark": "m" } } });
    let params = json!({ "config": config });
    let configured: Value = peer.call("finecodeRunner/updateConfig", params).await.unwrap();
    assert_eq!(configured, json!({}));
    (peer, seen)
}

#[tokio::test]
async fn answers_have_the_shape_of_the_dialect_and_both_spellings_of_options_are_read() {
    let formats = r#"{"json":{"seen":["w","m1","w","m2"]},"string":"w m1 w m2"}"#;
    let object: Value = serde_json::from_str(formats).unwrap();
    let documented = json!({ "status": "success", "result_by_format": formats, "return_code": 0 });
    let camel = json!({ "status": "success", "resultByFormat": object, "returnCode": 0 });
    let mut all = documented.clone();
    let members = camel.as_object().unwrap().clone();
    all.as_object_mut().unwrap().extend(members);
    let cases = [
        (Dialect::Documented, false, documented),
        (Dialect::Early, false, camel.clone()),
        (Dialect::Current, false, camel),
        (Dialect::Documented, true, all),
    ];
    for (dialect, both, expected) in cases {
        let (peer, _progress) = manager(dialect, both).await;
        for options in [
            json!({ "resultFormats": ["json", "string"], "meta": { "devEnv": "ai" } }),
            json!({ "result_formats": ["json", "string"], "meta": { "dev_env": "ai" }, "wal_run_id": "w" }),
        ] {
            let params = json!({ "actionName": "look", "params": { "words": ["w"] }, "options": options });
            let answer: Value = peer.call("actions/run", params).await.unwrap();
            assert_eq!(answer, expected, "{dialect:?}");
        }
        let params = json!({ "actionName": "look", "params": { "words": [] }, "options": null });
        let answer: Value = peer.call("actions/run", params).await.unwrap();
        assert_eq!(answer["status"], "success");
    }
}

#[tokio::test]
async fn what_is_not_known_is_omitted_and_null() {
    let (peer, _progress) = manager(Dialect::Documented, false).await;
    let meta: Value = peer
        .call("finecodeRunner/resolveActionMeta", json!({}))
        .await
        .unwrap();
    let entry = json!({ "canonical_source": "x.actions.Look", "runs_concurrently": false });
    assert_eq!(meta, json!({ "x.Look": entry, "x.actions.Look": entry }));
    let schemas: Value = peer.call("actions/getPayloadSchemas", json!({})).await.unwrap();
    assert_eq!(schemas["lost"], Value::Null);
    assert_eq!(schemas["look"]["required"], json!(["words"]));
    let resolve = |source: &str| peer.call::<Value>("actions/resolveSource", json!({ "source": source }));
    assert_eq!(
        resolve("x.Look").await.unwrap(),
        json!({ "canonicalSource": "x.actions.Look" })
    );
    let unknown = resolve("x.Lost").await.unwrap_err();
    assert!(matches!(unknown, CallError::Remote(error) if error.code == -32603));
    let nothing = json!({ "actionName": "look", "results": [] });
    let merged: Value = peer.call("actions/mergeResults", nothing).await.unwrap();
    assert_eq!(merged, json!({ "merged": {} }));
}

#[tokio::test]
async fn segments_take_the_previous_result_and_context_and_an_empty_one_formats() {
    let (peer, mut progress) = manager(Dialect::Documented, false).await;
    let segment = |names: &[&str], previous: &Value, options: &Value| {
        let params = json!({
            "actionName": "send", "handlerNames": names, "params": { "words": ["p", "q"] },
            "previousResult": previous, "previousContext": { "count": 4 }, "options": options,
        });
        let peer = peer.handle();
        async move { peer.call::<Value>("actions/runHandlers", params).await.unwrap() }
    };
    let streaming = json!({ "resultFormats": [], "partialResultToken": "t" });
    let first = segment(&["h"], &Value::Null, &streaming).await;
    let result = json!({ "seen": ["p", "q"] });
    assert_eq!(
        (&first["status"], &first["result"]),
        (&json!("streamed"), &result)
    );
    assert_eq!(
        (&first["resultByFormat"], &first["context"]),
        (&json!({}), &json!({ "count": 4 }))
    );
    for word in ["p", "q"] {
        let value = format!(r#"{{"seen":["{word}"]}}"#);
        assert_eq!(
            progress.try_recv().unwrap(),
            json!({ "token": "t", "value": value })
        );
    }
    let formats = json!({ "resultFormats": ["string"] });
    let formatted = segment(&[], &result, &formats).await;
    assert_eq!(formatted["resultByFormat"], json!({ "string": "p q" }));
    let stopped = segment(&["stop", "h"], &Value::Null, &formats).await;
    assert_eq!(
        (&stopped["status"], &stopped["result"]),
        (&json!("stopped"), &json!({ "seen": ["stop"] }))
    );
}

#[tokio::test]
async fn a_cancelled_request_leaves_a_runner_that_goes_on_and_ends_politely() {
    let (peer, _progress) = manager(Dialect::Current, false).await;
    let hang = json!({ "actionName": "send", "handlerNames": ["hang"], "params": {} });
    tokio::select! {
        answer = peer.call::<Value>("actions/runHandlers", hang) => panic!("{answer:?}"),
        () = tokio::task::yield_now() => {}
    }
    let reload = json!({ "actionName": "look" });
    assert_eq!(
        peer.call::<Value>("actions/reload", reload).await.unwrap(),
        json!({})
    );
    assert_eq!(peer.call::<Value>("shutdown", ()).await.unwrap(), Value::Null);
    peer.notify("exit", ()).await.unwrap();
    peer.closed().await;
}

#[test]
fn the_command_line_is_that_of_managers() {
    let read = |line: &str| CommandLine::read(line.split(' ').map(Into::into));
    let line =
        "-m finecode_extension_runner.cli start --project-path=/ --env-name=tools --wal --log-level=INFO";
    let expected = CommandLine::Start {
        project: "/".into(),
        env: "tools".to_owned(),
        wal: true,
        port: false,
        dialect: None,
        both: false,
    };
    assert_eq!(read(line), Ok(expected));
    assert_eq!(read("version"), Ok(CommandLine::Version));
    for (line, why) in [
        ("start --env-name=tools", "--project-path is missing"),
        ("start --project-path=/", "--env-name is missing"),
        (
            "start --project-path=/nowhere --env-name=x",
            "/nowhere is not a directory",
        ),
        (
            "start --project-path=/ --env-name=x --colour",
            "no option --colour",
        ),
    ] {
        let error = read(line).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
