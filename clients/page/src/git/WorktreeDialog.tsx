//! The worktree of a Thread: what is in it, and its removal.
import { useState } from "react";
import { links } from "../app/route";
import { groupOf } from "../compare/attempts";
import { useClient } from "../server/context";
import { useRequest } from "../server/useRequest";
import { markedInLine } from "../text/marked";
import { Dialog } from "../ui/Dialog";
import { plural } from "../ui/format";
import { message, say } from "../ui/toast";
import { TakeDialog } from "./TakeDialog";

export function WorktreeDialog({ threadId, onClose }: { threadId: string; onClose: () => void }) {
  const client = useClient();
  const { data, error } = useRequest("worktree/status", { threadId });
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string>();
  const status = data?.status;
  const own =
    status &&
    [
      status.hasUncommittedChanges && "uncommitted changes",
      status.aheadCount > 0 && `${plural(status.aheadCount, "commit")} of its own`,
    ].filter(Boolean);
  const [taking, setTaking] = useState(false);
  const group = status && groupOf(status.worktree.branchName);
  if (taking) return <TakeDialog threadId={threadId} onTaken={() => {}} onClose={onClose} />;
  const remove = async () => {
    setBusy(true);
    setRefused(undefined);
    try {
      const { branchRemains } = await client.request("worktree/remove", { threadId, force: Boolean(own?.length) });
      say(branchRemains ? `Removed; the branch ${status?.branchName} is still there` : "Removed");
      onClose();
    } catch (error) {
      setRefused(message(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Worktree" onClose={onClose}>
      {error && <p className="note bad">{error}</p>}
      {!status && !error && <p className="meta">Loading…</p>}
      {status && (
        <div className="stack-list">
          <dl className="facts">
            <div>
              <dt>Branch</dt>
              <dd>
                <a href={links.changes(threadId)} onClick={onClose}>
                  <code>{markedInLine(status.branchName)}</code>
                </a>
              </dd>
            </div>
            <div>
              <dt>Directory</dt>
              <dd>
                <code>{markedInLine(status.path)}</code>
              </dd>
            </div>
          </dl>
          {own && own.length > 0 ? (
            <p className="note">It has {own.join(" and ")}. A removal loses what is not committed.</p>
          ) : (
            <p>Nothing in it differs from where it started.</p>
          )}
          {refused && <p className="note bad">{refused}</p>}
          <div className="row">
            {group && (
              <a href={links.compare(group)} onClick={onClose}>
                Compare
              </a>
            )}
            <span className="grow" />
            <button type="button" className="btn" disabled={!status.exists} onClick={() => setTaking(true)}>
              Take the changes…
            </button>
            <button
              type="button"
              className="btn danger"
              disabled={busy || !status.exists}
              onClick={() => void remove()}
            >
              {own?.length ? "Remove all the same" : "Remove"}
            </button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
