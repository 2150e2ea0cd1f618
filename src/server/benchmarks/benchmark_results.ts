/** What `./tango bench --json` writes, and two of those beside each other. */

import { z } from "@hono/zod-openapi";

const resultSchema = z.object({
  name: z.string().describe("The kernel, training_step or rollout."),
  shape: z.string().describe("One of bench/shapes.json."),
  unit: z.enum(["gflops", "gbps", "tokens_per_second"]),
  milliseconds: z.number().describe("Median."),
  spread: z.number().nullable().default(null).describe(
    "What lies between the quartiles, as a share of the median; null in results of earlier versions.",
  ),
  rate: z.number().describe("10⁹ operations or bytes, or tokens, per second."),
  share: z.number().nullable().describe("Of what the device can do at best; null for tokens."),
  error: z.number().nullable().describe(
    "The check's largest difference in parts of its bound, right up to 1; null: not finite.",
  ),
});

/** A benchmark's device and results. */
export const benchmarkResultsSchema = z.object({
  engine: z.string(),
  adapter: z.string(),
  software: z.boolean(),
  rates: z.object({ gflops: z.number(), gbps: z.number(), driverCopyGbps: z.number() })
    .describe("What the device can do at best, measured: 10⁹ operations, or bytes, per second."),
  results: z.array(resultSchema),
}).openapi("BenchmarkResults");

/** A benchmark's device and results. */
export type BenchmarkResults = z.output<typeof benchmarkResultsSchema>;

/** Two benchmarks, result by result. */
export const comparisonSchema = z.object({
  name: z.string(),
  earlier: z.string(),
  isSameDevice: z.boolean().describe(
    "Otherwise a ratio says more about devices than about kernels.",
  ),
  results: z.array(z.object({
    name: z.string(),
    shape: z.string(),
    milliseconds: z.number(),
    earlierMilliseconds: z.number(),
    speed: z.number().nullable().describe(
      "Relative to the earlier one: 2 takes half the time; null where no time was measured.",
    ),
    noise: z.number().describe(
      "A speed that is further from 1 than this share is another one: both results' spreads, 5 % at least, " +
        "10 % where a spread is not known.",
    ),
    change: z.enum(["faster", "slower", "same"]).nullable().describe(
      "By more than the noise; null without a speed.",
    ),
  })).describe("Of what both have."),
  unmatched: z.array(z.string()).describe("KERNEL/SHAPE that only one of them has."),
}).openapi("BenchmarkComparison");

/** Two benchmarks, result by result. */
export type BenchmarkComparison = z.output<typeof comparisonSchema>;

/** @returns null when the file is not what --json writes */
export function readBenchmarkResults(path: string): BenchmarkResults | null {
  let written: unknown;
  try {
    written = JSON.parse(Deno.readTextFileSync(path));
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  return benchmarkResultsSchema.safeParse(written).data ?? null;
}

/** Sets a benchmark beside an earlier one, in its own order. */
export function compareResults(
  now: BenchmarkResults,
  earlier: BenchmarkResults,
): Omit<BenchmarkComparison, "name" | "earlier"> {
  const before = new Map(earlier.results.map((result) => [keyOf(result), result]));
  const keys = new Set(now.results.map(keyOf));
  const results = now.results.flatMap((result) => {
    const other = before.get(keyOf(result));
    if (other === undefined) return [];
    const { name, shape, milliseconds } = result;
    const speed = milliseconds > 0 ? other.milliseconds / milliseconds : null;
    const noise = noiseOf(result.spread, other.spread);
    const change = speed === null ? null : changeOf(speed, noise);
    const earlierMilliseconds = other.milliseconds;
    return [{ name, shape, milliseconds, earlierMilliseconds, speed, noise, change }];
  });
  return {
    isSameDevice: now.adapter === earlier.adapter && now.engine === earlier.engine,
    results,
    unmatched: [...keys.symmetricDifference(new Set(before.keys()))],
  };
}

const keyOf = ({ name, shape }: { readonly name: string; readonly shape: string }) =>
  `${name}/${shape}`;

/** Machines differ by so much from one minute to the next. */
const LEAST_NOISE = 0.05;
const UNKNOWN_NOISE = 0.1;

function noiseOf(spread: number | null, earlier: number | null): number {
  if (spread === null || earlier === null) return UNKNOWN_NOISE;
  return Math.max(LEAST_NOISE, spread + earlier);
}

/** Twice as fast and half as fast are as far from the same. */
function changeOf(speed: number, noise: number): "faster" | "slower" | "same" {
  if (speed > 1 + noise) return "faster";
  return 1 / speed > 1 + noise ? "slower" : "same";
}
