//! Shows where a fetch reads before it does so.
import { useState } from "react";
import { useClient } from "../server/context";
import { useRequest } from "../server/useRequest";
import { markedInLine } from "../text/marked";
import { Dialog } from "../ui/Dialog";
import { plural } from "../ui/format";
import { message, say } from "../ui/toast";
import { Remote } from "./Remote";

interface Props {
  thread?: string;
  onFetched: () => void;
  onClose: () => void;
}

export function FetchDialog({ thread, onFetched, onClose }: Props) {
  const client = useClient();
  const where = thread ? { threadId: thread } : {};
  const [remote, setRemote] = useState<string>();
  const { data: plan, error } = useRequest("git/fetch/plan", { ...where, ...(remote && { remote }) });
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string>();
  const fetch = async () => {
    if (!plan) return;
    setBusy(true);
    setRefused(undefined);
    const { remote, url } = plan;
    try {
      const { behind } = await client.request("git/fetch", { ...where, remote, url }, { timeoutMs: 0 });
      say(behind > 0 ? `${plural(behind, "new commit")} for this branch` : `Fetched from ${remote}`);
      onFetched();
      onClose();
    } catch (error) {
      setRefused(message(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Fetch" onClose={onClose}>
      {error && <p className="note bad">{error}</p>}
      {!plan && !error && <p className="meta">Loading…</p>}
      {plan && (
        <div className="stack-list">
          <p>
            From <Remote plan={plan} onChoose={setRemote} /> <code>{markedInLine(plan.url)}</code>
          </p>
          <p className="meta">
            Git runs outside of the sandbox with your keys. Settings of the repository do not count. No file changes.
          </p>
          {refused && <pre className="note bad">{refused}</pre>}
          <div className="row">
            <span className="grow" />
            <button type="button" className="btn" onClick={onClose}>
              Cancel
            </button>
            <button type="button" className="btn primary" disabled={busy} onClick={() => void fetch()}>
              {busy ? "Fetching…" : "Fetch"}
            </button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
