//! Output of a command. The box follows the end until the user scrolls up.
import { useLayoutEffect, useRef } from "react";
import { Ansi } from "./Ansi";

export function Output({ text, empty }: { text: string; empty: string }) {
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return (
    <pre
      ref={box}
      className="out"
      tabIndex={0}
      aria-label="Output"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        atEnd.current = scrollHeight - scrollTop - clientHeight < 24;
      }}
    >
      {text ? <Ansi text={text} /> : <span className="meta">{empty}</span>}
    </pre>
  );
}
