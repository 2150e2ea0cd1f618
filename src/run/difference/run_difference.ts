import { readRecords } from "../audit/records.ts";
import { inputsOf, storedRun } from "../record/stored_run.ts";
import { type InputDifference, inputsDifference } from "./inputs_difference.ts";
import { lastStep, type Parting, recordsDifference } from "./records_difference.ts";
import { samplesDifference, type TextDifference } from "./samples_difference.ts";
import { type SettingDifference, settingsDifference, type TwoRuns } from "./settings_difference.ts";
import { type SurroundingsDifference, surroundingsDifference } from "./surroundings_difference.ts";
import { type WeightsDifference, weightsDifference } from "./weights_difference.ts";

/** How two runs differ: in what they went by, and in what came of it. */
export interface RunDifference {
  readonly settings: readonly SettingDifference[];
  readonly inputs: readonly InputDifference[];
  readonly surroundings: readonly SurroundingsDifference[];
  /** Where they part; null where all records are the same, as far as both runs went. */
  readonly parting: Parting | null;
  /** The first text that differs among the samples of the step in which they part; null for none. */
  readonly text: TextDifference | null;
  /** The first weight that differs in a checkpoint of both; null for none. */
  readonly weights: WeightsDifference | null;
  /** The last step that both have done. */
  readonly lastStep: number;
}

/**
 * How two runs differ, by what is in their folders.
 *
 * @throws UserError when one has no records, its configuration is not one, or a file is damaged
 */
export async function runDifference(runs: TwoRuns): Promise<RunDifference> {
  const [a, b] = [readRecords(runs.a), readRecords(runs.b)];
  const parting = recordsDifference(a, b);
  const { phase, step } = parting?.record ?? { phase: "start", step: 0 };
  return {
    settings: settingsDifference(runs),
    inputs: await inputsDifference(
      { inputs: inputsOf(storedRun(runs.a, 1)), parts: a[0].parts },
      { inputs: inputsOf(storedRun(runs.b, 1)), parts: b[0].parts },
    ),
    surroundings: surroundingsDifference(runs),
    parting,
    text: phase === "generator" || phase === "verifier" || phase === "evaluation"
      ? samplesDifference(runs, { phase, step })
      : null,
    weights: parting && weightsDifference(runs),
    lastStep: Math.min(lastStep(a), lastStep(b)),
  };
}
