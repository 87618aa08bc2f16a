//! `workspace/config/*`: the settings of configuration files (AppServer protocol 05 §11).

pub(crate) mod handlers;
pub mod types;

use crate::group::page::Page;
use crate::group::{Group, rows};

use crate::groups::config::types::{
    WorkspaceConfigResult, WorkspaceConfigSchemaResult, WorkspaceConfigUpdateParams,
};
use crate::groups::handshake::types::EmptyParams;

/// The files for keys and addresses of models.
const KEYS: &str = "`apiKey` and `endPoint` go into the user's own file, together: no workspace's file has a key or \
    says where one is sent; `Skills` and `Memory` are stored for other programs";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::WORKSPACE, Some("workspaceConfigManagement");
        request "workspace/config/schema" (EmptyParams => WorkspaceConfigSchemaResult)
            [] wait_with(config) handlers::schema, needs Read:
            "Lists the settings that configuration files can have. Extension: with what the files say, secrets left out.",
            spec "05 §11", test "server/configuration: a_client_sets_model_key_and_policy_and_they_count_at_once",
            note KEYS;
        request "workspace/config/update" (WorkspaceConfigUpdateParams => WorkspaceConfigResult)
            [] wait_with(config) handlers::update, needs Own:
            "Sets or removes settings of the workspace, and returns what the files say then.", spec "05 §11",
            test "server/configuration: a_client_sets_model_key_and_policy_and_they_count_at_once",
            note KEYS;
    },
    capabilities: |server, capabilities| {
        capabilities.workspace_config_management = server.services().config.is_some();
    },
    ..Group::EMPTY
};
