//! What a call of a file tool changes, out of its arguments.
import { useMemo } from "react";
import { CodeBlock } from "../text/CodeBlock";
import { markedInLine } from "../text/marked";
import type { Edit } from "../thread/tools";
import { between, type FileDiff } from "./diff";
import { DiffTable } from "./DiffTable";

/** A patch is shown as its text: another reader than the server's could find another change in it. */
export default function EditDiff({ edit, patch = "" }: { edit?: Edit; patch?: string }) {
  const file = useMemo(() => {
    if (!edit) return null;
    const file = between(edit.path, edit.before, edit.after);
    // Where a part of a file is, its text does not say.
    return markedFile(edit.before ? withoutNumbers(file) : file);
  }, [edit]);
  if (!file) return <CodeBlock text={patch} shown={markedPatch(patch)} language="diff" />;
  return (
    <>
      {edit?.everywhere && <p className="meta">In every place that has this text:</p>}
      <DiffTable file={file} split={false} />
    </>
  );
}

function markedFile(file: FileDiff): FileDiff {
  return {
    ...file,
    path: markedInLine(file.path),
    hunks: file.hunks.map((hunk) => ({
      ...hunk,
      lines: hunk.lines.map((line) => ({ ...line, text: markedInLine(line.text) })),
    })),
  };
}

/** A line's sign is no part of its indentation. */
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
