/** The device that a run computes on, as its folder and its checkpoints keep it. */

import { readTextFileSync } from "../../platform/system/files.ts";
import { z } from "zod";
import { exists, writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { cacheDtypes, matrixTypes } from "../../gpu/tensor.ts";
import type { Model } from "../../model/decoder/model.ts";
import { CONTINUE, type RunFolder } from "./run_folder.ts";

export const runDeviceSchema = z.object({
  adapter: z.string(),
  engine: z.enum(["native", "dawn"]),
  /** See `BitClass`. */
  bits: z.enum(["chain", "mma", "mma-pair", "mma-f32"]),
  /** Type that keys and values are rounded to. */
  cache: z.enum(cacheDtypes).default("f32"),
  /** Types of the matrices that are not trained; absent where all are, or where it was not kept. */
  frozen: z.array(z.enum(matrixTypes)).optional(),
  /** Name and version in its own words; absent where it does not tell, and in checkpoints. */
  driver: z.string().optional(),
  /** Revision of this program, where it runs in a clone of its repository; absent in checkpoints. */
  program: z.string().optional(),
  /** Variants measured fastest, by operation and class of shapes; empty where nothing was measured. */
  variants: z.record(z.string(), z.record(z.string(), z.string())),
});

/** A device and how its kernels sum. */
export type RunDevice = z.output<typeof runDeviceSchema>;

/** All of it that may show in the bits. */
export const deviceFactsSchema = runDeviceSchema.omit({ variants: true });
export type DeviceFacts = z.output<typeof deviceFactsSchema>;

/** What of a device may show in the bits. */
export function factsOf({ variants: _, ...facts }: RunDevice): DeviceFacts {
  return facts;
}

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

/**
 * The device that a run's folder names; null in one of an earlier version.
 *
 * @throws UserError when the file is not one
 */
export function readRunDevice({ device: path }: RunFolder): RunDevice | null {
  if (!exists(path)) return null;
  let value: unknown = null;
  try {
    value = JSON.parse(readTextFileSync(path));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  const { data } = runDeviceSchema.safeParse(value);
  if (data) return data;
  throw new UserError(`${path} is damaged: it does not name a device.`);
}

/** Writes it into a run's folder. */
export function writeRunDevice(folder: RunFolder, device: RunDevice): void {
  writeFileAtomically(folder.device, `${JSON.stringify(device, null, 1)}\n`, CONTINUE);
}

/** Differences of a device from an earlier one that may show in the bits of a run, in words. */
export function visibleDifferences(before: DeviceFacts, now: DeviceFacts): string[] {
  const visible = (["adapter", "engine", "bits", "cache"] as const)
    .filter((key) => before[key] !== now[key])
    .map((key) => `${names[key]} ${now[key]} instead of ${before[key]}`);
  const [storedBefore, stored] = storedFrozen(before, now);
  return isStoredOtherwise(before, now)
    ? [...visible, `frozen weights in ${stored} instead of ${storedBefore}`]
    : visible;
}

const storedFrozen = (...devices: DeviceFacts[]) =>
  devices.map(({ frozen }) => frozen?.join(" and "));

function isStoredOtherwise(before: DeviceFacts, now: DeviceFacts): boolean {
  const [storedBefore, stored] = storedFrozen(before, now);
  return storedBefore !== undefined && stored !== undefined && storedBefore !== stored;
}

/** Differences of the device since a run was left; null when all is the same that the run used. */
export function describeDeviceChange(before: RunDevice, now: RunDevice): string | null {
  const visible = visibleDifferences(before, now);
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
          isStoredOtherwise(before, now) || before.cache !== now.cache
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
