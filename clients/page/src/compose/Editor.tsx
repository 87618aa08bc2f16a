//! The text field. It grows with its text, completes words, takes pasted and dropped files, and sends.
import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { Icon } from "../ui/Icon";
import { complain } from "../ui/toast";
import { type Attachment, attach, useAttachments } from "./attachments";
import { focusComposer } from "./focus";
import { type Sources, suggestions, wordAt } from "./suggest";
import { useDraft } from "./useDraft";
import { useFound } from "./useFound";

export type How = "send" | "now";

interface Props {
  draftKey: string;
  label: string;
  sources: Sources;
  running: boolean;
  disabled?: string;
  /** Sends the text, which stays in the field until this has resolved. */
  onSend: (text: string, attachments: readonly Attachment[], how: How) => Promise<void>;
  onStop?: () => void;
  children?: ReactNode;
}

export function Editor({ draftKey, label, sources, running, disabled, onSend, onStop, children }: Props) {
  const [text, setText] = useDraft(draftKey);
  const [files, setFiles] = useAttachments(draftKey);
  const [cursor, setCursor] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [closed, setClosed] = useState(false);
  const [sending, setSending] = useState(false);
  const now = useRef(text);
  now.current = text;
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const listId = useId();

  const word = closed ? null : wordAt(text, cursor);
  const found = useFound(word?.mark === "@" ? word.query : null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `word` is always new, and its place changes nothing
  const shown = useMemo(
    () => (word ? suggestions(word, sources, found) : []),
    [word?.mark, word?.query, sources, found],
  );
  const at = Math.min(chosen, shown.length - 1);

  useLayoutEffect(() => {
    const area = field.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight + 2, Math.round(innerHeight * 0.4))}px`;
  }, [text]);

  useEffect(focusComposer, []);

  function take(index: number) {
    const pick = shown[index];
    if (!pick || !word) return;
    const next = text.slice(0, word.start) + pick.insert + text.slice(word.end);
    const place = word.start + pick.insert.length;
    setText(next);
    setCursor(place);
    requestAnimationFrame(() => field.current?.setSelectionRange(place, place));
  }

  async function send(how: How) {
    if (sending || disabled || (!text.trim() && files.length === 0)) return;
    setSending(true);
    try {
      await onSend(text, files, how);
      // Text that was typed meanwhile stays.
      if (now.current.startsWith(text)) setText(now.current.slice(text.length).trimStart());
      setFiles((all) => all.filter((file) => !files.includes(file)));
    } catch (error) {
      complain(error);
    } finally {
      setSending(false);
      field.current?.focus();
    }
  }

  async function add(list: Iterable<File>) {
    for (const file of list) {
      await attach(file).then((one) => setFiles((now) => [...now, one]), complain);
    }
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing) return;
    if (shown.length > 0) {
      if (event.key === "ArrowDown") setChosen((at + 1) % shown.length);
      else if (event.key === "ArrowUp") setChosen((at - 1 + shown.length) % shown.length);
      else if (event.key === "Enter" || event.key === "Tab") take(at);
      else if (event.key === "Escape") setClosed(true);
      else return;
      event.preventDefault();
      return;
    }
    if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      void send(event.ctrlKey || event.metaKey ? "now" : "send");
    } else if (event.key === "Escape" && running) onStop?.();
  }

  function onPaste(event: ClipboardEvent) {
    const pasted = [...event.clipboardData.files];
    if (pasted.length === 0) return;
    event.preventDefault();
    void add(pasted);
  }

  function onDrop(event: DragEvent) {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    void add([...event.dataTransfer.files]);
  }

  const empty = !text.trim() && files.length === 0;
  return (
    <div className="editor" onDrop={onDrop} onDragOver={(event) => event.preventDefault()}>
      {shown.length > 0 && (
        <ul className="suggestions" id={listId} role="listbox" aria-label="Suggestions">
          {shown.map((one, index) => (
            <li
              key={one.label}
              ref={index === at ? intoView : undefined}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === at}
              onPointerDown={(event) => {
                event.preventDefault();
                take(index);
              }}
            >
              <code>{one.label}</code>
              {one.detail && <span className="meta cut">{one.detail}</span>}
            </li>
          ))}
        </ul>
      )}
      {files.length > 0 && (
        <ul className="attachments">
          {files.map((file) => (
            <li key={file.id}>
              {file.preview && <img src={file.preview} alt="" />}
              <span className="cut">{file.name}</span>
              <button
                type="button"
                className="btn plain icon small"
                aria-label={`Remove ${file.name}`}
                onClick={() => setFiles((now) => now.filter((other) => other !== file))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        id="composer"
        dir="auto"
        ref={field}
        rows={1}
        value={text}
        disabled={disabled !== undefined}
        placeholder={disabled ?? label}
        aria-label={label}
        aria-controls={shown.length > 0 ? listId : undefined}
        aria-autocomplete="list"
        aria-activedescendant={shown.length > 0 ? `${listId}-${at}` : undefined}
        onChange={(event) => {
          setText(event.target.value);
          setCursor(event.target.selectionStart);
          setChosen(0);
          setClosed(false);
        }}
        onSelect={(event) => setCursor(event.currentTarget.selectionStart)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <div className="editor-foot">
        <button
          type="button"
          className="btn plain icon"
          aria-label="Attach files"
          title="Attach files"
          onClick={() => picker.current?.click()}
        >
          <Icon name="clip" />
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            void add([...(event.target.files ?? [])]);
            event.target.value = "";
          }}
        />
        {children}
        <span className="grow" />
        {running && !empty && (
          <button type="button" className="btn plain" title="Ctrl+Enter" onClick={() => void send("now")}>
            Send now
          </button>
        )}
        {running && onStop && (
          <button type="button" className="btn" onClick={onStop} aria-label="Stop the Turn" title="Stop the Turn (Esc)">
            <Icon name="stop" /> Stop
          </button>
        )}
        {(!running || !empty) && (
          <button
            type="button"
            className="btn primary"
            disabled={empty || sending || disabled !== undefined}
            onClick={() => void send("send")}
          >
            <Icon name="send" /> {running ? "Queue" : "Send"}
          </button>
        )}
      </div>
    </div>
  );
}

const intoView = (option: HTMLElement | null) => option?.scrollIntoView({ block: "nearest" });
