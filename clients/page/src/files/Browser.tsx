//! The files of the workspace: a tree, the search, and the file that is read.
import type { WorkspaceFilesEntry } from "@bobbin/client";
import {
  type DragEvent,
  type FormEvent,
  type KeyboardEvent,
  createContext,
  useContext,
  useEffect,
  useRef,
  useState,
} from "react";
import { go, links } from "../app/route";
import { useClient, useMay } from "../server/context";
import { useRequest } from "../server/useRequest";
import { markedInLine } from "../text/marked";
import { Icon } from "../ui/Icon";
import { complain, say } from "../ui/toast";
import { FileView } from "./FileView";
import { type Put, put } from "./put";
import "./files.css";

/** How often the user has put files into the folder: the tree is read again. */
const Round = createContext(0);

/** Files of a search by name. */
const NAMES = 20;

export default function Browser({ path, line }: { path: string; line?: number }) {
  const [query, setQuery] = useState("");
  const [text, setText] = useState("");
  const [round, setRound] = useState(0);
  const client = useClient();
  const mayPut = useMay("approver");
  const chooser = useRef<HTMLInputElement>(null);
  const here = path.slice(0, Math.max(0, path.lastIndexOf("/")));

  async function add(directory: string, files: readonly File[]) {
    const write: Put = (params) => client.request("workspace/files/write", params);
    try {
      const last = await put(write, directory, files);
      say(files.length === 1 ? `Added ${last}` : `Added ${files.length} files`);
      if (last) go(links.file(last));
    } catch (error) {
      complain(error);
    }
    setRound((now) => now + 1);
  }

  function drop(event: DragEvent<HTMLElement>) {
    event.preventDefault();
    const row = (event.target as Element).closest<HTMLElement>("[data-directory]");
    void add(row?.dataset.directory ?? "", [...event.dataTransfer.files]);
  }

  return (
    <main className={path ? "browser has-file" : "browser"}>
      <nav
        className="browser-nav"
        aria-label="Files"
        {...(mayPut && { onDragOver: (event: DragEvent) => event.preventDefault(), onDrop: drop })}
      >
        {!path && <h1 className="sr">Files</h1>}
        <div className="bar">
          <a className="btn plain icon only-narrow" href={links.home} aria-label="Back to the Threads">
            <Icon name="back" />
          </a>
          <form
            className="grow"
            role="search"
            onSubmit={(event: FormEvent) => {
              event.preventDefault();
              setText(query.trim());
            }}
          >
            <input
              type="search"
              className="field"
              placeholder="Name; Enter searches the text"
              aria-label="Search files"
              value={query}
              onChange={(event) => {
                setQuery(event.target.value);
                setText("");
              }}
            />
          </form>
          {mayPut && (
            <>
              <button
                type="button"
                className="btn plain icon"
                aria-label={`Add files to ${here || "the workspace"}`}
                title={`Add files to ${here || "the workspace"}; or drop them on a directory`}
                onClick={() => chooser.current?.click()}
              >
                <Icon name="plus" />
              </button>
              <input
                ref={chooser}
                type="file"
                multiple
                hidden
                onChange={({ currentTarget }) => {
                  void add(here, [...(currentTarget.files ?? [])]);
                  currentTarget.value = "";
                }}
              />
            </>
          )}
        </div>
        <div className="browser-list">
          {query.trim() && <Found query={query.trim()} text={text} current={path} />}
          {/* What is open in the tree stays open during a search. */}
          <div hidden={query.trim() !== ""}>
            <Round value={round}>
              <Directory path="" current={path} depth={0} />
            </Round>
          </div>
        </div>
      </nav>
      {path ? <FileView key={path} path={path} line={line} /> : <p className="empty browser-file">Choose a file.</p>}
    </main>
  );
}

function Found({ query, text, current }: { query: string; text: string; current: string }) {
  const names = useRequest("workspace/files/find", { query: useSettled(query), limit: NAMES });
  const files = names.data?.files.filter(({ isDirectory }) => !isDirectory) ?? [];
  return (
    <>
      <ul aria-label="Files by name">
        {files.map(({ path }) => (
          <li key={path}>
            <a className="tree-row" href={links.file(path)} aria-current={path === current ? "page" : undefined}>
              <span className="cut">{markedInLine(path)}</span>
            </a>
          </li>
        ))}
      </ul>
      {names.data && files.length === 0 && <p className="empty">No file has this in its path.</p>}
      {text && <InText key={text} text={text} />}
    </>
  );
}

function InText({ text }: { text: string }) {
  const { data, error } = useRequest("workspace/files/grep", { query: text });
  return (
    <>
      {error && <p className="note bad">{error}</p>}
      {!data && !error && <p className="meta pad">Searching…</p>}
      {data && (
        <>
          <h2 className="day">{data.matches.length === 0 ? "No line contains this text." : "In the text"}</h2>
          <ul aria-label="Lines">
            {data.matches.map((match) => (
              <li key={`${match.path}:${match.line}`}>
                <a className="hit" href={links.file(match.path, match.line)}>
                  <span className="meta cut">{markedInLine(`${match.path}:${match.line}`)}</span>
                  <code className="cut">{markedInLine(match.text.trim())}</code>
                </a>
              </li>
            ))}
          </ul>
          {data.truncated && <p className="meta pad">There are more.</p>}
        </>
      )}
    </>
  );
}

/** Returns a text once the user has stopped typing. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 150);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function Directory({ path, current, depth }: { path: string; current: string; depth: number }) {
  const { data, error } = useRequest("workspace/files/list", path ? { path } : {}, true, useContext(Round));
  if (error) return <p className="note bad">{error}</p>;
  if (!data) return <p className="meta pad">Loading…</p>;
  return (
    <ul className="tree" aria-label={path || "The workspace"} data-directory={path}>
      {data.entries.map((entry) => (
        <li key={entry.name}>
          <Entry entry={entry} path={path ? `${path}/${entry.name}` : entry.name} current={current} depth={depth} />
        </li>
      ))}
      {data.entries.length === 0 && <li className="meta pad">empty</li>}
      {data.truncated && <li className="meta pad">There are more.</li>}
    </ul>
  );
}

function Entry({
  entry,
  path,
  current,
  depth,
}: {
  entry: WorkspaceFilesEntry;
  path: string;
  current: string;
  depth: number;
}) {
  const [open, setOpen] = useState(entry.isDirectory && current.startsWith(`${path}/`));
  const look = entry.ignored ? "tree-row ignored" : "tree-row";
  const style = { paddingInlineStart: `${10 + depth * 14}px` };
  if (!entry.isDirectory)
    return (
      <a
        className={look}
        style={style}
        href={links.file(path)}
        aria-current={path === current ? "page" : undefined}
        onKeyDown={byArrows}
      >
        <span className="cut">{markedInLine(entry.name)}</span>
      </a>
    );
  return (
    <>
      <button
        type="button"
        className={look}
        style={style}
        data-directory={path}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        onKeyDown={(event) => {
          if (event.key === "ArrowRight") setOpen(true);
          else if (event.key === "ArrowLeft") setOpen(false);
          else byArrows(event);
        }}
      >
        <span className="twist">
          <Icon name="chevron" />
        </span>
        <span className="cut">{markedInLine(entry.name)}</span>
      </button>
      {open && <Directory path={path} current={current} depth={depth + 1} />}
    </>
  );
}

/** Moves to the next or previous row of the tree. */
function byArrows(event: KeyboardEvent<HTMLElement>) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  event.preventDefault();
  const rows = [...document.querySelectorAll<HTMLElement>(".browser-list .tree-row")];
  rows[rows.indexOf(event.currentTarget) + step]?.focus();
}
