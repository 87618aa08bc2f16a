//! The changed files of a Turn, inline or side by side.
import type { TurnState } from "@bobbin/client";
import { useMemo } from "react";
import { useRemembered } from "../app/remember";
import { rowsOf } from "../thread/rows";
import { between, type FileDiff, parse } from "./diff";
import { DiffTable } from "./DiffTable";

export default function Files({ turn }: { turn: TurnState }) {
  const [view, setView] = useRemembered("diff", "inline");
  const files = useMemo(() => filesOf(turn), [turn]);
  const unseen = (turn.diff?.files ?? []).filter((file) => !files.some((shown) => shown.path === file.path));
  return (
    <div className="files">
      <div className="row">
        <span className="meta grow">{turn.diff ? "" : "From the calls of the agent; what commands changed is not shown after a reload."}</span>
        <div className="tabs small" role="group" aria-label="How changes are shown">
          {["inline", "side by side"].map((name) => (
            <button key={name} type="button" aria-pressed={view === name} onClick={() => setView(name)}>
              {name}
            </button>
          ))}
        </div>
      </div>
      {files.length === 0 && unseen.length === 0 && <p className="empty">No changes are known.</p>}
      {files.map((file, index) => (
        <details key={`${file.path}${index}`} open className="file">
          <summary>
            <code className="cut grow">
              {file.oldPath && `${file.oldPath} → `}
              {file.path}
            </code>
            <span className="num meta">
              <span className="add">+{file.additions}</span> <span className="del">−{file.deletions}</span>
            </span>
          </summary>
          <DiffTable file={file} split={view === "side by side"} />
        </details>
      ))}
      {unseen.map((file) => (
        <p key={file.path} className="meta">
          <code>{file.path}</code> {file.status}, +{file.additions} −{file.deletions}; its lines are not shown
        </p>
      ))}
      {turn.diff?.truncated && <p className="note">The diff is longer than what the server sends.</p>}
    </div>
  );
}

function filesOf(turn: TurnState): FileDiff[] {
  if (turn.diff) return parsed(turn.diff.diff);
  return rowsOf([turn]).flatMap((row) => {
    if (row.kind !== "tool" || row.tool.status !== "done") return [];
    const { edit, patch } = row.tool.what;
    return edit ? [between(edit.path, edit.before, edit.after)] : patch ? parsed(patch) : [];
  });
}

function parsed(diff: string): FileDiff[] {
  try {
    return parse(diff);
  } catch {
    return [];
  }
}
