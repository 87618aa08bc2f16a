//! `model/list`: the models that a Thread can use (AppServer protocol 05 §7).

pub(crate) mod handlers;

use bobbin_native_wire::handshake::types::EmptyParams;
use bobbin_native_wire::models::types::{ModelListParams, ModelListResult, WorkspaceDefaultsResult};

use crate::group::page::Page;
use crate::group::{Group, rows};

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::MODELS, Some("modelCatalogManagement");
        request "model/list" (ModelListParams => ModelListResult) [] now_with(models) handlers::list, needs Read:
            "Lists the models that a Thread can be given.", spec "05 §7", test "native/reading: model_list",
            note "of a server without configured providers it is the offline model alone; the answer is the last \
                of those that the client waits for, after 100 ms at least and 2 s at most";
        request "workspace/defaults/read" (EmptyParams => WorkspaceDefaultsResult)
            [] now_with(models) handlers::defaults, needs Read:
            "Extension: reads what a Thread uses whose configuration names nothing else.",
            test "server/configuration: a_client_without_a_model_is_led_to_one";
    },
    capabilities: |server, capabilities| {
        capabilities.model_catalog_management = server.services().models.is_some();
    },
    ..Group::EMPTY
};
