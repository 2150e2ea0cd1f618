/** The device that a run computes on, as its folder and its checkpoints keep it. */

import { z } from "zod";
import { writeFileAtomically } from "../../base/atomic_file.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { cacheDtypes, matrixTypes } from "../../gpu/tensor.ts";
import type { Model } from "../../model/decoder/model.ts";
import { CONTINUE, type RunFolder } from "./run_folder.ts";

export const runDeviceSchema = z.object({
  adapter: z.string(),
  engine: z.enum(["native", "dawn"]),
  /** See `BitClass`. */
  bits: z.enum(["chain", "mma", "mma-pair"]),
  /** Type that keys and values are rounded to. */
  cache: z.enum(cacheDtypes).default("f32"),
  /** Types of the matrices that are not trained; absent where all are, or where it was not kept. */
  frozen: z.array(z.enum(matrixTypes)).optional(),
  /** Variants measured fastest, by operation and class of shapes; empty where nothing was measured. */
  variants: z.record(z.string(), z.record(z.string(), z.string())),
});

/** A device and how its kernels sum. */
export type RunDevice = z.output<typeof runDeviceSchema>;

/**
 * The device of a run, from its GPU.
 *
 * @param models of the run that lie there
 */
export function runDeviceOf(
  { info, tuning, choices, cacheDtype }: Gpu,
  models: readonly Model[],
): RunDevice {
  const frozen = new Set(
    models.flatMap(({ parameters }) => parameters.gradients ? [] : parameters.matrixTypes),
  );
  return {
    adapter: info.name,
    engine: info.engine,
    bits: tuning.bits,
    cache: cacheDtype,
    ...(frozen.size > 0 && { frozen: matrixTypes.filter((type) => frozen.has(type)) }),
    variants: Object.fromEntries(
      Object.entries(choices.table).map(([operation, classes]) => [
        operation,
        Object.fromEntries(
          Object.entries(classes).map(([shapes, { fastest }]) => [shapes, fastest]),
        ),
      ]),
    ),
  };
}

/** Writes it into a run's folder. */
export function writeRunDevice(folder: RunFolder, device: RunDevice): void {
  writeFileAtomically(folder.device, `${JSON.stringify(device, null, 1)}\n`, CONTINUE);
}

/** Differences of the device since a run was left; null when all is the same that the run used. */
export function describeDeviceChange(before: RunDevice, now: RunDevice): string | null {
  const visible = (["adapter", "engine", "bits", "cache"] as const)
    .filter((key) => before[key] !== now[key])
    .map((key) => `${names[key]} ${now[key]} instead of ${before[key]}`);
  const [storedBefore, stored] = [before, now].map(({ frozen }) => frozen?.join(" and "));
  const isStoredOtherwise = storedBefore !== undefined && stored !== undefined &&
    storedBefore !== stored;
  if (isStoredOtherwise) visible.push(`frozen weights in ${stored} instead of ${storedBefore}`);
  const variants = Object.entries(before.variants).flatMap(([operation, classes]) =>
    Object.entries(classes).flatMap(([shapes, variant]) => {
      const other = now.variants[operation]?.[shapes];
      return other === undefined || other === variant
        ? []
        : [`${operation} of ${shapes} by ${other} instead of ${variant}`];
    })
  );
  if (visible.length + variants.length === 0) return null;
  const consequences = [
    ...(visible.length > 0
      ? [
        `${visible.join(", ")}: ${
          isStoredOtherwise || before.cache !== now.cache
            ? "its numbers"
            : "the last bits of its numbers"
        } are others from here on`,
      ]
      : []),
    ...(variants.length > 0
      ? [`${variants[0]}${others(variants.length - 1)}: this shows in no bit`]
      : []),
  ];
  return `This run goes on with ${consequences.join("; ")}.`;
}

const names = {
  adapter: "the device",
  engine: "the engine",
  bits: "sums of class",
  cache: "keys and values in",
};

const others = (count: number) => count === 0 ? "" : ` and ${count} more like that`;
