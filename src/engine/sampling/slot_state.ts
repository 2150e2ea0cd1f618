import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { noToken, stopArray } from "../../kernels/advance.ts";
import {
  type SamplingNeeds,
  samplingNeeds,
  samplingSettings,
  settingsWords,
} from "../../kernels/sample.ts";
import { inverseTemperature } from "../../kernels/log_softmax.ts";
import type { Sequence } from "./sequence.ts";

/** Few slots that are not rounded up to 16: products of so few rows are a matter of reading the weights. */
const fewSlots = [1, 4];

/** A round number of slots keeps the shapes few; the surplus ones are inactive. */
export const roundSlots = (count: number): number =>
  fewSlots.find((few) => count <= few) ?? Math.ceil(count / 16) * 16;

/** What decoding reads of W slots, and moves on. */
export interface DecodeState {
  /** u32 [W] the token whose successor comes next */
  readonly tokens: Tensor;
  /** u32 [W] its position */
  readonly positions: Tensor;
  /** u32 [W] tokens still allowed; 0 when inactive */
  readonly remaining: Tensor;
  /** u32 [W] cache row of the token's key */
  readonly keyRows: Tensor;
  /** u32 [W] keys to attend to, the token's own included; 0 when inactive */
  readonly lengths: Tensor;
  /** u32 [W] keys of the random numbers */
  readonly sequenceIds: Tensor;
  /** f32 [W] */
  readonly inverseTemperature: Tensor;
  /** u32 [W, 8] of `samplingSettings` */
  readonly settings: Tensor;
  /** u32 [W, P] */
  readonly pageTable: Tensor;
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
  readonly #words;
  readonly #inverseTemperature: Tensor;
  readonly #settings: Tensor;
  readonly #pageTable: Tensor;
  #stops: Tensor | null = null;
  /** Of the sequence in each slot; the GPU has moved these on. */
  #admissions: readonly number[] = [];
  #sentPages = new Uint32Array();

  /**
   * @param slots a number of `roundSlots`
   * @param pagesPerSlot P, of the longest sequence
   * @param columns of the vocabulary
   */
  constructor(
    private readonly gpu: Gpu,
    slots: number,
    private readonly pagesPerSlot: number,
    private readonly columns: number,
  ) {
    const vector = (label: string) => gpu.tensor([slots], "u32", `decode ${label}`);
    this.#words = {
      tokens: vector("tokens"),
      positions: vector("positions"),
      remaining: vector("remaining"),
      keyRows: vector("key rows"),
      lengths: vector("lengths"),
      sequenceIds: vector("sequence ids"),
      likeliestCounts: vector("likeliest counts"),
    };
    this.#inverseTemperature = gpu.tensor([slots], "f32", "inverse temperatures");
    this.#settings = gpu.tensor([slots, settingsWords], "u32", "sampling settings");
    this.#pageTable = gpu.tensor([slots, pagesPerSlot], "u32", "page table");
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
    const { tokens, positions, remaining, keyRows, lengths, sequenceIds, likeliestCounts } =
      this.#words;
    if (this.#stops === null) throw new Error("slots without stop tokens");
    return {
      tokens: of(tokens),
      positions: of(positions),
      remaining: of(remaining),
      keyRows: of(keyRows),
      lengths: of(lengths),
      sequenceIds: of(sequenceIds),
      likeliestCounts: of(likeliestCounts),
      inverseTemperature: of(this.#inverseTemperature),
      settings: of(this.#settings),
      pageTable: of(this.#pageTable),
      stops: this.#stops,
      needs: samplingNeeds(sequences.map(({ request }) => request), this.columns),
    };
  }

  #send(sequences: readonly Sequence[], width: number): void {
    const send = (tensor: Tensor, inactive: number, of: (sequence: Sequence) => number) => {
      const words = new Uint32Array(width).fill(inactive);
      sequences.forEach((sequence, s) => words[s] = of(sequence));
      this.gpu.write(tensor.view(0, [width]), words);
    };
    const { tokens, positions, remaining, keyRows, lengths, sequenceIds, likeliestCounts } =
      this.#words;
    send(tokens, 0, ({ tokens, position }) => tokens[position]);
    send(positions, 0, ({ position }) => position);
    send(remaining, 0, (sequence) => sequence.remaining);
    send(keyRows, noToken, (sequence) => sequence.rowOf(sequence.position));
    send(lengths, 0, ({ position }) => position + 1);
    send(sequenceIds, 0, ({ request }) => request.sequenceId);
    send(likeliestCounts, 0, ({ request }) => request.likeliest ?? 0);
    const requests = sequences.map(({ request }) => request);
    const scales = new Float32Array(width).fill(1);
    requests.forEach(({ temperature }, s) => scales[s] = inverseTemperature(temperature));
    this.gpu.write(this.#inverseTemperature.view(0, [width]), scales);
    const settings = samplingSettings(requests, width, this.columns);
    this.gpu.write(this.#settings.view(0, [width, settingsWords]), settings);
    const stops = stopArray(requests.map(({ stopTokens }) => stopTokens), width);
    if (this.#stops) this.gpu.release(this.#stops);
    this.#stops = this.gpu.from(stops, [stops.length], "u32", "stop tokens");
  }

  #sendPages(sequences: readonly Sequence[], width: number): void {
    const table = new Uint32Array(width * this.pagesPerSlot);
    sequences.forEach(({ pages }, s) => {
      pages.forEach(({ page }, p) => table[s * this.pagesPerSlot + p] = page);
    });
    const sent = this.#sentPages;
    if (table.length === sent.length && table.every((page, i) => page === sent[i])) return;
    this.gpu.write(this.#pageTable.view(0, [width, this.pagesPerSlot]), table);
    this.#sentPages = table;
  }

  /** Returns the GPU memory. */
  release(): void {
    const { gpu } = this;
    gpu.release(...Object.values(this.#words), this.#inverseTemperature, this.#settings);
    gpu.release(this.#pageTable);
    if (this.#stops) gpu.release(this.#stops);
  }
}
