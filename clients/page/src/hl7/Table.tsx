//! A message as a table of places. The chosen one shows its schema and a field.
import type { HermesFinding } from "@bobbin/client";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, useEffect, useRef } from "react";
import { FieldEditor } from "./FieldEditor";
import type { PlaceRow, Row, SegmentRow } from "./message";
import { known, type Schema } from "./useSchema";
import type { Writing } from "./useWriting";

/** Most characters of a value in its row. */
const MOST = 300;

interface Props {
  rows: readonly Row[];
  /** The text that filters the rows. */
  words: string;
  schema: Schema;
  findings: ReadonlyMap<string, HermesFinding[]>;
  /** Places that the last change touched. */
  fresh: ReadonlySet<string>;
  selected: string | undefined;
  onSelect: (key: string | undefined) => void;
  closed: ReadonlySet<string>;
  onFold: (key: string) => void;
  writing: Writing;
}

export function Table({ rows, words, schema, findings, fresh, selected, onSelect, closed, onFold, writing }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 26,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 12,
    // A chosen row is higher.
    scrollPaddingEnd: 90,
    paddingEnd: 60,
  });
  const at = rows.findIndex((row) => row.key === selected);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a row that only moves does not scroll the list
  useEffect(() => {
    if (at >= 0) list.scrollToIndex(at, { align: "auto" });
  }, [selected, words, list]);

  function keys(event: KeyboardEvent) {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!by || event.altKey) return;
    const next = rows[at + by];
    if (!next) return;
    event.preventDefault();
    onSelect(next.key);
  }

  return (
    <div className="hl7-table" ref={scroller} onKeyDown={keys} role="group" aria-label="Fields">
      <div className="timeline-all" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map((item) => {
          const row = rows[item.index];
          return (
            row && (
              <div
                key={item.key}
                ref={list.measureElement}
                data-index={item.index}
                className="hl7-row"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {row.kind === "segment" ? (
                  <SegmentLine
                    row={row}
                    isClosed={closed.has(row.key)}
                    isSelected={row.key === selected}
                    onFold={onFold}
                    findings={findings.get(row.key)}
                  />
                ) : row.key === selected ? (
                  <FieldEditor
                    row={row}
                    about={known(schema, row.segment.name, row.field, row.component)}
                    findings={findings.get(row.key)}
                    writing={writing}
                    onNext={() => onSelect(rows[item.index + 1]?.key)}
                  />
                ) : (
                  <PlaceLine
                    row={row}
                    schema={schema}
                    findings={findings.get(row.key)}
                    isFresh={fresh.has(row.key)}
                    onSelect={onSelect}
                  />
                )}
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

interface SegmentProps {
  row: SegmentRow;
  isClosed: boolean;
  isSelected: boolean;
  onFold: (key: string) => void;
  findings: HermesFinding[] | undefined;
}

function SegmentLine({ row, isClosed, isSelected, onFold, findings }: SegmentProps) {
  return (
    <>
      <button
        type="button"
        className={isSelected ? "hl7-segment is-selected" : "hl7-segment"}
        aria-expanded={!isClosed}
        onClick={() => onFold(row.key)}
      >
        {row.key}
      </button>
      {findings?.map((finding) => (
        <p key={finding.message} className="hl7-finding">
          {finding.message}
        </p>
      ))}
    </>
  );
}

interface PlaceProps {
  row: PlaceRow;
  schema: Schema;
  findings: HermesFinding[] | undefined;
  isFresh: boolean;
  onSelect: (key: string) => void;
}

function PlaceLine({ row, schema, findings, isFresh, onSelect }: PlaceProps) {
  const { own, field } = known(schema, row.segment.name, row.field, row.component);
  const meaning = (own ?? field)?.values?.[row.value];
  return (
    <button
      type="button"
      className={["hl7-place", row.hasParts && "has-parts", isFresh && "is-fresh", findings && "has-finding"]
        .filter(Boolean)
        .join(" ")}
      data-depth={row.depth}
      data-path={row.key}
      onClick={() => onSelect(row.key)}
    >
      <span className="hl7-path">{row.key.slice(row.key.indexOf("."))}</span>
      <span className="hl7-name cut">{row.repetition ? `repetition ${row.repetition}` : own?.name}</span>
      <span className="hl7-value cut">
        {row.value.slice(0, MOST)}
        {meaning && <span className="meta"> {meaning}</span>}
      </span>
      {findings && <span className="hl7-finding">{findings.map(({ message }) => message).join("; ")}</span>}
    </button>
  );
}
