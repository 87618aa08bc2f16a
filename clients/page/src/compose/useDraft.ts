//! The draft of a Thread. Each change is stored, so that a reload loses nothing.
import { useCallback, useState } from "react";
import { recall, remember } from "../app/remember";

/** Adds a text to the end of a stored draft. An open editor has to be made again. */
export function addToDraft(key: string, text: string) {
  remember(`draft.${key}`, [recall(`draft.${key}`), text].filter(Boolean).join("\n"));
}

export function useDraft(key: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => recall(`draft.${key}`) ?? "");
  const set = useCallback(
    (next: string) => {
      remember(`draft.${key}`, next);
      setText(next);
    },
    [key],
  );
  return [text, set];
}
