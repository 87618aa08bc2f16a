//! The handler of `doctor/run`.

use crate::client::{Client, refuse};
use bobbin_native_wire::RpcError;
use bobbin_peer::{ErrorObject, Responder};

use super::Doctor;
use crate::call::NoParams;
use crate::groups::doctor::types::DoctorRunResult;

pub(super) fn run(client: &Client, doctor: &Doctor, _: NoParams, responder: Responder) {
    let (run, permits) = (doctor.run.clone(), doctor.permits.clone());
    let peer = client.peer().clone();
    client.spawn(async move {
        let cancelled = responder.token().clone();
        // Running checks are not stopped: the processes that they have started end with them.
        let permit = tokio::select! {
            biased;
            () = peer.closed() => return,
            () = cancelled.cancelled() => return responder.err(ErrorObject::cancelled()),
            permit = permits.acquire() => permit,
        };
        let Ok(_permit) = permit else {
            return refuse(responder, RpcError::internal_error("The server ends."));
        };
        responder.ok(DoctorRunResult {
            findings: run().await,
        });
    });
}
