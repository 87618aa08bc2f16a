//! The end of a Turn: its outcome, its cost, and its changes to files.
import type { TurnState } from "@bobbin/client";
import { memo } from "react";
import { useActions } from "../../server/threads";
import { CopyButton } from "../../text/CodeBlock";
import { useMay, useServer } from "../../server/context";
import { between, count, duration, money, plural } from "../../ui/format";
import { filesChanged, mayUndo } from "../../side/turnChanges";

const ends: Record<string, string> = { failed: "Failed", cancelled: "Stopped" };

export const TurnEnd = memo(function TurnEnd({ turn }: { turn: TurnState }) {
  const { showChanges, askUndo, fork, again } = useActions();
  const mayUndoAny = useMay("owner");
  const mayPrompt = useMay("author");
  const canUndo = useServer()?.capabilities.turnRevert === true && mayUndoAny;
  const { tokenUsage: usage } = turn;
  const files = filesChanged(turn);
  const said = turn.items.some((item) => item.type === "error" && item.payload.message === turn.error);
  const answer = turn.items.findLast((item) => item.type === "agentMessage")?.payload.text;
  const facts = [
    duration(between(turn.startedAt, turn.completedAt)),
    usage &&
      `${count(usage.inputTokens)} in${usage.cachedInputTokens ? ` (${count(usage.cachedInputTokens)} cached)` : ""}, ${count(usage.outputTokens)} out`,
    turn.cost !== undefined && money(turn.cost),
  ];
  return (
    <div className="turn-end">
      {turn.error && !said && <p className="note bad">{turn.error}</p>}
      <p className="row wrap meta num">
        {ends[turn.status] && (
          <strong className={turn.status === "failed" ? "del" : undefined}>{ends[turn.status]}</strong>
        )}
        <span>{facts.filter(Boolean).join(" · ")}</span>
        {turn.status === "failed" && mayPrompt && (
          <button type="button" className="btn plain small" onClick={() => again(turn)}>
            Try again
          </button>
        )}
        {answer && <CopyButton text={answer} label="Copy the answer" />}
        {files > 0 && (
          <button type="button" className="btn plain small" onClick={() => showChanges(turn.id)}>
            {plural(files, "file")} changed
          </button>
        )}
        {turn.reverted ? (
          <span>undone</span>
        ) : (
          canUndo &&
          mayUndo(turn) && (
            <button type="button" className="btn plain small" onClick={() => askUndo(turn.id)}>
              Undo…
            </button>
          )
        )}
        {mayPrompt && (
          <button
            type="button"
            className="btn plain small on-hover"
            title="A new Thread with the conversation up to here"
            onClick={() => fork(turn.id)}
          >
            Fork
          </button>
        )}
      </p>
    </div>
  );
});
