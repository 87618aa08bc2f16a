//! `engine/list`: the other agents that can run Threads.

use bobbin_agent_api::engines::{EngineList, ListedEngine};
use bobbin_native::client::Client;
use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_peer::Responder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

static GROUP: Group = Group {
    methods: rows! {
        Page::THREADS, Some("engines");
        request "engine/list" (EngineListParams => EngineListResult) [] now_with(of EngineList) list, needs Read:
            "Lists the other agents that can run Threads: `config.engine` of a Thread names one.",
            test "server/engine_acp: clients_list_the_agents_that_can_run_threads";
    },
    capabilities: |server, capabilities| {
        capabilities.engines = server.services().others.get::<EngineList>().is_some();
    },
    ..Group::EMPTY
};

/// The parameters of `engine/list`.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EngineListParams")]
pub(crate) struct EngineListParams {}

/// The answer of `engine/list`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EngineListResult {
    /// The engines of the configuration files, in their order.
    pub engines: Vec<EngineInfo>,
}

/// An engine.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EngineInfo {
    /// The name by which a Thread chooses it.
    pub name: String,
    /// Whether it can be chosen: one of the workspace's file waits for trust.
    pub trusted: bool,
    /// Whether it reaches the network. With it, it can send away all that it reads.
    pub network: bool,
}

fn list(_: &Client, engines: &EngineList, _: EngineListParams, responder: Responder) {
    let info = |engine: &ListedEngine| EngineInfo {
        name: engine.name.clone(),
        trusted: engine.trusted,
        network: engine.network,
    };
    let engines = engines.0.iter().map(info).collect();
    responder.ok(EngineListResult { engines });
}
