//! `finecode/*` of the native dialect: projects, actions, runs and runners of FineCode for clients.
//!
//! A run's progress and partial results go to the client that asked for it. States of runners and messages to users go to
//! all clients that declare `extensions.finecode`.

mod changes;
mod editor;
mod handlers;
mod runs;
pub mod types;

use crate::Event;
use bobbin_core::{Broadcast, WireMessage};
use bobbin_native::group::need::Need;
use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_native::message;
use bobbin_native_wire::handshake::types::EmptyParams;

pub use crate::group::runs::FineCode;
use crate::group::types::{
    FineCodeActionCancelParams, FineCodeActionCancelResult, FineCodeActionListParams,
    FineCodeActionListResult, FineCodeActionRunParams, FineCodeActionRunResult, FineCodeApplyEditParams,
    FineCodeApplyEditResult, FineCodeMessageNotification, FineCodePartialResultNotification,
    FineCodeProgressNotification, FineCodeProjectListResult, FineCodeRunnerListResult,
    FineCodeRunnerLogsResult, FineCodeRunnerParams, FineCodeRunnerResult, FineCodeRunnerUpdatedNotification,
};

pub(crate) const PROGRESS: &str = "finecode/action/progress";
pub(crate) const PARTIAL_RESULT: &str = "finecode/action/partialResult";
pub(crate) const RUNNER_UPDATED: &str = "finecode/runner/updated";
pub(crate) const MESSAGE: &str = "finecode/message";
pub(crate) const APPLY_EDIT: &str = "finecode/applyEdit";

/// The key of `extensions`: `true`, or from a client an object that says what it can do.
pub(crate) const CAPABILITY: &str = "finecode";

/// An event of FineCode, for all clients.
#[derive(Debug)]
pub struct FineCodeNews(pub Event);

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::new("finecode", "FineCode"), Some("extensions.finecode");
        request "finecode/project/list" (EmptyParams => FineCodeProjectListResult)
            [] wait_with(of FineCode) handlers::projects, needs Read:
            "Extension: lists the FineCode projects of the workspace, with what is wrong with their configuration.",
            test "finecode/over_the_wire: a_run_sends_progress_and_partial_results_and_then_its_answer";
        request "finecode/action/list" (FineCodeActionListParams => FineCodeActionListResult)
            [] now_with(of FineCode) handlers::actions, needs Read:
            "Extension: lists actions.", members &[("loadPresets", Need::Own)],
            test "finecode/over_the_wire: a_run_sends_progress_and_partial_results_and_then_its_answer";
        request "finecode/action/run" (FineCodeActionRunParams => FineCodeActionRunResult)
            [] now_with(of FineCode) handlers::run, needs Own:
            "Extension: runs an action and answers when it has ended in all projects.",
            test "finecode/over_the_wire: a_run_sends_progress_and_partial_results_and_then_its_answer";
        request "finecode/action/cancel" (FineCodeActionCancelParams => FineCodeActionCancelResult)
            [] now_with(of FineCode) handlers::cancel, needs Own:
            "Extension: cancels a run of this connection.",
            test "finecode/over_the_wire: a_run_is_cancelled_by_its_name_and_by_its_client_leaving";
        request "finecode/runner/list" (EmptyParams => FineCodeRunnerListResult)
            [] now_with(of FineCode) handlers::runners, needs Read:
            "Extension: lists the runners that were used.",
            test "finecode/over_the_wire: runners_are_listed_restarted_and_stopped_and_show_what_they_printed";
        request "finecode/runner/restart" (FineCodeRunnerParams => FineCodeRunnerResult)
            [] now_with(of FineCode) handlers::restart, needs Own:
            "Extension: restarts a runner.",
            test "finecode/over_the_wire: runners_are_listed_restarted_and_stopped_and_show_what_they_printed";
        request "finecode/runner/stop" (FineCodeRunnerParams => FineCodeRunnerResult)
            [] now_with(of FineCode) handlers::stop, needs Own:
            "Extension: stops a runner; its next use starts it.",
            test "finecode/over_the_wire: runners_are_listed_restarted_and_stopped_and_show_what_they_printed";
        request "finecode/runner/logs" (FineCodeRunnerParams => FineCodeRunnerLogsResult)
            [] now_with(of FineCode) handlers::logs, needs Read:
            "Extension: returns the last lines that a runner has printed.",
            test "finecode/over_the_wire: runners_are_listed_restarted_and_stopped_and_show_what_they_printed";
        notification PROGRESS (FineCodeProgressNotification):
            "Extension: how far a run is.",
            test "finecode/over_the_wire: a_run_sends_progress_and_partial_results_and_then_its_answer",
            note "to the client that runs the action";
        notification PARTIAL_RESULT (FineCodePartialResultNotification):
            "Extension: a part of a run's result.",
            test "finecode/over_the_wire: a_run_sends_progress_and_partial_results_and_then_its_answer",
            note "to the client that runs the action";
        notification RUNNER_UPDATED (FineCodeRunnerUpdatedNotification):
            "Extension: a runner is in another state.",
            test "finecode/over_the_wire: a_run_sends_progress_and_partial_results_and_then_its_answer",
            note "to clients that declared `extensions.finecode`";
        notification MESSAGE (FineCodeMessageNotification):
            "Extension: a runner has something to say to the user.",
            test "finecode/over_the_wire: a_run_sends_progress_and_partial_results_and_then_its_answer",
            note "to clients that declared `extensions.finecode`";
        server_request APPLY_EDIT (FineCodeApplyEditParams => FineCodeApplyEditResult), needs Own:
            "Extension: a runner wants an edit of files. Sent to one client that declares `extensions.finecode.applyEdit`.",
            test "finecode/over_the_wire: an_edit_reaches_the_client_that_asked_for_the_run",
            note "to clients that declare it";
    },
    capabilities: |server, capabilities| {
        if server.services().others.get::<FineCode>().is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert(CAPABILITY.to_owned(), true.into());
        }
    },
    greeted: |_, _, _, _| {},
    ready: |client| {
        runs::Runs::ready(client);
        editor::ready(client);
    },
    unwanted: |capabilities| {
        let declared = capabilities.extensions.get(CAPABILITY);
        if declared.is_some_and(|declared| *declared == true || declared.is_object()) {
            Vec::new()
        } else {
            vec![RUNNER_UPDATED, MESSAGE]
        }
    },
    broadcast: |news, _| broadcast(news),
};

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];

fn broadcast(news: &Broadcast) -> Option<WireMessage> {
    let FineCodeNews(event) = news.get()?;
    Some(match event {
        Event::Runner(info) => {
            let runner = handlers::runner(info);
            message(RUNNER_UPDATED, &FineCodeRunnerUpdatedNotification { runner })
        }
        Event::Message(said) => message(MESSAGE, &handlers::said(said)),
        Event::Debugger {
            project,
            env,
            address,
        } => message(
            MESSAGE,
            &FineCodeMessageNotification {
                project_path: project.display().to_string(),
                env: env.clone(),
                level: "info".to_owned(),
                text: format!("waits for a debugger at {address}"),
                debugger: Some(address.clone()),
            },
        ),
    })
}
