//! The files that a Turn changed: as the server lists them, else from the calls of file tools.
import type { TurnState } from "@bobbin/client";
import { rowsOf } from "../thread/rows";

export interface Change {
  path: string;
  additions?: number;
  deletions?: number;
  status?: string;
}

export function changedPaths(turn: TurnState): Change[] {
  if (turn.diff?.files) return [...turn.diff.files];
  const paths = new Map<string, Change>();
  for (const row of rowsOf([turn])) {
    if (row.kind !== "tool" || row.tool.status !== "done") continue;
    const { edit, patch, object } = row.tool.what;
    if (edit) paths.set(edit.path, { path: edit.path });
    else if (patch) for (const path of object.split(", ")) paths.set(path, { path });
  }
  return [...paths.values()];
}

/** Returns how many files a Turn changed, by commands too. */
export const filesChanged = (turn: TurnState): number =>
  turn.diff?.files?.length ?? turn.filesChanged ?? changedPaths(turn).length;

/** Returns whether there may be something to undo. Without a diff, the page does not know what commands changed. */
export function mayUndo(turn: TurnState): boolean {
  if (turn.diff) return turn.diff.diff !== "" || (turn.diff.files?.length ?? 0) > 0;
  return filesChanged(turn) > 0 || rowsOf([turn]).some((row) => row.kind === "tool" && row.tool.command !== undefined);
}
