//! Where the keys go after an action. On a touch screen the text field gets the focus by a touch alone: it brings the keyboard up.
import { useEffect, useRef } from "react";

const hasKeys = matchMedia("(hover: hover)");

export function focusComposer() {
  if (hasKeys.matches) document.getElementById("composer")?.focus({ preventScroll: true });
}

/** Moves the focus on once what had it was answered: to the next question, else to the text field. */
export function useFocusAfter(questions: number) {
  const before = useRef(questions);
  useEffect(() => {
    if (questions < before.current && document.activeElement === document.body && !focusQuestion()) focusComposer();
    before.current = questions;
  }, [questions]);
}

/** Returns whether a question has the focus now. */
export function focusQuestion(): boolean {
  const card = document.querySelector<HTMLElement>(".ask");
  card?.focus();
  return card !== null;
}
