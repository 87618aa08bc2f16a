//! A file of a diff, whose lines are in the document only while it is open.
import { type ReactNode, useState } from "react";
import { Icon } from "../ui/Icon";

interface Props {
  name: string;
  open: boolean;
  head: ReactNode;
  children: ReactNode;
}

export function Folded({ name, open: first, head, children }: Props) {
  const [open, setOpen] = useState(first);
  return (
    <div className="file">
      <div className={open ? "file-head is-open" : "file-head"}>
        <button
          type="button"
          className="btn plain icon small"
          aria-expanded={open}
          aria-label={`Lines of ${name}`}
          onClick={() => setOpen(!open)}
        >
          <span className="twist">
            <Icon name="chevron" />
          </span>
        </button>
        {head}
      </div>
      {open && children}
    </div>
  );
}
