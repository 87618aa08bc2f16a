//! Small things this browser remembers: drafts, the theme, how diffs are shown.
import { useCallback, useState } from "react";

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(`bobbin.${key}`);
  } catch {
    return null;
  }
}

/** Stores a value, or forgets it when it is empty. A full or forbidden storage loses comfort, not work. */
export function remember(key: string, value: string) {
  try {
    if (value) localStorage.setItem(`bobbin.${key}`, value);
    else localStorage.removeItem(`bobbin.${key}`);
  } catch {
    // Nothing to do about it.
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
