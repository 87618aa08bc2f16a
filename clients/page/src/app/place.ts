//! The part of a server that this page shows. At a node the address names a workspace, or all of them.

export type Place =
  /** The one workspace of a server. */
  | { at: "server" }
  /** A workspace of a node. */
  | { at: "workspace"; name: string }
  /** The list of a node's workspaces. */
  | { at: "node" };

export function placeOf(path: string): Place {
  if (path === "/w/") return { at: "node" };
  const name = /^\/w\/([a-z0-9][a-z0-9_-]*)\/$/.exec(path)?.[1];
  return name ? { at: "workspace", name } : { at: "server" };
}

export const place = placeOf(location.pathname);

/** The page of all workspaces of a node. */
export const NODE = "/w/";

export const workspacePage = (name: string) => `/w/${name}/`;

/** Returns the name under which this browser stores a value of this workspace. */
export const ofWorkspace = (key: string) => (place.at === "workspace" ? `w.${place.name}.${key}` : key);
