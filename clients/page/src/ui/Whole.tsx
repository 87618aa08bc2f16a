//! A box of bounded height for a text that the user reads before an answer. It counts the lines that were not on the
//! screen yet.
import { type ReactNode, useCallback, useLayoutEffect, useRef } from "react";
import { plural } from "./format";

/** Pixels that rounding may add. */
const SLACK = 4;

interface Props {
  label: string;
  /** Lines that were not on the screen yet. The parent offers no approval before this is 0. */
  unseen: number;
  onUnseen: (lines: number) => void;
  children: ReactNode;
}

/** Counts lines that `children` leave out or still load too: an element with `data-more` names their number. */
export function Whole({ label, unseen, onUnseen, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const seen = useRef(0);
  const look = useCallback(() => {
    if (!box.current) return;
    const { scrollTop, clientHeight, scrollHeight } = box.current;
    // A jump skips lines, and the skipped ones stay unseen.
    if (scrollTop <= seen.current + SLACK) seen.current = Math.max(seen.current, scrollTop + clientHeight);
    const hidden = scrollHeight - seen.current;
    const cut = [...box.current.querySelectorAll<HTMLElement>("[data-more]")].reduce(
      (sum, { dataset }) => sum + Number(dataset.more),
      0,
    );
    onUnseen((hidden > SLACK ? Math.ceil(hidden / lineHeight(box.current)) : 0) + cut);
  }, [onUnseen]);

  useLayoutEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    if (box.current) observer.observe(box.current);
    if (content.current) observer.observe(content.current);
    return () => observer.disconnect();
  }, [look]);

  function readOn() {
    if (!box.current) return;
    const before = box.current.scrollTop;
    box.current.scrollTo({ top: seen.current - lineHeight(box.current), behavior: "instant" });
    if (box.current.scrollTop === before) box.current.querySelector<HTMLElement>("button[data-more]")?.click();
    // The button disappears with the last line, so the box takes the focus.
    box.current.focus({ preventScroll: true });
  }

  return (
    <div className="whole">
      <div ref={box} className="whole-box" tabIndex={0} role="group" aria-label={label} onScroll={look}>
        <div ref={content} className="whole-content">
          {children}
        </div>
      </div>
      {unseen > 0 && (
        <button
          type="button"
          className="btn small"
          title="Allowing it waits until you have seen all of it"
          onClick={readOn}
        >
          {plural(unseen, "more line")}
        </button>
      )}
    </div>
  );
}

const lineHeight = (box: HTMLElement) => Number.parseFloat(getComputedStyle(box).lineHeight) || 18;
