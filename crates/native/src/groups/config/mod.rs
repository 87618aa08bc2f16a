//! `workspace/config/*`: the settings of configuration files (AppServer protocol 05 §11).

pub(crate) mod handlers;

use bobbin_native_wire::config::types::{
    ConfigBatchWriteParams, ConfigReadParams, ConfigReadResult, ConfigValueWriteParams, ConfigWriteResult,
    WorkspaceConfigResult, WorkspaceConfigSchemaResult, WorkspaceConfigUpdateParams,
};
use bobbin_native_wire::handshake::types::EmptyParams;
use bobbin_native_wire::mcp::types::WorkspaceConfigChangedNotification;

use crate::group::page::Page;
use crate::group::{Group, rows};

pub(crate) const CONFIG_CHANGED: &str = "config/changed";

/// The files for keys and addresses of models.
const KEYS: &str = "`apiKey` and `endPoint` go into the user's own file, together: no workspace's file has a key or \
    says where one is sent; `Skills` and `Memory` are stored for other programs";

/// Writes of single members.
const WRITES: &str = "the model, the policy and suggestions count at once; other values of the workspace's file that need \
    trust wait for it, and the rest counts from the next start. Keys are refused. Servers that other machines \
    reach refuse changes of the user's own file";

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
        request "config/schema" (EmptyParams => WorkspaceConfigSchemaResult)
            [] wait_with(config) handlers::schema, needs Read:
            "The same as `workspace/config/schema`.", spec "07 §7.1",
            test "server/configuration: a_client_of_today_reads_and_writes_single_settings";
        request "config/read" (ConfigReadParams => ConfigReadResult)
            [] wait_with(config) handlers::read, needs Own:
            "Returns the settings of the files that count, and the file of each.", spec "07 §7.1",
            test "server/configuration: a_client_of_today_reads_and_writes_single_settings",
            note "while an item of the workspace that is no setting waits for trust, servers, channels, hooks, \
                providers and rules of its file are in `layers` only";
        request "config/value/write" (ConfigValueWriteParams => ConfigWriteResult)
            [InvalidRequest] wait_with(config) handlers::write_value, needs Own:
            "Sets or removes a member of a configuration file.", spec "07 §7.1",
            test "server/configuration: a_client_of_today_reads_and_writes_single_settings",
            note WRITES;
        request "config/batchWrite" (ConfigBatchWriteParams => ConfigWriteResult)
            [InvalidRequest] wait_with(config) handlers::write_batch, needs Own:
            "Sets or removes members of a configuration file, together or not at all.", spec "07 §7.1",
            test "server/configuration: a_client_of_today_reads_and_writes_single_settings",
            note WRITES;
        notification CONFIG_CHANGED (WorkspaceConfigChangedNotification):
            "The same as `workspace/configChanged`, directly after it, with paths of settings as `regions`.",
            spec "07 §7.2", test "server/configuration: a_client_of_today_reads_and_writes_single_settings",
            note "to clients of today (`ClientCapabilities`)";
    },
    unwanted: |capabilities| {
        if capabilities.is_today() && capabilities.config_change {
            Vec::new()
        } else {
            vec![CONFIG_CHANGED]
        }
    },
    broadcast: handlers::broadcast,
    capabilities: |server, capabilities| {
        capabilities.workspace_config_management = server.services().config.is_some();
    },
    ..Group::EMPTY
};
