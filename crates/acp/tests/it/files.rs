//! The client as the editor of its sessions.

use bobbin_agent_api::client::Service;
use bobbin_model::ThreadId;
use serde_json::json;

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
