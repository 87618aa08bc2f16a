//! The head of a document: its name, undo and redo, saving and closing.
import { type FormEvent, useEffect, useState } from "react";
import { go, links } from "../app/route";
import { useClient } from "../server/context";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { complain, message, say } from "../ui/toast";
import { fileName } from "./names";
import { PathField } from "./PathField";
import { type Live, type Open, reasonOf } from "./useDocument";

interface Props {
  id: string;
  live: Live;
  open: Open;
  /** The author of the last change, unless this page made it. */
  by: string | undefined;
  before: () => Promise<boolean>;
}

export function DocumentHead({ id, live, open: { status }, by, before }: Props) {
  const client = useClient();
  const [dialog, setDialog] = useState<{ at: "saveAs"; why?: string } | { at: "close" } | null>(null);

  async function step(direction: "undo" | "redo") {
    if (!(await before())) return;
    try {
      await live.own(
        status.version + 1,
        client.request(`hermes/document/${direction}`, { threadId: id, version: status.version }),
      );
    } catch (error) {
      if (reasonOf(error) !== "conflict") throw error;
      await live.refresh();
      say("The message was changed meanwhile. Look at it, and try again.");
    }
  }

  async function save() {
    if (!(await before())) return;
    if (!status.filePath) return setDialog({ at: "saveAs" });
    try {
      await live.own(status.version, client.request("hermes/document/save", { threadId: id }));
    } catch (error) {
      if (reasonOf(error) === "changedOnDisk") setDialog({ at: "saveAs", why: message(error) });
      else throw error;
    }
  }

  async function close(discard: boolean) {
    if (!discard && !(await before())) return;
    try {
      await client.request("hermes/document/close", { threadId: id, discard });
      go(links.documents);
    } catch (error) {
      if (reasonOf(error) === "unsaved") setDialog({ at: "close" });
      else throw error;
    }
  }

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || document.querySelector("dialog:modal")) return;
      const key = event.key.toLowerCase();
      const typing = (event.target as HTMLElement).matches("input, textarea");
      const act =
        key === "s"
          ? save
          : typing
            ? undefined
            : key === "z"
              ? () => step(event.shiftKey ? "redo" : "undo")
              : key === "y"
                ? () => step("redo")
                : undefined;
      if (!act) return;
      event.preventDefault();
      void act().catch(complain);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  return (
    <header className="bar">
      <a className="btn plain icon" href={links.documents} aria-label="Back to the documents">
        <Icon name="back" />
      </a>
      <h1 className="cut" title={status.filePath ?? undefined}>
        {fileName(status)}
      </h1>
      <span className="meta cut grow hl7-state" role="status">
        {status.dirty ? <span className="hl7-dirty">not saved</span> : "saved"} · version {status.version}
        {status.encoding !== "UTF-8" && ` · ${status.encoding}`}
        {by && ` · changed by ${by}`}
      </span>
      <button
        type="button"
        className="btn plain icon"
        aria-label="Undo"
        title="Undo (Ctrl+Z)"
        disabled={status.undoSteps === 0}
        onClick={() => void step("undo").catch(complain)}
      >
        <Icon name="undo" />
      </button>
      <button
        type="button"
        className="btn plain icon hl7-redo"
        aria-label="Redo"
        title="Redo (Ctrl+Y)"
        disabled={status.redoSteps === 0}
        onClick={() => void step("redo").catch(complain)}
      >
        <Icon name="undo" />
      </button>
      <button
        type="button"
        className="btn primary"
        title="Ctrl+S"
        disabled={!status.dirty && status.filePath !== undefined}
        onClick={() => void save().catch(complain)}
      >
        Save
      </button>
      <Menu
        label="More"
        entries={[
          { label: "Save as…", run: () => setDialog({ at: "saveAs" }) },
          { label: "To the conversation", run: () => go(links.thread(id)) },
          { label: "Close", run: () => void close(false).catch(complain) },
        ]}
      >
        <Icon name="more" />
      </Menu>
      {dialog?.at === "saveAs" && (
        <SaveAs id={id} why={dialog.why} path={status.filePath ?? ""} onClose={() => setDialog(null)} />
      )}
      {dialog?.at === "close" && (
        <Dialog title="Close without saving?" onClose={() => setDialog(null)}>
          <p>The changes of {fileName(status)} are not saved. They go when it is closed.</p>
          <div className="sheet-foot">
            <button type="button" className="btn" onClick={() => setDialog(null)}>
              No
            </button>
            <button type="button" className="btn danger" onClick={() => void close(true).catch(complain)}>
              Discard the changes
            </button>
          </div>
        </Dialog>
      )}
    </header>
  );
}

function SaveAs({ id, why, path, onClose }: { id: string; why?: string; path: string; onClose: () => void }) {
  const client = useClient();
  const [to, setTo] = useState(path);
  const [error, setError] = useState(why);
  // The path of an existing file, once the user was asked about it.
  const [taken, setTaken] = useState(why === undefined ? undefined : path);
  const replace = to.trim() !== "" && to.trim() === taken;
  function submit(event: FormEvent) {
    event.preventDefault();
    client
      .request("hermes/document/save", { threadId: id, path: to.trim(), replace })
      .then(onClose, (failed: unknown) => {
        const reason = reasonOf(failed);
        if (reason === "exists" || reason === "changedOnDisk") setTaken(to.trim());
        setError(message(failed));
      });
  }
  return (
    <Dialog title="Save as" onClose={onClose}>
      <form className="sheet-form" onSubmit={submit}>
        <PathField
          label="Path on the server's machine; a relative one is of the workspace"
          value={to}
          onValue={setTo}
        />
        {error && (
          <p className="note bad" role="alert">
            {error}
          </p>
        )}
        <div className="sheet-foot">
          <button type="submit" className={replace ? "btn danger" : "btn primary"} disabled={!to.trim()}>
            {replace ? "Replace the file" : "Save"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
