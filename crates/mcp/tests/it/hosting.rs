//! A server that behaves: its tools, its calls, its end.

use bobbin_agent_api::tool::{Effect, Permission, ToolSource as _};
use bobbin_mcp::Launch;
use bobbin_model::ServerState::{Disabled, Error, Idle, Ready, Starting};
use bobbin_testkit::tea_server;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, states};

#[tokio::test]
async fn its_tools_are_offered_and_called() {
    let mut bench = Bench::new();
    bench.host.set(bench.pantry()).unwrap();
    let seen = bench.until(Ready).await;
    assert_eq!(states(&seen), [Starting, Ready]);
    let offered: Vec<_> = seen[1].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(offered, ["steep", "pour", "die", "wait", "grow", "env"]);
    let steeped = bench.call("steep", json!({ "minutes": 3 })).await;
    assert!(steeped.success);
    assert_eq!(steeped.text, "steeped for 3 minutes");
    let failed = bench.call("pour", json!({})).await;
    assert!(!failed.success);
    assert_eq!(failed.text, "there is no cup");
    bench.host.end().await;
}

#[tokio::test]
async fn a_tool_that_only_reads_is_not_asked_about_and_another_is() {
    let mut bench = Bench::new();
    bench.host.set(bench.pantry()).unwrap();
    bench.until(Ready).await;
    assert_eq!(bench.permission("steep"), Permission::Free);
    assert_eq!(bench.tool("steep").unwrap().spec().effect, Effect::Reads);
    let Permission::Ask { scope, reason } = bench.permission("pour") else {
        panic!("pour is asked about");
    };
    assert_eq!(
        (scope.operation.as_str(), scope.target.as_str()),
        ("pour", "mcp:pantry/pour")
    );
    assert!(
        reason.contains(r#"{"cup":"blue"}"#) && reason.contains("destroy"),
        "{reason}"
    );
    assert_eq!(bench.tool("pour").unwrap().spec().effect, Effect::Writes);
    bench.host.end().await;
}

#[tokio::test]
async fn it_gets_no_variable_but_those_meant_for_it() {
    let mut bench = Bench::new();
    bench.host.set(bench.pantry()).unwrap();
    bench.until(Ready).await;
    let names = bench.call("env", json!({})).await.text;
    let names: Vec<_> = names
        .split(' ')
        .filter(|name| !["PWD", "_", "SHLVL", "OLDPWD"].contains(name))
        .collect();
    assert_eq!(names, ["PATH", "TEA_LOG"]);
    bench.host.end().await;
}

#[tokio::test]
async fn a_tool_that_comes_later_is_offered_when_the_server_says_so() {
    let mut bench = Bench::new();
    bench.host.set(bench.pantry()).unwrap();
    bench.until(Ready).await;
    assert!(bench.tool("sprout").is_none());
    bench.call("grow", json!({})).await;
    let grown = bench.next().await;
    assert_eq!((grown.state, grown.tools.len()), (Ready, 7));
    assert_eq!(bench.call("sprout", json!({})).await.text, "sprouted");
    bench.host.end().await;
}

#[tokio::test]
async fn a_server_without_a_handshake_is_discovered_and_followed() {
    let mut bench = Bench::new();
    let mut spec = bench.pantry();
    if let Launch::Child(process) = &mut spec.launch {
        process.env.set(tea_server::MODERN, "1");
    }
    bench.host.set(spec).unwrap();
    assert_eq!(states(&bench.until(Ready).await), [Starting, Ready]);
    assert!(bench.call("steep", json!({ "minutes": 1 })).await.success);
    bench.call("grow", json!({})).await;
    assert_eq!(bench.next().await.tools.len(), 7);
    bench.host.end().await;
}

#[tokio::test]
async fn a_hint_that_comes_later_spares_no_question() {
    let mut bench = Bench::new();
    bench.host.set(bench.pantry()).unwrap();
    bench.until(Ready).await;
    bench.call("grow", json!({})).await;
    // The server says now that each of them only reads.
    bench.next().await;
    for name in ["pour", "sprout"] {
        assert!(matches!(bench.permission(name), Permission::Ask { .. }), "{name}");
        assert_eq!(bench.tool(name).unwrap().spec().effect, Effect::Writes, "{name}");
    }
    assert_eq!(bench.permission("steep"), Permission::Free);
    // It is the same server after a restart.
    bench.host.stop("pantry");
    bench.until(Idle).await;
    bench.host.start("pantry");
    bench.until(Ready).await;
    assert_eq!(bench.permission("steep"), Permission::Free);
    assert!(matches!(bench.permission("pour"), Permission::Ask { .. }));
    bench.host.end().await;
}

#[tokio::test]
async fn a_cancelled_call_is_given_up_at_both_ends() {
    let mut bench = Bench::new();
    bench.host.set(bench.pantry()).unwrap();
    bench.until(Ready).await;
    let cancel = CancellationToken::new();
    let call = tokio::spawn(bench.begin("wait", &json!({}), &cancel));
    bench.until_noted("wait").await;
    cancel.cancel();
    let output = call.await.unwrap();
    assert!(
        !output.success && output.text.starts_with("cancelled"),
        "{}",
        output.text
    );
    bench.until_noted("cancelled").await;
    // So is a client's, when its client is gone.
    let (arguments, going) = (json!({}), CancellationToken::new());
    let times = async |line: &str| {
        while bench.noted().iter().filter(|noted| *noted == line).count() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        answer = bench.whole("wait", &arguments, &going) => panic!("{answer:?}"),
        () = times("wait") => {}
    }
    times("cancelled").await;
    // The connection is as good as before.
    assert!(bench.call("steep", json!({ "minutes": 1 })).await.success);
    bench.host.end().await;
}

#[tokio::test]
async fn stopping_withholds_its_tools_and_starting_gives_them_back() {
    let mut bench = Bench::new();
    bench.host.set(bench.pantry()).unwrap();
    bench.until(Ready).await;
    assert!(bench.host.stop("PANTRY"));
    let stopped = bench.next().await;
    assert_eq!((stopped.state, stopped.tools.len()), (Idle, 0));
    assert!(bench.host.tools().is_empty());
    assert!(bench.host.start("pantry"));
    assert_eq!(states(&bench.until(Ready).await), [Starting, Ready]);
    assert!(bench.tool("steep").is_some());
    assert!(!bench.host.start("cellar") && !bench.host.stop("cellar"));
    bench.host.end().await;
    assert_eq!(bench.noted().iter().filter(|line| *line == "ended").count(), 2);
}

#[tokio::test]
async fn a_server_put_in_the_place_of_another_starts_when_that_one_is_gone() {
    let mut bench = Bench::new();
    bench.host.set(bench.pantry()).unwrap();
    bench.until(Ready).await;
    bench.host.set(bench.pantry()).unwrap();
    bench.until(Ready).await;
    assert_eq!(bench.noted(), ["started", "ended", "started"]);
    assert!(bench.host.remove("Pantry"));
    assert_eq!(bench.next().await.state, Disabled);
    assert!(!bench.host.remove("pantry") && bench.host.servers().is_empty());
    bench.host.end().await;
    assert_eq!(bench.noted(), ["started", "ended", "started", "ended"]);
}

#[tokio::test]
async fn what_may_not_run_is_shown_and_not_started() {
    let mut bench = Bench::new();
    let mut spec = bench.pantry();
    spec.launch = Launch::Withheld("nobody has allowed it".to_owned());
    bench.host.set(spec.clone()).unwrap();
    let shown = bench.next().await;
    assert_eq!(
        (shown.state, shown.problem.as_deref()),
        (Idle, Some("nobody has allowed it"))
    );
    bench.host.settled(None).await;
    // A start does not help: the server needs a new spec.
    bench.host.start("pantry");
    let seen = bench.until(Error).await;
    assert_eq!(
        seen.last().unwrap().problem.as_deref(),
        Some("nobody has allowed it")
    );
    spec.launch = Launch::Disabled;
    bench.host.set(spec).unwrap();
    assert_eq!(bench.next().await.state, Disabled);
    bench.host.end().await;
    assert_eq!(bench.noted(), Vec::<String>::new());
}

#[tokio::test]
async fn a_probe_counts_tools_and_leaves_nothing() {
    let bench = Bench::new();
    assert_eq!(bench.host.probe(&bench.pantry()).await, Ok(6));
    assert_eq!(bench.noted(), ["started", "ended"]);
    let error = bench
        .host
        .probe(&bench.shell("echo broken >&2; exit 1"))
        .await
        .unwrap_err();
    assert!(
        error.contains("ended before it was ready") && error.ends_with("broken"),
        "{error}"
    );
}

#[tokio::test]
async fn what_it_has_to_read_and_its_prompts_are_had() {
    let mut bench = Bench::new();
    bench.host.set(bench.pantry()).unwrap();
    bench.until(Ready).await;
    // The host lists them after the tools, for which Turns wait.
    while bench.host.resources().is_empty() || bench.host.prompts().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let resources = bench.host.resources();
    let known: Vec<_> = resources
        .iter()
        .map(|one| (one.uri.as_str(), one.name.as_str()))
        .collect();
    assert_eq!(known, [("tea://menu", "menu"), ("tea://slow", "slow")]);
    let prompts = bench.host.prompts();
    assert_eq!(prompts[0].name, "brew");
    assert_eq!(
        prompts[0]
            .arguments
            .iter()
            .map(|one| one.required)
            .collect::<Vec<_>>(),
        [true, false]
    );
    let menu = bench.host.read_resource("Pantry", "tea://menu").await.unwrap();
    assert_eq!(menu, "Assam, Darjeeling");
    let given = [("leaf", "assam"), ("milk", "a drop")];
    let given = given
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let brewed = bench.host.fill_prompt("pantry", "brew", given).await.unwrap();
    assert_eq!(brewed, "say brewing \"assam\" with \"a drop\"");
    let gone = bench
        .host
        .read_resource("pantry", "tea://gone")
        .await
        .unwrap_err();
    assert!(gone.contains("there is no tea://gone"), "{gone}");
    bench.host.stop("pantry");
    bench.until(Idle).await;
    assert!(bench.host.resources().is_empty());
    let stopped = bench
        .host
        .read_resource("pantry", "tea://menu")
        .await
        .unwrap_err();
    assert!(stopped.contains("does not run"), "{stopped}");
    bench.host.end().await;
}
