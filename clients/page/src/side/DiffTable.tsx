//! One file's changes, as one column or side by side.
import { memo, useMemo, useState } from "react";
import { useFileComments } from "./comments";
import { type FileDiff, type Hunk, type Line, sideBySide } from "./diff";
import { DiscardButton } from "./discard";

/** Rows of one file at first, and rows that each request of the user adds. */
const FIRST = 600;
const STEP = 1000;
/** Rows of one table, whose layout is its own. */
const CHUNK = 100;
const signs = { same: " ", add: "+", del: "−" } as const;
const spoken = { same: "", add: "added ", del: "removed " } as const;

type Row = [before: Line | undefined, after: Line | undefined];

interface Rows {
  /** How many rows are before these. */
  start: number;
  /** The hunk whose first rows these are, if it has a head. */
  hunk?: Hunk;
  rows: Row[];
}

export const DiffTable = memo(function DiffTable({ file, split }: { file: FileDiff; split: boolean }) {
  const [most, setMost] = useState(FIRST);
  const { chunks, total, digits } = useMemo(() => chunked(file, split), [file, split]);
  const shown = chunks.filter(({ start }) => start < most);
  const left = total - shown.reduce((sum, { rows }) => sum + rows.length, 0);
  if (total === 0) return <p className="meta diff-none">No lines to show.</p>;
  return (
    <div className="diff-scroll" tabIndex={0} role="group" aria-label={`Changes of ${file.path}`}>
      {shown.map((chunk, index) => (
        <Chunk key={index} chunk={chunk} split={split} digits={digits} path={file.path} />
      ))}
      {left > 0 && (
        <button type="button" className="btn small" data-more={left} onClick={() => setMost(most + STEP)}>
          Show {Math.min(left, STEP).toLocaleString()} of {left.toLocaleString()} more lines
        </button>
      )}
    </div>
  );
});

function chunked({ hunks }: FileDiff, split: boolean) {
  const chunks: Rows[] = [];
  let [total, last] = [0, 0];
  for (const hunk of hunks) {
    const rows: Row[] = split ? sideBySide(hunk.lines) : hunk.lines.map((line): Row => [line, undefined]);
    for (const { before = 0, after = 0 } of hunk.lines.slice(-1)) last = Math.max(last, before, after);
    for (let at = 0; at < rows.length; at += CHUNK)
      chunks.push({
        start: total + at,
        rows: rows.slice(at, at + CHUNK),
        ...(at === 0 && hunks.length > 1 && { hunk }),
      });
    total += rows.length;
  }
  return { chunks, total, digits: Math.max(3, String(last).length) };
}

interface ChunkProps {
  chunk: Rows;
  split: boolean;
  digits: number;
  path: string;
}

const Chunk = memo(function Chunk({ chunk: { hunk, rows }, split, digits, path }: ChunkProps) {
  const number = <col style={{ width: `calc(${digits}ch + 12px)` }} />;
  return (
    <table className={split ? "diff split" : "diff"}>
      <colgroup>
        {number}
        {split && <col />}
        {number}
        <col />
      </colgroup>
      <tbody>
        {hunk && (
          <tr className="hunk">
            <td colSpan={split ? 4 : 3}>
              <div className="row">
                <span className="grow">{hunk.header}</span>
                <DiscardButton patch={hunk.patch} what={`lines ${hunk.header} of ${path}`} />
              </div>
            </td>
          </tr>
        )}
        {rows.map(([before, after]) =>
          split ? (
            <SplitRow key={`${name(before)} ${name(after)}`} before={before} after={after} />
          ) : (
            before && <UnifiedRow key={name(before)} line={before} />
          ),
        )}
      </tbody>
    </table>
  );
});

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
