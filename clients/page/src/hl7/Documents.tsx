//! The open documents of all Threads, and the extensions for them.
import { useState } from "react";
import { go, links } from "../app/route";
import { useThreadList } from "../server/threads";
import { threadTitle } from "../text/marked";
import { Icon } from "../ui/Icon";
import { Extensions } from "./Extensions";
import { OpenDialog } from "./OpenDialog";
import { fileName } from "./names";
import { useDocuments } from "./useList";
import "./hl7.css";

export default function Documents() {
  const { documents, isLoading, error } = useDocuments();
  const { threads } = useThreadList();
  const [opening, setOpening] = useState(false);
  return (
    <main className="page">
      <header className="bar">
        <a className="btn plain icon only-narrow" href={links.home} aria-label="Back to the Threads">
          <Icon name="back" />
        </a>
        <h1 className="grow">HL7 documents</h1>
        <button type="button" className="btn primary" onClick={() => setOpening(true)}>
          Open…
        </button>
      </header>
      <div className="page-body">
        {error && <p className="note bad">{error}</p>}
        {documents.length > 0 && (
          <ul className="entries" aria-label="Open documents">
            {documents.map((document) => (
              <li key={document.threadId}>
                <a className="entry hl7-entry" href={links.document(document.threadId)}>
                  <span className="grow">
                    <strong>{fileName(document)}</strong>{" "}
                    {document.dirty && <span className="hl7-dirty">not saved</span>}
                    <span className="meta cut hl7-where">{document.filePath ?? "has no file yet"}</span>
                  </span>
                  <span className="meta cut hl7-thread">
                    {threadTitle(
                      threads.find(({ id }) => id === document.threadId),
                      "",
                    )}
                  </span>
                </a>
              </li>
            ))}
          </ul>
        )}
        {documents.length === 0 && !isLoading && (
          <div className="empty">
            <p>No message is open. Open a file, or paste one.</p>
          </div>
        )}
        <Extensions />
      </div>
      {opening && <OpenDialog onClose={() => setOpening(false)} onOpened={(id) => go(links.document(id))} />}
    </main>
  );
}
