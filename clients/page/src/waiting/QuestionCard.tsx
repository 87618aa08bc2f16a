//! One open approval or question.
import type { Question } from "@bobbin/client";
import { ApprovalCard } from "./ApprovalCard";
import { InputCard } from "./InputCard";

export function QuestionCard({ question }: { question: Question }) {
  return question.kind === "approval" ? <ApprovalCard approval={question} /> : <InputCard asked={question} />;
}
