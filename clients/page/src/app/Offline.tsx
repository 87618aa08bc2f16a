//! A bar that says why there is no connection, and when the next attempt starts.
import { useEffect, useState } from "react";
import { useClient, useStatus } from "../server/context";

export function Offline() {
  const client = useClient();
  const status = useStatus();
  const [now, setNow] = useState(Date.now());
  const waits = status.state === "waiting";
  useEffect(() => {
    if (!waits) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [waits]);

  const text =
    status.state === "waiting"
      ? `No connection: ${status.reason.message} ${status.attempt > 3 ? "If it has ended, start it again: bobbin, in its workspace. " : ""}What you write and send is stored here. Next attempt in ${Math.max(0, Math.ceil((status.retryAt - now) / 1000))} s.`
      : status.state === "connecting" && status.attempt > 1
        ? "Connecting again…"
        : "";
  return (
    <div role="status" className={text ? "offline" : undefined}>
      {text && (
        <>
          <span className="grow">{text}</span>
          <button type="button" className="btn small" onClick={() => client.wake()}>
            Connect now
          </button>
        </>
      )}
    </div>
  );
}
