//! Tools of servers: those that come later, and those that are searched because there are many.

use std::sync::Arc;

use bobbin_agent::{AgentEngine, AgentSettings};
use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal,
    ToolSource, ToolSpec,
};
use bobbin_model::{Json, ThreadConfig};
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::watch;

use crate::support::{Bench, Script, Scripted, built_in, call, results, say};

/// A server's tool that says its own name.
struct Named(ToolSpec);

fn named(name: &str, description: &str) -> Arc<dyn Tool> {
    Arc::new(Named(ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema: Json::of(&json!({ "type": "object" })).unwrap(),
        effect: Effect::Reads,
    }))
}

impl Tool for Named {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare(&self, _: &Json, _: &ToolEnvironment) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        Ok(Box::new(Says(self.0.name.to_string())))
    }
}

struct Says(String);

impl PreparedCall for Says {
    fn permission(&self) -> Permission {
        Permission::Free
    }

    fn run(self: Box<Self>, _: CallContext) -> BoxFuture<'static, ToolOutput> {
        let output = ToolOutput {
            text: self.0,
            success: true,
            ..ToolOutput::default()
        };
        std::future::ready(output).boxed()
    }
}

/// Servers whose start has an outcome once the test says so: then these tools are there.
struct Servers {
    started: watch::Receiver<bool>,
    tools: Vec<Arc<dyn Tool>>,
}

impl Servers {
    fn running(tools: Vec<Arc<dyn Tool>>) -> Self {
        let started = watch::channel(true).1;
        Self { started, tools }
    }
}

impl ToolSource for Servers {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let started = *self.started.borrow();
        if started { self.tools.clone() } else { Vec::new() }
    }

    fn starting(&self) -> Vec<String> {
        let started = *self.started.borrow();
        if started {
            Vec::new()
        } else {
            vec!["tea".to_owned()]
        }
    }

    fn settled<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, ()> {
        let mut started = self.started.clone();
        async move { drop(started.wait_for(|started| *started).await) }.boxed()
    }
}

fn many() -> Vec<Arc<dyn Tool>> {
    (0..60)
        .map(|n| named(&format!("mcp__tea__cup{n}"), "Fills one cup."))
        .collect()
}

fn of_servers(offered: &[String]) -> Vec<&str> {
    let names = offered.iter().map(String::as_str);
    names
        .filter(|name| name.starts_with("mcp__") || *name == "FindTools")
        .collect()
}

#[tokio::test]
async fn a_server_that_never_starts_does_not_delay_a_turn_that_does_not_need_it() {
    let workspace = TestWorkspace::default();
    let (_never, started) = watch::channel(false);
    let tools = built_in().with_source(Arc::new(Servers {
        started,
        tools: many(),
    }));
    let model = Scripted::new([say("Hello.")]);
    let bench = Bench::open(&workspace, model.clone(), tools).await;
    bench.run("hello").await;
    // The model learns that there is more to come.
    assert_eq!(of_servers(&model.offered()), ["FindTools"]);
}

#[tokio::test]
async fn a_call_and_a_search_wait_for_a_server_that_is_starting() {
    for first in [
        call("a", "mcp__tea__pour", &json!({})),
        call("a", "FindTools", &json!({ "query": "pour" })),
    ] {
        let workspace = TestWorkspace::default();
        let (start, started) = watch::channel(false);
        let pour = named("mcp__tea__pour", "Pours.");
        let tools = built_in().with_source(Arc::new(Servers {
            started,
            tools: vec![pour],
        }));
        let model = Scripted::new([Script::Reply(first), say("Done.")]);
        let bench = Bench::open(&workspace, model.clone(), tools).await;
        let mut log = bench.start("pour").await;
        bench.until(|_| model.offers().len() == 1).await;
        start.send(true).unwrap();
        log.end().await;
        let done = results(&bench.last_turn().await);
        assert!(done[0].0.starts_with("mcp__tea__pour") && done[0].1, "{done:?}");
        assert_eq!(of_servers(&model.offered()), ["mcp__tea__pour"]);
    }
}

/// Starts while the model replies.
struct Meanwhile(Servers, Arc<Scripted>);

impl ToolSource for Meanwhile {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        if self.1.offers().is_empty() {
            Vec::new()
        } else {
            self.0.tools()
        }
    }
}

#[tokio::test]
async fn a_call_finds_a_server_that_started_while_the_model_replied() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([
        Script::Reply(call("a", "mcp__tea__pour", &json!({}))),
        say("Done."),
    ]);
    let servers = Servers::running(vec![named("mcp__tea__pour", "Pours.")]);
    let tools = built_in().with_source(Arc::new(Meanwhile(servers, model.clone())));
    let bench = Bench::open(&workspace, model, tools).await;
    bench.run("pour").await;
    assert!(results(&bench.last_turn().await)[0].1);
}

#[tokio::test]
async fn of_many_tools_a_thread_has_those_that_it_chose_also_after_a_restart() {
    let workspace = TestWorkspace::default();
    let tools = || built_in().with_source(Arc::new(Servers::running(many())));
    let model = Scripted::new([
        Script::Reply(call("a", "FindTools", &json!({ "query": "cup" }))),
        Script::Reply(call(
            "b",
            "FindTools",
            &json!({ "load": ["mcp__tea__cup9", "mcp__tea__cup3", "mcp__tea__pot"] }),
        )),
        Script::Reply(call("c", "mcp__tea__cup9", &json!({}))),
        say("Done."),
    ]);
    let bench = Bench::open(&workspace, model.clone(), tools()).await;
    bench.run("fill one").await;
    let done = results(&bench.last_turn().await);
    assert!(
        done[0].0.contains("mcp__tea__cup0: Fills one cup.\n")
            && done[0].0.ends_with("and 40 more; use other words to see them")
    );
    assert_eq!(
        done[1].0,
        "Loaded, call them now: mcp__tea__cup9, mcp__tea__cup3\nThere are no tools of these names: mcp__tea__pot"
    );
    assert_eq!(done[2], ("mcp__tea__cup9".to_owned(), true));
    let offers = model.offers();
    let chosen = ["FindTools", "mcp__tea__cup9", "mcp__tea__cup3"];
    assert_eq!(of_servers(&offers[1]), ["FindTools"]);
    assert_eq!(of_servers(&offers[2]), chosen);
    // What a request had before stays in its place.
    assert_eq!(offers[1], offers[2][..offers[1].len()]);
    assert_eq!(offers[2], offers[3]);

    let again = Scripted::new([say("Yes.")]);
    let bench = bench.reopen(&workspace, again.clone(), tools()).await;
    bench.run("still there?").await;
    assert_eq!(of_servers(&again.offered()), chosen);
}

#[tokio::test]
async fn all_tools_are_offered_where_they_are_few_or_nothing_searches_them() {
    let few: Vec<Arc<dyn Tool>> = many().into_iter().take(40).collect();
    let off = AgentSettings {
        tool_search: false,
        ..AgentSettings::default()
    };
    let denied = ThreadConfig {
        tool_deny_list: Some(vec!["FindTools".to_owned()]),
        ..ThreadConfig::default()
    };
    for (tools, settings, config, count) in [
        (few, AgentSettings::default(), ThreadConfig::default(), 40),
        (many(), off, ThreadConfig::default(), 60),
        (many(), AgentSettings::default(), denied, 60),
    ] {
        let workspace = TestWorkspace::default();
        let model = Scripted::new([say("Hello.")]);
        let tools: ToolSet = built_in().with_source(Arc::new(Servers::running(tools)));
        let engine = AgentEngine::new(model.clone(), tools).with_settings(settings);
        let bench = Bench::open_engine(&workspace, engine, config).await;
        bench.run("hello").await;
        let offered = model.offered();
        assert_eq!(of_servers(&offered).len(), count);
        assert!(!offered.contains(&"FindTools".to_owned()));
    }
}
