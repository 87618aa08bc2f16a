//! The first screen of a server without a model: the form that sets one up.
import { lazy, Suspense } from "react";
import { links } from "../app/route";
import { useServer } from "../server/context";
import { useDefaults } from "../server/defaults";

const ModelSetup = lazy(() => import("../settings/ModelSetup").then(({ ModelSetup }) => ({ default: ModelSetup })));

export function NoModel() {
  const { defaults } = useDefaults();
  const canSet = useServer()?.capabilities.workspaceConfigManagement === true;
  if (!defaults || defaults.modelSource === "setting") return null;
  if (defaults.modelSource === "key") {
    return (
      <p className="meta">
        Using {defaults.model}, because {defaults.keyVariable} is set.{" "}
        <a href={links.settings("models")}>Choose another model</a>
      </p>
    );
  }
  return (
    <section className="note stack-list" aria-label="No model yet">
      <h2>No model yet</h2>
      <p>Until you set one up, a small offline engine answers: it follows plain instructions such as “run `ls`”.</p>
      {canSet ? (
        <Suspense fallback={<p className="meta">Loading…</p>}>
          <ModelSetup />
        </Suspense>
      ) : (
        <p>
          Run <code>bobbin setup</code> on the server's machine.
        </p>
      )}
    </section>
  );
}
