//! Shows a Turn's changes to files, and undoes them.
import { RpcError, type TurnState, type RevertedFile } from "@bobbin/client";
import { useState } from "react";
import { useClient } from "../server/context";
import { TurnDiff } from "../side/TurnDiff";
import { useDiff } from "../side/useDiff";
import { Dialog } from "../ui/Dialog";
import { plural } from "../ui/format";
import { message } from "../ui/toast";

type Phase =
  | { at: "asking" }
  | { at: "working" }
  | { at: "done"; files: RevertedFile[]; notes: string[] }
  | { at: "refused"; why: string; files?: string[] };

export function UndoDialog({ turn, threadId, onClose }: { turn: TurnState; threadId: string; onClose: () => void }) {
  const client = useClient();
  const { diff } = useDiff(turn, threadId);
  const nothing = diff && !diff.diff && !diff.files?.length;
  const [phase, setPhase] = useState<Phase>({ at: "asking" });

  function undo(force: boolean) {
    setPhase({ at: "working" });
    client.request("turn/revert", { threadId, turnId: turn.id, ...(force && { force }) }).then(
      ({ files, notes }) => setPhase({ at: "done", files, notes: notes ?? [] }),
      (error: unknown) => {
        const data = error instanceof RpcError ? error.data : undefined;
        setPhase({
          at: "refused",
          why: message(error),
          ...(data?.reason === "filesChanged" && Array.isArray(data.files) && { files: data.files.map(String) }),
        });
      },
    );
  }

  return (
    <Dialog title="Undo the file changes of this Turn" wide onClose={onClose}>
      {phase.at === "done" ? (
        <>
          <p>
            {phase.files.length ? `${plural(phase.files.length, "file")} put back:` : "There was nothing to put back."}
          </p>
          <ul className="plain-list">
            {phase.files.map((file) => (
              <li key={file.path}>
                <code>{file.path}</code> <span className="meta">{file.action}</span>
              </li>
            ))}
          </ul>
          {phase.notes.map((note) => (
            <p key={note} className="note">
              {note}
            </p>
          ))}
        </>
      ) : nothing ? (
        <p>This Turn changed no files.</p>
      ) : (
        <>
          <p>The conversation stays. These changes are taken out of the files, all of them or none:</p>
          <TurnDiff turn={turn} />
        </>
      )}
      {phase.at === "refused" && (
        <div className="note bad" role="alert">
          <p>{phase.why}</p>
          {phase.files && (
            <ul className="plain-list">
              {phase.files.map((file) => (
                <li key={file}>
                  <code>{file}</code>
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
      <div className="sheet-foot">
        <button type="button" className="btn" onClick={onClose}>
          {phase.at === "done" || nothing ? "Close" : "Leave them"}
        </button>
        {phase.at === "refused" && phase.files && (
          <button type="button" className="btn danger" onClick={() => undo(true)}>
            Undo, and lose what was done to these files since
          </button>
        )}
        {!nothing && (phase.at === "asking" || phase.at === "working") && (
          <button type="button" className="btn primary" disabled={phase.at === "working"} onClick={() => undo(false)}>
            Undo
          </button>
        )}
      </div>
    </Dialog>
  );
}
