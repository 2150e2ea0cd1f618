import { setImmediate } from "../../platform/system/event_loop.ts";
import { END } from "../../model/decoder/gradient_order.ts";
import { type Slice, type SliceRound, sliceRounds } from "../../model/decoder/slices.ts";
import type { ShardSum } from "./reducer.ts";

/** Layers by which a backward pass is ahead of what was taken of its gradients: the GPU has them to do meanwhile. */
const LAYERS_AHEAD = 2;

/**
 * The gradients of the last backward pass of a batch, which are whole slice by slice while it goes on. The pass tells how
 * far it is; of several processes, another task takes away what is whole, round by round.
 */
export class WholeGradients {
  /** Rounds of an exchange, in the order in which they are whole. */
  readonly rounds: readonly SliceRound[];
  readonly #states: ReadonlyMap<SliceRound, RoundState>;
  readonly #order: readonly Slice[];
  readonly #begun = Promise.withResolvers<readonly ShardSum[]>();
  #next = 0;
  #failure: { readonly cause: unknown } | null = null;
  /** Finishes a slice whose gradients are whole. */
  #finish: (slice: Slice) => void = () => {};

  /**
   * @param at when each slice is whole, see `wholeAt`
   * @param size number of processes
   */
  constructor(private readonly at: ReadonlyMap<Slice, number>, private readonly size: number) {
    this.#order = [...at.keys()].sort((a, b) => this.#layer(b) - this.#layer(a));
    const states = sliceRounds(this.#order, size).map((round): [SliceRound, RoundState] => {
      const slices = round.filter((slice) => slice !== undefined);
      const layer = Math.min(...slices.map((slice) => this.#layer(slice)));
      return [round, { layer, whole: waiting(), taken: waiting() }];
    });
    states.sort(([, a], [, b]) => b.layer - a.layer);
    this.#states = new Map(states);
    this.rounds = [...this.#states.keys()];
    this.#begun.promise.catch(() => {});
  }

  /** The sums of this process's shards, see `Reducer.reduce`, once all but the last pass is through. */
  get begun(): Promise<readonly ShardSum[]> {
    return this.#begun.promise;
  }

  /**
   * The last pass begins.
   *
   * @param finish records what is left to do with a slice whose gradients are whole
   */
  begin(sums: readonly ShardSum[], finish: (slice: Slice) => void): void {
    this.#finish = finish;
    this.#begun.resolve(sums);
  }

  /** The pass has recorded a layer's gradients. Returns when enough of the earlier ones was taken. */
  async passed(layer: number): Promise<void> {
    while (this.#next < this.#order.length && this.#layer(this.#order[this.#next]) >= layer) {
      this.#finish(this.#order[this.#next++]);
    }
    if (this.size === 1) return;
    for (const { layer: at, whole } of this.#states.values()) if (at >= layer) whole.resolve();
    // The exchange has the GPU copy the whole slices before the pass records its next layer.
    await new Promise((resolve) => setImmediate(resolve));
    for (const { layer: at, taken } of this.#states.values()) {
      if (at > layer + LAYERS_AHEAD) await taken.promise;
    }
  }

  /** The pass is through. */
  end(): Promise<void> {
    return this.passed(END);
  }

  /** Ends all waiting with an error; the gradients are not used any more. */
  fail(cause: unknown): void {
    this.#failure ??= { cause };
    this.#begun.reject(cause);
    for (const { whole, taken } of this.#states.values()) {
      whole.reject(cause);
      taken.reject(cause);
    }
  }

  /** Returns when the slices of a round are whole. */
  async whenWhole(round: SliceRound): Promise<void> {
    await this.#states.get(round)?.whole.promise;
    this.expectGoing();
  }

  /** Throws what `fail` was told; called after waiting for anything else. */
  expectGoing(): void {
    if (this.#failure) throw this.#failure.cause;
  }

  /** The slices of a round were read. */
  taken(round: SliceRound): void {
    this.#states.get(round)?.taken.resolve();
  }

  #layer(slice: Slice): number {
    return this.at.get(slice) ?? END;
  }
}

/** How far a round is. */
interface RoundState {
  /** The layer with which the last of its slices is whole. */
  readonly layer: number;
  readonly whole: PromiseWithResolvers<void>;
  readonly taken: PromiseWithResolvers<void>;
}

/** Somebody may wait for it, or nobody. */
function waiting(): PromiseWithResolvers<void> {
  const made = Promise.withResolvers<void>();
  made.promise.catch(() => {});
  return made;
}
