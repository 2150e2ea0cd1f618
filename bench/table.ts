import type { DeviceInfo } from "../src/gpu/adapter.ts";
import type { StoredTuning } from "../src/run/tuning/tuning_file.ts";
import type { DeviceRates } from "./device_rates.ts";
import type { PeerResults } from "./peer.ts";
import { type BenchResult, resultKey, type ResultsFile } from "./results.ts";
import type { Unit } from "./shapes.ts";

/** As tables say them. */
export const unitNames: Readonly<Record<Unit, string>> = {
  gflops: "GFLOP/s",
  gbps: "GB/s",
  tokens_per_second: "tokens/s",
};

/** What was measured of the kernels' variants before, and the file that has it or would have it. */
export type UsedTuning = StoredTuning & { readonly path: string };

/** What each result is set beside, if anything. */
export interface Comparisons {
  readonly peer: PeerResults | null;
  readonly against: ResultsFile | null;
}

/** Says what was measured on, and never calls a software driver a GPU. */
export function describeAdapter({ engine, name, software }: DeviceInfo): string {
  const kind = software ? "a software driver on the CPU, not a GPU" : "GPU";
  return `Engine ${engine}: ${name} (${kind})`;
}

/** The same with what it can do at best. */
export function describeRatedDevice(info: DeviceInfo, rates: DeviceRates): string {
  return [
    describeAdapter(info),
    `Its limits, measured now: ${number(rates.gflops)} GFLOP/s (fma in registers), ` +
    `${number(rates.gbps)} GB/s (copy in a kernel), ` +
    `${number(rates.driverCopyGbps)} GB/s (copy by the driver)`,
  ].join("\n");
}

/** Says by what the variants of the kernels are chosen. */
export function describeTuning({ path, classes, ignored }: UsedTuning): string {
  if (classes.length > 0) return `Kernels: as ${path} has them`;
  return `Kernels: as the device suggests; ${
    ignored === null ? "" : `${ignored}, and `
  }./tango tune measures which are fastest`;
}

/** Which variants ran in some results, a line for each class of shapes; empty where there was no choice. */
export function variantLines(results: readonly BenchResult[]): string[] {
  const ran = new Set(results.flatMap(({ variants = [] }) => variants));
  return ran.size === 0
    ? []
    : ["", "Variants that ran:", ...[...ran].sort().map((one) => `  ${one}`)];
}

/** The table's head. */
export function headRow({ peer, against }: Comparisons): string {
  return cells(
    ["kernel", "shape", "ms", "rate", "of limit", "check"],
    peer ? ["PyTorch ms", "speed to it"] : [],
    against ? ["speed to file"] : [],
  );
}

/** One result as a row; speeds above 1 mean that this engine is faster. */
export function resultRow(result: BenchResult, { peer, against }: Comparisons): string {
  const { name, shape, milliseconds, rate, unit, share, error } = result;
  const peerTime = peer?.milliseconds.get(resultKey(result));
  const before = against?.results.find((other) => resultKey(other) === resultKey(result));
  return cells(
    [
      name,
      shape,
      number(milliseconds),
      `${number(rate)} ${unitNames[unit]}`,
      share === null ? "-" : `${Math.round(100 * share)} %`,
      error <= 1 ? "right" : "WRONG",
    ],
    peer ? peerTime ? [number(peerTime), ratio(peerTime / milliseconds)] : ["-", "-"] : [],
    against ? [before ? ratio(before.milliseconds / milliseconds) : "-"] : [],
  );
}

const widths = [24, 11, 10, 16, 9, 7, 12, 12, 14];

function cells(...groups: readonly (readonly string[])[]): string {
  return groups.flat().map((text, i) => i < 2 ? text.padEnd(widths[i]) : text.padStart(widths[i]))
    .join(" ");
}

/** With three digits. */
export function number(value: number): string {
  return value >= 1000 ? value.toFixed(0) : value.toPrecision(3);
}

/** As a factor. */
export function ratio(value: number): string {
  return `${value >= 10 ? value.toFixed(0) : value.toPrecision(2)}x`;
}
