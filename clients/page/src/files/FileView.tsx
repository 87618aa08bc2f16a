//! One file: its lines with numbers and colours, a picture, or formatted Markdown.
import { memo, useEffect, useMemo, useRef, useState } from "react";
import { links } from "../app/route";
import { written } from "../compose/parts";
import { addToDraft } from "../compose/useDraft";
import { useRequest } from "../server/useRequest";
import { CopyButton, useHighlighted } from "../text/CodeBlock";
import { languageOf } from "../text/highlight";
import { Markdown } from "../text/Markdown";
import { markedInLine } from "../text/marked";
import { bytes } from "../ui/format";
import { Icon } from "../ui/Icon";
import { say } from "../ui/toast";
import { inEditor } from "./editors";

/** Lines before the user asks for more. */
const MOST = 5000;

export const FileView = memo(function FileView({ path, line }: { path: string; line?: number }) {
  const { data, error } = useRequest("workspace/files/read", { path });
  const isMarkdown = /\.(md|markdown)$/i.test(path);
  const [chosen, setSource] = useState<boolean>();
  const source = chosen ?? (!isMarkdown || line !== undefined);
  const editor = data && inEditor(data.absolutePath, line);
  return (
    <section className="browser-file" aria-label={path}>
      <header className="bar">
        <a className="btn plain icon only-narrow" href={links.file("")} aria-label="Back to the files">
          <Icon name="back" />
        </a>
        <h1 className="cut grow" title={path}>
          <code>{markedInLine(path)}</code>
        </h1>
        {data && <span className="meta num">{bytes(data.size)}</span>}
        {isMarkdown && (
          <div className="tabs small" role="group" aria-label="How the file is shown">
            <button type="button" aria-pressed={!source} onClick={() => setSource(false)}>
              text
            </button>
            <button type="button" aria-pressed={source} onClick={() => setSource(true)}>
              source
            </button>
          </div>
        )}
        {editor && (
          <a className="btn small" href={editor.href}>
            {editor.label}
          </a>
        )}
        <button
          type="button"
          className="btn small"
          onClick={() => {
            addToDraft("new", `${written({ type: "fileRef", path })}${line ? ` line ${line}` : ""} `);
            say("Added to the draft of a new Thread");
          }}
        >
          Ask about it
        </button>
        {data?.text !== undefined && <CopyButton text={data.text} label="Copy the file" />}
      </header>
      <div className="browser-body">
        {error && <p className="note bad inset">{error}</p>}
        {!data && !error && <p className="empty">Loading…</p>}
        {data?.data && <img className="file-picture" src={`data:${data.mediaType};base64,${data.data}`} alt={path} />}
        {data && data.text === undefined && !data.data && (
          <p className="empty">This file is no text, and is not shown.</p>
        )}
        {data?.text !== undefined &&
          (source ? (
            <Lines text={data.text} language={languageOf(path)} line={line} />
          ) : (
            <div className="file-markdown">
              <Markdown text={data.text} />
            </div>
          ))}
        {data?.truncated && <p className="note inset">The file is longer than what the server sends.</p>}
      </div>
    </section>
  );
});

function Lines({ text, language, line }: { text: string; language: string; line?: number }) {
  const [all, setAll] = useState(false);
  // Each line is marked alone, so that a line stays a line.
  const lines = useMemo(
    () =>
      text
        .replace(/\r?\n$/, "")
        .split(/\r?\n/)
        .map(markedInLine),
    [text],
  );
  const shown = all || (line ?? 0) > MOST ? lines : lines.slice(0, MOST);
  const html = useHighlighted(
    useMemo(() => lines.join("\n"), [lines]),
    language,
  );
  const coloured = useMemo(() => (html === null ? null : byLine(html)), [html]);
  const target = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (line) target.current?.scrollIntoView({ block: "center" });
  }, [line]);
  return (
    <>
      <table className="file-lines">
        <tbody>
          {shown.map((text, index) => (
            <tr key={index} ref={index + 1 === line ? target : undefined} className={index + 1 === line ? "found" : ""}>
              <td className="no" data-no={index + 1} />
              {coloured?.[index] === undefined ? (
                <td className="code">{text}</td>
              ) : (
                // biome-ignore lint/security/noDangerouslySetInnerHtml: the highlighter escapes the text
                <td className="code" dangerouslySetInnerHTML={{ __html: coloured[index] }} />
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < lines.length && (
        <button type="button" className="btn small inset" onClick={() => setAll(true)}>
          Show all {lines.length.toLocaleString()} lines
        </button>
      )}
    </>
  );
}

/** Splits the highlighter's HTML into lines: each line closes the `span`s that reach into the next one, which opens them again. */
function byLine(html: string): string[] {
  const open: string[] = [];
  return html.split("\n").map((line) => {
    const opened = open.join("");
    for (const [tag] of line.matchAll(/<span [^>]*>|<\/span>/g)) {
      if (tag === "</span>") open.pop();
      else open.push(tag);
    }
    return opened + line + "</span>".repeat(open.length);
  });
}
