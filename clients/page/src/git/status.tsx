//! The state of the workspace's repository, read once for all parts of the page: when work ends, when the user comes back, and
//! after an act on this page.
import type { GitStatusResult } from "@bobbin/client";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { useHas } from "../server/context";
import { useThreadList } from "../server/threads";
import { useRequest } from "../server/useRequest";

interface Repository {
  status?: GitStatusResult;
  error?: string;
  /** Reads the state again. */
  again: () => void;
}

const RepositoryContext = createContext<Repository>({ again: () => {} });

/** Returns the repository of the workspace, or of a Thread's own worktree. */
export function useRepository(thread?: string): Repository {
  const ofWorkspace = useContext(RepositoryContext);
  const running = useThreadList().threads.some(({ id, runtime }) => id === thread && runtime?.running);
  const version = `${running} ${useReturns()}`;
  const { data, error, again } = useRequest("git/status", thread ? { threadId: thread } : {}, Boolean(thread), version);
  return thread ? { again, ...(data && { status: data }), ...(error && { error }) } : ofWorkspace;
}

/** Returns how often the user has come back to the page. */
function useReturns(): number {
  const [back, setBack] = useState(0);
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && setBack((now) => now + 1);
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return back;
}

export function RepositoryProvider({ children }: { children: ReactNode }) {
  const running = useThreadList().threads.filter(({ runtime }) => runtime?.running).length;
  const back = useReturns();
  const { data, error, again } = useRequest("git/status", {}, useHas("git"), `${running} ${back}`);
  const value = useMemo(
    () => ({ again, ...(data && { status: data }), ...(error && { error }) }),
    [data, error, again],
  );
  return <RepositoryContext value={value}>{children}</RepositoryContext>;
}
