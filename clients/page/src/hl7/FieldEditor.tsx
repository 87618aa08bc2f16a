//! The chosen place: a field for its value, its meaning, and its findings.
import type { HermesField, HermesFinding } from "@bobbin/client";
import { type KeyboardEvent, useEffect, useId, useRef } from "react";
import type { PlaceRow } from "./message";
import type { Writing } from "./useWriting";

/** Most codes in the list. */
const CODES = 40;
/** Most characters of a value that the user cannot edit here: one with parts, or a long one. */
const MOST = 4000;

interface Props {
  row: PlaceRow;
  about: { own?: HermesField; field?: HermesField };
  findings: HermesFinding[] | undefined;
  writing: Writing;
  onNext: () => void;
}

export function FieldEditor({ row, about, findings, writing, onNext }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const codes = useId();
  const { draft } = writing;
  const mine = draft?.path === row.key ? draft : undefined;
  const text = mine?.text ?? row.value;
  const known = about.own ?? about.field;
  const isWritten = !row.hasParts && !row.fixed && row.value.length <= MOST;
  useEffect(() => input.current?.focus({ preventScroll: true }), []);

  function keys(event: KeyboardEvent) {
    if (event.key === "Enter") {
      event.preventDefault();
      void writing.commit().then((done) => done && onNext());
    } else if (event.key === "Escape" && mine) {
      event.preventDefault();
      event.stopPropagation();
      writing.drop();
    }
  }

  return (
    <div className="hl7-chosen" data-depth={row.depth}>
      <div className="row wrap">
        <code className="hl7-full">{row.key}</code>
        <span className="grow">
          {about.field?.name && about.own !== about.field && `${about.field.name} › `}
          {about.own?.name ?? (about.own === undefined && row.component === undefined ? about.field?.name : undefined)}
        </span>
      </div>
      {isWritten ? (
        <input
          ref={input}
          className="field mono"
          aria-label={`Value of ${row.key}`}
          value={text}
          list={known?.values ? codes : undefined}
          placeholder={known?.placeholder ?? undefined}
          autoComplete="off"
          spellCheck={false}
          readOnly={mine?.busy}
          onChange={(event) => writing.write(row.key, row.value, event.target.value)}
          onKeyDown={keys}
        />
      ) : (
        <>
          <pre className="out">{row.value.slice(0, MOST)}</pre>
          {row.value.length > MOST && (
            <p className="meta">{row.value.length.toLocaleString()} characters. Edit the text to change it.</p>
          )}
        </>
      )}
      {mine && mine.text !== mine.initial && mine.conflict === undefined && !mine.error && (
        <p className="meta">Enter stores it, Esc takes it back.</p>
      )}
      {mine?.error && (
        <p className="note bad" role="alert">
          {mine.error}
        </p>
      )}
      {mine?.conflict !== undefined && (
        <div className="note bad" role="alert">
          <p>Meanwhile it was changed to:</p>
          <pre className="out">{mine.conflict || "(nothing)"}</pre>
          <div className="row wrap">
            <button
              type="button"
              className="btn small"
              onClick={() => {
                writing.insist();
                void writing.commit();
              }}
            >
              Write mine
            </button>
            <button type="button" className="btn small" onClick={writing.drop}>
              Leave that
            </button>
          </div>
        </div>
      )}
      {findings?.map((finding) => (
        <p key={finding.message} className="hl7-finding">
          {finding.message}
        </p>
      ))}
      <Help field={known} codes={codes} value={text} />
    </div>
  );
}

function Help({ field, codes, value }: { field: HermesField | undefined; codes: string; value: string }) {
  if (!field) return null;
  const values = Object.entries(field.values ?? {});
  const facts = [
    field.required && "required",
    field.datatype && { date: "a date", datetime: "a date with a time" }[field.datatype],
    (field.minlength != null || field.maxlength != null) &&
      `${field.minlength ?? 0} to ${field.maxlength ?? "any number of"} characters`,
    field.pattern && `pattern ${field.pattern}`,
    field.placeholder && `for example ${field.placeholder}`,
  ].filter(Boolean);
  return (
    <>
      {facts.length > 0 && <p className="meta">{facts.join(" · ")}</p>}
      {field.note && <p className="meta">{field.note}</p>}
      {values.length > 0 && (
        <>
          <datalist id={codes}>
            {values.map(([code, meaning]) => (
              <option key={code} value={code} label={meaning} />
            ))}
          </datalist>
          <p className="meta hl7-codes">
            {values.slice(0, CODES).map(([code, meaning]) => (
              <span key={code} className={code === value ? "is-now" : undefined}>
                <code>{code}</code> {meaning}
              </span>
            ))}
            {values.length > CODES && `and ${values.length - CODES} more`}
          </p>
        </>
      )}
    </>
  );
}
