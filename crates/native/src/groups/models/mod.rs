//! `model/list`: the models that a Thread can use (AppServer protocol 05 §7).

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, rows};

use crate::wire::{EmptyParams, ModelListResult, WorkspaceDefaultsResult};

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "model/list" (EmptyParams => ModelListResult) [] now_with(models) handlers::list:
            "Lists the models that a Thread can be given.";
        request "workspace/defaults/read" (EmptyParams => WorkspaceDefaultsResult) [] now_with(models) handlers::defaults:
            "Extension: reads what a Thread uses whose configuration names nothing else.";
    },
    capabilities: |server, capabilities| {
        capabilities.model_catalog_management = server.services().models.is_some();
    },
    ..Group::EMPTY
};
