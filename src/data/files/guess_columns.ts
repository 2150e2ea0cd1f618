import { UserError } from "../../base/user_error.ts";
import { isConversation } from "./chat_messages.ts";
import type { ColumnMapping } from "./column_mapping.ts";
import { isRow, type Place, placeText, type Row } from "./row.ts";

/** Names that columns usually have, in lower case. */
const USUAL = {
  question: ["question", "problem", "prompt", "instruction", "query"],
  answer: ["answer", "final_answer", "expected_answer", "ground_truth", "target"],
  solution: ["solution", "response", "completion", "output", "rationale"],
  chosen: ["chosen"],
  rejected: ["rejected"],
  solutionSteps: ["solution_steps"],
  source: ["source", "data_source", "subject"],
  conversation: ["messages", "conversations"],
} as const;

/**
 * The columns to read, guessed from the names in the first row of a file. Throws a UserError that says what
 * to set when no column or more than one could be the question, the answer or the solution.
 */
export function guessColumns(row: Row, place: Place): ColumnMapping {
  const names = Object.keys(row);
  const candidates = (role: keyof typeof USUAL) =>
    names.filter((name) => (USUAL[role] as readonly string[]).includes(name.toLowerCase()));
  const complain = (found: string): never => {
    throw new UserError(
      `${placeText(place)}: ${found} among the columns ${
        names.join(", ")
      }. Set "columns" to say which ` +
        'to read, such as {"question": "Problem", "answer": "Answer"}, or "format" to a published one.',
    );
  };
  const only = (role: keyof typeof USUAL) => {
    const found = candidates(role);
    if (found.length > 1) {
      complain(`found ${found.join(" and ")}, either of which may be the ${role},`);
    }
    return found.at(0);
  };
  const conversation = only("conversation");
  const { chosen, rejected } = pairIn(row, { chosen: only("chosen"), rejected: only("rejected") });
  const solution = only("solution") ?? chosen;
  // Of a pair of conversations both hold what was asked.
  const question = only("question") ?? conversation ??
    (solution !== undefined && isConversation(row[solution]) ? solution : undefined);
  if (question === undefined) return complain("found no question");
  const isChat = isConversation(row[question]);
  const answer = only("answer") ?? nestedGroundTruth(row);
  if (answer !== undefined && /^####/m.test(String(row[answer]))) {
    complain(`found #### in "${answer}" as GSM8K has it (set format: gsm8k)`);
  }
  // Alpaca keeps what an instruction is about in a column of its own.
  const input = names.find((name) => name === "input" && question.toLowerCase() === "instruction");
  return {
    question: input === undefined ? question : [question, input],
    answer,
    solution: solution ?? (isChat ? question : undefined),
    rejected,
    solutionSteps: only("solutionSteps"),
    source: candidates("source").at(0),
  };
}

/** The columns of a pair of responses, where both hold a text or a conversation. */
function pairIn(
  row: Row,
  { chosen, rejected }: {
    readonly chosen: string | undefined;
    readonly rejected: string | undefined;
  },
): { chosen?: string; rejected?: string } {
  const isResponse = (name: string | undefined) =>
    name !== undefined && (typeof row[name] === "string" || isConversation(row[name]));
  return isResponse(chosen) && isResponse(rejected) ? { chosen, rejected } : {};
}

/**
 * As `guessColumns`, for imitating alone: where no solution is written, an answer is imitated as it is written.
 */
export function columnsToImitate(row: Row, place: Place): ColumnMapping {
  const names = Object.keys(row);
  const written = (role: "answer" | "solution") =>
    names.filter((name) => (USUAL[role] as readonly string[]).includes(name.toLowerCase()));
  const [answer, ...others] = written("answer");
  if (answer === undefined || others.length > 0 || written("solution").length > 0) {
    return guessColumns(row, place);
  }
  const { [answer]: _, ...rest } = row;
  const columns = guessColumns(rest, place);
  return { ...columns, solution: columns.solution ?? answer };
}

/** veRL keeps the answer inside the description of its reward. */
function nestedGroundTruth(row: Row): string | undefined {
  const isNested = isRow(row.reward_model) && "ground_truth" in row.reward_model;
  return isNested ? "reward_model.ground_truth" : undefined;
}
