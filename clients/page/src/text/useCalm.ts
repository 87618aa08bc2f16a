//! A long text that grows is drawn less often: each drawing lays all of it out.
import { useEffect, useRef, useState } from "react";

const LONG = 20_000;
const PAUSE_MS = 400;

/** Returns the text, or what it was a moment ago while it is long and grows. */
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
