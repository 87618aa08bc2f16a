//! Searches files of the workspace by a part of their path, a moment after the last key.
import { useEffect, useState } from "react";
import { useServer } from "../server/context";
import { useRequest } from "../server/useRequest";

const PAUSE_MS = 120;
const NONE: readonly string[] = [];

/** Returns paths; those of directories end with `/`. `null` sends no request. */
export function useFound(query: string | null): readonly string[] {
  const extensions = useServer()?.capabilities.extensions as Record<string, unknown> | undefined;
  const [later, setLater] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => setLater(query), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [query]);
  const wanted = later !== null && query !== null && extensions?.workspaceFiles === true;
  const { data } = useRequest(
    "workspace/files/find",
    { query: later?.replace(/^"|\/$/g, "") ?? "", limit: 20 },
    wanted,
  );
  if (query === null || !data) return NONE;
  return data.files.map(({ path, isDirectory }) => (isDirectory ? `${path}/` : path));
}
