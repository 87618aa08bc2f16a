//! Values that this browser stores: drafts, the theme, the layout of diffs.
import { useCallback, useState } from "react";

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(`bobbin.${key}`);
  } catch {
    return null;
  }
}

/** Stores a value, or removes an empty one. A full or forbidden storage loses comfort, not work. */
export function remember(key: string, value: string) {
  try {
    if (value) localStorage.setItem(`bobbin.${key}`, value);
    else localStorage.removeItem(`bobbin.${key}`);
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
