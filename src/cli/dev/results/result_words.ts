/** How the tables of docs/results.md say numbers, and where they come from. */

import type { Measured } from "../../../run/compare/comparison_results.ts";
import type { RunSource } from "./result_rows.ts";

export const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

/** Mean ± standard deviation, in per cent; the number alone where there is one, or where all are the same. */
export function spread(values: Measured | null): string {
  if (values === null) return "";
  const { mean, deviation, runs } = values;
  const rounded = (100 * mean).toFixed(1);
  return runs < 2 || (mean === 0 && deviation === 0)
    ? `${rounded} %`
    : `${rounded} ± ${(100 * deviation).toFixed(1)} %`;
}

/** A revision or the end of a chain, as short as git has them. */
const short = (digest: string) => digest.slice(0, 12);

/** Different values, each once. */
const each = (values: readonly string[]) => [...new Set(values)].join("; ");

/**
 * Where runs come from, as a block of text: command, commits, devices, and the ends of their chains in the order of the
 * seeds.
 */
export function sourceBlock(
  command: string,
  sources: readonly Omit<RunSource, "command">[],
): string {
  const known = sources.flatMap(({ chain }) => chain ?? []);
  const programs = sources.flatMap(({ program }) => program ?? []);
  const earlier = sources.length - known.length;
  const lines = [
    command,
    ...(programs.length === 0 ? [] : [`commit: ${each(programs.map(short))}`]),
    `device: ${each(sources.map(({ device }) => device))}`,
    ...(known.length === 0 ? [] : [`chains of records end with: ${known.map(short).join(", ")}`]),
    ...(earlier === 0
      ? []
      : [`${earlier} of ${sources.length} runs were made before there were chains of records`]),
  ];
  return ["```text", ...lines, "```"].join("\n");
}
