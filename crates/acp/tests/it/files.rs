//! The client as the editor of its sessions.

use std::time::Duration;

use bobbin_agent_api::client::{ClientFailure, Service};
use bobbin_model::ThreadId;
use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::Server;

#[tokio::test]
async fn an_editor_reads_and_writes_for_the_sessions_that_it_has_open() {
    let server = Server::start().await;
    let capabilities = json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true });
    let (mut client, session) = server.session_with(capabilities).await;
    let thread = ThreadId::new(session.as_str());
    let of = server.threads.clients().of(&thread);
    let editor = of.who(Service::Editor).expect("the client is the editor");
    let can = editor.editor().unwrap().can();
    assert!(
        can.read && can.write && !can.terminals,
        "commands run in the sandbox"
    );
    let answers = async {
        let read = client.wait_for("fs/read_text_file").await;
        assert_eq!(
            read["params"],
            json!({ "sessionId": session, "path": "/w/a", "line": 2, "limit": 3 })
        );
        client.reply(&read, json!({ "content": "unsaved" })).await;
        for answer in [json!({}), json!(null)] {
            let write = client.wait_for("fs/write_text_file").await;
            assert_eq!(write["params"]["content"], "new");
            client.reply(&write, answer).await;
        }
    };
    let asks = async {
        let editor = editor.editor().unwrap();
        let text = editor.read(&thread, "/w/a", Some(2), Some(3)).await;
        assert_eq!(text.as_deref(), Ok("unsaved"));
        for _ in 0..2 {
            assert_eq!(editor.write(&thread, "/w/a", "new").await, Ok(()));
        }
    };
    tokio::join!(answers, asks);
    client
        .call("session/close", json!({ "sessionId": session }))
        .await;
    assert!(of.who(Service::Editor).is_none());
}

#[tokio::test]
async fn a_client_without_files_is_no_editor() {
    let server = Server::start().await;
    let (_client, session) = server.session_with(json!({ "terminal": true })).await;
    let of = server.threads.clients().of(&ThreadId::new(session.as_str()));
    assert!(of.who(Service::Editor).is_none());
}

async fn refuse(client: &Client, asked: &Value, error: Value) {
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
    client.send_text(answer.to_string()).await;
}

#[tokio::test]
async fn refusals_silence_and_a_lost_connection_are_different_failures() {
    let server = Server::start().await;
    let capabilities = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let (mut client, session) = server.session_with(capabilities).await;
    let thread = ThreadId::new(session.as_str());
    let of = server.threads.clients().of(&thread);
    let bound = of.who(Service::Editor).expect("the client is the editor");
    let editor = bound.editor().unwrap();
    let refuses = async {
        let asked = client.wait_for("fs/write_text_file").await;
        let error = json!({ "code": -32603, "message": "é".repeat(3000) });
        refuse(&client, &asked, error).await;
    };
    let ((), refused) = tokio::join!(refuses, editor.write(&thread, "/w/a", "new"));
    assert_eq!(refused, Err(ClientFailure::Forbidden("é".repeat(2048))));
    let failed = "Internal error".to_owned();
    for (code, failure) in [
        (
            -32603,
            ClientFailure::Forbidden(format!("{failed}: the file is locked")),
        ),
        // It does not write files at all.
        (-32601, ClientFailure::Refused(failed)),
    ] {
        let refuses = async {
            let asked = client.wait_for("fs/write_text_file").await;
            let data = json!({ "details": "the file is locked" });
            let error = json!({ "code": code, "message": "Internal error", "data": data });
            refuse(&client, &asked, error).await;
        };
        let ((), refused) = tokio::join!(refuses, editor.write(&thread, "/w/a", "new"));
        assert_eq!(refused, Err(failure));
    }
    let ((), odd) = tokio::join!(
        async {
            let asked = client.wait_for("fs/read_text_file").await;
            client.reply(&asked, json!({ "text": "no content" })).await;
        },
        editor.read(&thread, "/w/a", None, None)
    );
    assert!(matches!(odd, Err(ClientFailure::Unusable(_))), "{odd:?}");
    tokio::time::pause();
    let late = editor.read(&thread, "/w/a", None, None).await;
    assert_eq!(late, Err(ClientFailure::Late(Duration::from_secs(10))));
    tokio::time::resume();
    let ((), gone) = tokio::join!(
        async {
            client.wait_for("fs/write_text_file").await;
            drop(client);
        },
        editor.write(&thread, "/w/a", "new")
    );
    assert_eq!(gone, Err(ClientFailure::Gone));
}
