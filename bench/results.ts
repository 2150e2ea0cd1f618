import { UserError } from "../src/base/user_error.ts";
import type { DeviceRates } from "./device_rates.ts";
import type { HostTime } from "./model/host_time.ts";
import type { ComparedRate } from "./model/pairs.ts";
import type { Unit } from "./shapes.ts";

/** One measurement. */
export interface Result {
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
  readonly rates: readonly ComparedRate[];
}

/** What --json writes and --against reads. */
export interface ResultsFile {
  readonly engine: string;
  readonly adapter: string;
  readonly software: boolean;
  readonly rates: DeviceRates;
  readonly results: readonly Result[];
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
