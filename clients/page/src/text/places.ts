//! Places in files of the workspace, as texts name them: `src/kettle.rs:12`.

export interface Place {
  path: string;
  line?: number;
}

/** Longest text that is taken for a place. */
const MOST = 300;
const PLACE = /^(?:\.?\/)?((?:[\w@.+~-]+\/)*[\w@.+~-]*\.[a-z]\w{0,9})(?:(?::|#L)(\d+)(?:[-:]L?\d+)*)?$/i;

/** Returns the place that a text is, if it is one. A lone name is one only with a line. */
export function placeOf(text: string): Place | undefined {
  if (text.length > MOST) return undefined;
  const [, path, line] = PLACE.exec(text) ?? [];
  if (!path || path.split("/").includes("..") || !(line || path.includes("/"))) return undefined;
  return { path: text.startsWith("/") ? `/${path}` : path, ...(line && { line: Number(line) }) };
}
