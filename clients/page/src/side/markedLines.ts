//! The lines of a diff with marks in the place of what could hide or turn text.
import { markedInLine } from "../text/marked";
import type { FileDiff } from "./diff";

export function markedLines(file: FileDiff): FileDiff {
  return {
    ...file,
    hunks: file.hunks.map((hunk) => ({
      ...hunk,
      lines: hunk.lines.map((line) => ({ ...line, text: markedInLine(line.text) })),
    })),
  };
}
