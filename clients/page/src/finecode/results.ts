//! Results of actions as findings and changes. Each action has a type of its own, so every member is checked.
import { between, type FileDiff, parse } from "../side/diff";

export interface Finding {
  file: string;
  line: number;
  column: number;
  text: string;
  code?: string;
  source?: string;
  severity?: number;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown) => (typeof value === "string" ? value : undefined);
const number = (value: unknown) => (typeof value === "number" ? value : undefined);

/** Returns a linter's findings by file, or nothing if the result is of another kind. */
export function findings(result: unknown, root: string): Finding[] | undefined {
  if (!isObject(result) || !isObject(result.messages)) return undefined;
  const found: Finding[] = [];
  for (const [name, list] of Object.entries(result.messages)) {
    const path = decode(name.replace(/^file:\/\//, ""));
    const file = path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
    for (const one of Array.isArray(list) ? list : []) {
      const start = isObject(one) && isObject(one.range) ? one.range.start : undefined;
      if (!isObject(one) || !isObject(start)) continue;
      found.push({
        file,
        line: (number(start.line) ?? 0) + 1,
        column: (number(start.character) ?? 0) + 1,
        text: text(one.message) ?? "",
        ...(text(one.code) && { code: text(one.code) }),
        ...(text(one.source) && { source: text(one.source) }),
        ...(number(one.severity) && { severity: number(one.severity) }),
      });
    }
  }
  return found;
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/**
 * Returns the changes of files in a result or its text: unified diffs, or the text of each file before and after.
 * `code` alone is the new text of a file. If the server could not compare it with the old one, all lines are new.
 */
export function changes(result: unknown, said: string | undefined, compared: string | undefined): FileDiff[] {
  const diffs = [said, ...(isObject(result) ? [text(result.diff), text(result.patch)] : [])].filter(
    (one) => one !== undefined && /^@@ /m.test(one) && /^\+\+\+ /m.test(one),
  );
  const own = diffs.flatMap((one) => parsed(one ?? ""));
  const found = own.length > 0 || !compared ? own : parsed(compared);
  if (found.length > 0 || !isObject(result)) return found;
  const files = result.result_by_file_path ?? result.resultByFilePath;
  const each: [string, unknown][] = isObject(files) ? Object.entries(files) : "code" in result ? [["", result]] : [];
  return each.flatMap(([path, one]) => {
    const after = isObject(one) && one.changed !== false ? text(one.code) : undefined;
    return after === undefined
      ? []
      : [
          between(
            path.replace(/^file:\/\//, "") || "result",
            isObject(one) ? (text(one.before) ?? text(one.original) ?? "") : "",
            after,
          ),
        ];
  });
}

function parsed(diff: string): FileDiff[] {
  try {
    return parse(diff);
  } catch {
    return [];
  }
}
