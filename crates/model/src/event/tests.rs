//! Stored payloads as rows: the Turn of each, and whether it is broadcast.

use super::*;
use crate::{ItemBody, ItemId, Json};

/// Rows of `payload, its Turn, whether it is broadcast`. `@` is Turn 4, `#` an Item, `~` a model's window. Existing
/// databases contain these texts: a row that has to change needs a decoder for the old text.
macro_rules! rows {
    ($($payload:expr, $turn:expr, $everyone:expr;)*) => { [$(($payload, $turn, $everyone)),*] };
}

#[test]
fn stored_payloads_come_back_as_they_were_and_concern_whom_the_table_says() {
    let table = rows! {
        r#"{"threadStarted":{"thread":{"id":"t","workspacePath":"/","originChannel":"cli","source":{"kind":"user"},
            "status":"active","createdAt":1,"lastActiveAt":2,"historyMode":"server","metadata":{}}}}"#, None, true;
        r#"{"threadResumed":{"by":"me"}}"#, None, false;
        r#"{"threadRenamed":{"displayName":"Tea"}}"#, None, true;
        r#"{"threadLabelled":{"name":"a"}}"#, None, false;
        r#"{"threadStatusChanged":{"previous":"active","new":"paused"}}"#, None, true;
        r#"{"threadConfigured":{"config":{"mode":"plan"}}}"#, None, false;
        r#"{"edgeChanged":{"status":"closed"}}"#, None, true;
        r#""threadDeleted""#, None, true;
        r#"{"toolsDeclared":{"tools":[]}}"#, None, false;
        r#"{"queueChanged":{"queue":[]}}"#, None, false;
        r#"{"planUpdated":{"plan":{"title":"","overview":"","content":"","todos":[]}}}"#, None, true;
        r#"{"turnStarted":{@,"features":{"commandExecution":false,"toolExecution":false,
            "approvals":true}}}"#, Some(4), false;
        r#"{"historyGiven":{@,"count":1}}"#, Some(4), false;
        r#"{"turnRecovered":{@,"reason":"r"}}"#, Some(4), false;
        r#"{"turnCancelling":{@,"reason":"r"}}"#, Some(4), false;
        r#"{"itemStarted":{@,"item":{#}}}"#, Some(4), false;
        r#"{"itemCompleted":{@,"item":{#}}}"#, Some(4), false;
        r#"{"itemAdded":{@,"item":{#}}}"#, Some(4), false;
        r#"{"callPreviewed":{@,"callId":"c","preview":{"path":"/","diff":"","additions":0,"deletions":1}}}"#, Some(4), false;
        r#"{"callStarted":{@,"callId":"c"}}"#, Some(4), false;
        r#"{"approvalOpened":{"item":{#},"approval":{"id":"a",@,"item":"item_002","callId":"c",
            "scope":{"kind":"shell","operation":"o","target":"t"},"reason":"","openedAt":1,"expiresAt":2}}}"#, Some(4), false;
        r#"{"approvalResolved":{@,"approval":"a","decision":"acceptForSession","by":{"sameScope":"b"},"item":{#}}}"#,
            Some(4), false;
        r#"{"usageAdded":{@,"usage":{"inputTokens":1,"outputTokens":2},"contextTokens":3}}"#, Some(4), false;
        r#"{"usageAdded":{@,"usage":{"inputTokens":1,"outputTokens":2},"contextTokens":3,"contextWindow":{~},
            "costMicros":5,"turnOutputTokens":2}}"#, Some(4), false;
        r#"{"subAgentUsed":{@,"child":"t","usage":{"inputTokens":1,"outputTokens":2},"costMicros":1}}"#, Some(4), false;
        r#"{"helperUsed":{@,"usage":{"inputTokens":1,"outputTokens":2},"costMicros":1}}"#, Some(4), false;
        r#"{"contextNoted":{@,"note":"compacted","tokens":1,"window":{~},"message":"m"}}"#, Some(4), false;
        r#"{"diffUpdated":{@,"diff":{"diff":"","files":[]}}}"#, Some(4), false;
        r#"{"turnReverted":{@,"files":[]}}"#, Some(4), true;
        r#"{"turnsRolledBack":{"first":"turn_004","count":1}}"#, None, false;
        r#"{"turnEnded":{@,"outcome":{"failed":{"error":"e"}},"completedAt":1,
            "usage":{"inputTokens":1,"outputTokens":2}}}"#, Some(4), false;
        r#"{"turnEnded":{@,"outcome":"completed","completedAt":1,"usage":{"inputTokens":1,"outputTokens":2},
            "planPending":true}}"#, Some(4), false;
    };
    let item = r#""id":"item_002","status":"completed","createdAt":1,"body":{"agentMessage":{"text":""}}"#;
    for (payload, turn, everyone) in table {
        let text: String = payload.lines().map(str::trim_start).collect();
        let text = text.replace('@', r#""turn":"turn_004""#).replace('#', item);
        let text = text.replace('~', r#""tokens":100,"compactAt":90"#);
        let event: Event = serde_json::from_str(&text).expect(&text);
        assert_eq!(serde_json::to_string(&event).unwrap(), text);
        let kind = text.trim_start_matches(['{', '"']).split('"').next();
        assert_eq!(kind, Some(event.kind()));
        assert_eq!(
            (event.turn(), event.is_broadcast()),
            (turn.map(TurnId), everyone),
            "{text}"
        );
    }
}

#[test]
fn opaque_json_survives_a_round_trip_as_it_came() {
    let arguments: Json = serde_json::from_str(r#"{"z":1e2,"a":12345678901234567890123,"n":1.50}"#).unwrap();
    let body = ItemBody::ToolCall {
        tool_name: "Exec".into(),
        call_id: "call_1".into(),
        arguments: Some(arguments),
        arguments_text: None,
        kept: None,
    };
    let item = Box::new(Item::whole(ItemId(2), UnixMillis(5), body));
    let event = Event::ItemAdded {
        turn: TurnId(1),
        item,
    };
    let text = serde_json::to_string(&event).unwrap();
    assert!(
        text.contains(r#"{"z":1e2,"a":12345678901234567890123,"n":1.50}"#),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    assert!(text.starts_with(&format!("{{\"{}\":", event.kind())));
}
