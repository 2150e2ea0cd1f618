/** Which of several replies `chat` says. */

import { mean } from "../base/statistics.ts";
import { UserError } from "../base/user_error.ts";
import type { ReplyChoice } from "../engine/conversation.ts";
import type { Gpu } from "../gpu/gpu.ts";
import { loadModelFolder } from "../model/weights/model_folder.ts";
import { verifierTemplate } from "../rl/prompt_template.ts";
import { tokensBefore } from "../rl/rewriting.ts";
import { parseSolution } from "../rl/text/parse_solution.ts";
import { frozenStorage } from "../run/config/frozen_storage.ts";
import type { FrozenDtype } from "../run/config/shared_schema.ts";
import { type PolicyPrompting, promptedAs, runOfModel } from "../run/store/model_run.ts";
import { promptOf } from "../run/tango/policies.ts";
import { judgeAnswers } from "./judged_answers.ts";

/** What says how many replies there are, what chooses among them, and how often the best is begun again. */
export interface ChoiceOptions {
  readonly bestOf?: number;
  readonly rewrites: number;
  /** Folder. */
  readonly verifier?: string;
  readonly frozenDtype?: FrozenDtype;
}

/**
 * Opens what chooses, for the time of `body`: a verifier's P(CORRECT) of one greedy critique, or without one the
 * log-prob per token. Null where there is one reply, said as it comes.
 *
 * @throws UserError when the verifier cannot be opened, or lies in no run that says how it is asked
 */
export async function withChoice(
  gpu: Gpu,
  { bestOf, rewrites, verifier: path, frozenDtype }: ChoiceOptions,
  body: (choice: ReplyChoice | null) => Promise<void>,
): Promise<void> {
  if (bestOf === undefined && rewrites === 0) return await body(null);
  const drawn = { count: bestOf ?? 1, rewrites };
  if (path === undefined) {
    return await body({
      ...drawn,
      judge: (_, replies) =>
        Promise.resolve(replies.map(({ logProbs }) => ({
          score: mean(Array.from(logProbs)),
          rightTokens: null,
        }))),
    });
  }
  const prompting = promptingOf(path);
  const storage = frozenStorage(frozenDtype);
  const loaded = await loadModelFolder(gpu, path, { trained: false, storage });
  try {
    const template = verifierTemplate(prompting.prompt_template);
    const asked = { ...prompting, model: path };
    const { prompt, turnEnd } = promptOf(asked, template, loaded.tokenizer);
    await body({
      ...drawn,
      judge: async (question, replies) => {
        const judged = await judgeAnswers(loaded, question, replies.map(({ text }) => text), {
          ...{ critiques: 1, critiqueLength: prompting.max_response_length, temperature: 0 },
          ...{ template: prompt, turnEnd, seed: 0 },
        });
        return judged.map(({ quality, flagged }, i) => {
          const { text, tokenTexts } = replies[i];
          const { steps } = parseSolution(text);
          const rightTokens = flagged === null ? null : tokensBefore(tokenTexts, steps, flagged);
          return { score: quality, rightTokens };
        });
      },
    });
  } finally {
    loaded.model.release();
  }
}

function promptingOf(verifier: string): PolicyPrompting {
  const run = runOfModel(verifier);
  const prompting = run && promptedAs("verifier", run);
  if (prompting === null) {
    throw new UserError(
      `--verifier ${verifier} comes from no run and no fine-tuning of a verifier, which would say how it is ` +
        "asked. Name one such as runs/word-problems-001/verifier.",
    );
  }
  return prompting;
}
