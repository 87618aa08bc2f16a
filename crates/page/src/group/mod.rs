//! `device/*` of the native dialect: the paired browsers, and codes for more.

mod handlers;
pub mod types;

use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_native_wire::handshake::types::EmptyParams;

use crate::devices::Devices;
use crate::group::types::{DeviceInviteParams, DeviceInviteResult, DeviceListResult, DeviceRevokeParams};

/// The way in for browsers, as clients see it.
pub struct DeviceFeature {
    /// The devices.
    pub devices: Devices,
    /// Whether a browser needs a code at all.
    pub wants_code: bool,
    /// The page's address on this machine.
    pub page: String,
    /// The page's addresses on other machines, the best first.
    pub elsewhere: Vec<String>,
}

/// The group.
pub static GROUP: Group = Group {
    methods: rows! {
        Page::new("devices", "Paired browsers"), Some("extensions.devices");
        request "device/list" (EmptyParams => DeviceListResult)
            [] now_with(of DeviceFeature) handlers::list, needs Own:
            "Extension: lists the paired browsers.", test "page/device: browsers_are_invited_listed_and_revoked",
            note "where the server listens and has a page";
        request "device/invite" (DeviceInviteParams => DeviceInviteResult)
            [] now_with(of DeviceFeature) handlers::invite, needs Own:
            "Extension: makes a code that lets one browser in.",
            test "page/device: browsers_are_invited_listed_and_revoked",
            note "where the server listens and has a page";
        request "device/revoke" (DeviceRevokeParams => DeviceListResult)
            [] now_with(of DeviceFeature) handlers::revoke, needs Own:
            "Extension: takes the secrets of browsers back and ends their connections.",
            test "page/device: browsers_are_invited_listed_and_revoked",
            note "where the server listens and has a page";
    },
    capabilities: |server, capabilities| {
        if server.services().others.get::<DeviceFeature>().is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.others.insert("devices".to_owned(), true.into());
        }
    },
    ..Group::EMPTY
};

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&GROUP];
