//! The changes of a Turn in files, each with its lines.
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
