//! Paired browsers: a button that revokes one, and a code for another.
import type { DeviceInviteResult } from "@bobbin/client";
import { useState } from "react";
import { recall } from "../app/remember";
import { useClient } from "../server/context";
import { useRequest } from "../server/useRequest";
import { CopyButton } from "../text/CodeBlock";
import { fullTime } from "../ui/format";
import { complain } from "../ui/toast";

export function Devices() {
  const client = useClient();
  const { data, error, again } = useRequest("device/list", {});
  const [invited, setInvited] = useState<DeviceInviteResult>();
  if (error) return <p className="note bad">{error}</p>;
  const own = recall("device");
  const devices = data?.devices ?? [];
  const revoke = (ids?: string[]) => void client.request("device/revoke", ids ? { ids } : {}).then(again, complain);
  return (
    <div className="stack-list">
      {data && devices.length === 0 && <p className="meta">None.</p>}
      <ul className="entries">
        {devices.map((device) => (
          <li key={device.id} className="entry">
            <div className="grow">
              <strong>{device.label}</strong> {device.id === own && <span className="meta">this browser</span>}
              <p className="meta">
                paired {fullTime(device.createdAt)} · last used {fullTime(device.lastUsedAt)}
              </p>
            </div>
            <button
              type="button"
              className="btn small danger"
              aria-label={`Revoke ${device.label}`}
              onClick={() => revoke([device.id])}
            >
              Revoke
            </button>
          </li>
        ))}
      </ul>
      <div className="row wrap">
        <button
          type="button"
          className="btn"
          onClick={() => void client.request("device/invite", {}).then(setInvited, complain)}
        >
          Pair another browser…
        </button>
        {devices.length > 1 && (
          <button type="button" className="btn plain danger" onClick={() => revoke()}>
            Revoke all, also this browser
          </button>
        )}
      </div>
      {invited && <Invitation invited={invited} />}
    </div>
  );
}

/** The addresses and the code for another browser. */
export function Invitation({ invited }: { invited: DeviceInviteResult }) {
  const { code, pageUrl, remoteUrls } = invited;
  if (!code) return <p className="note">Browsers of this machine need no code: {pageUrl}</p>;
  const addresses = [...remoteUrls, pageUrl].map((url) => `${url}#${code}`);
  return (
    <div className="note" role="status">
      <p>Open one of these within five minutes, or type {code} on the page. It works once.</p>
      <ul className="plain-list">
        {addresses.map((address) => (
          <li key={address} className="row">
            <code className="cut grow">{address}</code>
            <CopyButton text={address} label="Copy the address" />
          </li>
        ))}
      </ul>
      {remoteUrls.length === 0 && (
        <p className="meta">The server listens on its own machine only, so these are for a browser there.</p>
      )}
    </div>
  );
}
