//! Moves the focus after an action. On a touch screen only a touch focuses the text field: the focus opens a keyboard.
import { useEffect, useRef } from "react";

const hasKeys = matchMedia("(hover: hover)");

export function focusComposer() {
  if (hasKeys.matches) document.getElementById("composer")?.focus({ preventScroll: true });
}

/** Moves the focus from an answered question to the next one, else to the text field. */
export function useFocusAfter(questions: number) {
  const before = useRef(questions);
  useEffect(() => {
    if (questions < before.current && document.activeElement === document.body && !focusQuestion()) focusComposer();
    before.current = questions;
  }, [questions]);
}

/** Focuses the first question. Returns whether there is one. */
export function focusQuestion(): boolean {
  const card = document.querySelector<HTMLElement>(".ask");
  card?.focus();
  return card !== null;
}
