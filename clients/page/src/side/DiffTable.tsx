//! One file's changes, as one column or side by side.
import { memo, useMemo, useState } from "react";
import { useFileComments } from "./comments";
import { type FileDiff, type Line, sideBySide } from "./diff";
import { DiscardButton } from "./discard";

/** Lines of one file before the user asks for more. */
const MOST = 600;
const signs = { same: " ", add: "+", del: "−" } as const;
const spoken = { same: "", add: "added ", del: "removed " } as const;

export const DiffTable = memo(function DiffTable({ file, split }: { file: FileDiff; split: boolean }) {
  const [all, setAll] = useState(false);
  const total = useMemo(() => file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0), [file]);
  const shown = useMemo(() => (all ? file.hunks : cut(file.hunks)), [all, file]);
  if (total === 0) return <p className="meta diff-none">No lines to show.</p>;
  return (
    <div className="diff-scroll" tabIndex={0} role="group" aria-label={`Changes of ${file.path}`}>
      <table className={split ? "diff split" : "diff"}>
        {shown.map((hunk, index) => (
          <tbody key={index}>
            {(index > 0 || file.hunks.length > 1) && (
              <tr className="hunk">
                <td colSpan={split ? 4 : 3}>
                  <div className="row">
                    <span className="grow">{hunk.header}</span>
                    {file.hunks.length > 1 && (
                      <DiscardButton patch={hunk.patch} what={`lines ${hunk.header} of ${file.path}`} />
                    )}
                  </div>
                </td>
              </tr>
            )}
            {split
              ? sideBySide(hunk.lines).map(([before, after]) => (
                  <SplitRow key={`${name(before)} ${name(after)}`} before={before} after={after} />
                ))
              : hunk.lines.map((line) => <UnifiedRow key={name(line)} line={line} />)}
          </tbody>
        ))}
      </table>
      {!all && total > MOST && (
        <button type="button" className="btn small" data-more={total - MOST} onClick={() => setAll(true)}>
          Show all {total.toLocaleString()} lines
        </button>
      )}
    </div>
  );
});

function cut(hunks: FileDiff["hunks"]): FileDiff["hunks"] {
  let left = MOST;
  const shown = [];
  for (const hunk of hunks) {
    if (left <= 0) break;
    shown.push(hunk.lines.length > left ? { ...hunk, lines: hunk.lines.slice(0, left) } : hunk);
    left -= hunk.lines.length;
  }
  return shown;
}

/** Returns a key that no other line of the file has. */
const name = (line?: Line) => (line ? `${line.kind} ${line.before ?? ""} ${line.after ?? ""}` : "");

function UnifiedRow({ line }: { line: Line }) {
  const { opens, row } = useComment(line, 3);
  return (
    <>
      <tr className={line.kind}>
        <td className="no" data-no={line.before} />
        <td className="no" data-no={line.after}>
          {opens}
        </td>
        <Code line={line} />
      </tr>
      {row}
    </>
  );
}

function SplitRow({ before, after }: { before?: Line; after?: Line }) {
  const left = useComment(before?.kind === "del" ? before : undefined, 4);
  const right = useComment(after, 4);
  return (
    <>
      <tr>
        <td className={`no ${before?.kind ?? "none"}`} data-no={before?.before}>
          {left.opens}
        </td>
        <Code line={before} />
        <td className={`no ${after?.kind ?? "none"}`} data-no={after?.after}>
          {right.opens}
        </td>
        <Code line={after} />
      </tr>
      {left.row}
      {right.row}
    </>
  );
}

/** The button that opens the comment on a line, and the row with the comment. */
function useComment(line: Line | undefined, columns: number) {
  const comments = useFileComments();
  const [open, setOpen] = useState(false);
  if (!comments || !line) return {};
  const comment = comments.of(line);
  const label = `Comment on ${line.kind === "del" ? "removed line" : "line"} ${line.after ?? line.before}`;
  const opens = (
    <button type="button" className="comment-opens" aria-label={label} onClick={() => setOpen(true)}>
      +
    </button>
  );
  const row = (open || comment) && (
    <tr className="comment">
      <td colSpan={columns}>
        <textarea
          className="field"
          autoFocus={open}
          rows={2}
          aria-label={label}
          placeholder="What should the agent do here?"
          defaultValue={comment?.text}
          onBlur={({ target: { value } }) => {
            if (value !== (comment?.text ?? "")) comments.put(line, value);
            setOpen(false);
          }}
        />
      </td>
    </tr>
  );
  return { opens, row };
}

function Code({ line }: { line?: Line }) {
  if (!line) return <td className="code none" />;
  return (
    <td className={`code ${line.kind}`} data-sign={signs[line.kind]}>
      {spoken[line.kind] && <span className="sr">{spoken[line.kind]}</span>}
      {line.text}
    </td>
  );
}
