import type { HostArray } from "../../gpu/tensor.ts";
import { readPieces } from "../../gpu/tensor_pieces.ts";
import type { Model } from "../../model/decoder/model.ts";
import { forwardSequences } from "./forward.ts";
import type { TrainingSequence } from "./sequence.ts";
import type { Trainer } from "./trainer.ts";

/** Pieces of 4 MiB that are on their way at once: they pile up in host memory. */
const PIECES_AT_ONCE = 16;

/**
 * The weights that a model began with, in host memory. To be asked for log-probs they are put where the gradients of the
 * model in training will lie, which is more than they need: on the GPU a reference then takes nothing of its own.
 */
export class HostReference {
  private constructor(
    /** Pieces of each flat tensor of weights, in order; none in a rehearsal. */
    private readonly weights: readonly (readonly HostArray[])[],
  ) {}

  /** The weights as they are now, all of which are to be trained. */
  static async of({ gpu, parameters }: Model): Promise<HostReference> {
    const weights: HostArray[][] = [];
    for (const tensor of gpu.isRehearsal ? [] : parameters.weights) {
      weights.push(await Array.fromAsync(readPieces(gpu, tensor)));
    }
    return new HostReference(weights);
  }

  /**
   * Log-probs of sequences' targets under these weights, see `forwardSequences`.
   *
   * @param trainer of the model that began with them
   * @returns [R] of each sequence
   * @throws Error when the trainer has gradients
   */
  async logProbs(
    trainer: Trainer,
    sequences: readonly TrainingSequence[],
    temperature: number,
  ): Promise<Float32Array[]> {
    if (sequences.length === 0) return [];
    return await trainer.withinGradients(async (model) => {
      await this.#putInto(model);
      const { options, reducer } = trainer;
      const outputs = await forwardSequences(model, sequences, options, temperature, reducer);
      return outputs.map(({ logProbs }) => logProbs);
    });
  }

  async #putInto({ gpu, parameters }: Model): Promise<void> {
    let waiting = 0;
    for (const [index, pieces] of this.weights.entries()) {
      let first = 0;
      for (const piece of pieces) {
        gpu.write(parameters.weights[index].view(first, [piece.length]), piece);
        first += piece.length;
        if (++waiting % PIECES_AT_ONCE === 0) await gpu.finish();
      }
    }
  }
}
