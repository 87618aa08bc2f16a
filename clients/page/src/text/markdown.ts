//! Makes safe HTML of Markdown, block by block. While a text streams, only its last block is made again.
import DOMPurify from "dompurify";
import { marked, type Token } from "marked";
import { links } from "../app/route";
import { fileLink } from "./fileLink";

/** Longest formatted text. A longer one is shown without format. */
export const MAX_MARKDOWN = 400_000;
const MAX_CACHE = 2000;
const cache = new Map<string, string>();

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string) => text.replace(/[&<>"]/g, (char) => escapes[char] ?? char);

marked.use({
  gfm: true,
  renderer: {
    // The page sends no request to other hosts, so a picture becomes a link.
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
    html: ({ text }) => escaped(text),
    codespan: ({ text }) => filed(text, `<code>${escaped(text)}</code>`),
    // A link without a scheme leads to a file of the workspace, or nowhere.
    link({ href, title, tokens }) {
      const inner = this.parser.parseInline(tokens);
      if (/^(?:https?|mailto):/i.test(href))
        return `<a href="${escaped(href)}"${title ? ` title="${escaped(title)}"` : ""}>${inner}</a>`;
      return filed(href, inner);
    },
  },
});

/** Marks what names a file, or a line of it. The link is made when the HTML is safe. */
function filed(text: string, html: string): string {
  const link = fileLink(text);
  if (!link) return html;
  return `<span data-file="${escaped(link.path)}" data-line="${link.line ?? ""}">${html}</span>`;
}

const DIRECTED = new Set(["P", "H1", "H2", "H3", "H4", "H5", "H6", "UL", "OL", "TD", "TH"]);

const purify = DOMPurify(window);
purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer");
  }
  if (node.tagName === "SPAN" && node instanceof HTMLElement && node.dataset.file) {
    const link = node.ownerDocument.createElement("a");
    link.href = links.file(node.dataset.file, Number(node.dataset.line) || undefined);
    // The span is visited once more in its new place.
    delete node.dataset.file;
    node.before(link);
    link.append(node);
  }
  if (node.tagName === "INPUT") {
    node.setAttribute("disabled", "");
    node.setAttribute("aria-label", node.hasAttribute("checked") ? "done" : "to do");
  }
  // A paragraph has the direction of its own words, and a list that of its first item.
  if (DIRECTED.has(node.tagName)) node.setAttribute("dir", "auto");
  if (node.tagName === "TABLE" || node.tagName === "PRE") node.setAttribute("tabindex", "0");
});

export interface Block {
  key: string;
  html: string;
  /** Set for fenced code, which has a box with its language and a button that copies it. */
  code?: { text: string; language: string };
}

export function blocks(text: string, breaks = false): Block[] {
  const tokens = marked.lexer(text, { ...marked.defaults, breaks });
  const links = tokens.links;
  return tokens
    .filter((token) => token.type !== "space" && token.type !== "def")
    .map((token, index) => {
      const key = `${index}`;
      if (token.type === "code") {
        return {
          key,
          html: "",
          code: { text: token.text as string, language: (token.lang as string | undefined)?.split(/\s/)[0] ?? "" },
        };
      }
      return { key, html: safe(token, links, breaks) };
    });
}

function safe(token: Token, links: ReturnType<typeof marked.lexer>["links"], breaks: boolean): string {
  const name = breaks ? `\n${token.raw}` : token.raw;
  const known = cache.get(name);
  if (known !== undefined) return known;
  const html = purify.sanitize(marked.parser(Object.assign([token], { links })), {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ["style", "form", "button", "textarea", "select", "img", "video", "audio", "iframe", "dialog"],
    FORBID_ATTR: ["style", "id", "name", "class"],
    // Without this, the pattern for addresses checks these values too.
    ADD_URI_SAFE_ATTR: ["type", "start", "align"],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  });
  if (cache.size >= MAX_CACHE) cache.delete(cache.keys().next().value as string);
  if (token.raw.length < 20_000) cache.set(name, html);
  return html;
}
