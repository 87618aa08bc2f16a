//! A path of the server's machine, with what the workspace has under that name.
import { useId } from "react";
import { useFound } from "../compose/useFound";

interface Props {
  label: string;
  value: string;
  onValue: (value: string) => void;
  /** Which of the found paths are offered; those of directories end with `/`. */
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
