//! Files of the workspace and their lines, as texts name them: `src/kettle.rs:12`.

export interface FileLink {
  path: string;
  line?: number;
}

/** Longest text that is taken for the name of a file. */
const MOST = 300;
const NAMED = /^(?:\.?\/)?((?:[\w@.+~-]+\/)*[\w@.+~-]*\.[a-z]\w{0,9})(?:(?::|#L)(\d+)(?:[-:]L?\d+)*)?$/i;

/** Returns the file that a text names, if it names one. A name without a folder counts only with a line. */
export function fileLink(text: string): FileLink | undefined {
  if (text.length > MOST) return undefined;
  const [, path, line] = NAMED.exec(text) ?? [];
  if (!path || path.split("/").includes("..") || !(line || path.includes("/"))) return undefined;
  return { path: text.startsWith("/") ? `/${path}` : path, ...(line && { line: Number(line) }) };
}
