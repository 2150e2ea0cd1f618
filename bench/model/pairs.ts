import { type PeerType, peerTypes } from "./transformers_process.ts";

/** One kind of work on both sides. */
export interface ComparedWork {
  readonly name: string;
  /** Tokens of one run. */
  readonly tokens: number;
  run(): Promise<void>;
  /** Null where nothing is beside it. @returns seconds */
  readonly peer: ((dtype: PeerType) => Promise<number>) | null;
}

/** Tokens per second of one work. */
export interface ComparedRate {
  readonly name: string;
  /** Median of the runs. */
  readonly ours: number;
  /** The peer's median, and the median of the pairs' ratios: above 1, we are faster. */
  readonly peers: Partial<Record<PeerType, { readonly rate: number; readonly ratio: number }>>;
}

/**
 * Runs a work in turns with the peer's, after one turn that is not counted: it compiles. What else a machine does
 * meanwhile so falls on both.
 */
export async function measurePairs(work: ComparedWork, pairs: number): Promise<ComparedRate> {
  const ours: number[] = [];
  const theirs: Record<PeerType, number[]> = { f32: [], bf16: [] };
  for (let pair = 0; pair <= pairs; pair++) {
    const start = performance.now();
    await work.run();
    const seconds = (performance.now() - start) / 1000;
    if (pair > 0) ours.push(seconds);
    for (const dtype of work.peer ? peerTypes : []) {
      const seconds = await work.peer?.(dtype) ?? NaN;
      if (pair > 0) theirs[dtype].push(seconds);
    }
  }
  const rate = (seconds: number[]) => work.tokens / median(seconds);
  const beside = peerTypes.filter((dtype) => theirs[dtype].length > 0).map((dtype) => {
    const ratio = median(theirs[dtype].map((seconds, pair) => seconds / ours[pair]));
    return [dtype, { rate: rate(theirs[dtype]), ratio }];
  });
  return { name: work.name, ours: rate(ours), peers: Object.fromEntries(beside) };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
