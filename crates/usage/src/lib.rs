//! `usage/*` and `profile/insights`: what the Turns of a workspace used, by day, Thread, channel and model (AppServer
//! protocol 07 §8.1).
//!
//! The store counts as Turns go on, and sums for a request; this crate gives the sums their shapes. A Thread that was
//! deleted takes its figures with it.

mod handlers;
mod history;
pub mod types;

use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};

use types::{
    ProfileInsightsParams, ProfileInsightsResult, UsageHistoryParams, UsageHistoryResult, UsageSummaryParams,
    UsageSummaryResult, UsageThreadParams, UsageThreadResult, UsageThreadsParams, UsageThreadsResult,
};

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

/// The origin of the figures.
const FIGURES: &str = "calls of tools, errors and compactions are counted since version 1.9; times of tools are known of \
    Turns whose client declared `toolExecutionLifecycle`; a Turn counts with the model that its Thread had at its start, \
    `default` is the usual one";

static GROUP: Group = Group {
    methods: rows! {
        Page::new("usage", "Usage"), Some("usageTelemetry");
        request "usage/summary" (UsageSummaryParams => UsageSummaryResult) [] now handlers::summary, needs Read:
            "Sums what all Turns used.", spec "07 §8.1", test "usage/usage: what_turns_used_is_summed_in_every_shape",
            note FIGURES;
        request "usage/history" (UsageHistoryParams => UsageHistoryResult) [] now handlers::history, needs Read:
            "Sums what Turns used on each day.", spec "07 §8.1",
            test "usage/usage: what_turns_used_is_summed_in_every_shape", note FIGURES;
        request "usage/threads" (UsageThreadsParams => UsageThreadsResult) [] now handlers::threads, needs Read:
            "Lists the Threads that used most.", spec "07 §8.1",
            test "usage/usage: what_turns_used_is_summed_in_every_shape", note FIGURES;
        request "usage/thread" (UsageThreadParams => UsageThreadResult)
            [ThreadNotFound] now handlers::thread, needs Read:
            "Sums what the Turns of one Thread used, by model.", spec "07 §8.1",
            test "usage/usage: what_turns_used_is_summed_in_every_shape", note FIGURES;
        request "profile/insights" (ProfileInsightsParams => ProfileInsightsResult)
            [] now handlers::insights, needs Read:
            "Says what was used most.", spec "07 §8.1",
            test "usage/usage: what_turns_used_is_summed_in_every_shape", note FIGURES;
    },
    capabilities: |_, capabilities| {
        capabilities.usage_telemetry = true;
    },
    ..Group::EMPTY
};
