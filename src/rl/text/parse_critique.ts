import { findSteps, lastBlock, type StepBlock, withoutSteps } from "./step_blocks.ts";

/** Contents of a verifier's response, whatever its shape. */
export interface ParsedCritique {
  /** Judgments of the well-formed steps, in order: true is CORRECT. Its length is K_v. */
  stepJudgments: boolean[];
  /** The steps that hold them. */
  judgedSteps: StepBlock[];
  /** Where in the response each of these judgments begins, with its `\boxed`. */
  judgmentStarts: number[];
  /** Number of steps, well-formed or not. */
  stepCount: number;
  /** The final judgment, or null when it cannot be read. */
  verdict: boolean | null;
  /** The whole response is `<step_verification>` then `<final_verification>` and nothing else. */
  blocksInOrder: boolean;
  /** Whether a final judgment of the required form is missing. */
  finalMalformed: boolean;
  /** The step block holds text outside its steps. */
  textBetweenSteps: boolean;
  /** It ends with the first step that it calls INCORRECT, having judged each step before. */
  endsAtError: boolean;
}

const BLOCK_TAG = /<\/?(?:step_verification|final_verification)>/;
const TWO_BLOCKS =
  /^\s*<step_verification>([^]*)<\/step_verification>\s*<final_verification>([^]*)<\/final_verification>\s*$/;
// Language models often put a full stop after the box; the reference accepts it, and either case.
const JUDGMENT_AT_END = /\\boxed\{(CORRECT|INCORRECT)\}\.?\s*$/i;
/**
 * Texts that end a critique at its first flagged step, for readers whom the rest does not concern. A judgment written
 * in another way that `parseCritique` accepts ends nothing.
 */
export const ERROR_ENDINGS: readonly string[] = ["", ".", "\n"].map((between) =>
  `\\boxed{INCORRECT}${between}</step>`
);

/** What may follow a critique's last step where it was stopped: its last token may hold the beginning of another tag. */
const NOTHING_MORE = /^\s*(?:<[^>]*)?$/;

const JUDGMENT_ALONE = /^\s*\\boxed\{(CORRECT|INCORRECT)\}\.?\s*$/i;

/** Where the word of the final judgment begins, and what it is; null when it cannot be read. */
export function verdictPlace(
  response: string,
): { readonly start: number; readonly isCorrect: boolean } | null {
  const block = lastBlock(response, "final_verification");
  const match = block && JUDGMENT_ALONE.exec(response.slice(block[0], block[1]));
  if (!block || !match) return null;
  const start = block[0] + match[0].indexOf("{") + 1;
  return { start, isCorrect: match[1].toUpperCase() === "CORRECT" };
}

/** Bounds of the step block: the first one, open to the final block (or the end) when never closed. */
function stepBlockBounds(response: string): [number, number] | null {
  const opening = response.indexOf("<step_verification>");
  if (opening < 0) return null;
  const start = opening + "<step_verification>".length;
  for (const end of ["</step_verification>", "<final_verification>"]) {
    const offset = response.indexOf(end, start);
    if (offset >= 0) return [start, offset];
  }
  return [start, response.length];
}

/**
 * Read a verifier response of the form `<step_verification>` with one
 * `<step>…\boxed{CORRECT|INCORRECT}</step>` per step, then
 * `<final_verification>\boxed{CORRECT|INCORRECT}</final_verification>`. Never throws. When the final
 * block is repeated, the last closed one counts.
 */
export function parseCritique(response: string): ParsedCritique {
  const bounds = stepBlockBounds(response);
  const steps = bounds ? findSteps(response, bounds[0], bounds[1]) : [];
  const verdict = verdictPlace(response)?.isCorrect ?? null;
  const blocks = TWO_BLOCKS.exec(response);
  const judged = steps.flatMap((step) => {
    const match = JUDGMENT_AT_END.exec(step.text);
    if (!match) return [];
    const start = step.start + "<step>".length + match.index;
    return [{ step, start, judgment: match[1].toUpperCase() === "CORRECT" }];
  });
  const stepJudgments = judged.map(({ judgment }) => judgment);
  return {
    stepJudgments,
    judgedSteps: judged.map(({ step }) => step),
    judgmentStarts: judged.map(({ start }) => start),
    stepCount: steps.length,
    verdict,
    blocksInOrder: blocks !== null && !BLOCK_TAG.test(blocks[1]) && !BLOCK_TAG.test(blocks[2]),
    finalMalformed: verdict === null,
    textBetweenSteps: bounds !== null &&
      withoutSteps(response, steps, bounds[0], bounds[1]).trim() !== "",
    endsAtError: steps.length > 0 && stepJudgments.length === steps.length &&
      stepJudgments.indexOf(false) === steps.length - 1 &&
      NOTHING_MORE.test(response.slice(steps[steps.length - 1].end)),
  };
}
