//! One document: its fields, its text, its findings, and buttons of extensions.
import type { HermesFinding } from "@bobbin/client";
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useRemembered } from "../app/remember";
import { links } from "../app/route";
import { useRequest } from "../server/useRequest";
import { Icon } from "../ui/Icon";
import { Buttons } from "./Buttons";
import { DocumentHead } from "./DocumentHead";
import { filtered, parse, type Row, rowAt, rowsOf, rowUnder } from "./message";
import { OpenDialog } from "./OpenDialog";
import { Raw } from "./Raw";
import { Table } from "./Table";
import { TextEditor } from "./TextEditor";
import { type Open, useDocument } from "./useDocument";
import { useButtons, useExtensions } from "./useList";
import { known, useSchema } from "./useSchema";
import { useWriting } from "./useWriting";
import "./hl7.css";

const NOTHING: ReadonlySet<string> = new Set();
const VIEWS = { fields: "Fields", text: "Text", findings: "Findings" } as const;
type View = keyof typeof VIEWS;

export default function DocumentView({ id }: { id: string }) {
  const live = useDocument(id);
  const [opening, setOpening] = useState(false);
  const { open } = live;
  if (live.phase === "open" && open) return <Shown key={id} id={id} live={live} open={open} />;
  return (
    <main className="page">
      <header className="bar">
        <a className="btn plain icon" href={links.documents} aria-label="Back to the documents">
          <Icon name="back" />
        </a>
        <h1 className="grow">HL7 document</h1>
      </header>
      {live.phase === "failed" && <p className="note bad">{live.error}</p>}
      {live.phase === "loading" && <p className="empty">Loading…</p>}
      {live.phase === "none" && (
        <div className="empty">
          <p>No message is open in this Thread.</p>
          <p className="row hl7-center">
            <button type="button" className="btn primary" onClick={() => setOpening(true)}>
              Open…
            </button>
            <a className="btn" href={links.thread(id)}>
              To the conversation
            </a>
          </p>
        </div>
      )}
      {opening && (
        <OpenDialog
          threadId={id}
          onClose={() => setOpening(false)}
          onOpened={() => {
            setOpening(false);
            void live.refresh();
          }}
        />
      )}
    </main>
  );
}

function Shown({ id, live, open }: { id: string; live: ReturnType<typeof useDocument>; open: Open }) {
  const extensions = useExtensions();
  const buttons = useButtons();
  const [selected, setSelected] = useState<string>();
  const [closed, setClosed] = useState(NOTHING);
  const [fields, setFields] = useRemembered("hl7.fields", "filled");
  const [find, setFind] = useState("");
  const [view, setView] = useState<View>("fields");
  const [editing, setEditing] = useState(false);
  const writing = useWriting(id, live);

  const parsed = useMemo(() => parse(open.text), [open.text]);
  const schema = useSchema(
    useMemo(() => parsed?.segments.map(({ name }) => name) ?? [], [parsed]),
    extensions.length + buttons.length,
  );
  const all = useMemo(() => {
    const numbers = (name: string) =>
      fields === "all" ? [...new Set((schema.get(name) ?? []).map(({ field }) => field))] : [];
    return parsed ? rowsOf(parsed, closed, numbers) : [];
  }, [parsed, closed, fields, schema]);
  const words = useDeferredValue(find.trim());
  const rows = useMemo(
    () =>
      words
        ? filtered(
            all,
            words,
            (row) => known(schema, row.segment.name, row.field, row.component).own?.name ?? undefined,
          )
        : all,
    [all, words, schema],
  );
  const fresh = useFresh(all);
  const { data: checked, again } = useRequest("hermes/document/validate", { threadId: id }, parsed !== undefined);
  useEffect(again, [again, open.text, buttons.length]);
  const byRow = useMemo(() => {
    const found = new Map<string, HermesFinding[]>();
    for (const finding of checked?.findings ?? []) {
      const key = finding.path && rows[rowAt(rows, finding.path)]?.key;
      if (key) found.set(key, [...(found.get(key) ?? []), finding]);
    }
    return found;
  }, [checked, rows]);
  const chosen = all.find(({ key }) => key === selected);

  /** Stores the draft of the chosen place, then chooses another one. */
  const choose = useCallback(
    (key: string | undefined) => void writing.commit().then((done) => done && setSelected(key)),
    [writing.commit],
  );
  const show = (path: string) => {
    const row = all[rowAt(all, path)];
    // A place that does not exist yet is among the empty ones.
    const isMissing = row?.kind === "segment" && path.includes(".");
    if (isMissing) setFields("all");
    setFind("");
    choose(isMissing ? path.replaceAll("[1]", "") : row?.key);
    setView("fields");
  };
  const fold = (key: string) =>
    setClosed((now) => (now.has(key) ? new Set([...now].filter((one) => one !== key)) : new Set([...now, key])));
  const by =
    live.by &&
    (live.by.kind === "extension"
      ? nameOf(extensions, live.by.extensionId)
      : live.by.kind === "agent"
        ? "the agent"
        : "another client");

  return (
    <main className="page hl7">
      <DocumentHead id={id} live={live} open={open} by={by} before={writing.commit} />
      <Buttons buttons={buttons} threadId={id} before={writing.commit} />
      {live.error && <p className="note bad">{live.error}</p>}
      <div className="tabs hl7-tabs" role="group" aria-label="What is shown">
        {Object.entries(VIEWS).map(([name, label]) => (
          <button key={name} type="button" aria-pressed={view === name} onClick={() => setView(name as View)}>
            {label} {name === "findings" && (checked?.findings.length ?? 0) > 0 && checked?.findings.length}
          </button>
        ))}
      </div>
      <div className="hl7-body" data-view={view}>
        <section className="hl7-fields" aria-label="Fields">
          <div className="hl7-bar">
            <div className="tabs grow" role="group" aria-label="Which fields">
              {["filled", "all"].map((name) => (
                <button key={name} type="button" aria-pressed={fields === name} onClick={() => setFields(name)}>
                  {name === "all" ? "All known" : "Filled"}
                </button>
              ))}
            </div>
            <input
              type="search"
              className="field hl7-find"
              aria-label="Find a path, a name or a value"
              placeholder="Path, name or value"
              value={find}
              onChange={(event) => setFind(event.target.value)}
            />
          </div>
          {parsed ? (
            <Table
              rows={rows}
              words={`${fields} ${words}`}
              schema={schema}
              findings={byRow}
              fresh={fresh}
              selected={selected}
              onSelect={choose}
              closed={closed}
              onFold={fold}
              writing={writing}
            />
          ) : (
            <p className="empty">The text does not start with a message header (MSH), so it has no fields.</p>
          )}
        </section>
        <section className="hl7-text" aria-label="Text">
          {editing ? (
            <TextEditor id={id} live={live} open={open} onDone={() => setEditing(false)} />
          ) : (
            <>
              <div className="hl7-bar">
                <h2 className="grow">Text</h2>
                <button
                  type="button"
                  className="btn small"
                  onClick={() => void writing.commit().then((done) => done && setEditing(true))}
                >
                  Edit the text
                </button>
              </div>
              {parsed ? (
                <Raw
                  message={parsed}
                  chosen={chosen}
                  onPoint={(index, offset) => {
                    setFind("");
                    choose(rowUnder(all, index, offset));
                  }}
                />
              ) : (
                <pre className="hl7-raw out">{open.text.slice(0, 20_000)}</pre>
              )}
            </>
          )}
        </section>
        <section className="hl7-findings" aria-label="Findings">
          <div className="hl7-bar">
            <h2 className="grow">Findings</h2>
            <span className="meta">
              {checked &&
                (checked.findings.length === 0
                  ? "none"
                  : `${checked.findings.length}${checked.truncated ? " and more" : ""}`)}
            </span>
          </div>
          <ul>
            {checked?.findings.map((finding, index) => (
              <li key={index}>
                <button type="button" onClick={() => finding.path && show(finding.path)}>
                  <code>{finding.path ?? "message"}</code> {finding.message}
                </button>
              </li>
            ))}
          </ul>
        </section>
      </div>
    </main>
  );
}

const nameOf = (extensions: readonly { id: string; name: string }[], id: string) =>
  extensions.find((one) => one.id === id)?.name ?? "an extension";

/** Returns the places that the last change touched. */
function useFresh(rows: readonly Row[]): ReadonlySet<string> {
  const [fresh, setFresh] = useState(NOTHING);
  const before = useRef<ReadonlyMap<string, string>>(undefined);
  useEffect(() => {
    const now = new Map(
      rows.flatMap((row) => (row.kind === "place" && !row.hasParts ? [[row.key, row.value] as const] : [])),
    );
    const was = before.current;
    before.current = now;
    if (!was) return;
    const changed = new Set([...now].flatMap(([key, value]) => (was.has(key) && was.get(key) !== value ? [key] : [])));
    if (changed.size > 0) setFresh(changed);
  }, [rows]);
  return fresh;
}
