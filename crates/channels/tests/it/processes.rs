//! Adapters that the server starts: shell scripts that speak the protocol on their pipes.

use bobbin_agent_api::channel::ChannelTransport;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{ADDRESS, Server, script, send};

/// Returns a script that connects as the adapter of a channel, writes its process id to a file, and answers every request
/// with success.
fn adapter(name: &str, pid_file: &std::path::Path) -> String {
    let capability = json!({
        "channelName": name, "deliveryCapabilities": { "structuredDelivery": true },
    });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "clientInfo": { "name": "sh", "version": "1" }, "capabilities": { "channelAdapter": capability },
    } });
    let initialized = json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} });
    format!(
        "echo $$ > {pid}\n\
         echo '{initialize}'\n\
         read answer\n\
         echo '{initialized}'\n\
         while read line; do\n\
           id=$(printf '%s' \"$line\" | sed -n 's/.*\"id\":\\([0-9]*\\),\"method\".*/\\1/p')\n\
           test -n \"$id\" && printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{{\"delivered\":true}}}}\\n' \"$id\"\n\
         done\n",
        pid = pid_file.display()
    )
}

fn pid(file: &std::path::Path) -> Pid {
    Pid::from_raw(std::fs::read_to_string(file).unwrap().trim().parse().unwrap())
}

/// Waits until a process is gone. A process that was killed during its start is not waited for by the server.
async fn gone(process: Pid) {
    for _ in 0..1000 {
        if kill(process, None).is_err() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("the adapter is left");
}

fn is_running(status: &Value) -> bool {
    status["running"] == true
}

#[tokio::test]
async fn an_adapter_is_started_served_on_its_pipes_and_gone_at_the_end() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("pid");
    let server = Server::start(vec![script("pigeon", &adapter("pigeon", &file))]).await;
    let mut client = server.client().await;
    server.status(&mut client, "pigeon", is_running).await;
    let id = send(&mut client, "pigeon", json!({ "kind": "text", "text": "hi" })).await;
    assert_eq!(client.answer(id).await["result"]["delivered"], true);
    let process = pid(&file);
    server.channels.host().end().await;
    gone(process).await;
}

#[tokio::test]
async fn an_adapter_that_is_to_connect_gets_the_address_and_is_gone_at_the_end() {
    let place = tempfile::tempdir().unwrap();
    let (file, given) = (place.path().join("pid"), place.path().join("given"));
    let text = format!(
        "echo \"$BOBBIN_CHANNEL $BOBBIN_CHANNEL_URL\" > '{}'\necho $$ > '{}'\nwhile read line; do :; done",
        given.display(),
        file.display()
    );
    let mut owl = script("owl", &text);
    if let ChannelTransport::Subprocess(process) = owl.transport {
        owl.transport = ChannelTransport::ManagedWebSocket(process);
    }
    let server = Server::start(vec![owl]).await;
    let mut client = server.client().await;
    let is_started = |_: &Value| file.metadata().is_ok_and(|file| file.len() > 0);
    let status = server.status(&mut client, "owl", is_started).await;
    assert_eq!(status["running"], false, "it has not connected: {status}");
    let said = std::fs::read_to_string(&given).unwrap();
    assert_eq!(said, format!("owl {ADDRESS}\n"));
    let mut adapter = server
        .adapter(
            "owl",
            json!({ "deliveryCapabilities": { "structuredDelivery": true } }),
        )
        .await;
    server.status(&mut client, "owl", is_running).await;
    let id = send(&mut client, "owl", json!({ "kind": "text", "text": "hi" })).await;
    let asked = adapter.wait_for("ext/channel/send").await;
    adapter.reply(&asked, json!({ "delivered": true })).await;
    assert_eq!(client.answer(id).await["result"]["delivered"], true);
    let process = pid(&file);
    server.channels.host().end().await;
    gone(process).await;
}

#[tokio::test]
async fn a_killed_adapter_is_started_again() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("pid");
    let server = Server::start(vec![script("pigeon", &adapter("pigeon", &file))]).await;
    let mut client = server.client().await;
    server.status(&mut client, "pigeon", is_running).await;
    let first = pid(&file);
    kill(first, Signal::SIGKILL).unwrap();
    let waits = |status: &Value| {
        status["problem"]
            .as_str()
            .is_some_and(|why| why.contains("started again"))
    };
    server.status(&mut client, "pigeon", waits).await;
    server.status(&mut client, "pigeon", is_running).await;
    assert_ne!(pid(&file), first);
    server.channels.host().end().await;
}

#[tokio::test]
async fn an_adapter_that_cannot_start_is_one_sentence_and_the_others_run() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("pid");
    let mut missing = script("missing", "");
    if let ChannelTransport::Subprocess(process) = &mut missing.transport {
        process.command = "/nowhere/at/all".to_owned();
    }
    let server = Server::start(vec![
        missing,
        script("dies", "echo no token >&2; exit 3"),
        script("other", &adapter("pigeon", &place.path().join("other"))),
        script("pigeon", &adapter("pigeon", &file)),
    ])
    .await;
    let mut client = server.client().await;
    server.status(&mut client, "pigeon", is_running).await;
    for (name, why) in [
        ("missing", "not started again until"),
        ("dies", "no token"),
        ("other", "was started for the channel 'other'"),
    ] {
        let says = |status: &Value| status["problem"].as_str().is_some_and(|said| said.contains(why));
        server.status(&mut client, name, says).await;
    }
    server.channels.host().end().await;
    assert!(kill(pid(&file), None).is_err());
}

#[tokio::test]
async fn a_removed_channel_ends_its_adapter_and_an_upsert_starts_one() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("pid");
    let server = Server::start(vec![]).await;
    let mut client = server.client().await;
    let script = adapter("pigeon", &file);
    let channel = json!({
        "name": "pigeon", "enabled": true, "transport": "subprocess", "command": "/bin/sh", "args": ["-c", script],
    });
    client
        .call("externalChannel/upsert", json!({ "channel": channel }))
        .await;
    server.status(&mut client, "pigeon", is_running).await;
    let process = pid(&file);
    client
        .call("externalChannel/remove", json!({ "name": "pigeon" }))
        .await;
    server.channels.host().end().await;
    assert!(kill(process, None).is_err());
    let status = client.call("channel/status", json!({})).await;
    assert_eq!(status, json!({ "channels": [] }));
}

#[tokio::test]
async fn the_lines_of_an_adapter_are_read_without_its_secrets() {
    let place = tempfile::tempdir().unwrap();
    let adapter = adapter("pigeon", &place.path().join("pid"));
    let mut config = script(
        "pigeon",
        &format!("echo \"the ring is $RING\" >&2\necho ready >&2\n{adapter}"),
    );
    if let ChannelTransport::Subprocess(process) = &mut config.transport {
        process.env.0.insert("RING".to_owned(), "NO-1234".to_owned());
    }
    let server = Server::start(vec![config, script("owl", "echo no >&2; exit 3")]).await;
    let mut client = server.client().await;
    let status = server.status(&mut client, "pigeon", is_running).await;
    assert_eq!(
        (&status["runtimeState"], status.get("failureCode")),
        (&json!("running"), None)
    );
    let read = client
        .call("externalChannel/logs", json!({ "name": "pigeon" }))
        .await;
    assert_eq!(
        read,
        json!({ "name": "pigeon", "lines": ["the ring is ***", "ready"] })
    );
    let read = client
        .call("externalChannel/logs", json!({ "name": "pigeon", "tail": 1 }))
        .await;
    assert_eq!(read["lines"], json!(["ready"]));
    let failed = |status: &Value| status["runtimeState"] == "failed";
    let status = server.status(&mut client, "owl", failed).await;
    assert_eq!(status["failureCode"], "externalChannelStartFailed");
    for (params, code) in [
        (json!({ "name": "pigeon", "tail": 0 }), -32602),
        (json!({ "name": "pigeon", "tail": 1001 }), -32602),
        (json!({ "name": "crow" }), -32080),
    ] {
        assert_eq!(client.error("externalChannel/logs", params).await["code"], code);
    }
}

#[tokio::test]
async fn a_built_in_module_is_an_adapter() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("pid");
    let server = Server::start(vec![]).await;
    std::fs::create_dir(server.root.join("modules")).unwrap();
    let module = format!(
        "test \"$ELECTRON_RUN_AS_NODE\" = 1 || exit 1\n{}",
        adapter("pigeon", &file)
    );
    std::fs::write(server.root.join("modules/channel-pigeon"), module).unwrap();
    let mut client = server.client().await;
    let channel = json!({
        "name": "pigeon", "enabled": true, "transport": "subprocess", "builtinModule": "channel-pigeon",
    });
    let upserted = client
        .call("externalChannel/upsert", json!({ "channel": channel }))
        .await;
    assert_eq!(upserted["channel"], channel);
    server.status(&mut client, "pigeon", is_running).await;
    for change in [
        json!({ "command": "sh" }),
        json!({ "builtinModule": "../channel-pigeon" }),
        json!({ "transport": "websocket" }),
    ] {
        let mut wrong = channel.clone();
        wrong
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let error = client
            .error("externalChannel/upsert", json!({ "channel": wrong }))
            .await;
        assert_eq!(error["code"], -32081, "{change}");
    }
}
