//! Draws a long, growing text less often, since each drawing lays out all of it.
import { useEffect, useRef, useState } from "react";

const LONG = 20_000;
const PAUSE_MS = 400;

/** Returns the text, or an earlier state of it while it is long and grows. */
export function useCalm(text: string, grows: boolean): string {
  const calm = grows && text.length > LONG;
  const [shown, setShown] = useState(text);
  const newest = useRef(text);
  newest.current = text;
  useEffect(() => {
    if (!calm) return;
    setShown(newest.current);
    const timer = setInterval(() => setShown(newest.current), PAUSE_MS);
    return () => clearInterval(timer);
  }, [calm]);
  return calm ? shown : text;
}
