//! A block of code with its language, a button that copies it, and colours once the highlighter is loaded.
import { memo, useEffect, useState } from "react";
import { Icon } from "../ui/Icon";
import { complain } from "../ui/toast";
import { highlight } from "./highlight";

/** Longer code is shown without colours. */
const MAX_COLOURED = 60_000;

export const CodeBlock = memo(function CodeBlock({
  text,
  shown = text,
  language,
}: {
  text: string;
  shown?: string;
  language: string;
}) {
  const html = useHighlighted(shown, language);
  return (
    <figure className="code">
      <figcaption>
        <span className="grow">{language || "text"}</span>
        <CopyButton text={text} />
      </figcaption>
      <pre tabIndex={0} aria-label={`Code, ${language || "text"}`}>
        {html === null ? (
          <code>{shown}</code>
        ) : (
          // biome-ignore lint/security/noDangerouslySetInnerHtml: the highlighter escapes the text
          <code dangerouslySetInnerHTML={{ __html: html }} />
        )}
      </pre>
    </figure>
  );
});

/** Returns HTML of escaped text and `span`s with classes alone, or null where there are no colours. */
export function useHighlighted(text: string, language: string): string | null {
  const [shown, setShown] = useState<{ text: string; html: string } | null>(null);
  useEffect(() => {
    if (!language || text.length > MAX_COLOURED) return;
    let current = true;
    highlight(text, language).then(
      (html) => current && setShown(html === null ? null : { text, html }),
      () => {},
    );
    return () => {
      current = false;
    };
  }, [text, language]);
  return shown?.text === text ? shown.html : null;
}

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  return (
    <button
      type="button"
      className="btn plain icon small"
      aria-label={done ? "Copied" : label}
      title={label}
      onClick={() => {
        navigator.clipboard.writeText(text).then(() => {
          setDone(true);
          setTimeout(() => setDone(false), 1500);
        }, complain);
      }}
    >
      <Icon name={done ? "check" : "copy"} />
    </button>
  );
}
