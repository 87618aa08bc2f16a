//! One thing that waits for the user's answer.
import type { Question } from "@bobbin/client";
import { ApprovalCard } from "./ApprovalCard";
import { InputCard } from "./InputCard";

export function QuestionCard({ question }: { question: Question }) {
  return question.kind === "approval" ? <ApprovalCard approval={question} /> : <InputCard asked={question} />;
}
