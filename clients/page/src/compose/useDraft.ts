//! What is being written in a Thread. It is stored with each change and is there again after a reload.
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
