/** Measurements of a device's kernels, as a file keeps them from one start to the next. */

import { mkdirSync, readTextFileSync } from "../../platform/system/files.ts";
import { createHash } from "../../platform/system/hash.ts";
import { dirname, join } from "../../platform/system/paths.ts";
import { z } from "zod";
import { exists, writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { describeDiskError } from "../../platform/files/disk.ts";
import type { DeviceInfo } from "../../gpu/adapter.ts";
import type { MeasuredClass } from "../../gpu/measure_variants.ts";
import type { Tuning } from "../../gpu/tuning.ts";
import type { MeasuredChoice, VariantTable } from "../../gpu/variants.ts";

const FORMAT = 1;

/** Where the files lie, one for each adapter and engine. */
export const TUNING_FOLDER = ".tango/tuning";

const ownerSchema = z.strictObject({
  /** The adapter's name, with its driver's version as far as WebGPU tells it. */
  adapter: z.string(),
  vendor: z.string(),
  engine: z.enum(["native", "dawn"]),
  subgroups: z.string(),
  /** See `BitClass`. */
  bits: z.enum(["chain", "mma", "mma-pair", "mma-f32"]),
  /** A hash of the kernels' texts. */
  kernels: z.string(),
});

/** For which device and kernels a measurement holds. */
export type TuningOwner = z.output<typeof ownerSchema>;

const measuredSchema = z.strictObject({
  operation: z.string(),
  shapeClass: z.string(),
  shape: z.string(),
  suggested: z.string(),
  variant: z.string(),
  variants: z.array(z.strictObject({
    name: z.string(),
    seconds: z.number().positive().nullable(),
    excluded: z.string().nullable(),
  })),
}).refine(({ variant, variants }) =>
  variants.some(({ name, excluded }) => name === variant && excluded === null)
);

const fileSchema = z.strictObject({
  format: z.literal(FORMAT),
  owner: ownerSchema,
  classes: z.array(measuredSchema),
});

/** @param texts of all kernels that are chosen among */
export function tuningOwner(
  { name, vendor, engine, subgroupMinSize, subgroupMaxSize }: DeviceInfo,
  { bits }: Tuning,
  texts: readonly string[],
): TuningOwner {
  const kernels = createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 16);
  return {
    adapter: name,
    vendor,
    engine,
    subgroups: `${subgroupMinSize} to ${subgroupMaxSize}`,
    bits,
    kernels,
  };
}

/** The file of a device and a class of bits. */
export function tuningFile(folder: string, { adapter, engine, bits }: TuningOwner): string {
  const words = adapter.toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^-|-$/g, "");
  return join(folder, `${words}-${engine}${bits === "chain" ? "" : `-${bits}`}.json`);
}

/** Contents of a tuning file, which may be missing, damaged, or of something else. */
export interface StoredTuning {
  readonly classes: readonly MeasuredClass[];
  /** Why a file that is there counts for nothing; null otherwise. */
  readonly ignored: string | null;
}

/** Reads what was measured for an owner. */
export function readTuning(path: string, owner: TuningOwner): StoredTuning {
  if (!exists(path)) return { classes: [], ignored: null };
  const nothing = (ignored: string) => ({ classes: [], ignored: `${path} ${ignored}` });
  let content: unknown;
  try {
    content = JSON.parse(readTextFileSync(path));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return nothing("is damaged");
  }
  const { data } = fileSchema.safeParse(content);
  if (data === undefined) return nothing("is damaged, or another version wrote it");
  const different = (Object.keys(owner) as (keyof TuningOwner)[])
    .filter((key) => data.owner[key] !== owner[key]);
  if (different.length > 0) return nothing(`is of other ${different.join(", ")}`);
  return { classes: data.classes, ignored: null };
}

/**
 * Writes it, in place of what is there.
 *
 * @throws UserError when the disk does not take it
 */
export function writeTuning(
  path: string,
  owner: TuningOwner,
  classes: readonly MeasuredClass[],
): void {
  const text = JSON.stringify({ format: FORMAT, owner, classes }, null, 1);
  const next = "run the command again";
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    throw describeDiskError(error, { path, next });
  }
  writeFileAtomically(path, `${text}\n`, next);
}

/** The table by which variants are chosen. */
export function tableOf(classes: readonly MeasuredClass[]): VariantTable {
  const table: Record<string, Record<string, MeasuredChoice>> = {};
  for (const { operation, shapeClass, suggested, variant, variants } of classes) {
    const excluded = variants.filter(({ excluded }) => excluded !== null).map(({ name }) => name);
    (table[operation] ??= {})[shapeClass] = { suggested, fastest: variant, excluded };
  }
  return table;
}
