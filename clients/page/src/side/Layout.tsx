//! How changes are shown: in one column or side by side.

export function Layout({ view, onView }: { view: string; onView: (view: string) => void }) {
  return (
    <div className="tabs small" role="group" aria-label="How changes are shown">
      {["inline", "side by side"].map((name) => (
        <button key={name} type="button" aria-pressed={view === name} onClick={() => onView(name)}>
          {name}
        </button>
      ))}
    </div>
  );
}
