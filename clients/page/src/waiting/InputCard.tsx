//! A question of the model, with answers to choose from or a text to write.
import type { UserInput, UserInputQuestion } from "@bobbin/client";
import { type FormEvent, useId, useState } from "react";
import { marked, markedInLine } from "../text/marked";

export function InputCard({ asked }: { asked: UserInput }) {
  const { questions } = asked.params;
  const [answers, setAnswers] = useState<Record<string, string>>({});
  const ready = questions.every((question) => answers[question.id]?.trim());

  function submit(event: FormEvent) {
    event.preventDefault();
    if (ready) asked.answer(Object.fromEntries(questions.map(({ id }) => [id, [answers[id] as string]])));
  }

  return (
    <form className="ask" tabIndex={-1} onSubmit={submit} aria-label="The agent asks">
      <h2>The agent asks</h2>
      {questions.map((question) => (
        <OneQuestion
          key={question.id}
          question={question}
          value={answers[question.id] ?? ""}
          onValue={(value) => setAnswers({ ...answers, [question.id]: value })}
        />
      ))}
      <div className="row wrap">
        <button type="submit" className="btn primary" disabled={!ready}>
          Answer
        </button>
        <button type="button" className="btn plain" onClick={() => asked.answer({})}>
          Skip
        </button>
      </div>
    </form>
  );
}

function OneQuestion({
  question,
  value,
  onValue,
}: {
  question: UserInputQuestion;
  value: string;
  onValue: (value: string) => void;
}) {
  const name = useId();
  const labels = question.options?.map((option) => option.label) ?? [];
  const free = question.isOther || labels.length === 0;
  return (
    <fieldset className="choices">
      {/* Of any author: no heading of ours, no link with words over another address. */}
      <legend>{marked(question.question)}</legend>
      {question.options?.map((option) => (
        <label key={option.label} className="choice">
          <input type="radio" name={name} checked={value === option.label} onChange={() => onValue(option.label)} />
          <span>
            {markedInLine(option.label)}
            {option.description && <span className="meta"> {markedInLine(option.description)}</span>}
          </span>
        </label>
      ))}
      {free && (
        <input
          className="field"
          aria-label={labels.length ? "Another answer" : "Your answer"}
          placeholder={labels.length ? "Another answer" : "Your answer"}
          value={labels.includes(value) ? "" : value}
          onChange={(event) => onValue(event.target.value)}
        />
      )}
    </fieldset>
  );
}
