//! The page after signing in: Threads at the left, the chosen part at the right, the connection's state at the top.
import { lazy, Suspense, useEffect, useSyncExternalStore } from "react";
import { RepositoryProvider } from "../git/status";
import { useMay, useStatus } from "../server/context";
import { screens } from "../server/screens";
import { ThreadListProvider } from "../server/threads";
import { Sidebar } from "../threads/Sidebar";
import { NewThread } from "../thread/NewThread";
import { ThreadView } from "../thread/ThreadView";
import { Announcer } from "../waiting/Announcer";
import { FollowWaiting } from "../waiting/FollowWaiting";
import { Waiting } from "../waiting/Waiting";
import { Offline } from "./Offline";
import { useKeys } from "./keys";
import { type Route, useRoute } from "./route";

const Actions = lazy(() => import("../finecode/Actions"));
const Browser = lazy(() => import("../files/Browser"));
const Changes = lazy(() => import("../git/Changes"));
const Compare = lazy(() => import("../compare/Compare"));
const Documents = lazy(() => import("../hl7/Documents"));
const DocumentView = lazy(() => import("../hl7/DocumentView"));
const Settings = lazy(() => import("../settings/Settings"));
const Shells = lazy(() => import("../shells/Shells"));
const Screens = lazy(() => import("../hl7/Screens"));

export function Shell({ onOut }: { onOut: (why: string) => void }) {
  const route = useRoute();
  const status = useStatus();
  const help = useKeys();
  useEffect(() => {
    if (status.state === "closed") onOut(status.reason.message);
  }, [status, onOut]);
  return (
    <ThreadListProvider>
      <RepositoryProvider>
        {/* biome-ignore lint/a11y/useValidAnchor: the address names a Thread, so the fragment cannot */}
        <a
          className="skip"
          href="#main"
          onClick={(event) => {
            event.preventDefault();
            document.getElementById("main")?.focus();
          }}
        >
          Skip to the conversation
        </a>
        <div className={route.at === "home" ? "shell at-home" : "shell"}>
          <Sidebar />
          <div className="main" id="main" tabIndex={-1}>
            <Offline />
            <Suspense fallback={<p className="empty">Loading…</p>}>
              <Main route={route} />
            </Suspense>
          </div>
        </div>
        <FollowWaiting />
        <Announcer />
        <Extensions />
        {help}
      </RepositoryProvider>
    </ThreadListProvider>
  );
}

function Main({ route }: { route: Route }) {
  const isOwner = useMay("owner");
  switch (route.at) {
    case "thread":
      return <ThreadView key={route.id} id={route.id} row={route.row} tab={route.tab ?? null} />;
    case "waiting":
      return <Waiting />;
    case "actions":
      return isOwner ? <Actions /> : <OfOwner what="FineCode is" />;
    case "changes":
      return <Changes key={route.thread} thread={route.thread} />;
    case "compare":
      return <Compare key={route.group} group={route.group} />;
    case "terminal":
      return isOwner ? <Shells key={route.thread} thread={route.thread} /> : <OfOwner what="Terminals are" />;
    case "files":
      return <Browser path={route.path} line={route.line} />;
    case "documents":
      return <Documents />;
    case "document":
      return <DocumentView key={route.id} id={route.id} />;
    case "settings":
      return <Settings section={route.section} />;
    case "new":
    case "home":
      return <NewThread />;
  }
}

/** The place of a part that only an owner uses. */
function OfOwner({ what }: { what: string }) {
  return (
    <main className="page">
      <p className="empty">{what} for owners of the server.</p>
    </main>
  );
}

/** Dialogs and windows of extensions. The first one loads their code. */
function Extensions() {
  const { asked, windows } = useSyncExternalStore(screens.subscribe, screens.getSnapshot);
  if (asked.length + windows.length === 0) return null;
  return (
    <Suspense>
      <Screens asked={asked} windows={windows} />
    </Suspense>
  );
}
