import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import {
  type DecodeSlots,
  decodeState,
  type KeyPlaces,
  slotsOf,
  stateWords,
  stopArray,
} from "../../kernels/sampling/decode_slots.ts";
import {
  type PageTables,
  type SamplingNeeds,
  samplingNeeds,
  samplingSettings,
  settingsWords,
} from "../../kernels/sampling/sample.ts";
import { inverseTemperature, rowScales } from "../../kernels/losses/log_softmax.ts";
import { plainWalk, walkArray, walkWords } from "../../kernels/delta/delta_walks.ts";
import type { Sequence } from "./sequence.ts";

/** Few slots that are not rounded up to 16: products of so few rows are a matter of reading the weights. */
const fewSlots = [1, 4];

/** Views of a tensor begin at multiples of so many words. */
const viewWords = 64;

/** A round number of slots keeps the shapes few; the surplus ones are inactive. */
export const roundSlots = (count: number): number =>
  fewSlots.find((few) => count <= few) ?? Math.ceil(count / 16) * 16;

/** Where W slots stand, and where their keys and values lie. */
export interface PlacedSlots extends DecodeSlots {
  /** u32 [W, P], of the layers of the first reach */
  readonly pageTable: Tensor;
  /** The same of all reaches, the first among them; null where there is no other. */
  readonly pageTables: PageTables | null;
  /** u32 [W, 8]: a walk of one row for each slot that is in use; null where layers have no states */
  readonly walks: Tensor | null;
}

/** Where W slots stand in the cache of a reach. */
export interface ReachPlaces extends KeyPlaces {
  /** u32 [W, P] */
  readonly pageTable: Tensor;
}

/** Where slots stand in the cache of one of the reaches. */
export function placesOf(state: PlacedSlots, reach: number): ReachPlaces {
  if (reach === 0) return state;
  const { pageTables, pageTable: { shape }, furtherPlaces } = state;
  if (!pageTables) throw new Error("slots without further page tables");
  const pageTable = pageTables.words.view(reach * pageTables.stride, shape);
  return { ...furtherPlaces[reach - 1], pageTable };
}

/** State of W slots that decoding reads and moves on. */
export interface DecodeState extends PlacedSlots {
  /** f32 [W, 2] of `rowScales` */
  readonly scales: Tensor;
  /** u32 [W, 9] of `samplingSettings` */
  readonly settings: Tensor;
  /** u32 of `stopArray` */
  readonly stops: Tensor;
  /** u32 [W], how many of the likeliest tokens each wants to be told */
  readonly likeliestCounts: Tensor;
  readonly needs: SamplingNeeds;
}

/**
 * The slots on the GPU. Decoding moves them on without the host, which sends what has changed: where no
 * sequence came or went, new pages.
 */
export class SlotState {
  readonly #state: Tensor;
  readonly #likeliestCounts: Tensor;
  readonly #scales: Tensor;
  readonly #settings: Tensor;
  /** u32 [slots, P]; of several reaches [reaches, tableStride] */
  readonly #pageTable: Tensor;
  readonly #tableStride: number;
  readonly #walks: Tensor | null;
  #stops: Tensor | null = null;
  /** Admission of the sequence in each slot, as the GPU has them. */
  #admissions: readonly number[] = [];
  #sentPages = new Uint32Array();

  /**
   * @param slots a number of `roundSlots`
   * @param pagesPerSlot P, of the longest sequence
   * @param model how many columns its vocabulary has, how many reaches its layers, and whether these have states
   */
  constructor(
    private readonly gpu: Gpu,
    slots: number,
    private readonly pagesPerSlot: number,
    private readonly model: {
      readonly columns: number;
      readonly reaches: number;
      readonly hasStates: boolean;
    },
  ) {
    const { reaches } = model;
    this.#state = decodeState(gpu, slots, reaches);
    this.#likeliestCounts = gpu.tensor([slots], "u32", "decode likeliest counts");
    this.#scales = gpu.tensor([slots, 2], "f32", "inverse temperatures");
    this.#settings = gpu.tensor([slots, settingsWords], "u32", "sampling settings");
    this.#tableStride = Math.ceil(slots * pagesPerSlot / viewWords) * viewWords;
    const tables = reaches > 1 ? [reaches, this.#tableStride] : [slots, pagesPerSlot];
    this.#pageTable = gpu.tensor(tables, "u32", "page table");
    this.#walks = model.hasStates ? gpu.tensor([slots, walkWords], "u32", "decode walks") : null;
  }

  /**
   * Puts sequences into the first slots.
   *
   * @param width W: the slots after the last sequence are inactive
   */
  place(sequences: readonly Sequence[], width: number): DecodeState {
    const admissions = Array.from({ length: width }, (_, s) => sequences[s]?.admission ?? 0);
    const same = admissions.length === this.#admissions.length &&
      admissions.every((admission, s) => admission === this.#admissions[s]);
    if (!same) this.#send(sequences, width);
    this.#admissions = admissions;
    this.#sendPages(sequences, width);
    const of = (tensor: Tensor) => tensor.view(0, [width, ...tensor.shape.slice(1)]);
    if (this.#stops === null) throw new Error("slots without stop tokens");
    return {
      ...slotsOf(this.#state, width),
      likeliestCounts: of(this.#likeliestCounts),
      scales: of(this.#scales),
      settings: of(this.#settings),
      pageTable: this.#tableOf(0, width),
      pageTables: this.model.reaches > 1
        ? { words: this.#pageTable, stride: this.#tableStride }
        : null,
      stops: this.#stops,
      walks: this.#walks && of(this.#walks),
      needs: samplingNeeds(sequences.map(({ request }) => request), this.model.columns),
    };
  }

  #send(sequences: readonly Sequence[], width: number): void {
    const words = stateWords(
      this.#state,
      sequences.map((sequence) => ({
        tokens: sequence.tokens[sequence.position],
        positions: sequence.position,
        remaining: sequence.remaining,
        keyRows: sequence.rowOf(sequence.position),
        furtherRows: sequence.held.slice(1).map((_, r) => sequence.rowOf(sequence.position, r + 1)),
        lengths: sequence.position + 1,
      })),
    );
    this.gpu.write(this.#state, words);
    if (this.#walks) {
      const walks = Array.from({ length: width }, (_, s) => {
        const stateRow = sequences[s]?.stateRow ?? null;
        if (stateRow === null) return plainWalk(s, 0);
        return { ...plainWalk(s, 1), start: stateRow, end: stateRow };
      });
      this.gpu.write(this.#walks.view(0, [width, walkWords]), walkArray(walks));
    }
    const counts = new Uint32Array(width);
    sequences.forEach(({ request: { likeliest = 0 } }, s) => counts[s] = likeliest);
    this.gpu.write(this.#likeliestCounts.view(0, [width]), counts);
    const requests = sequences.map(({ request }) => request);
    const scales = new Float32Array(width).fill(1);
    requests.forEach(({ temperature }, s) => scales[s] = inverseTemperature(temperature));
    this.gpu.write(this.#scales.view(0, [width, 2]), rowScales(scales));
    const settings = samplingSettings(requests, width, this.model.columns);
    this.gpu.write(this.#settings.view(0, [width, settingsWords]), settings);
    const stops = stopArray(requests.map(({ stopTokens }) => stopTokens), width);
    if (this.#stops) this.gpu.release(this.#stops);
    this.#stops = this.gpu.from(stops, [stops.length], "u32", "stop tokens");
  }

  #sendPages(sequences: readonly Sequence[], width: number): void {
    const { reaches } = this.model;
    const size = width * this.pagesPerSlot;
    const tables = new Uint32Array(reaches * size);
    for (let r = 0; r < reaches; r++) {
      sequences.forEach((sequence, s) => {
        tables.set(sequence.pageNumbers(r), r * size + s * this.pagesPerSlot);
      });
    }
    const sent = this.#sentPages;
    if (tables.length === sent.length && tables.every((page, i) => page === sent[i])) return;
    for (let r = 0; r < reaches; r++) {
      this.gpu.write(this.#tableOf(r, width), tables.subarray(r * size, (r + 1) * size));
    }
    this.#sentPages = tables;
  }

  #tableOf(reach: number, width: number): Tensor {
    return this.#pageTable.view(reach * this.#tableStride, [width, this.pagesPerSlot]);
  }

  /** Returns the GPU memory. */
  release(): void {
    const { gpu } = this;
    gpu.release(this.#state, this.#likeliestCounts, this.#scales, this.#settings);
    gpu.release(this.#pageTable, ...this.#walks ? [this.#walks] : []);
    if (this.#stops) gpu.release(this.#stops);
  }
}
