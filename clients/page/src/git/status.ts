//! The state of the workspace's repository. It is read again when work ends, when the user comes back, and after a commit.
import type { GitStatusResult } from "@bobbin/client";
import { useEffect } from "react";
import { useHas } from "../server/context";
import { useThreadList } from "../server/threads";
import { useRequest } from "../server/useRequest";

const readers = new Set<() => void>();

/** Has every part of the page read the state again. */
export function repositoryChanged() {
  for (const read of readers) read();
}

export function useGitStatus(): { status?: GitStatusResult; error?: string } {
  const { data, error, again } = useRequest("git/status", {}, useHas("git"));
  const running = useThreadList().threads.filter(({ runtime }) => runtime?.running).length;
  useEffect(again, [again, running]);
  useEffect(() => {
    const back = () => document.visibilityState === "visible" && again();
    document.addEventListener("visibilitychange", back);
    window.addEventListener("focus", again);
    readers.add(again);
    return () => {
      document.removeEventListener("visibilitychange", back);
      window.removeEventListener("focus", again);
      readers.delete(again);
    };
  }, [again]);
  return { status: data, error };
}
