//! A text of the model or of a user, formatted.
import { memo, useMemo } from "react";
import { CodeBlock } from "./CodeBlock";
import { blocks, MAX_MARKDOWN } from "./markdown";

interface Props {
  text: string;
  /** Whether a line end is a line break, as in texts of users. */
  breaks?: boolean;
}

export const Markdown = memo(function Markdown({ text, breaks = false }: Props) {
  const parts = useMemo(() => (text.length > MAX_MARKDOWN ? null : blocks(text, breaks)), [text, breaks]);
  if (!parts) return <pre className="plain-text">{text}</pre>;
  return (
    <div className="prose">
      {parts.map((block) =>
        block.code ? (
          <CodeBlock key={block.key} text={block.code.text} language={block.code.language} />
        ) : (
          <Html key={block.key} html={block.html} />
        ),
      )}
    </div>
  );
});

const Html = memo(function Html({ html }: { html: string }) {
  // biome-ignore lint/security/noDangerouslySetInnerHtml: `markdown.ts` sanitizes it
  return <div dangerouslySetInnerHTML={{ __html: html }} />;
});
