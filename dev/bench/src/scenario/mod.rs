//! What is measured, one file a scenario. Each counts out its load, checks that all of it was done, and returns figures.

mod approval;
mod cold_start;
mod deltas;
mod fan_out;
mod finecode;
mod flood;
mod hermes;
mod history;
mod idle;
mod large;
mod model_turn;
mod recovery;
mod round_trip;
mod seeded;
mod stalled;
mod streams;
mod thread_start;
mod turn;

use futures_util::future::BoxFuture;

use crate::{Plan, Row};

type Run = for<'a> fn(&'a Plan) -> BoxFuture<'a, anyhow::Result<Vec<Row>>>;

/// One scenario.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: Run,
}

macro_rules! scenarios {
    ($($name:literal $about:literal $module:ident;)*) => {
        /// All of them, in the order they are run.
        pub(crate) const ALL: &[Scenario] = &[$(Scenario {
            name: $name,
            about: $about,
            run: |plan| Box::pin($module::run(plan)),
        }),*];
    };
}

scenarios! {
    "cold-start" "spawn to the answer of initialize, beside a bare process" cold_start;
    "round-trip" "the cheapest request on stdio and WebSocket, beside an echo" round_trip;
    "thread-start" "thread/start until it is durable, beside one SQLite commit" thread_start;
    "turn" "a Turn of one word, and its growth over a thousand Turns" turn;
    "model-turn" "the same with a provider's model that answers at once" model_turn;
    "deltas" "20,000 pieces in one Turn to one subscriber, beside a bare stream" deltas;
    "streams" "1 to 128 Turns that stream for half a second at once" streams;
    "fan-out" "one stream to 1 to 500 subscribers, beside a bare broadcast" fan_out;
    "approval" "answering an Approval until everybody is told, beside one SQLite commit" approval;
    "history" "lists and reads over 5,000 and 50,000 Threads, beside the bare queries" history;
    "recovery" "kill -9 and start again over 50,000 Threads" recovery;
    "idle" "memory at 0, 100 and 1,000 connections, beside bare connections" idle;
    "large" "commands, reads and searches in 30,000 and 50,000 files; a start beside dead MCP servers" large;
    "finecode" "200 FineCode projects listed, an action over 64 of them, beside its runners alone" finecode;
    "hermes" "20 Hermes extensions; an HL7 message of 50,000 segments got, patched and validated" hermes;
    "stalled" "memory beside readers that stopped reading" stalled;
    "flood" "requests as fast as one client can write them, and a bystander" flood;
}
