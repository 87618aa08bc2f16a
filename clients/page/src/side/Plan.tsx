//! The plan of the agent and its steps.
import type { PlanSnapshot } from "@bobbin/client";
import { Markdown } from "../text/Markdown";

const marks = { pending: "○", in_progress: "◐", completed: "●", cancelled: "–" } as const;
const words = { pending: "to do", in_progress: "at work", completed: "done", cancelled: "dropped" } as const;

export function Plan({ plan }: { plan?: PlanSnapshot }) {
  if (!plan || (!plan.content && plan.todos.length === 0)) return <p className="empty">The agent has made no plan.</p>;
  return (
    <>
      {plan.title && <h2>{plan.title}</h2>}
      {plan.overview && <Markdown text={plan.overview} />}
      <ul className="todos">
        {plan.todos.map((todo) => (
          <li key={todo.id} className={`is-${todo.status}`}>
            <span aria-hidden="true">{marks[todo.status]}</span>
            <span className="sr">{words[todo.status]}: </span>
            <span>{todo.content}</span>
          </li>
        ))}
      </ul>
      {plan.content && <Markdown text={plan.content} />}
    </>
  );
}
