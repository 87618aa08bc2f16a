//! The change that a call of a file tool makes, as its arguments say.
import { useMemo } from "react";
import { CodeBlock } from "../text/CodeBlock";
import { markedInLine } from "../text/marked";
import type { Edit } from "../thread/tools";
import { between, type FileDiff } from "./diff";
import { DiffTable } from "./DiffTable";
import { markedLines } from "./markedLines";

/** A patch is shown as text, since another parser than the server's could read another change in it. */
export default function EditDiff({ edit, patch = "" }: { edit?: Edit; patch?: string }) {
  const file = useMemo(() => {
    if (!edit) return null;
    const file = between(edit.path, edit.before, edit.after);
    // The text of a part does not say its line number.
    return { ...markedLines(edit.before ? withoutNumbers(file) : file), path: markedInLine(file.path) };
  }, [edit]);
  if (!file) return <CodeBlock text={patch} shown={markedPatch(patch)} language="diff" />;
  return (
    <>
      {edit?.everywhere && <p className="meta">In every place that has this text:</p>}
      <DiffTable file={file} split={false} />
    </>
  );
}

/** Marks a line behind its sign, which is no part of its indentation. */
const markedPatch = (patch: string) =>
  patch
    .split("\n")
    .map((line) => line.slice(0, /^[+ -]/.test(line) ? 1 : 0) + markedInLine(line.replace(/^[+ -]/, "")))
    .join("\n");

function withoutNumbers(file: FileDiff): FileDiff {
  return {
    ...file,
    hunks: file.hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map(({ kind, text }) => ({ kind, text })) })),
  };
}
