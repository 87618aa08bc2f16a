//! `model/list`: the models that a Thread can be given (AppServer protocol 05 §7).

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, Method};
use crate::wire;

/// The group.
pub(crate) static GROUP: Group = Group {
    methods: &[Method::request::<wire::EmptyParams, wire::ModelListResult>(
        "model/list",
        "Lists the models that a Thread can be given.",
        &[],
        |call| call.now_with(|of| of.models.as_ref(), handlers::list),
    )],
    capabilities: |server, capabilities| {
        capabilities.model_catalog_management = server.services.models.is_some();
    },
    ..Group::EMPTY
};
