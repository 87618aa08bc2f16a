//! `provider/*`: the providers of models (AppServer protocol 07 §8.6).

mod handlers;

use std::sync::Arc;

use bobbin_agent_api::model_providers::ModelProviders;
use bobbin_native_wire::handshake::types::EmptyParams;
use bobbin_native_wire::provider::types::{
    ProviderDeleteParams, ProviderDeleteResult, ProviderEditParams, ProviderListResult, ProviderResult,
    ProviderTestParams, ProviderTestResult,
};

use crate::group::page::Page;
use crate::group::{Group, rows};

type Feature = Arc<dyn ModelProviders>;

/// The file that is written.
const FILE: &str =
    "in the user's own file; then `workspace/configChanged` and `config/changed` with `providers`";

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::MODELS, Some("providerManagement");
        request "provider/list" (EmptyParams => ProviderListResult) [] wait_with(of Feature) handlers::list,
            needs Own: "Lists the providers of models, without keys.", spec "07 §8.6",
            test "server/configuration: providers_are_made_tested_changed_and_removed",
            note "built-in providers are there if they have a key";
        request "provider/create" (ProviderEditParams => ProviderResult) [] wait_with(of Feature) handlers::create,
            needs Own: "Adds a provider.", spec "07 §8.6",
            test "server/configuration: providers_are_made_tested_changed_and_removed", note FILE;
        request "provider/update" (ProviderEditParams => ProviderResult) [] wait_with(of Feature) handlers::update,
            needs Own: "Changes a provider.", spec "07 §8.6",
            test "server/configuration: providers_are_made_tested_changed_and_removed",
            note "in the user's own file; a new address without a key removes the earlier key";
        request "provider/delete" (ProviderDeleteParams => ProviderDeleteResult)
            [] wait_with(of Feature) handlers::delete, needs Own: "Removes a provider.", spec "07 §8.6",
            test "server/configuration: providers_are_made_tested_changed_and_removed", note FILE;
        request "provider/test" (ProviderTestParams => ProviderTestResult) [] now_with(of Feature) handlers::test,
            needs Own: "Asks a provider for its models, with settings that are not stored.", spec "07 §8.6",
            test "server/configuration: providers_are_made_tested_changed_and_removed",
            note "a key of the files is sent to their address only";
    },
    capabilities: |server, capabilities| {
        capabilities.provider_management = server.services().others.get::<Feature>().is_some();
    },
    ..Group::EMPTY
};
