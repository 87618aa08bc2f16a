//! Colours for code. The highlighter and its languages are fetched when there is code to colour.
type Highlighter = typeof import("highlight.js/lib/core")["default"];

let loading: Promise<Highlighter> | undefined;

export async function highlight(text: string, language: string): Promise<string | null> {
  loading ??= import("./languages").then((module) => module.default);
  const highlighter = await loading;
  if (!highlighter.getLanguage(language)) return null;
  return highlighter.highlight(text, { language, ignoreIllegals: true }).value;
}

const byExtension: Record<string, string> = {
  rs: "rust",
  ts: "typescript",
  tsx: "typescript",
  mts: "typescript",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  py: "python",
  md: "markdown",
  yml: "yaml",
  yaml: "yaml",
  sh: "bash",
  toml: "ini",
  ini: "ini",
  h: "c",
  hpp: "cpp",
  cc: "cpp",
  rb: "ruby",
  kt: "kotlin",
  cs: "csharp",
  html: "xml",
  xml: "xml",
  svg: "xml",
};

export function languageOf(path: string): string {
  const extension = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  return byExtension[extension] ?? extension;
}
