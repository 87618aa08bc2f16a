//! Unified diffs as lines for the page.
import { parsePatch, structuredPatch, type StructuredPatch } from "diff";

/** Most changed lines in a comparison. Its time grows with their square: 2,000 take a third of a second. */
const MOST_EDITS = 2000;

export interface Line {
  kind: "same" | "add" | "del";
  text: string;
  before?: number;
  after?: number;
}

export interface FileDiff {
  path: string;
  oldPath?: string;
  hunks: Hunk[];
  additions: number;
  deletions: number;
  /** The text of the diff that is about this file. */
  patch?: string;
}

export interface Hunk {
  header: string;
  lines: Line[];
  /** A diff of these lines alone. */
  patch?: string;
}

/** As [`parse`]; a text that is no diff has no files. */
export function parsed(diff: string): FileDiff[] {
  try {
    return parse(diff);
  } catch {
    return [];
  }
}

export function parse(diff: string): FileDiff[] {
  return sections(diff).flatMap((section) => {
    const files = parsePatch(section)
      .map(fileOf)
      .filter(({ path }) => path);
    return files.length === 1 ? files.map((file) => withText(file, section)) : files;
  });
}

/** Cuts a diff into the parts that are about one file. */
function sections(diff: string): string[] {
  const starts = positions(diff, "diff --git ");
  if (starts[0] !== 0) starts.unshift(0);
  return starts.map((start, index) => diff.slice(start, starts[index + 1]));
}

/** Returns the places of lines with these first letters. Lines of a file have a sign before them. */
function positions(text: string, letters: string): number[] {
  const all = text.startsWith(letters) ? [0] : [];
  for (let at = text.indexOf(`\n${letters}`); at >= 0; at = text.indexOf(`\n${letters}`, at + 1)) all.push(at + 1);
  return all;
}

function withText(file: FileDiff, patch: string): FileDiff {
  const starts = positions(patch, "@@ ");
  if (!patch.startsWith("diff --git ") || starts.length !== file.hunks.length || starts.length === 0) return file;
  const head = patch.slice(0, starts[0]);
  const hunks = file.hunks.map((hunk, index) => ({
    ...hunk,
    patch: head + patch.slice(starts[index], starts[index + 1]),
  }));
  return { ...file, patch, hunks };
}

/** Returns the difference of two texts. It has all lines if the texts are too different to compare. */
export function between(path: string, before: string, after: string): FileDiff {
  const patch = structuredPatch(path, path, before, after, undefined, undefined, {
    context: 3,
    maxEditLength: MOST_EDITS,
  });
  return { ...fileOf(patch ?? replaced(path, before, after)), path };
}

/** Returns a patch that removes all lines of one text and adds all of the other. */
function replaced(path: string, before: string, after: string): StructuredPatch {
  const signed = (sign: string, text: string) =>
    text
      ? text
          .replace(/\n$/, "")
          .split("\n")
          .map((line) => sign + line)
      : [];
  const [del, add] = [signed("-", before), signed("+", after)];
  const hunk = { oldStart: 1, oldLines: del.length, newStart: 1, newLines: add.length, lines: [...del, ...add] };
  return { oldFileName: path, newFileName: path, oldHeader: undefined, newHeader: undefined, hunks: [hunk] };
}

const clean = (name: string | undefined) => (!name || name === "/dev/null" ? undefined : name.replace(/^[ab]\//, ""));

function fileOf(patch: StructuredPatch): FileDiff {
  const before = clean(patch.oldFileName);
  const after = clean(patch.newFileName);
  const file: FileDiff = {
    path: after ?? before ?? "",
    ...(before && after && before !== after && { oldPath: before }),
    hunks: [],
    additions: 0,
    deletions: 0,
  };
  for (const hunk of patch.hunks) {
    let old = hunk.oldStart;
    let now = hunk.newStart;
    const lines: Line[] = [];
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line.startsWith("+")) lines.push({ kind: "add", text, after: now++ });
      else if (line.startsWith("-")) lines.push({ kind: "del", text, before: old++ });
      else if (!line.startsWith("\\")) lines.push({ kind: "same", text, before: old++, after: now++ });
    }
    file.additions += lines.filter((line) => line.kind === "add").length;
    file.deletions += lines.filter((line) => line.kind === "del").length;
    file.hunks.push({ header: `@@ −${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`, lines });
  }
  return file;
}

/** Pairs removed lines with the added ones beside them. */
export function sideBySide(lines: Line[]): [Line | undefined, Line | undefined][] {
  const rows: [Line | undefined, Line | undefined][] = [];
  let removed: Line[] = [];
  let added: Line[] = [];
  const flush = () => {
    for (let i = 0; i < Math.max(removed.length, added.length); i++) rows.push([removed[i], added[i]]);
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "del") {
      if (added.length) flush();
      removed.push(line);
    } else if (line.kind === "add") added.push(line);
    else {
      flush();
      rows.push([line, line]);
    }
  }
  flush();
  return rows;
}
