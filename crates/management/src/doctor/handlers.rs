//! The handler of `doctor/run`.

use bobbin_native::client::{Client, refuse};
use bobbin_peer::Responder;
use serde::de::IgnoredAny;

use super::Doctor;
use crate::wire::{DoctorRunResult, RpcError};

pub(super) fn run(client: &Client, doctor: &Doctor, _: IgnoredAny, responder: Responder) {
    let (run, permits) = (doctor.run.clone(), doctor.permits.clone());
    client.spawn(async move {
        let Ok(_permit) = permits.acquire().await else {
            return refuse(responder, RpcError::internal_error("The server ends."));
        };
        responder.ok(DoctorRunResult {
            findings: run().await,
        });
    });
}
