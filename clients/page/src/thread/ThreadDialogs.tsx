//! Renaming and deleting a Thread.
import { type FormEvent, useState } from "react";
import { useClient } from "../server/context";
import { Dialog } from "../ui/Dialog";
import { complain } from "../ui/toast";

export function RenameDialog({ threadId, title, onClose }: { threadId: string; title: string; onClose: () => void }) {
  const client = useClient();
  const [name, setName] = useState(title);
  function submit(event: FormEvent) {
    event.preventDefault();
    client.request("thread/rename", { threadId, displayName: name }).then(onClose, complain);
  }
  return (
    <Dialog title="Rename the Thread" onClose={onClose}>
      <form className="sheet-form" onSubmit={submit}>
        <label className="stack">
          Title
          <input className="field" value={name} onChange={(event) => setName(event.target.value)} dir="auto" />
        </label>
        <div className="sheet-foot">
          <button type="submit" className="btn primary" disabled={!name.trim()}>
            Rename
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function ConfirmDelete({
  threadId,
  title,
  onClose,
  onDone,
}: {
  threadId: string;
  title: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const client = useClient();
  return (
    <Dialog title="Delete the Thread?" onClose={onClose}>
      <p>
        “{title}” goes for good, with its history and its subagents. Changes of files stay. To have it out of sight
        only, archive it.
      </p>
      <div className="sheet-foot">
        <button type="button" className="btn" onClick={onClose}>
          No
        </button>
        <button
          type="button"
          className="btn danger"
          onClick={() => void client.request("thread/delete", { threadId }).then(onDone, complain)}
        >
          Delete
        </button>
      </div>
    </Dialog>
  );
}
