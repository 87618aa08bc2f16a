//! What a call of a file tool changes, out of its arguments.
import { useMemo } from "react";
import { CodeBlock } from "../text/CodeBlock";
import { markedInLine } from "../text/marked";
import { between, type FileDiff, parse } from "./diff";
import { DiffTable } from "./DiffTable";

export default function EditDiff({ edit, patch }: { edit?: { path: string; before: string; after: string }; patch?: string }) {
  const files = useMemo(() => {
    if (edit) {
      const file = between(edit.path, edit.before, edit.after);
      // Where a part of a file is, its text does not say.
      return [markedFile(edit.before ? withoutNumbers(file) : file)];
    }
    try {
      return parse(patch ?? "").filter((file) => file.hunks.length > 0).map(markedFile);
    } catch {
      return [];
    }
  }, [edit, patch]);
  if (files.length === 0) return <CodeBlock text={patch ?? ""} shown={markedPatch(patch ?? "")} language="diff" />;
  return (
    <>
      {files.map((file) => (
        <DiffTable key={file.path} file={file} split={false} />
      ))}
    </>
  );
}

function markedFile(file: FileDiff): FileDiff {
  return { ...file, path: markedInLine(file.path), hunks: file.hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map((line) => ({ ...line, text: markedInLine(line.text) })) })) };
}

/** A line's sign is no part of its indentation. */
const markedPatch = (patch: string) => patch.split("\n").map((line) => line.slice(0, /^[+ -]/.test(line) ? 1 : 0) + markedInLine(line.replace(/^[+ -]/, ""))).join("\n");

function withoutNumbers(file: FileDiff): FileDiff {
  return { ...file, hunks: file.hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map(({ kind, text }) => ({ kind, text })) })) };
}
