//! A conversation as a file: Markdown, or a line of JSON for each Turn. `bobbin threads export` writes the same.
import type { Client, Item, Thread, Turn } from "@bobbin/client";
import { marked } from "../text/marked";

/** Turns of one request. */
const PAGE = 100;

export type Format = "md" | "jsonl";

/** Has the browser save the whole conversation. */
export async function exportThread(client: Client, id: string, format: Format): Promise<void> {
  const thread = await whole(client, id);
  const text = format === "md" ? marked(markdown(thread)) : lines(thread);
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${fileName(thread.displayName ?? id)}.${format}`;
  link.click();
  URL.revokeObjectURL(url);
}

const fileName = (title: string) => title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 80) || "thread";

/** Reads a Thread with all its Turns, oldest first. */
async function whole(client: Client, threadId: string): Promise<Thread> {
  const pages: Turn[][] = [];
  let cursor: string | undefined;
  for (;;) {
    const read = await client.request("thread/read", {
      threadId,
      includeTurns: true,
      turnLimit: PAGE,
      ...(cursor && { cursor }),
    });
    pages.unshift(read.thread.turns ?? []);
    cursor = read.turnPage?.nextCursor ?? undefined;
    if (!cursor) return { ...read.thread, turns: pages.flat() };
  }
}

function lines({ turns = [], ...thread }: Thread): string {
  return `${[thread, ...turns].map((one) => JSON.stringify(one)).join("\n")}\n`;
}

/** Views of calls and questions about them are left out: the call says what was done. */
export function markdown({ id, displayName = "Without a title", turns = [] }: Thread): string {
  const parts = [`# ${displayName.replaceAll("\n", " ")}`, `Thread \`${id}\`.`];
  for (const turn of turns) {
    const state = turn.status === "completed" ? "" : ` (${turn.status})`;
    parts.push(`## ${turn.id}, ${turn.startedAt.slice(0, 16).replace("T", " ")}${state}`);
    parts.push(...(turn.items ?? []).flatMap(paragraphs));
  }
  return `${parts.join("\n\n")}\n`;
}

function paragraphs(item: Item): string[] {
  switch (item.type) {
    case "userMessage":
      return [item.payload.text.replace(/^/gm, "> ")];
    case "agentMessage":
      return [item.payload.text.trimEnd()];
    case "reasoningContent":
      return [`*${item.payload.text.trim()}*`];
    case "toolCall": {
      const { toolName, arguments: given } = item.payload;
      const command = (given as { command?: unknown } | undefined)?.command;
      return [`\`${toolName}\``, fenced(typeof command === "string" ? command : JSON.stringify(given))];
    }
    case "toolResult":
      return [...(item.payload.success ? [] : ["Failed:"]), fenced(item.payload.result)];
    case "error":
      return [`**Error:** ${item.payload.message}`];
    default:
      return [];
  }
}

/** Puts text between fences that are longer than any in it. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text.replace(/\n+$/, "")}\n${fence}`;
}
