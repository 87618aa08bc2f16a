//! The name of a remote, or a choice where there are several.
import { markedInLine } from "../text/marked";

interface Props {
  plan: { remotes: string[]; remote: string };
  onChoose: (remote: string) => void;
}

export function Remote({ plan: { remotes, remote }, onChoose }: Props) {
  if (remotes.length < 2) return <>{markedInLine(remote)}</>;
  return (
    <select
      className="pick boxed"
      aria-label="Remote"
      value={remote}
      onChange={(event) => onChoose(event.target.value)}
    >
      {remotes.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}
