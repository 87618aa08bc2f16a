//! The message as text that the user edits. It is stored as one change of the version that was read.
import { useRef, useState } from "react";
import { useClient } from "../server/context";
import { message } from "../ui/toast";
import { asLines, edit } from "./message";
import { type Live, type Open, reasonOf } from "./useDocument";

interface Props {
  id: string;
  live: Live;
  open: Open;
  onDone: () => void;
}

export function TextEditor({ id, live, open, onDone }: Props) {
  const client = useClient();
  const [base, setBase] = useState({ text: open.text, version: open.status.version });
  const [text, setText] = useState(() => asLines(open.text));
  const [error, setError] = useState<string>();
  const area = useRef<HTMLTextAreaElement>(null);
  const isBehind = base.version !== open.status.version && base.text !== open.text;

  async function store() {
    setError(undefined);
    try {
      if (text !== asLines(base.text))
        await live.own(
          base.version + 1,
          client.request("hermes/document/change", {
            threadId: id,
            version: base.version,
            edits: [edit(base.text, text)],
          }),
        );
      onDone();
    } catch (failed) {
      if (reasonOf(failed) === "conflict") void live.refresh();
      setError(message(failed));
    }
  }

  return (
    <>
      <div className="hl7-bar">
        <h2 className="grow">Text</h2>
        <button type="button" className="btn small" onClick={onDone}>
          Leave it
        </button>
        <button type="button" className="btn small primary" disabled={isBehind} onClick={() => void store()}>
          Store
        </button>
      </div>
      {isBehind && (
        <div className="note bad" role="alert">
          <p>The message was changed meanwhile. Your text is based on what it was.</p>
          <div className="row wrap">
            <button
              type="button"
              className="btn small"
              onClick={() => {
                setBase({ text: open.text, version: open.status.version });
                setText(asLines(open.text));
                area.current?.focus();
              }}
            >
              Take the other text
            </button>
            <button
              type="button"
              className="btn small"
              onClick={() => setBase({ text: open.text, version: open.status.version })}
            >
              Go on with mine
            </button>
          </div>
        </div>
      )}
      {error && !isBehind && (
        <p className="note bad" role="alert">
          {error}
        </p>
      )}
      <textarea
        ref={area}
        className="hl7-raw hl7-area"
        aria-label="Text of the message"
        value={text}
        spellCheck={false}
        autoFocus
        onChange={(event) => setText(event.target.value)}
      />
    </>
  );
}
