import { dirname } from "node:path";
import { writeFileAtomically } from "../src/platform/files/atomic_file.ts";
import { describeDiskError } from "../src/platform/files/disk.ts";
import { UserError } from "../src/base/user_error.ts";
import type { DeviceRecord } from "./device_record.ts";
import type { DeviceRates } from "./device_rates.ts";
import type { HostTime } from "./model/host_time.ts";
import type { ComparedRate } from "./model/pairs.ts";
import type { PeerType } from "./model/transformers_process.ts";
import type { Unit } from "./shapes.ts";

/** One measurement. */
export interface BenchResult {
  /** KERNEL or KERNEL_VARIANT of bench/shapes.json, training_step or rollout. */
  readonly name: string;
  readonly shape: string;
  readonly unit: Unit;
  readonly milliseconds: number;
  /** What lies between the quartiles of its times, as a share of their median. */
  readonly spread: number;
  /** 10⁹ operations or bytes, or tokens, per second. */
  readonly rate: number;
  /** Of the device's own rate of that kind; null for tokens, which it has no rate of. */
  readonly share: number | null;
  /** The largest difference found by the check, in parts of its bound; 1 or less is right. */
  readonly error: number;
  /** Which variants of its kernels ran, as `OPERATION CLASS: VARIANT`; files of earlier versions do not tell. */
  readonly variants?: readonly string[];
}

/** What --json writes with --model. */
export interface ModelResultsFile {
  readonly engine: string;
  readonly adapter: string;
  readonly software: boolean;
  /** As it was asked for. */
  readonly model: string;
  /** Null where --filter left it out. */
  readonly host: HostTime | null;
  /** In the order they were measured. */
  readonly rates: readonly ComparedRate<PeerType>[];
}

/** What --json writes with --burn: GFLOP/s and tokens/s. */
export interface BurnResultsFile {
  readonly engine: string;
  readonly adapter: string;
  readonly software: boolean;
  readonly device: DeviceRecord;
  readonly peer: string;
  readonly rates: readonly (ComparedRate<"burn"> & { readonly unit: Unit })[];
}

/** What --json writes and --against reads. */
export interface ResultsFile {
  readonly engine: string;
  readonly adapter: string;
  readonly software: boolean;
  /** Absent in files of earlier versions. */
  readonly device?: DeviceRecord;
  readonly rates: DeviceRates;
  readonly results: readonly BenchResult[];
}

/** The key by which results are compared. */
export function resultKey({ name, shape }: { readonly name: string; readonly shape: string }) {
  return `${name}/${shape}`;
}

/** @throws UserError when the file cannot be read or was not written by --json */
export function readResults(path: string): ResultsFile {
  let file: Partial<ResultsFile>;
  try {
    file = JSON.parse(Deno.readTextFileSync(path));
  } catch (cause) {
    throw new UserError(`--against ${path}: ${cause instanceof Error ? cause.message : cause}`);
  }
  if (!Array.isArray(file?.results)) {
    throw new UserError(`--against ${path}: no results in it; expected a file written by --json`);
  }
  return file as ResultsFile;
}

/**
 * Writes a file of results, and the folder for it.
 *
 * @throws UserError when the disk does not take it
 */
export function writeResults(
  path: string,
  file: ResultsFile | ModelResultsFile | BurnResultsFile,
): void {
  const next = "run the command again";
  try {
    Deno.mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    throw describeDiskError(error, { path, next });
  }
  writeFileAtomically(path, `${JSON.stringify(file, null, 2)}\n`, next);
}
