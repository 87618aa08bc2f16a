//! Dialogs and windows of extensions, over every part of the page.
import type { HermesChoice, HermesWindow } from "@bobbin/client";
import { type FormEvent, type PointerEvent, useEffect, useId, useRef, useState } from "react";
import { useClient } from "../server/context";
import { type Asked, closeWindow } from "../server/screens";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import { PathField } from "./PathField";
import { useExtensions } from "./useList";
import "./hl7.css";

export default function Screens({ asked, windows }: { asked: readonly Asked[]; windows: readonly HermesWindow[] }) {
  const extensions = useExtensions();
  const nameOf = (id: string) => extensions.find((one) => one.id === id)?.name ?? "An extension";
  // One after the other, in the order of the requests.
  const first = asked[0];
  return (
    <>
      {windows.map((window, index) => (
        <Frame key={window.windowId} window={window} index={index} name={nameOf(window.extensionId)} />
      ))}
      {first && <Question key={first.id} asked={first} name={nameOf(first.params.extensionId)} />}
    </>
  );
}

function Question({ asked, name }: { asked: Asked; name: string }) {
  const title = asked.params.title || name;
  const from = <p className="meta">The extension {name} asks.</p>;
  switch (asked.method) {
    case "hermes/ui/showMessage": {
      const done = () => asked.answer({});
      return (
        <Dialog title={title} onClose={done}>
          <p
            className={
              asked.params.kind === "error"
                ? "note bad plain-text"
                : asked.params.kind === "warning"
                  ? "note plain-text"
                  : "plain-text"
            }
          >
            {asked.params.message}
          </p>
          <p className="meta">From the extension {name}.</p>
          <div className="sheet-foot">
            <button type="button" className="btn primary" autoFocus onClick={done}>
              OK
            </button>
          </div>
        </Dialog>
      );
    }
    case "hermes/ui/showConfirm": {
      const [yes, no] = asked.params.buttons === "yesNo" ? ["Yes", "No"] : ["OK", "Cancel"];
      return (
        <Dialog title={title} onClose={() => asked.answer({ confirmed: false })}>
          <p className="plain-text">{asked.params.message}</p>
          {from}
          <div className="sheet-foot">
            <button type="button" className="btn" onClick={() => asked.answer({ confirmed: false })}>
              {no}
            </button>
            <button type="button" className="btn primary" onClick={() => asked.answer({ confirmed: true })}>
              {yes}
            </button>
          </div>
        </Dialog>
      );
    }
    case "hermes/ui/openFiles":
      return (
        <Choice
          title={title}
          name={name}
          asked={asked.params}
          what="files"
          onDone={(paths) => asked.answer(paths ? { paths } : {})}
        />
      );
    default:
      return (
        <Choice
          title={title}
          name={name}
          asked={asked.params}
          what={
            asked.method === "hermes/ui/selectDirectory"
              ? "directory"
              : asked.method === "hermes/ui/saveFile"
                ? "save"
                : "file"
          }
          onDone={(paths) => asked.answer(paths?.[0] === undefined ? {} : { path: paths[0] })}
        />
      );
  }
}

interface ChoiceProps {
  title: string;
  name: string;
  asked: HermesChoice;
  what: "file" | "files" | "save" | "directory";
  /** Called without paths if the user chose nothing. */
  onDone: (paths?: string[]) => void;
}

const LABELS = { file: "A file", files: "Files", save: "Save to", directory: "A directory" } as const;

function Choice({ title, name, asked: { filters, defaultPath, defaultName }, what, onDone }: ChoiceProps) {
  const [path, setPath] = useState([defaultPath, what === "save" && defaultName].filter(Boolean).join("/"));
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const endings = (filters ?? []).flatMap(({ extensions }) => extensions);
  const isOfKind = (found: string) =>
    what === "directory"
      ? found.endsWith("/")
      : !found.endsWith("/") &&
        (endings.length === 0 ||
          endings.includes("*") ||
          endings.some((ending) => found.toLowerCase().endsWith(`.${ending.toLowerCase()}`)));
  const all = what === "files" ? [...chosen, ...(path.trim() ? [path.trim()] : [])] : path.trim() ? [path.trim()] : [];
  function submit(event: FormEvent) {
    event.preventDefault();
    if (all.length > 0) onDone(all);
  }
  return (
    <Dialog title={title} onClose={() => onDone()}>
      <form className="sheet-form" onSubmit={submit}>
        <p className="meta">
          The extension {name} asks for{" "}
          {what === "save"
            ? "a place to save to"
            : what === "directory"
              ? "a directory"
              : what === "files"
                ? "files"
                : "a file"}{" "}
          on the server's machine.
        </p>
        {chosen.length > 0 && (
          <ul className="entries">
            {chosen.map((one) => (
              <li key={one} className="entry">
                <code className="grow">{one}</code>
                <button
                  type="button"
                  className="btn plain icon"
                  aria-label={`Take out ${one}`}
                  onClick={() => setChosen(chosen.filter((other) => other !== one))}
                >
                  <Icon name="close" />
                </button>
              </li>
            ))}
          </ul>
        )}
        <PathField label={LABELS[what]} value={path} onValue={setPath} takes={isOfKind} />
        {endings.length > 0 && (
          <p className="meta">
            {filters
              ?.map(({ name: kind, extensions }) => `${kind} (${extensions.map((one) => `*.${one}`).join(", ")})`)
              .join(", ")}
          </p>
        )}
        <div className="sheet-foot">
          {what === "files" && (
            <button
              type="button"
              className="btn"
              disabled={!path.trim()}
              onClick={() => {
                setChosen([...chosen, path.trim()]);
                setPath("");
              }}
            >
              Add another
            </button>
          )}
          <button type="button" className="btn" onClick={() => onDone()}>
            Cancel
          </button>
          <button type="submit" className="btn primary" disabled={all.length === 0}>
            {what === "save" ? "Save" : "Choose"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** A page of an extension, in a frame that cannot reach this page. */
function Frame({
  window: { windowId, title, url, width, height, modal, resizable },
  index,
  name,
}: {
  window: HermesWindow;
  index: number;
  name: string;
}) {
  const client = useClient();
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [at, setAt] = useState({ x: 24 * index, y: 24 * index });
  useEffect(() => {
    const shown = dialog.current;
    if (!shown || shown.open) return;
    if (modal) shown.showModal();
    else shown.show();
  }, [modal]);
  const close = () => closeWindow(client, windowId);

  function drag(event: PointerEvent) {
    if ((event.target as HTMLElement).closest("button")) return;
    const from = { x: event.clientX - at.x, y: event.clientY - at.y };
    const head = event.currentTarget as HTMLElement;
    head.setPointerCapture(event.pointerId);
    head.onpointermove = (to) => setAt({ x: to.clientX - from.x, y: Math.max(-20, to.clientY - from.y) });
    head.onpointerup = () => (head.onpointermove = null);
  }

  return (
    <dialog
      ref={dialog}
      className="hl7-window"
      data-resizable={resizable || undefined}
      aria-labelledby={heading}
      onClose={close}
      style={{ width, height: height + 40, translate: `${at.x}px ${at.y}px` }}
    >
      <div className="sheet-head" onPointerDown={drag}>
        <h2 id={heading} className="cut" title={url}>
          {title || name} <span className="meta">{name}</span>
        </h2>
        <button type="button" className="btn plain icon" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      {isElsewhere(url) && (
        <p className="note">This page is on the server's machine, which this browser does not reach: {url}</p>
      )}
      {isForeign(url) ? (
        <iframe
          src={url}
          title={title || name}
          sandbox="allow-scripts allow-forms allow-same-origin allow-downloads allow-modals"
          referrerPolicy="no-referrer"
        />
      ) : (
        <p className="empty">This address is not shown: {url}</p>
      )}
    </dialog>
  );
}

/** Returns whether a frame may show the address. A page of this origin would have all rights of this browser. */
function isForeign(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.origin !== location.origin;
}

const isHere = (host: string) => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);

/** Returns whether the address is one of the server's machine, and the browser is on another machine. */
function isElsewhere(url: string): boolean {
  return isHere(URL.parse(url)?.hostname ?? "") && !isHere(location.hostname);
}
