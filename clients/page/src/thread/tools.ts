//! The name of a tool call on the page: a verb and an object.

/** A text of a file and its replacement, in one place or in all. */
export interface Edit {
  path: string;
  before: string;
  after: string;
  everywhere: boolean;
}

export interface Subject {
  verb: string;
  object: string;
  /** The file that the call is about. */
  path?: string;
  /** Whether the call only looks. Rows of such calls are folded. */
  looks?: boolean;
  /** Set for tools that change files. The page shows a diff of the arguments. */
  edit?: Edit;
  patch?: string;
}

const text = (value: unknown) => (typeof value === "string" ? value : "");

export function subject(name: string, given: Record<string, unknown> | undefined, partial = ""): Subject {
  const args = given ?? peek(partial);
  const path = text(args.path) || text(args.filePath);
  switch (name) {
    case "ReadFile":
      return { verb: "Read", object: path, path, looks: true };
    case "WriteFile":
      return {
        verb: "Write",
        object: path,
        path,
        ...(given && { edit: { path, before: "", after: text(args.content), everywhere: false } }),
      };
    case "EditFile":
      return {
        verb: "Edit",
        object: path,
        path,
        ...(given && {
          edit: { path, before: text(args.oldText), after: text(args.newText), everywhere: args.replaceAll === true },
        }),
      };
    case "ApplyPatch":
      return {
        verb: "Patch",
        object: patched(text(args.patch) || text(args.input)),
        ...(given && { patch: text(args.patch) || text(args.input) }),
      };
    case "Exec":
      return { verb: "Run", object: text(args.command) };
    case "GrepFiles":
      return {
        verb: "Search",
        object: [text(args.pattern), path && `in ${path}`].filter(Boolean).join(" "),
        looks: true,
      };
    case "FindFiles":
      return {
        verb: "Find",
        object: [text(args.pattern), path && `in ${path}`].filter(Boolean).join(" ") || "files",
        looks: true,
      };
    case "WebFetch":
      return { verb: "Fetch", object: text(args.url) };
    case "WebSearch":
      return { verb: "Search the web", object: text(args.query) };
    case "ViewImage":
      return { verb: "Look at", object: path };
    case "ViewSkill":
      return { verb: "Read skill", object: text(args.name) };
    case "CreatePlan":
    case "UpdateTodos":
    case "TodoWrite":
      return { verb: "Plan", object: text(args.title) };
    case "AskUser":
      return { verb: "Ask you", object: text(args.question) };
    case "WaitAgent":
      return { verb: "Wait for agents", object: text(args.agentNickname) };
    case "SpawnAgent":
      return { verb: "Start agent", object: text(args.agentNickname) || text(args.agentPrompt) };
    default: {
      const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
      const first = Object.values(args).find((value) => typeof value === "string");
      return { verb: server ? `${server}: ${tool}` : name || "Tool", object: text(first) };
    }
  }
}

/** Returns the complete string members of arguments that still stream. */
function peek(partial: string): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [, key, value] of partial.slice(0, 2000).matchAll(/"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)"/g)) {
    try {
      found[key as string] = JSON.parse(`"${value}"`);
    } catch {
      // The member is not complete yet.
    }
  }
  return found;
}

function patched(patch: string): string {
  const files = [...patch.matchAll(/^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/gm)].map(
    ([, file]) => file as string,
  );
  return files.length > 2 ? `${files[0]} and ${files.length - 1} more` : files.join(", ");
}
