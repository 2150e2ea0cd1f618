import type { Tensor } from "../../gpu/tensor.ts";
import { countPairs, type Grouping } from "../../kernels/experts/grouping.ts";
import { type ExpertsKind, matricesOf } from "./config.ts";
import type { Model } from "./model.ts";
import { boundElements } from "./layout.ts";
import type { SliceExchange } from "./slices.ts";

/** How evenly the tokens of an update were spread over experts. */
export interface ExpertLoad {
  /** Tokens of a layer's busiest expert by what each would have if all had the same; the largest of all layers. */
  readonly largest: number;
  /** Share of all layers' experts that no token was sent to. */
  readonly unused: number;
}

/** Where the counts of a layer lie; of an expert that all tokens take they say nothing. */
interface LoadsPlace {
  readonly first: number;
  /** Those that are chosen. */
  readonly experts: number;
  /** Those, and the one that all share. */
  readonly counted: number;
}

/** Counts the tokens that each expert of a model is sent in passes with a gradient, on the GPU. */
export class ExpertLoads {
  /** u32, where each layer's counts begin on multiples of what can be bound */
  readonly #counts: Tensor;
  readonly #places: ReadonlyMap<number, LoadsPlace>;

  /** @param kinds of the layers that have experts, by their index */
  private constructor(private readonly model: Model, kinds: ReadonlyMap<number, ExpertsKind>) {
    let end = 0;
    this.#places = new Map(Array.from(kinds, ([layer, kind]) => {
      const place = { first: end, experts: kind.count, counted: matricesOf(kind) };
      end = Math.ceil((end + place.counted) / boundElements) * boundElements;
      return [layer, place];
    }));
    this.#counts = model.gpu.zeros([end], "u32", "expert loads");
  }

  /** Null of a model without experts. */
  static of(model: Model): ExpertLoads | null {
    const kinds = new Map(
      model.layers.flatMap(({ kind: { experts } }, layer) =>
        experts ? [[layer, experts] as const] : []
      ),
    );
    return kinds.size > 0 ? new ExpertLoads(model, kinds) : null;
  }

  /** Adds the tokens of a pass. */
  add(layer: number, grouping: Grouping): void {
    const place = this.#places.get(layer);
    if (!place) throw new Error(`layer ${layer} has no experts`);
    countPairs(this.model.gpu, grouping, this.#counts.view(place.first, [place.counted]));
  }

  /**
   * What was counted on all processes, which begin to count anew; they call it together.
   *
   * @returns null where nothing was
   */
  async take(exchange: SliceExchange): Promise<ExpertLoad | null> {
    const { gpu } = this.model;
    const { rank, size } = exchange;
    const perProcess = Array.from({ length: size }, () => new Uint32Array(this.#counts.size));
    perProcess[rank].set(await gpu.read(this.#counts));
    this.clear();
    await exchange.gather(perProcess.map(({ buffer }) => new Uint8Array(buffer)));
    let largest = 0, unused = 0, all = 0;
    for (const { first, experts } of this.#places.values()) {
      const counts = Array.from(
        { length: experts },
        (_, e) => perProcess.reduce((sum, own) => sum + own[first + e], 0),
      );
      const total = counts.reduce((sum, count) => sum + count, 0);
      if (total === 0) return null;
      largest = Math.max(largest, Math.max(...counts) * experts / total);
      unused += counts.filter((count) => count === 0).length;
      all += experts;
    }
    return { largest, unused: unused / all };
  }

  /** Forgets what was counted. */
  clear(): void {
    this.model.gpu.clear(this.#counts);
  }

  /** Returns the GPU memory. */
  release(): void {
    this.model.gpu.release(this.#counts);
  }
}
