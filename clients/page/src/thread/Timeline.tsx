//! The conversation as a virtual list. It follows the end while the reader is there, and measures only visible rows.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Icon } from "../ui/Icon";
import { RowView } from "./RowView";
import { isAt, type Row } from "./rows";

interface Props {
  rows: Row[];
  running: boolean;
  hasOlder: boolean;
  loadOlder: () => void;
  /** The row to show first: the place that a search found. */
  target?: string;
}

const estimate: Record<Row["kind"], number> = {
  user: 64,
  agent: 120,
  reasoning: 30,
  tool: 34,
  looks: 34,
  approval: 30,
  notice: 40,
  working: 26,
  end: 36,
};

/** Rows on each side that are in the document while the browser searches. */
const MOST_FOUND = 1500;

export function Timeline({ rows, running, hasOlder, loadOlder, target }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [away, setAway] = useState(false);
  const finding = useFinding();
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => estimate[rows[index]?.kind ?? "tool"],
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: finding ? MOST_FOUND : 8,
    paddingStart: 12,
    paddingEnd: 20,
    anchorTo: "end",
    followOnAppend: "auto",
    scrollEndThreshold: 60,
  });

  const toEnd = useCallback(() => list.scrollToIndex(rows.length - 1, { align: "end" }), [list, rows.length]);

  /** Whether the reader is at the end, which the list then follows. */
  const atEnd = useRef(true);
  const first = useRef(true);
  useLayoutEffect(() => {
    if (!first.current || rows.length === 0) return;
    first.current = false;
    performance.mark("thread-shown");
    const index = target ? rows.findIndex((row) => isAt(row, target)) : -1;
    if (index >= 0) {
      atEnd.current = false;
      list.scrollToIndex(index, { align: "start" });
    } else toEnd();
  }, [rows, target, list, toEnd]);

  // A question makes the list smaller, and measured rows are higher than estimated. A reader at the end stays there.
  const content = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = scroller.current;
    if (!box || !content.current) return;
    const observer = new ResizeObserver(() => {
      if (!atEnd.current) return;
      box.scrollTop = box.scrollHeight;
      setAway(false);
    });
    observer.observe(box);
    observer.observe(content.current);
    return () => observer.disconnect();
  }, []);

  const top = useRef(0);
  const onScroll = () => {
    const box = scroller.current;
    if (!box) return;
    const left = box.scrollHeight - box.scrollTop - box.clientHeight;
    // Only a scroll upwards leaves the end. The list itself scrolls down when it measures rows.
    if (box.scrollTop < top.current && left > 1) atEnd.current = false;
    else if (left < 60) atEnd.current = true;
    top.current = box.scrollTop;
    setAway(!atEnd.current && left > 120);
    if (hasOlder && box.scrollTop < 600) loadOlder();
  };
  useEffect(() => {
    if (hasOlder && scroller.current && scroller.current.scrollHeight <= scroller.current.clientHeight) loadOlder();
  }, [hasOlder, loadOlder, rows.length]);

  return (
    <div className="timeline-box">
      <div
        className="timeline"
        ref={scroller}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-label="Conversation"
        aria-busy={running}
        aria-live="off"
      >
        <div className="timeline-all" ref={content} style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map((item) => {
            const row = rows[item.index];
            return (
              row && (
                <div
                  key={item.key}
                  ref={list.measureElement}
                  data-index={item.index}
                  className={`timeline-row is-${row.kind}`}
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  <RowView row={row} marked={target !== undefined && isAt(row, target)} />
                </div>
              )
            );
          })}
        </div>
      </div>
      {away && (
        <button type="button" className="btn to-end" onClick={toEnd}>
          <Icon name="down" /> Latest
        </button>
      )}
    </div>
  );
}

/** Returns whether the user has started to search the page. The browser finds only text in the document. */
function useFinding(): boolean {
  const [finding, setFinding] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key === "f") setFinding(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return finding;
}
