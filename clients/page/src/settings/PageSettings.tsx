//! Settings of this browser alone.
import { useRemembered } from "../app/remember";
import { NotifySwitch } from "../waiting/NotifySwitch";

export function PageSettings() {
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
      <NotifySwitch />
      <p className="meta">
        The browser then says when something waits for you or a Turn has ended while you look elsewhere.
      </p>
    </div>
  );
}
