import type { Tensor } from "../../gpu/tensor.ts";
import { gatherRows } from "../../kernels/layers/gather_rows.ts";
import { finalNorm } from "../../model/decoder/forward.ts";
import { rowScales } from "../../kernels/losses/log_softmax.ts";
import { headLogits } from "../../model/decoder/head.ts";
import type { Model } from "../../model/decoder/model.ts";
import { likeliestOf } from "./likeliest_tokens.ts";
import { rowStatistics } from "./row_statistics.ts";
import type { Sequence } from "./sequence.ts";

/** Logits of all rows that are looked at together take at most this many bytes. */
const logitsBytes = 32 * 2 ** 20;

/** A row of a prefill pass that predicts a token of a prompt. */
export interface PromptRow {
  readonly sequence: Sequence;
  /** Position of the token whose successor the row predicts. */
  readonly position: number;
  /** Number of the row in the pass. */
  readonly row: number;
}

/** Rows on the GPU whose results are to be read. */
interface Chunk {
  readonly rows: readonly PromptRow[];
  /** [R] */
  readonly logProbs: Tensor;
  /** u32 [R, K, 2]; null when nobody wants any */
  readonly likeliest: Tensor | null;
}

/** Log-probs of prompts, gathered over the passes that compute them. */
export class PromptReader {
  readonly #chunks: Chunk[] = [];

  constructor(private readonly model: Model) {}

  /**
   * Records what is said in some rows of a pass.
   *
   * @param last [T, C] residual stream after the last layer
   * @returns the tensors that `read` releases
   */
  record(last: Tensor, rows: readonly PromptRow[]): Tensor[] {
    const made: Tensor[] = [];
    const { gpu, config: { hiddenSize, vocabularySize } } = this.model;
    const most = Math.max(1, Math.floor(logitsBytes / 4 / vocabularySize));
    for (let first = 0; first < rows.length; first += most) {
      const chunk = rows.slice(first, first + most);
      const size = chunk.length;
      const { logProbs, likeliest } = gpu.scope(() => {
        const words = (of: (row: PromptRow) => number, label: string) =>
          gpu.from(Uint32Array.from(chunk, of), [size], "u32", label);
        const own = gpu.tensor([size, hiddenSize], "f32", "prompt rows");
        gatherRows(gpu, last, words(({ row }) => row, "rows"), own);
        const counts = chunk.map(({ sequence: { request } }) => request.promptLikeliest ?? 0);
        const k = Math.max(...counts);
        const likeliest = k > 0 ? gpu.tensor([size, k, 2], "u32", "likeliest tokens") : null;
        const logits = headLogits(this.model, finalNorm(this.model, own).hidden);
        const logProbs = rowStatistics(this.model, logits, {
          targets: words(({ sequence, position }) => sequence.tokens[position + 1], "targets"),
          scales: gpu.from(rowScales(new Float32Array(size).fill(1)), [size, 2]),
          likeliest: likeliest && {
            tensor: likeliest,
            firstRow: 0,
            counts: gpu.from(Uint32Array.from(counts), [size], "u32", "counts"),
          },
        });
        return { logProbs, likeliest };
      }, ({ logProbs, likeliest }) => likeliest ? [logProbs, likeliest] : [logProbs]);
      this.#chunks.push({ rows: chunk, logProbs, likeliest });
      made.push(logProbs, ...likeliest ? [likeliest] : []);
    }
    return made;
  }

  /** Reads what was recorded and gives it to the sequences that want it. */
  async read(sequences: readonly Sequence[]): Promise<void> {
    const wanting = sequences.filter(({ wantsPrompt }) => wantsPrompt);
    const tensors = this.#chunks.flatMap(({ logProbs, likeliest }) =>
      likeliest ? [logProbs, likeliest] : [logProbs]
    );
    const said = new Map(wanting.map((sequence) => [sequence, nothingSaid(sequence)]));
    try {
      const read = tensors.length > 0 ? await this.model.gpu.readAll(tensors) : [];
      let at = 0;
      for (const { rows, likeliest } of this.#chunks) {
        const logProbs = read[at++];
        const words = likeliest ? read[at++] as Uint32Array : new Uint32Array();
        const places = 2 * (likeliest?.shape[1] ?? 0);
        rows.forEach(({ sequence, position }, r) => {
          const own = said.get(sequence);
          if (!own) throw new Error("a prompt was read that nobody asked about");
          own.logProbs[position + 1] = logProbs[r];
          own.likeliest[position + 1] = words.slice(places * r, places * (r + 1));
        });
      }
    } finally {
      this.model.gpu.release(...tensors);
      this.#chunks.length = 0;
    }
    for (const [sequence, { logProbs, likeliest }] of said) {
      const { promptLikeliest: k = 0 } = sequence.request;
      sequence.prompt = { logProbs, likeliest: k > 0 ? likeliestOf(k, likeliest) : null };
    }
  }
}

/** NaN for the first token, which nothing comes before, and until more is known for all. */
function nothingSaid({ request: { prompt, promptLikeliest = 0 } }: Sequence) {
  const none = new Uint32Array(2 * promptLikeliest);
  const bits = new Float32Array(none.buffer);
  for (let i = 0; i < promptLikeliest; i++) bits[2 * i + 1] = NaN;
  return {
    logProbs: new Float32Array(prompt.length).fill(NaN),
    likeliest: Array.from(prompt, () => none),
  };
}
