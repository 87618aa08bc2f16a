//! The changed files of a Turn, in one column or side by side.
import type { TurnState } from "@bobbin/client";
import { useMemo } from "react";
import { useRemembered } from "../app/remember";
import { links } from "../app/route";
import { focusComposer } from "../compose/focus";
import { useActions } from "../server/threads";
import { Commenting, prompt, useComments } from "./comments";
import { parsed } from "./diff";
import { DiffTable } from "./DiffTable";
import { DiscardButton, Discarding, useDiscard } from "./discard";
import { Folded } from "./Folded";
import { Layout } from "./Layout";
import { markedLines } from "./markedLines";
import { markedInLine } from "../text/marked";
import { useDiff } from "./useDiff";

export default function Files({ turn }: { turn: TurnState }) {
  const { threadId, write } = useActions();
  const comments = useComments(`${threadId}.${turn.id}`);
  const discard = useDiscard(threadId);
  const [view, setView] = useRemembered("diff", "inline");
  const { diff, error } = useDiff(turn, threadId);
  const files = useMemo(() => parsed(diff?.diff ?? "").map(markedLines), [diff]);
  if (error) return <p className="note bad">{error}</p>;
  if (!diff) return <p className="meta">Loading…</p>;
  const unseen = (diff.files ?? []).filter((file) => !files.some((shown) => shown.path === file.path));
  return (
    <div className="files">
      <div className="row">
        <span className="grow" />
        <Layout view={view} onView={setView} />
      </div>
      {comments.all.length > 0 && (
        <div className="row wrap">
          <span className="grow meta">
            {comments.all.length} {comments.all.length === 1 ? "comment" : "comments"}
          </span>
          <button type="button" className="btn small" onClick={comments.clear}>
            Discard
          </button>
          <button
            type="button"
            className="btn small primary"
            onClick={() => {
              write(prompt(comments.all));
              comments.clear();
              focusComposer();
            }}
          >
            To the agent…
          </button>
        </div>
      )}
      {files.length === 0 && unseen.length === 0 && <p className="empty">This Turn changed no files.</p>}
      <Discarding value={discard}>
        {files.map((file, index) => (
          <Commenting key={`${file.path}${index}`} file={file} comments={comments}>
            <Folded
              name={file.path}
              open
              head={
                <>
                  <a className="cut grow" href={links.file(file.path)}>
                    <code>{markedInLine(file.oldPath ? `${file.oldPath} → ${file.path}` : file.path)}</code>
                  </a>
                  <span className="num meta">
                    <span className="add">+{file.additions}</span> <span className="del">−{file.deletions}</span>
                  </span>
                  <DiscardButton patch={file.patch} what={`the changes of ${file.path}`} />
                </>
              }
            >
              <DiffTable file={file} split={view === "side by side"} />
            </Folded>
          </Commenting>
        ))}
      </Discarding>
      {unseen.map((file) => (
        <p key={file.path} className="meta">
          <code>{file.path}</code> {file.status}, +{file.additions} −{file.deletions}; its lines are not shown
        </p>
      ))}
      {diff.truncated && <p className="note">The diff is longer than what the server sends.</p>}
    </div>
  );
}
