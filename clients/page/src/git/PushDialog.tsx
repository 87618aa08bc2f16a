//! Shows what a push sends, and where to, before it does so.
import { useState } from "react";
import { useClient } from "../server/context";
import { useRequest } from "../server/useRequest";
import { markedInLine } from "../text/marked";
import { Dialog } from "../ui/Dialog";
import { plural } from "../ui/format";
import { message, say } from "../ui/toast";
import { Remote } from "./Remote";

export function PushDialog({
  thread,
  onPushed,
  onClose,
}: {
  thread?: string;
  onPushed: () => void;
  onClose: () => void;
}) {
  const client = useClient();
  const where = thread ? { threadId: thread } : {};
  const [remote, setRemote] = useState<string>();
  const { data: plan, error } = useRequest("git/push/plan", { ...where, ...(remote && { remote }) });
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string>();
  const push = async () => {
    if (!plan) return;
    setBusy(true);
    setRefused(undefined);
    const { remote, url, branch, head } = plan;
    try {
      await client.request("git/push", { ...where, remote, url, branch, head }, { timeoutMs: 0 });
      say(`Pushed to ${remote}`);
      onPushed();
      onClose();
    } catch (error) {
      setRefused(message(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Push" onClose={onClose}>
      {error && <p className="note bad">{error}</p>}
      {!plan && !error && <p className="meta">Loading…</p>}
      {plan && (
        <div className="stack-list">
          <dl className="facts">
            <div>
              <dt>To</dt>
              <dd>
                <Remote plan={plan} onChoose={setRemote} /> <code>{markedInLine(plan.url)}</code>
              </dd>
            </div>
            <div>
              <dt>Branch</dt>
              <dd>
                <code>{markedInLine(plan.branch)}</code> at <code>{plan.head.slice(0, 9)}</code>
              </dd>
            </div>
          </dl>
          <p>{plan.count === 0 ? "The remote has all commits." : plural(plan.count, "commit")}</p>
          {plan.commits.length > 0 && (
            <ul className="plain-list">
              {plan.commits.map((line) => (
                <li key={line}>
                  <code>{markedInLine(line)}</code>
                </li>
              ))}
            </ul>
          )}
          <p className="meta">
            Git runs outside of the sandbox with your keys. Hooks and other settings of the repository do not count.
            Nothing is pushed by force.
          </p>
          {refused && <pre className="note bad">{refused}</pre>}
          <div className="row">
            <span className="grow" />
            <button type="button" className="btn" onClick={onClose}>
              Cancel
            </button>
            <button type="button" className="btn primary" disabled={busy} onClick={() => void push()}>
              {busy ? "Pushing…" : "Push"}
            </button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
