//! What a call of a file tool changes, out of its arguments.
import { useMemo } from "react";
import { CodeBlock } from "../text/CodeBlock";
import { between, type FileDiff, parse } from "./diff";
import { DiffTable } from "./DiffTable";

export default function EditDiff({ edit, patch }: { edit?: { path: string; before: string; after: string }; patch?: string }) {
  const files = useMemo(() => {
    if (edit) {
      const file = between(edit.path, edit.before, edit.after);
      // Where a part of a file is, its text does not say.
      return [edit.before ? withoutNumbers(file) : file];
    }
    try {
      return parse(patch ?? "").filter((file) => file.hunks.length > 0);
    } catch {
      return [];
    }
  }, [edit, patch]);
  if (files.length === 0) return <CodeBlock text={patch ?? ""} language="diff" />;
  return (
    <>
      {files.map((file) => (
        <DiffTable key={file.path} file={file} split={false} />
      ))}
    </>
  );
}

function withoutNumbers(file: FileDiff): FileDiff {
  return { ...file, hunks: file.hunks.map((hunk) => ({ ...hunk, lines: hunk.lines.map(({ kind, text }) => ({ kind, text })) })) };
}
