//! The changes of a Turn to files, line by line.
import type { TurnState } from "@bobbin/client";
import { lazy, Suspense } from "react";

const Files = lazy(() => import("./Files"));

export function TurnDiff({ turn }: { turn: TurnState }) {
  return (
    <Suspense fallback={<p className="meta">Loading the diff…</p>}>
      <Files turn={turn} />
    </Suspense>
  );
}
