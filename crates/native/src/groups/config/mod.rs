//! `workspace/config/*`: the settings of configuration files (AppServer protocol 05 §11).

pub(crate) mod handlers;
pub mod types;

use crate::group::{Group, rows};

use crate::wire::{
    EmptyParams, WorkspaceConfigResult, WorkspaceConfigSchemaResult, WorkspaceConfigUpdateParams,
};

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        request "workspace/config/schema" (EmptyParams => WorkspaceConfigSchemaResult)
            [] wait_with(config) handlers::schema:
            "Lists the settings that configuration files can have. Extension: with what the files say, secrets left out.";
        request "workspace/config/update" (WorkspaceConfigUpdateParams => WorkspaceConfigResult)
            [] wait_with(config) handlers::update:
            "Sets or removes settings of the workspace, and returns what the files say then.";
    },
    capabilities: |server, capabilities| {
        capabilities.workspace_config_management = server.services().config.is_some();
    },
    ..Group::EMPTY
};
