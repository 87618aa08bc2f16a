//! An HL7 v2 message as rows of places. Nothing here edits: the server does, by path or by offset. It is tested with
//! `crates/hl7/tests/places.json`, as the server's parser is.
export interface Segment {
  name: string;
  /** Its number among the segments of this name, from 1. */
  nth: number;
  /** The number of segments of this name. */
  of: number;
  text: string;
}

export interface Message {
  segments: Segment[];
  separators: Separators;
}

export interface Separators {
  field: string;
  component: string;
  repetition?: string;
  escape?: string;
  subcomponent?: string;
  truncation?: string;
}

/** A row of the table. */
export type Row = SegmentRow | PlaceRow;

export interface SegmentRow {
  kind: "segment";
  key: string;
  segment: Segment;
  index: number;
}

export interface PlaceRow {
  kind: "place";
  /** Its path, such as `PID.5.1`. */
  key: string;
  segment: Segment;
  index: number;
  field: number;
  component?: number;
  /** Set for a row that is a whole repetition. */
  repetition?: number;
  /** 0 for a field, 1 for a component or a repetition, and so on. */
  depth: number;
  /** The text. Escape sequences are decoded if it has no parts. */
  value: string;
  /** Whether rows of its parts follow, which the user edits instead. */
  hasParts: boolean;
  /** Set for MSH-1 and MSH-2, which nobody edits here. */
  fixed: boolean;
  /** Its first character in the segment's text; -1 for a place that does not exist yet. */
  start: number;
  end: number;
}

/** Returns a message, or nothing if the text is none. */
export function parse(text: string): Message | undefined {
  const separators = separatorsOf(text);
  if (!separators) return undefined;
  const counts = new Map<string, number>();
  const segments = text
    .split(/[\r\n]+/)
    .filter((line) => line !== "")
    .map((line): Segment => {
      const name = line.split(separators.field, 1)[0] ?? "";
      const nth = (counts.get(upper(name)) ?? 0) + 1;
      counts.set(upper(name), nth);
      return { name, nth, of: 0, text: line };
    });
  for (const segment of segments) segment.of = counts.get(upper(segment.name)) ?? 1;
  return { segments, separators };
}

/** Returns a name as paths write it: `pid` and `PID` are one name. */
const upper = (name: string) => name.replace(/[a-z]/g, (letter) => letter.toUpperCase());

/** Returns what MSH-1 and MSH-2 declare, or nothing if the server would not read them. */
function separatorsOf(text: string): Separators | undefined {
  const head = /^MSH([^\r\n])([^\r\n]*)/u.exec(text);
  if (!head?.[1]) return undefined;
  const marks = [head[1], ...(head[2]?.split(head[1])[0] ?? "")];
  const [field, component, repetition, mark, subcomponent, truncation] = marks;
  const isUsable =
    marks.length <= 6 && new Set(marks).size === marks.length && !/[\p{Alphabetic}\p{N}]/u.test(marks.join(""));
  if (!field || !component || !isUsable) return undefined;
  return { field, component, repetition, escape: mark, subcomponent, truncation };
}

export const pathOf = ({ name, nth, of }: Segment) => (of > 1 ? `${upper(name)}[${nth}]` : upper(name));

/** A part of a segment's text. */
interface Part {
  text: string;
  start: number;
}

function split({ text, start }: Part, separator: string | undefined): Part[] {
  if (!separator) return [{ text, start }];
  let at = start;
  return text.split(separator).map((part) => {
    const made = { text: part, start: at };
    at += part.length + separator.length;
    return made;
  });
}

/** Returns the fields of a segment, from field 1. */
function fieldsOf(segment: Segment, { field }: Separators): Part[] {
  const parts = split({ text: segment.text, start: 0 }, field).slice(1);
  // The first separator of the header is its first field.
  return segment.name === "MSH" && parts.length > 0 ? [{ text: field, start: 3 }, ...parts] : parts;
}

/** Returns the rows of a message. `known` are the numbers of fields that have a row even if they are empty. */
export function rowsOf(
  message: Message,
  closed: ReadonlySet<string>,
  known: (segment: string) => readonly number[],
): Row[] {
  const rows: Row[] = [];
  message.segments.forEach((segment, index) => {
    const key = pathOf(segment);
    rows.push({ kind: "segment", key, segment, index });
    if (closed.has(key)) return;
    const fields = fieldsOf(segment, message.separators);
    const all = Math.max(fields.length, ...known(segment.name));
    const empty = new Set(known(segment.name));
    for (let number = 1; number <= all; number++) {
      const raw = fields[number - 1] ?? { text: "", start: -1 };
      if (raw.text !== "" || empty.has(number))
        placesOf(empty.size > 0, message.separators, segment, index, number, raw, rows);
    }
  });
  return rows;
}

function placesOf(
  withEmpty: boolean,
  separators: Separators,
  segment: Segment,
  index: number,
  field: number,
  raw: Part,
  rows: Row[],
) {
  const path = `${pathOf(segment)}.${field}`;
  const row = (key: string, depth: number, { text, start }: Part, more?: Partial<PlaceRow>) =>
    rows.push({
      kind: "place",
      segment,
      index,
      field,
      key,
      depth,
      value: more?.hasParts || more?.fixed ? text : decode(text, separators),
      hasParts: false,
      fixed: false,
      start,
      end: start < 0 ? -1 : start + text.length,
      ...more,
    });
  if (segment.name === "MSH" && field <= 2) {
    row(path, 0, raw, { fixed: true });
    return;
  }
  const repetitions = split(raw, separators.repetition);
  const many = repetitions.length > 1;
  if (many) row(path, 0, raw, { hasParts: true });
  repetitions.forEach((repetition, at) => {
    const base = many ? `${path}[${at + 1}]` : path;
    const depth = many ? 1 : 0;
    const components = split(repetition, separators.component).map((one) => split(one, separators.subcomponent));
    if (components.length === 1 && components[0]?.length === 1) {
      row(base, depth, repetition, many ? { repetition: at + 1 } : {});
      return;
    }
    row(base, depth, repetition, { hasParts: true, ...(many && { repetition: at + 1 }) });
    components.forEach((subs, place) => {
      const key = `${base}.${place + 1}`;
      const component = place + 1;
      const [first, last] = [subs[0], subs.at(-1)];
      if (!first || !last || (!withEmpty && subs.length === 1 && first.text === "")) return;
      const whole = { text: segment.text.slice(first.start, last.start + last.text.length), start: first.start };
      row(key, depth + 1, whole, { component, hasParts: subs.length > 1 });
      if (subs.length === 1) return;
      for (const [n, sub] of subs.entries()) row(`${key}.${n + 1}`, depth + 2, sub, { component });
    });
  });
}

/** Returns the text of a raw leaf. Sequences that format or switch character sets stay as they are. */
function decode(raw: string, separators: Separators): string {
  const { field, component, repetition, escape: mark, subcomponent, truncation } = separators;
  if (!mark || !raw.includes(mark)) return raw;
  const meant: Record<string, string | undefined> = {
    F: field,
    S: component,
    R: repetition,
    T: subcomponent,
    E: mark,
    P: truncation,
  };
  const letters = Object.keys(meant).filter((letter) => meant[letter]);
  const quoted = mark.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return raw.replace(new RegExp(`${quoted}([${letters.join("")}]|${OTHERS})${quoted}`, "g"), (all, code: string) => {
    if (!/^X(?:[0-7].)+$/.test(code)) return meant[code] ?? all;
    return (code.slice(1).match(/../g) ?? []).map((hex) => String.fromCharCode(Number.parseInt(hex, 16))).join("");
  });
}

/** The codes of the other escape sequences. One that stays is found too, so that its second mark opens no other. */
const OTHERS = "[HN]|X(?:[0-9A-Fa-f]{2})+|[CM](?:[0-9A-Fa-f]{4}|[0-9A-Fa-f]{6})|[Z.][0-9A-Za-z+-]{1,63}?";

/** Returns the places whose path, name or value has a text, with their segments. */
export function filtered(rows: readonly Row[], words: string, nameOf: (row: PlaceRow) => string | undefined): Row[] {
  const wanted = words.toLowerCase();
  const found: Row[] = [];
  let segment: Row | undefined;
  for (const row of rows) {
    if (row.kind === "segment") segment = row;
    else if ([row.key, nameOf(row), row.value].some((text) => text?.toLowerCase().includes(wanted))) {
      if (segment) found.push(segment);
      segment = undefined;
      found.push(row);
    }
  }
  return found;
}

/** Returns whether two paths mean one place. The number 1 may be missing in a path. */
export const samePlace = (one: string, other: string) => one.replaceAll("[1]", "") === other.replaceAll("[1]", "");

/** Returns the row of a finding's path, or of the nearest shown place that contains it. */
export function rowAt(rows: readonly Row[], path: string): number {
  for (let wanted = path; wanted; wanted = wanted.includes(".") ? wanted.slice(0, wanted.lastIndexOf(".")) : "") {
    const at = rows.findIndex((row) => samePlace(row.key, wanted));
    if (at >= 0) return at;
  }
  return -1;
}

/** Returns the innermost place at an offset of a segment's text. */
export function rowUnder(rows: readonly Row[], index: number, offset: number): string | undefined {
  let found: string | undefined;
  for (const row of rows) {
    if (row.index !== index) continue;
    if (row.kind === "segment" || (row.start >= 0 && row.start <= offset && offset <= row.end)) found = row.key;
  }
  return found;
}

/** Returns a text with `\n` as line end, as text fields have it. */
export const asLines = (text: string) => text.replace(/\r\n?/g, "\n");

/**
 * Returns the one replacement, in bytes of UTF-8, that turns `text` into `lines`. Unchanged line ends stay, and new
 * ones are like the first of the text.
 */
export function edit(text: string, lines: string): { start: number; end: number; text: string } {
  const before = asLines(text);
  const most = Math.min(before.length, lines.length);
  let start = 0;
  while (start < most && before[start] === lines[start]) start++;
  let tail = 0;
  while (tail < most - start && before[before.length - 1 - tail] === lines[lines.length - 1 - tail]) tail++;
  // A cut is never between the halves of a character.
  if (isHigh(before.charCodeAt(start - 1))) start--;
  if (isLow(before.charCodeAt(before.length - tail))) tail--;
  const [lineEnd = "\r"] = /\r\n?|\n/.exec(text) ?? [];
  const bytes = (to: number) => new TextEncoder().encode(text.slice(0, indexIn(text, to))).length;
  return {
    start: bytes(start),
    end: bytes(before.length - tail),
    text: lines.slice(start, lines.length - tail).replaceAll("\n", lineEnd),
  };
}

/** Returns the index in the text of an index in `asLines(text)`. */
function indexIn(text: string, place: number): number {
  let at = 0;
  for (let left = place; left > 0; left--) at += text.startsWith("\r\n", at) ? 2 : 1;
  return at;
}

const isHigh = (unit: number) => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number) => unit >= 0xdc00 && unit < 0xe000;
