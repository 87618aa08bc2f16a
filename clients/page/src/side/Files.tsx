//! The changed files of a Turn, in one column or side by side.
import type { TurnState } from "@bobbin/client";
import { useMemo } from "react";
import { useRemembered } from "../app/remember";
import { useActions } from "../server/threads";
import { type FileDiff, parse } from "./diff";
import { DiffTable } from "./DiffTable";
import { useDiff } from "./useDiff";

export default function Files({ turn }: { turn: TurnState }) {
  const { threadId } = useActions();
  const [view, setView] = useRemembered("diff", "inline");
  const { diff, error } = useDiff(turn, threadId);
  const files = useMemo(() => parsed(diff?.diff ?? ""), [diff]);
  if (error) return <p className="note bad">{error}</p>;
  if (!diff) return <p className="meta">Loading…</p>;
  const unseen = (diff.files ?? []).filter((file) => !files.some((shown) => shown.path === file.path));
  return (
    <div className="files">
      <div className="row">
        <span className="grow" />
        <div className="tabs small" role="group" aria-label="How changes are shown">
          {["inline", "side by side"].map((name) => (
            <button key={name} type="button" aria-pressed={view === name} onClick={() => setView(name)}>
              {name}
            </button>
          ))}
        </div>
      </div>
      {files.length === 0 && unseen.length === 0 && <p className="empty">This Turn changed no files.</p>}
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
      {diff.truncated && <p className="note">The diff is longer than what the server sends.</p>}
    </div>
  );
}

function parsed(diff: string): FileDiff[] {
  try {
    return parse(diff);
  } catch {
    return [];
  }
}
