//! Suggestions for the word at the cursor: commands, skills and files.
export interface Suggestion {
  insert: string;
  label: string;
  detail?: string;
}

export interface Sources {
  commands: { name: string; description: string }[];
  skills: { name: string; description: string }[];
  files: readonly string[];
}

export interface Word {
  start: number;
  end: number;
  mark: "/" | "@" | "$";
  query: string;
}

const MOST = 12;

/** Returns the word at the cursor if there are suggestions for words like it. */
export function wordAt(text: string, cursor: number): Word | null {
  const match = /(?:^|\s)([/@$])("[^"\n]*|[^\s"]*)$/.exec(text.slice(0, cursor));
  if (!match) return null;
  const [, mark, query = ""] = match;
  const start = cursor - query.length - 1;
  if (mark === "/" && text.slice(0, start).trim() !== "") return null;
  return { start, end: cursor, mark: mark as Word["mark"], query };
}

export function suggestions(word: Word, { commands, skills, files }: Sources, found: readonly string[]): Suggestion[] {
  const query = word.query.toLowerCase();
  const fits = (name: string) => name.toLowerCase().includes(query);
  const skill = (one: { name: string; description: string }) => ({
    insert: `$${one.name} `,
    label: `$${one.name}`,
    detail: one.description,
  });
  if (word.mark === "@")
    return [...new Set([...files.filter((path) => path.toLowerCase().includes(query.replace(/^"/, ""))), ...found])]
      .slice(0, MOST)
      .map((path) => ({ insert: reference(path), label: path }));
  if (word.mark === "$")
    return skills
      .filter(({ name }) => fits(name))
      .slice(0, MOST)
      .map(skill);
  const runnable = commands
    .filter(({ name }) => fits(name.slice(1)))
    .map(({ name, description }) => ({ insert: `${name} `, label: name, detail: description }));
  return [...runnable, ...skills.filter(({ name }) => fits(name)).map(skill)].slice(0, MOST);
}

/** Returns a reference to a path. No blank follows a directory, so that the user can add a name. */
function reference(path: string): string {
  if (/\s/.test(path)) return `@"${path}" `;
  return path.endsWith("/") ? `@${path}` : `@${path} `;
}
