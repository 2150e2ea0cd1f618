import { isConversation, lastTurn } from "../chat_messages.ts";
import { type Format, makeRecord } from "../record.ts";
import { describeValue, placeText } from "../row.ts";
import { answerFrom, findColumn, objectFrom, textOf } from "../row_values.ts";
import { UserError } from "../../../base/user_error.ts";

/**
 * Eurus-2-RL-Data (Cui et al. 2025, arXiv:2502.01456), the training set of the RL Tango paper. Only the
 * mathematics is used; coding problems need their tests run.
 */
export const eurus2Rl: Format = {
  name: "eurus-2-rl",
  description: "Eurus-2-RL-Data: competition mathematics without solutions (its code is left out)",
  columns: ["data_source", "prompt", "ability", "reward_model"],

  toRecord(row, place) {
    const ability = textOf(row, ["ability"], place);
    if (ability !== "math") return { leftOut: `${ability ?? "unnamed"} problem` };
    const where = placeText(place);
    const prompt = row[findColumn(row, ["prompt"], place)];
    if (!isConversation(prompt)) {
      throw new UserError(
        `${where}, column "prompt": found ${describeValue(prompt)}, expected a list of messages.`,
      );
    }
    const asked = lastTurn(prompt, `${where}, column "prompt"`).question;
    const question = asked && withoutInstruction(asked);
    if (!question) return { leftOut: "no question" };
    const model = objectFrom(
      row[findColumn(row, ["reward_model"], place)],
      `${where}, column "reward_model"`,
    );
    return makeRecord({
      question,
      answer: answerFrom(
        model[findColumn(model, ["ground_truth"], place)],
        `${where}, column "reward_model.ground_truth"`,
      ),
      source: textOf(row, ["data_source"], place) ?? place.defaultSource,
    });
  },
};

/** Both sets end every question with how to write the answer; here that is for the prompt template to say. */
export function withoutInstruction(question: string): string {
  return question.replace(
    /\n\s*\n\s*(?:present|put|please|write|give|return|provide)\b[^\n]{0,120}\\boxed\{[^\n]{0,60}$/i,
    "",
  ).trim();
}
