//! Plays of the whole protocol: what they send and get are the examples of `docs/protocol/reference`.
//!
//! A play is a file of `protocol/plays`, a step a line. Every message of a play is compared with the schema of its
//! method. The first of each method is an example, and the snapshots of all plays are what `cargo xtask reference`
//! reads. After a change: `INSTA_UPDATE=always cargo nextest run -p bobbin-cli -E 'test(protocol::)'`, then
//! `cargo xtask reference`.

use rstest::rstest;

mod names;
mod runner;
mod schemas;
mod stage;
mod strangers;

/// The process of a FineCode runner.
#[test]
#[ignore = "not a test: the process that a play speaks with"]
fn runner_process() {
    runner::serve();
}

#[rstest]
#[case("connection")]
#[case("thread")]
#[case("turn")]
#[case("item")]
#[case("serving")]
#[case("subagent")]
#[case("terminal")]
#[case("mcp")]
#[case("workspace")]
#[case("hermes")]
#[case("finecode")]
#[case("device")]
#[case("schedules")]
#[case("usage")]
#[case("plugin")]
#[case("channel")]
#[case("git")]
#[case("worktree")]
#[case("shell")]
#[tokio::test]
async fn play_fits_the_schemas_and_gives_the_examples(#[case] play: &str) {
    let examples = stage::play(play).await;
    let text = serde_json::to_string_pretty(&examples).unwrap();
    insta::with_settings!({ snapshot_path => "protocol/examples", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(play, text);
    });
}
