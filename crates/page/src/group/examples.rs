//! Whole messages of every method of this crate, there and back.

use bobbin_native::group::Groups;

use super::wire::*;

bobbin_testkit::examples! {
    bobbin_native::lenient::lenient;
    Groups::of(&[crate::GROUPS]);
    EmptyParams: "{}";
    DeviceListResult: r#"{"devices":[{"id":"9f3ab01c2d","label":"Firefox on Linux","createdAt":"2026-11-22T17:00:00.000Z","lastUsedAt":"2026-11-23T08:15:00.000Z"}]}"#;
    DeviceInviteParams: r#"{"label":"phone"}"#;
    DeviceInviteParams: "{}";
    DeviceInviteResult: r#"{"code":"K7Q4M-2XWPT","expiresAt":"2026-11-23T08:20:00.000Z","pageUrl":"http://127.0.0.1:9100/","remoteUrls":["https://tea.example/"]}"#;
    DeviceInviteResult: r#"{"pageUrl":"http://127.0.0.1:9100/","remoteUrls":[]}"#;
    DeviceRevokeParams: r#"{"ids":["9f3ab01c2d"]}"#;
    DeviceRevokeParams: "{}";
}
