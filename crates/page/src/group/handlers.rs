//! The handlers of `device/*`.

use bobbin_native::client::{Client, refuse};
use bobbin_native::convert::time;
use bobbin_native_wire::RpcError;
use bobbin_native_wire::handshake::types::EmptyParams;
use bobbin_peer::Responder;

use super::DeviceFeature;
use crate::devices::{DeviceError, Invited};
use crate::file::Device;
use crate::group::types::{
    DeviceInfo, DeviceInviteParams, DeviceInviteResult, DeviceListResult, DeviceRevokeParams,
};

pub(super) fn list(client: &Client, feature: &DeviceFeature, _: EmptyParams, responder: Responder) {
    let devices = feature.devices.clone();
    client.spawn(async move { answer(responder, devices.list().await) });
}

pub(super) fn revoke(
    client: &Client,
    feature: &DeviceFeature,
    params: DeviceRevokeParams,
    responder: Responder,
) {
    let devices = feature.devices.clone();
    client.spawn(async move { answer(responder, devices.revoke(params.ids).await) });
}

pub(super) fn invite(
    client: &Client,
    feature: &DeviceFeature,
    params: DeviceInviteParams,
    responder: Responder,
) {
    let mut result = DeviceInviteResult {
        code: None,
        expires_at: None,
        page_url: feature.page.clone(),
        remote_urls: feature.elsewhere.clone(),
    };
    let invited = Invited {
        label: params.label,
        // A browser that another owner lets in is not the user's own.
        person: params
            .person
            .or_else(|| client.actor().person().map(|person| person.name.clone())),
    };
    if feature.wants_code {
        match feature.devices.invite(invited) {
            Ok(code) => {
                result.code = Some(code.text);
                result.expires_at = Some(time(code.expires_at));
            }
            Err(error) => return refuse(responder, wire_error(&error)),
        }
    }
    responder.ok(result);
}

fn answer(responder: Responder, devices: Result<Vec<Device>, DeviceError>) {
    match devices {
        Ok(devices) => responder.ok(DeviceListResult {
            devices: devices.into_iter().map(device).collect(),
        }),
        Err(error) => refuse(responder, wire_error(&error)),
    }
}

fn device(device: Device) -> DeviceInfo {
    DeviceInfo {
        id: device.id,
        label: device.label,
        created_at: time(device.created_at),
        last_used_at: time(device.last_used_at),
        person: device.person,
    }
}

fn wire_error(error: &DeviceError) -> RpcError {
    match error {
        DeviceError::NoPerson(_) => RpcError::invalid_params(format!("{error}.")),
        _ => RpcError::internal_error(error.to_string()),
    }
}
