//! Comments of the user on lines of a diff. They become a prompt.
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { recall, remember } from "../app/remember";
import type { FileDiff, Line } from "./diff";

export interface Comment {
  path: string;
  /** The line's number after the change, or before it where the line is gone. */
  line: number;
  gone: boolean;
  /** The line itself, so that the agent finds it when others were added. */
  code: string;
  text: string;
}

export interface Comments {
  all: readonly Comment[];
  put: (comment: Comment) => void;
  clear: () => void;
}

/** Most characters of a line that a prompt repeats. */
const MOST = 120;

const same = (one: Comment, other: Omit<Comment, "text" | "code">) =>
  one.path === other.path && one.line === other.line && one.gone === other.gone;

/** Returns the comments that are stored under a name. A reload loses none. */
export function useComments(name: string): Comments {
  const key = `comments.${name}`;
  const [all, setAll] = useState<readonly Comment[]>(() => read(recall(key)));
  const put = useCallback(
    (comment: Comment) =>
      setAll((now) => {
        const rest = now.filter((one) => !same(one, comment));
        return store(key, comment.text.trim() ? [...rest, comment] : rest);
      }),
    [key],
  );
  const clear = useCallback(() => setAll(store(key, [])), [key]);
  return useMemo(() => ({ all, put, clear }), [all, put, clear]);
}

function store(key: string, all: readonly Comment[]): readonly Comment[] {
  remember(key, all.length > 0 ? JSON.stringify(all) : "");
  return all;
}

function read(stored: string | null): Comment[] {
  try {
    const all: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(all) ? (all as Comment[]) : [];
  } catch {
    return [];
  }
}

/** Returns the comments as a prompt, by file and line. */
export function prompt(all: readonly Comment[]): string {
  const sorted = [...all].sort((one, other) => one.path.localeCompare(other.path) || one.line - other.line);
  const parts = sorted.map(({ path, line, gone, code, text }) => {
    const quoted = code.trim().slice(0, MOST);
    return `${path}:${line}${gone ? " (removed)" : ""}${quoted && `: \`${quoted}\``}\n${text.trim()}`;
  });
  return `Comments on the changes:\n\n${parts.join("\n\n")}\n`;
}

interface OfFile {
  /** Returns the comment on a line, and what changes it. */
  of: (line: Line) => Comment | undefined;
  put: (line: Line, text: string) => void;
}

const FileComments = createContext<OfFile | null>(null);
export const useFileComments = () => useContext(FileComments);

const place = (path: string, line: Line) => ({
  path,
  line: line.after ?? line.before ?? 0,
  gone: line.kind === "del",
});

/** Lets the lines of a file be commented on. */
export function Commenting({ file, comments, children }: { file: FileDiff; comments: Comments; children: ReactNode }) {
  const { all, put } = comments;
  // The rows of a file are drawn again only when its own comments change.
  const own = JSON.stringify(all.filter(({ path }) => path === file.path));
  const value = useMemo<OfFile>(() => {
    const mine = read(own);
    return {
      of: (line) => mine.find((one) => same(one, place(file.path, line))),
      put: (line, text) => put({ ...place(file.path, line), code: line.text, text }),
    };
  }, [file.path, own, put]);
  return <FileComments value={value}>{children}</FileComments>;
}
