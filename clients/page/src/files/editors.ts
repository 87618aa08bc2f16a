//! Editors that open a file by an address, and the one that the user has picked.
import { recall } from "../app/remember";

/** The addresses, with the file's absolute path and a line. */
export const editors: Record<string, { label: string; link: (path: string, line: number) => string }> = {
  vscode: { label: "VS Code", link: (path, line) => `vscode://file${path}:${line}` },
  cursor: { label: "Cursor", link: (path, line) => `cursor://file${path}:${line}` },
  windsurf: { label: "Windsurf", link: (path, line) => `windsurf://file${path}:${line}` },
  zed: { label: "Zed", link: (path, line) => `zed://file${path}:${line}` },
  idea: {
    label: "JetBrains",
    link: (path, line) => `idea://open?file=${encodeURIComponent(path)}&line=${line}`,
  },
};

/** Returns the address that opens a file in the user's editor. `path` is absolute, as the server has resolved it. */
export function inEditor(path: string, line = 1): { label: string; href: string } | undefined {
  const editor = editors[recall("editor") ?? ""];
  // Each part is escaped, so that no character of a name ends the path.
  const escaped = path.split("/").map(encodeURIComponent).join("/");
  return editor && { label: editor.label, href: editor.link(editor === editors.idea ? path : escaped, line) };
}
