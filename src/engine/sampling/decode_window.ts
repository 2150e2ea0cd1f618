import type { Tensor } from "../../gpu/tensor.ts";
import { noToken } from "../../kernels/sampling/decode_slots.ts";
import type { Model } from "../../model/decoder/model.ts";
import { decodeStep } from "./decode_step.ts";
import type { Held } from "./held_memory.ts";
import type { ResponseEnd } from "./request.ts";
import type { Sequence } from "./sequence.ts";
import { roundSlots } from "./slot_state.ts";

/** Decodes some tokens of every sequence without looking in between. */
export async function decodeWindow(
  model: Model,
  held: Held,
  active: readonly Sequence[],
  steps: number,
): Promise<DecodedWindow> {
  model.expectLive();
  const { gpu } = model;
  const { slots } = held;
  const sequences = active.slice();
  const width = roundSlots(sequences.length);
  const k = Math.max(0, ...sequences.map(({ request: { likeliest = 0 } }) => likeliest));
  const state = slots.place(sequences, width);
  const made = gpu.scope(() => {
    const tokens = gpu.tensor([steps, width, 2], "u32", "decoded tokens");
    const likeliest = k > 0 ? gpu.tensor([steps * width, k, 2], "u32", "likeliest tokens") : null;
    gpu.repeat(
      steps,
      () => gpu.scope(() => decodeStep(model, held, state, { tokens, likeliest })),
    );
    return likeliest ? [tokens, likeliest] : [tokens];
  }, (kept): Tensor[] => kept);
  try {
    const [words, likeliest = new Uint32Array()] = await gpu.readAll(made) as Uint32Array<
      ArrayBuffer
    >[];
    return new DecodedWindow(sequences, { steps, width, k }, words, likeliest);
  } finally {
    gpu.release(...made);
  }
}

/** Tokens from a window of decode steps. */
export class DecodedWindow {
  readonly #floats: Float32Array;

  /**
   * @param words [steps, width, 2] token and bits of its log-prob
   * @param likeliest [steps, width, k, 2] likewise
   */
  constructor(
    readonly sequences: readonly Sequence[],
    private readonly size: {
      readonly steps: number;
      readonly width: number;
      readonly k: number;
    },
    private readonly words: Uint32Array<ArrayBuffer>,
    private readonly likeliest: Uint32Array,
  ) {
    this.#floats = new Float32Array(words.buffer);
  }

  /** Gives a sequence its tokens, up to its end. @returns why it has ended, or null */
  append(place: number): ResponseEnd | null {
    const { steps, width, k } = this.size;
    const sequence = this.sequences[place];
    const neighbours = 2 * (sequence.request.likeliest ?? 0);
    for (let step = 0; step < steps; step++) {
      const row = step * width + place;
      const token = this.words[2 * row];
      if (token === noToken) throw new Error("a sequence stopped on the GPU alone");
      const likeliest = this.likeliest.slice(2 * k * row, 2 * k * row + neighbours);
      const end = sequence.append(token, this.#floats[2 * row + 1], likeliest);
      if (end !== null) return end;
    }
    return null;
  }
}
