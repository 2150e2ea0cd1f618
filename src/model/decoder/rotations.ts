import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { ropeTable } from "../../kernels/attention/rope_table.ts";
import type { ModelConfig } from "./config.ts";
import { scaledFrequencies } from "./rope_scaling.ts";

/** Positions that are there from the start, so that most runs never need more. */
const firstPositions = 4096;

/**
 * Cosines and sines of a model's positions, of as many as were needed so far: a model may have more positions
 * than any memory. A position's numbers do not depend on how many there are.
 */
export class Rotations {
  #table: Tensor;

  private constructor(
    private readonly gpu: Gpu,
    private readonly config: ModelConfig,
    table: Tensor,
  ) {
    this.#table = table;
  }

  static create(gpu: Gpu, config: ModelConfig): Rotations {
    const positions = Math.min(firstPositions, config.maxPositions);
    return new Rotations(gpu, config, tableOf(gpu, config, positions));
  }

  /** The table as it is now; see `upTo`. */
  get table(): Tensor {
    return this.#table;
  }

  /**
   * A table [P, D/2, 2] as `ropeTable` makes it, which is good until the next call.
   *
   * @param positions how many are needed at least, of those that the model has
   */
  upTo(positions: number): Tensor {
    const { gpu, config } = this;
    const needed = Math.min(positions, config.maxPositions);
    if (needed <= this.#table.shape[0]) return this.#table;
    const bound = Math.floor(gpu.device.limits.maxStorageBufferBindingSize / (4 * config.headDim));
    const doubled = Math.min(2 ** Math.ceil(Math.log2(needed)), config.maxPositions, bound);
    // The new table outlives the scope of the work that needs it.
    using scope = gpu.steps();
    const table = scope.run(() => tableOf(gpu, config, Math.max(needed, doubled)));
    scope.keep([table]);
    gpu.release(this.#table);
    this.#table = table;
    return table;
  }

  /** A copy of the table. */
  copy(): Rotations {
    const { gpu, config } = this;
    const { shape, dtype, label } = this.#table;
    const table = gpu.tensor(shape, dtype, label);
    gpu.copy(this.#table, table);
    return new Rotations(gpu, config, table);
  }

  /** Returns the GPU memory. */
  release(): void {
    this.gpu.release(this.#table);
  }
}

function tableOf(gpu: Gpu, { headDim, ropeTheta, ropeScaling }: ModelConfig, positions: number) {
  return ropeTable(gpu, positions, scaledFrequencies(headDim, ropeTheta, ropeScaling));
}
