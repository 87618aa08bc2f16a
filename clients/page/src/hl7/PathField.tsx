//! A field for a path of the server's machine, with suggestions from the workspace.
import { useId } from "react";
import { useFound } from "../compose/useFound";

interface Props {
  label: string;
  value: string;
  onValue: (value: string) => void;
  /** Chooses the suggested paths; those of directories end with `/`. */
  takes?: (path: string) => boolean;
}

export function PathField({ label, value, onValue, takes = () => true }: Props) {
  const list = useId();
  const found = useFound(value.startsWith("/") ? null : value);
  return (
    <label className="stack">
      {label}
      <input
        className="field mono"
        value={value}
        list={list}
        autoComplete="off"
        spellCheck={false}
        autoFocus
        onChange={(event) => onValue(event.target.value)}
      />
      <datalist id={list}>
        {found.filter(takes).map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
    </label>
  );
}
