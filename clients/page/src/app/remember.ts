//! Values that this browser stores: drafts, the theme, the layout of diffs.
import { useCallback, useState } from "react";
import { ofWorkspace } from "./place";

/** Values of one workspace: at a node, several workspaces share this browser's storage. */
const WITHIN = /^(draft|comments)\./;
const stored = (key: string) => `bobbin.${WITHIN.test(key) ? ofWorkspace(key) : key}`;

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(stored(key));
  } catch {
    return null;
  }
}

/** Stores a value, or removes an empty one. A full or forbidden storage loses comfort, not work. */
export function remember(key: string, value: string) {
  try {
    if (value) localStorage.setItem(stored(key), value);
    else localStorage.removeItem(stored(key));
  } catch {
    // The value is lost with the tab.
  }
}

export function useRemembered(key: string, initial: string): [string, (value: string) => void] {
  const [value, setValue] = useState(() => recall(key) ?? initial);
  const set = useCallback(
    (next: string) => {
      remember(key, next);
      setValue(next);
    },
    [key],
  );
  return [value, set];
}
