import { formatDuration } from "../../base/duration.ts";
import { UserError } from "../../base/user_error.ts";
import { alone, type Communicator } from "../../distributed/communicator.ts";
import { broadcastOutcome } from "../../distributed/outcomes.ts";
import { gatherValues } from "../../distributed/values.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { GpuFailure } from "../../gpu/gpu_failure.ts";
import { type MeasuredClass, measureVariants } from "../../gpu/measure_variants.ts";
import type { VariantTable } from "../../gpu/variants.ts";
import { kernelTrials, trialTexts } from "../../kernels/choice/trials.ts";
import {
  readTuning,
  type StoredTuning,
  tableOf,
  TUNING_FOLDER,
  tuningFile,
  tuningOwner,
  writeTuning,
} from "./tuning_file.ts";

/** Seconds that measuring may take at a start. */
const mostSeconds = 20;

/** How a device's kernels come to be chosen. */
export interface TuneOptions {
  /** All ranks of the run, which share what the first one measures; by default this process alone. */
  readonly ranks?: Communicator;
  /** Measures again what is known. */
  readonly redo?: boolean;
  /** Where the files lie. */
  readonly folder?: string;
  /** Told on the first rank that something is measured, and then where the choices are from. */
  readonly tell?: (line: string) => void;
}

/** Result of tuning. */
export interface Tuned {
  readonly table: VariantTable;
  readonly classes: readonly MeasuredClass[];
}

/**
 * Lets a GPU run the fastest variants for the shapes of work that was rehearsed on it: those of its file, and
 * those measured now, which join them there. Which ones show in no bit. All ranks call it.
 *
 * @throws Failure when a kernel gives wrong numbers in every variant
 * @throws GpuFailure when the GPU gave out
 */
export async function tune(gpu: Gpu, options: TuneOptions = {}): Promise<Tuned> {
  const { ranks = alone, tell = () => {} } = options;
  // By operation, in the order of the trials.
  const asked = await gatherValues(
    ranks,
    kernelTrials.map(({ operation }) => gpu.rehearsed.of(operation)),
  );
  const tuned = await broadcastOutcome(ranks, 0, async () => {
    const owner = tuningOwner(gpu.info, gpu.tuning, trialTexts);
    const path = tuningFile(options.folder ?? TUNING_FOLDER, owner);
    const { classes: stored, ignored } = readTuning(path, owner);
    const known = options.redo ? [] : stored;
    const isKnown = new Set(known.map(nameOf));
    const chosen = kernelTrials.flatMap((trials, index) => {
      const { operation } = trials;
      const missing = new Map(
        asked.flatMap((ofRank) => ofRank[index]).map((one) => [one.shapeClass, one]),
      );
      return [...missing.values()].filter(({ shapeClass, shape }) =>
        !isKnown.has(nameOf({ operation: operation.name, shapeClass })) &&
        operation.variantsFor(gpu.tuning, shape).length > 1
      ).map((asked) => ({ trials, asked }));
    });
    if (chosen.length > 0) {
      tell(`Measuring which kernels are fastest on this device, in ${mostSeconds} s at most ...`);
    }
    const started = performance.now();
    const measured = await withWayOut(measureVariants(gpu, chosen, mostSeconds));
    const seconds = (performance.now() - started) / 1000;
    const isNew = new Set(measured.map(nameOf));
    const classes = [...stored.filter((one) => !isNew.has(nameOf(one))), ...measured];
    const words = [
      ...(ignored === null ? [] : [`${ignored}: it is made anew.`]),
      ...(measured.length === 0
        ? [
          classes.length === 0
            ? "not measured: the device has one variant of each"
            : `as ${path} has them`,
        ]
        : [
          `measured for ${measured.length} classes of shapes in ${formatDuration(seconds)}` +
          keep(path, () => writeTuning(path, owner, classes)),
        ]),
    ];
    tell(`Kernels: ${words.join(" ")}`);
    return { table: tableOf(classes), classes };
  });
  gpu.choices.table = tuned.table;
  return tuned;
}

const nameOf = ({ operation, shapeClass }: Pick<MeasuredClass, "operation" | "shapeClass">) =>
  `${operation} ${shapeClass}`;

/** How a configuration says that variants are chosen. */
export type TuningMode = "measured" | "default";

/** Lets a GPU run what its abilities suggest, whatever was measured. */
export function useSuggestedVariants(gpu: Gpu): void {
  gpu.choices.table = {};
}

/** Before a run: lets a GPU run what `tune` says. All ranks call it. */
export async function chooseVariants(
  gpu: Gpu,
  options: Pick<TuneOptions, "ranks" | "tell" | "folder">,
): Promise<void> {
  await tune(gpu, options);
  // Memory that measuring took is given back, and does not count as the run's.
  gpu.pool.peakBytes = gpu.pool.liveBytes;
}

/**
 * Lets a GPU run what its file has, without measuring: for work that is over before that would pay.
 *
 * @returns what the file has, and where it lies or would lie
 */
export function useStoredTuning(gpu: Gpu): StoredTuning & { readonly path: string } {
  const owner = tuningOwner(gpu.info, gpu.tuning, trialTexts);
  const path = tuningFile(TUNING_FOLDER, owner);
  const stored = readTuning(path, owner);
  gpu.choices.table = tableOf(stored.classes);
  return { ...stored, path };
}

/** A GPU that gives out under a variant of a kernel may do well without trying it. */
async function withWayOut<Result>(measuring: Promise<Result>): Promise<Result> {
  try {
    return await measuring;
  } catch (error) {
    if (error instanceof GpuFailure) {
      error.message += " It gave out while kernels were measured; tuning: default in the " +
        "configuration (--set tuning=default) starts without.";
    }
    throw error;
  }
}

/** Writes the file, and returns a remark on it: a full disk costs the next start its time, and nothing else. */
function keep(path: string, write: () => void): string {
  try {
    write();
    return `, kept in ${path}`;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return `, which could not be kept: ${error.message}`;
  }
}
