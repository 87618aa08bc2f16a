//! Takes the changes of a worktree into the folder, and removes the other attempts if the user says so.
import { useState } from "react";
import { useClient } from "../server/context";
import { Dialog } from "../ui/Dialog";
import { plural } from "../ui/format";
import { complain, message, say } from "../ui/toast";
import { useRepository } from "./status";

interface Props {
  threadId: string;
  /** The Threads of other attempts at the same task. */
  others?: readonly string[];
  onTaken: () => void;
  onClose: () => void;
}

export function TakeDialog({ threadId, others = [], onTaken, onClose }: Props) {
  const client = useClient();
  const { again } = useRepository();
  const [clean, setClean] = useState(others.length > 0);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string>();
  const take = async () => {
    setBusy(true);
    setRefused(undefined);
    try {
      const { files } = await client.request("worktree/apply", { threadId }, { timeoutMs: 0 });
      if (files === 0) {
        setRefused("This worktree has no changes.");
        setBusy(false);
        return;
      }
      say(`${plural(files, "file")} changed in the folder`);
    } catch (error) {
      setRefused(message(error));
      setBusy(false);
      return;
    }
    if (clean)
      for (const other of others)
        await client.request("worktree/remove", { threadId: other, force: true }, { timeoutMs: 0 }).catch(complain);
    again();
    onTaken();
    onClose();
  };
  return (
    <Dialog title="Take the changes" onClose={() => busy || onClose()}>
      <div className="stack-list">
        <p>
          What this Thread has changed in its worktree, committed or not, comes into the folder as uncommitted changes.
          Its worktree stays as it is.
        </p>
        {others.length > 0 && (
          <label className="check">
            <input type="checkbox" checked={clean} onChange={(event) => setClean(event.target.checked)} />
            Remove the {others.length === 1 ? "other worktree" : `other ${others.length} worktrees`} with all changes in
            {others.length === 1 ? " it" : " them"}
          </label>
        )}
        {refused && <pre className="note bad">{refused}</pre>}
        <div className="row">
          <span className="grow" />
          <button type="button" className="btn" disabled={busy} onClick={onClose}>
            Cancel
          </button>
          <button type="button" className="btn primary" disabled={busy} onClick={() => void take()}>
            {busy ? "Taking…" : "Take"}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
