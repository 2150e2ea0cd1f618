/** One kind of work on both sides; a peer has a name, such as `bf16` or `burn`. */
export interface ComparedWork<Peer extends string> {
  readonly name: string;
  /** Tokens or operations of one run. */
  readonly amount: number;
  run(): Promise<void>;
  /** Runs the same in a peer; those that are left out have nothing beside us. @returns seconds */
  readonly peers: Partial<Readonly<Record<Peer, () => Promise<number>>>>;
}

/** Tokens or operations per second of one work. */
export interface ComparedRate<Peer extends string> {
  readonly name: string;
  /** Median of the runs. */
  readonly ours: number;
  /** The peer's median, and the median of the pairs' ratios: above 1, we are faster. */
  readonly peers: Partial<
    Readonly<Record<Peer, { readonly rate: number; readonly ratio: number }>>
  >;
}

/**
 * Runs a work in turns with the peers', after one turn that is not counted: it compiles. What else a machine does
 * meanwhile so falls on all.
 */
export async function measurePairs<Peer extends string>(
  work: ComparedWork<Peer>,
  pairs: number,
): Promise<ComparedRate<Peer>> {
  const ours: number[] = [];
  const peers = (Object.entries(work.peers) as [Peer, () => Promise<number>][])
    .map(([name, run]) => ({ name, run, times: [] as number[] }));
  for (let pair = 0; pair <= pairs; pair++) {
    const start = performance.now();
    await work.run();
    const seconds = (performance.now() - start) / 1000;
    if (pair > 0) ours.push(seconds);
    for (const { run, times } of peers) {
      const seconds = await run();
      if (pair > 0) times.push(seconds);
    }
  }
  const rate = (seconds: number[]) => work.amount / median(seconds);
  const beside = peers.map(({ name, times }) => {
    const ratio = median(times.map((seconds, pair) => seconds / ours[pair]));
    return [name, { rate: rate(times), ratio }];
  });
  return { name: work.name, ours: rate(ours), peers: Object.fromEntries(beside) };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
