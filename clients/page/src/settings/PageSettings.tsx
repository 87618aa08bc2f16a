//! Settings of this browser alone.
import { useRemembered } from "../app/remember";
import { editors } from "../files/editors";
import { useClient, useHas } from "../server/context";
import { complain, say } from "../ui/toast";
import { NotifySwitch } from "../waiting/NotifySwitch";

export function PageSettings() {
  const client = useClient();
  const hasAlerts = useHas("alerts");
  const [editor, setEditor] = useRemembered("editor", "");
  const [theme, setTheme] = useRemembered("theme", "");
  return (
    <div className="stack-list">
      <label className="stack">
        Colours
        <select
          className="pick boxed"
          value={theme}
          onChange={(event) => {
            const chosen = event.target.value;
            setTheme(chosen);
            if (chosen) document.documentElement.dataset.theme = chosen;
            else delete document.documentElement.dataset.theme;
          }}
        >
          <option value="">As the system</option>
          <option value="light">Light</option>
          <option value="dark">Dark</option>
        </select>
      </label>
      <label className="stack">
        Open files in
        <select className="pick boxed" value={editor} onChange={(event) => setEditor(event.target.value)}>
          <option value="">This page only</option>
          {Object.entries(editors).map(([name, { label }]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <NotifySwitch />
      <p className="meta">
        The browser then says when something waits for you or a Turn has ended while you look elsewhere.
      </p>
      {hasAlerts && (
        <p>
          <button
            type="button"
            className="btn"
            onClick={() => void client.request("alert/test", {}).then(() => say("The alert has arrived."), complain)}
          >
            Send a test alert
          </button>
        </p>
      )}
    </div>
  );
}
