import { z } from "zod";
import { PHASES, ROW, type RunIndex } from "./run_index.ts";

/** A step's verdicts against the truth, as shares of its critiques; CORRECT is the positive class. */
export const confusionSchema = z.object({
  step: z.int(),
  source: z.literal("training"),
  trueCorrect: z.number(),
  falseCorrect: z.number(),
  trueIncorrect: z.number(),
  falseIncorrect: z.number(),
  unparsed: z.number().describe(
    "Among those that are counted as wrong: silence on a right solution counts as INCORRECT, and the other way.",
  ),
});
export type Confusion = z.infer<typeof confusionSchema>;

/** Points at most; where there are more, some are left out. */
const MOST_POINTS = 1000;

/**
 * The verifier's confusion matrix in its training steps, over all critiques of a step. With p the
 * share of right solutions: recall is trueCorrect / p, and accuracy trueCorrect + trueIncorrect.
 */
export function readConfusion(index: RunIndex, run: number): Confusion[] {
  const rows = index.rowsOf(run);
  const read = (name: string) => index.columns.read(run, name, rows);
  const [steps, phases] = [read(ROW.step), read(ROW.phase)];
  const [right, recall, accuracy, silent] = [
    "verifier/solutions_correct",
    "verifier/recall",
    "verifier/accuracy",
    "verifier/verdict_unparsed",
  ].map(read);
  const points: Confusion[] = [];
  for (let row = 0; row < rows; row++) {
    if (PHASES[phases[row]] !== "verifier" || Number.isNaN(right[row] + accuracy[row])) continue;
    const trueCorrect = right[row] * (recall[row] || 0);
    const trueIncorrect = accuracy[row] - trueCorrect;
    points.push({
      step: steps[row],
      source: "training",
      trueCorrect,
      trueIncorrect,
      falseIncorrect: right[row] - trueCorrect,
      falseCorrect: Math.max(0, 1 - right[row] - trueIncorrect),
      unparsed: silent[row] || 0,
    });
  }
  const every = Math.ceil(points.length / MOST_POINTS);
  return points.filter((_, index) => index % every === 0);
}
