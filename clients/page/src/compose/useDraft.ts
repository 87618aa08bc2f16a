//! The draft of a Thread. Each change is stored, so that a reload loses nothing.
import { useCallback, useState } from "react";
import { recall, remember } from "../app/remember";

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
