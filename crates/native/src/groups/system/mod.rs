//! `system/*`: actions of the server itself (AppServer protocol 03 §11).

use bobbin_native_wire::system::types::{JobResultNotification, SystemEventNotification};

use crate::group::page::Page;
use crate::group::{Group, rows};

/// The server did something by itself.
pub const SYSTEM_EVENT: &str = "system/event";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::CONNECTION, None;
        notification SYSTEM_EVENT (SystemEventNotification):
            "The server did something to a conversation.", spec "03 §11.1",
            test "native/encode/tests: frames_of_turns",
            partial "nothing is consolidated, so no such kinds. Decided: no page says when that happens or which \
                files it writes, and instructions of users are files that agents read; after a reactive compaction \
                the turn goes on; extension kind `turnResumed` after a restart";
        notification "system/jobResult" (JobResultNotification):
            "A job that the server ran has ended.", page Page::SCHEDULES, spec "03 §11.2",
            test "schedules/cron: a_job_runs_by_the_clock_and_is_managed";
    },
    ..Group::EMPTY
};
