//! Opens a file or a pasted message as the document of a Thread.
import { type FormEvent, useState } from "react";
import { identity, useClient } from "../server/context";
import { Dialog } from "../ui/Dialog";
import { message } from "../ui/toast";
import { PathField } from "./PathField";
import { reasonOf } from "./useDocument";

interface Props {
  /** The Thread; without one, the dialog starts a new one. */
  threadId?: string;
  onClose: () => void;
  onOpened: (threadId: string) => void;
}

const isMessage = (path: string) => !path.endsWith("/");

export function OpenDialog({ threadId, onClose, onOpened }: Props) {
  const client = useClient();
  const [path, setPath] = useState("");
  const [text, setText] = useState("");
  const [error, setError] = useState<{ text: string; isUnsaved: boolean }>();
  const [busy, setBusy] = useState(false);

  async function open(discard: boolean) {
    setBusy(true);
    setError(undefined);
    const source = path.trim() ? { path: path.trim() } : { text: text.replace(/\n/g, "\r") };
    // A file that cannot be opened leaves no empty Thread behind.
    const id =
      threadId ??
      (await client.request("thread/start", { identity, displayName: path.trim().split("/").at(-1) || "Message" }))
        .thread.id;
    try {
      await client.request("hermes/document/open", { threadId: id, ...source, ...(discard && { discard }) });
      onOpened(id);
    } catch (failed) {
      if (!threadId) await client.request("thread/delete", { threadId: id }).catch(() => {});
      setError({ text: message(failed), isUnsaved: reasonOf(failed) === "unsaved" });
    } finally {
      setBusy(false);
    }
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    open(false).catch((failed: unknown) => {
      setBusy(false);
      setError({ text: message(failed), isUnsaved: false });
    });
  }

  return (
    <Dialog title="Open a message" onClose={onClose}>
      <form className="sheet-form" onSubmit={submit}>
        <PathField
          label="A file on the server's machine; a relative path is one of the workspace"
          value={path}
          onValue={setPath}
          takes={isMessage}
        />
        <label className="stack">
          Or paste a message
          <textarea
            className="field mono"
            rows={6}
            value={text}
            disabled={path.trim() !== ""}
            spellCheck={false}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        {error && (
          <p className="note bad" role="alert">
            {error.text}
          </p>
        )}
        <div className="sheet-foot">
          {error?.isUnsaved && (
            <button type="button" className="btn danger" onClick={() => void open(true)}>
              Discard the changes and open
            </button>
          )}
          <button type="submit" className="btn primary" disabled={busy || (!path.trim() && !text.trim())}>
            Open
          </button>
        </div>
      </form>
    </Dialog>
  );
}
