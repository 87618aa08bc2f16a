//! Servers that send too much or invalid messages.

use std::time::{Duration, Instant};

use bobbin_agent_api::tool::ToolSource as _;
use bobbin_model::ServerState::{Error, Ready};
use serde_json::json;

use crate::support::Bench;

/// A server in the shell that answers each method as `cases` say; `$id` is the call's.
fn server(cases: &str) -> String {
    let hello = r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"bad","version":"1"}}"#;
    let steep = r#"{"name":"steep","inputSchema":{"type":"object"}}"#;
    format!(
        r#"
        say() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
        while read -r line; do
            id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
            case "$line" in
                *'"initialize"'*) say '{hello}';;
                {cases}
                *'"tools/list"'*) say '{{"tools":[{steep}]}}';;
                *'"id"'*) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no"}}}}\n' "$id";;
            esac
        done"#
    )
}

#[tokio::test]
async fn one_bad_tool_leaves_that_tool_out() {
    let mut bench = Bench::new();
    let cases = r#"*'"tools/list"'*) say '{"tools":[{"name":"steep","inputSchema":{"type":"object"}},{"name":"bad","inputSchema":7},{"name":9},"x",{"name":"pour","inputSchema":{"type":"object"}}]}';;"#;
    bench.host.set(bench.shell(&server(cases))).unwrap();
    let seen = bench.until(Ready).await;
    let ready = seen.last().unwrap();
    let names: Vec<&str> = ready.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["steep", "pour"]);
    let problem = ready.problem.as_deref().unwrap();
    assert!(
        problem.contains("bad is left out") && problem.contains("without a name"),
        "{problem}"
    );
    bench.host.end().await;
}

#[tokio::test]
async fn a_result_that_is_too_large_is_told_as_such_at_once() {
    for (before, behind) in [
        (
            r#"{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":""#,
            r#""}]}}\n"#,
        ),
        (
            r#"{"result":{"content":[{"type":"text","text":""#,
            r#""}]},"jsonrpc":"2.0","id":%s}\n"#,
        ),
    ] {
        let mut bench = Bench::new();
        let cases = format!(
            r#"*'"tools/call"'*) printf '{before}' "$id"; head -c 17000000 /dev/zero | tr '\0' x; printf '{behind}' "$id";;"#
        );
        bench.host.set(bench.shell(&server(&cases))).unwrap();
        bench.until(Ready).await;
        let started = Instant::now();
        let result = bench.call("steep", json!({})).await;
        assert!(
            !result.success && result.text.contains("larger than 16 MiB"),
            "{}",
            result.text
        );
        assert!(started.elapsed() < Duration::from_secs(15));
        bench.host.end().await;
    }
}

#[tokio::test]
async fn a_flood_is_slowed_and_then_the_server_is_stopped() {
    let changed = r#"yes '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'"#;
    for (flood, stream) in [
        ("yes x >&2".to_owned(), "standard error"),
        (changed.to_owned(), "standard output"),
    ] {
        let mut bench = Bench::new();
        let cases = format!("*initialized*) {flood} & ;;");
        bench.host.set(bench.shell(&server(&cases))).unwrap();
        let started = Instant::now();
        let seen = bench.until(Error).await;
        let problem = seen.last().unwrap().problem.clone().unwrap();
        assert!(
            problem.contains(stream) && problem.contains("Start it again"),
            "{problem}"
        );
        assert!(started.elapsed() < Duration::from_secs(18), "{flood}");
        // The host does not restart such a server.
        bench.host.settled(None).await;
        assert_eq!(bench.host.servers()[0].state, Error);
        bench.host.end().await;
    }
}
