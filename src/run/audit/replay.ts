import { createHash } from "node:crypto";
import { ConfigHistory } from "../control/config_history.ts";
import type { Course, LoopConfig } from "../loop/course.ts";
import { digestOfState, restoreState } from "../loop/loop_state.ts";
import type { Parts, RecordLine } from "../store/audit_log.ts";
import type { Metrics } from "../store/metrics_log.ts";
import type { RunFolder } from "../store/run_folder.ts";
import { writtenByFirst } from "../store/shared_files.ts";
import { optimizerStepsOf, trainedSets } from "../store/trained_models.ts";
import type { Stretch } from "./chosen_steps.ts";
import { recordKey } from "./record_name.ts";
import { partsOf } from "../record/run_record.ts";

/** A record that was made anew. */
export interface Replayed {
  /** As the run wrote it. */
  readonly record: RecordLine;
  /** As it is now. */
  readonly parts: Parts;
  /** Empty of weights. */
  readonly metrics: Metrics;
}

/**
 * Does a stretch of a run again, and tells each record of it that was asked for. Nothing is written. All ranks call it.
 *
 * @param course as it is opened for a new run, in the configuration that the run began with
 * @param tell told of each step's records, and of the weights where the run saved any on the way
 * @throws UserError when the checkpoint cannot be used
 */
export async function replay<Config extends LoopConfig>(
  course: Course<Config>,
  folder: RunFolder,
  { from, steps }: Stretch,
  records: readonly RecordLine[],
  tell: (replayed: Replayed) => void,
): Promise<void> {
  const recorded = new Map(records.map((record) => [recordKey(record), record]));
  const change = (config: Config, settings: Parameters<typeof course.changed>[1]) =>
    course.changed(config, settings);
  const history = new ConfigHistory(folder.history, course.config, change);
  if (from !== null) {
    course.config = history.at(from.step);
    await restoreState(from.path, course);
  }
  const tellOf = (key: string, parts: Parts, metrics: Metrics) => {
    const record = recorded.get(key);
    if (record) tell({ record, parts, metrics });
  };
  const evaluate = async (step: number) => {
    const found = await course.evaluate(step);
    tellOf(recordKey({ step, phase: "evaluation" }), partsOf(found), found.metrics);
  };
  const last = steps[steps.length - 1];
  while (course.step < last) {
    const settings = history.changedAt(course.step + 1);
    if (Object.keys(settings).length > 0) course.config = history.at(course.step + 1);
    const due = course.next();
    if (due === null) break;
    const { step } = due;
    const isAsked = steps.includes(step);
    if (isAsked && due.evaluateBefore) await evaluate(step - 1);
    const done = await course.take((_, body) => body());
    if (isAsked) {
      const key = recordKey({ step, phase: done.phase });
      tellOf(key, partsOf({ ...done, settings }), done.metrics);
    }
    if (isAsked && recorded.has(recordKey({ step, phase: "evaluation" }))) await evaluate(step);
    const weights = recordKey({ step, phase: "weights" });
    if (recorded.has(weights)) tellOf(weights, await weightsOf(course), {});
  }
}

/** What the chain would say of a checkpoint that was written now. */
async function weightsOf(course: Course<LoopConfig>): Promise<Parts> {
  const { models, ranks } = course;
  const optimizerSteps = await optimizerStepsOf(models);
  const sets = await trainedSets(models);
  const digests = await writtenByFirst(ranks, [sets], async () => {
    const found: Record<string, string> = {};
    for (const [name, content] of Object.entries(sets)) {
      const hash = createHash("sha256");
      for await (const piece of content.pieces()) hash.update(piece);
      found[name] = hash.digest("hex");
    }
    return found;
  });
  return { ...digests, state: digestOfState(course.state(), optimizerSteps) };
}
