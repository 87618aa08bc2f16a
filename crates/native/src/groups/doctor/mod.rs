//! `doctor/run`: problems of the server's machine, and their repairs.

pub(crate) mod handlers;
pub mod types;

use std::sync::Arc;

use crate::group::page::Page;
use crate::group::{Group, rows};
use bobbin_agent_api::checks::DoctorFinding;
use bobbin_native_wire::handshake::types::EmptyParams;
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use crate::groups::doctor::types::DoctorRunResult;

type Run = dyn Fn() -> BoxFuture<'static, Vec<DoctorFinding>> + Send + Sync;

/// The checks of a server.
#[derive(Clone)]
pub struct Doctor {
    run: Arc<Run>,
    /// The checks start processes and call the model's provider, so one client runs them at a time; others wait.
    permits: Arc<Semaphore>,
}

impl Doctor {
    /// Returns a doctor that runs its checks by `run`.
    pub fn new(run: impl Fn() -> BoxFuture<'static, Vec<DoctorFinding>> + Send + Sync + 'static) -> Self {
        Self {
            run: Arc::new(run),
            permits: Arc::new(Semaphore::new(1)),
        }
    }
}

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::WORKSPACE, Some("extensions.doctor");
        request "doctor/run" (EmptyParams => DoctorRunResult) [] now_with(of Doctor) handlers::run, needs Own:
            "Extension: checks the workspace, the configuration and the machine, as `bobbin doctor` does. Changes nothing.",
            test "server/configuration: clients_of_a_running_server_get_the_findings_of_the_doctor";
    },
    capabilities: |server, capabilities| {
        if server.services().others.get::<Doctor>().is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert("doctor".to_owned(), true.into());
        }
    },
    ..Group::EMPTY
};
