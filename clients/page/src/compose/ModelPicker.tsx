//! Chooses a model by search. The latest choices of this browser come first.
import type { ModelInfo } from "@bobbin/client";
import { type KeyboardEvent, useId, useMemo, useState } from "react";
import { recall, remember } from "../app/remember";
import { markedInLine } from "../text/marked";
import { Dialog } from "../ui/Dialog";
import { count } from "../ui/format";

/** Choices that come first, and rows before the user asks by a search. */
const LATEST = 4;
const MOST = 100;
const KEY = "models";

interface Props {
  models: readonly ModelInfo[];
  /** The chosen model; empty for the default. */
  model: string;
  /** The name of the default. */
  byDefault: string;
  /** Why the list is not complete. */
  problem?: string;
  onChoose: (model: string) => void;
}

export function ModelPicker({ models, model, byDefault, problem, onChoose }: Props) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className="pick"
        aria-label="Model"
        aria-haspopup="dialog"
        title={model || byDefault}
        onClick={() => setOpen(true)}
      >
        <span className="cut">{model ? markedInLine(shortName(model)) : byDefault}</span>
      </button>
      {open && (
        <Dialog title="Model" onClose={() => setOpen(false)}>
          <Choices
            models={models}
            model={model}
            byDefault={byDefault}
            problem={problem}
            onChoose={(id) => {
              if (id) remember(KEY, JSON.stringify([id, ...latest().filter((one) => one !== id)].slice(0, LATEST)));
              setOpen(false);
              onChoose(id);
            }}
          />
        </Dialog>
      )}
    </>
  );
}

function Choices({ models, model, byDefault, problem, onChoose }: Props) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const shown = useMemo(() => found(models, model, query), [models, model, query]);
  const choices = query.trim() ? shown : [undefined, ...shown];
  const active = Math.min(at, choices.length - 1);

  function keys(event: KeyboardEvent) {
    if (event.key === "ArrowDown") setAt((active + 1) % choices.length);
    else if (event.key === "ArrowUp") setAt((active - 1 + choices.length) % choices.length);
    else if (event.key === "Enter" && active >= 0) onChoose(choices[active]?.id ?? "");
    else return;
    event.preventDefault();
  }

  return (
    <div className="models">
      <input
        type="text"
        className="field"
        role="combobox"
        aria-expanded={true}
        aria-controls={list}
        aria-activedescendant={active >= 0 ? `${list}-${active}` : undefined}
        aria-label="Search models"
        placeholder="Search"
        value={query}
        onChange={(event) => {
          setQuery(event.target.value);
          setAt(0);
        }}
        onKeyDown={keys}
      />
      {problem && <p className="note bad">{problem}</p>}
      <div className="models-list" role="listbox" id={list} aria-label="Models">
        {choices.map((one, index) => (
          <div
            key={one?.id ?? ""}
            id={`${list}-${index}`}
            role="option"
            className="model-row"
            aria-selected={index === active}
            ref={index === active ? (row) => row?.scrollIntoView({ block: "nearest" }) : undefined}
            onClick={() => onChoose(one?.id ?? "")}
          >
            <span className="cut grow">
              {one ? markedInLine(shortName(one.id)) : byDefault}
              {one && <span className="meta"> {markedInLine(one.providerId ?? one.ownedBy)}</span>}
            </span>
            {(one?.id ?? "") === model && <span className="meta">chosen</span>}
            {one?.contextWindow && <span className="meta num">{count(one.contextWindow)}</span>}
            {one?.price && (
              <span className="meta num" title="A million tokens that it reads, and that it writes">
                {cost(one.price.input, one.price.currency)} / {cost(one.price.output, one.price.currency)}
              </span>
            )}
          </div>
        ))}
      </div>
      {choices.length === 0 && <p className="empty">No model has this in its name.</p>}
    </div>
  );
}

/** Returns the name without the provider's. */
const shortName = (id: string) => id.slice(id.indexOf("/") + 1);

const cost = (price: number, currency?: string) => `${currency ? `${currency} ` : "$"}${Number(price.toFixed(2))}`;

function latest(): string[] {
  try {
    const stored: unknown = JSON.parse(recall(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** Returns the models that have all words of a query in their names, the latest choices first. */
function found(models: readonly ModelInfo[], model: string, query: string): ModelInfo[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const first = latest();
  const rank = (id: string) => (first.includes(id) ? first.indexOf(id) : first.length);
  // One that the server does not list can be chosen, too.
  const known = model && !models.some(({ id }) => id === model) ? [unlisted(model), ...models] : models;
  return known
    .filter(({ id }) => words.every((word) => id.toLowerCase().includes(word)))
    .toSorted((one, other) => rank(one.id) - rank(other.id))
    .slice(0, MOST);
}

const unlisted = (id: string): ModelInfo => ({ id, createdAt: "", isDefault: false, ownedBy: "" });
