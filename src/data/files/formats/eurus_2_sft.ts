import { lastBoxAnswer } from "../boxed_answer.ts";
import { isConversation, lastTurn } from "../chat_messages.ts";
import { type Format, makeRecord } from "../record.ts";
import { describeValue, placeText } from "../row.ts";
import { findColumn, textOf } from "../row_values.ts";
import { splitSolution } from "../solution_steps.ts";
import { UserError } from "../../../base/user_error.ts";
import { withoutInstruction } from "./eurus_2_rl.ts";

/**
 * Eurus-2-SFT-Data (Cui et al. 2025, arXiv:2502.01456), whose mathematics the RL Tango reference lets a teacher solve
 * anew. The answer is that of the response, which nobody has checked.
 */
export const eurus2Sft: Format = {
  name: "eurus-2-sft",
  description: "Eurus-2-SFT-Data: mathematics with a model's responses (its code is left out)",
  columns: ["conversations", "task", "dataset"],

  toRecord(row, place) {
    const task = textOf(row, ["task"], place);
    if (task?.toLowerCase() !== "math") return { leftOut: `${task ?? "unnamed"} problem` };
    const where = `${placeText(place)}, column "conversations"`;
    const messages = row[findColumn(row, ["conversations"], place)];
    if (!isConversation(messages)) {
      throw new UserError(
        `${where}: found ${describeValue(messages)}, expected a list of messages.`,
      );
    }
    const { question: asked, response } = lastTurn(messages, where);
    const question = asked && withoutInstruction(asked);
    if (!question) return { leftOut: "no question" };
    return makeRecord({
      question,
      answer: response === null ? null : lastBoxAnswer(response),
      solution: response,
      solutionSteps: response === null ? null : splitSolution(response),
      source: textOf(row, ["dataset"], place) ?? place.defaultSource,
    });
  },
};
