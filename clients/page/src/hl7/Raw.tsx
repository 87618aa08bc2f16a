//! A message as text, one line a segment, with the chosen place marked.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type MouseEvent, useEffect, useRef } from "react";
import type { Message, PlaceRow, Row } from "./message";

/** Most characters of a segment on the page. */
const MOST = 20_000;

interface Props {
  message: Message;
  chosen: Row | undefined;
  /** Called for a click on a character of a segment. */
  onPoint: (index: number, offset: number) => void;
}

export function Raw({ message, chosen, onPoint }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const { segments } = message;
  const list = useVirtualizer({
    count: segments.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 40,
    overscan: 6,
  });
  const at = chosen?.index;
  useEffect(() => {
    if (at !== undefined) list.scrollToIndex(at, { align: "auto" });
  }, [at, list]);

  function point(event: MouseEvent, index: number) {
    const selection = getSelection();
    const node = selection?.anchorNode;
    // A click chooses a place, and a selection is for copying.
    if (!selection?.isCollapsed || !node || !event.currentTarget.contains(node)) return;
    const from = Number(node.parentElement?.dataset.from ?? 0);
    onPoint(index, from + selection.anchorOffset);
  }

  return (
    <div className="hl7-raw" ref={scroller} tabIndex={0} role="group" aria-label="Text">
      <div className="timeline-all" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map((item) => (
          <div
            key={item.key}
            ref={list.measureElement}
            data-index={item.index}
            className={item.index === at ? "hl7-line is-chosen" : "hl7-line"}
            style={{ transform: `translateY(${item.start}px)` }}
            onClick={(event) => point(event, item.index)}
          >
            <Line
              text={segments[item.index]?.text ?? ""}
              chosen={chosen?.kind === "place" && item.index === at ? chosen : undefined}
            />
          </div>
        ))}
      </div>
    </div>
  );
}

function Line({ text, chosen }: { text: string; chosen?: PlaceRow }) {
  const shown = text.slice(0, MOST);
  const rest = text.length > MOST && (
    <span className="meta"> … {(text.length - MOST).toLocaleString()} more characters</span>
  );
  if (!chosen || chosen.start < 0 || chosen.start > MOST) {
    return (
      <>
        <span data-from={0}>{shown}</span>
        {rest}
      </>
    );
  }
  const { start, end } = chosen;
  return (
    <>
      <span data-from={0}>{shown.slice(0, start)}</span>
      <mark data-from={start}>{shown.slice(start, end)}</mark>
      <span data-from={end}>{shown.slice(end)}</span>
      {rest}
    </>
  );
}
