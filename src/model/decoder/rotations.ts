import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { ropeTable } from "../../kernels/attention/rope_table.ts";
import type { ModelConfig, Rotation } from "./config.ts";
import { ropeAngles } from "./rope_scaling.ts";

/** Positions that are there from the start, so that most runs never need more. */
const firstPositions = 4096;

/**
 * Cosines and sines of a model's positions, for each rotation of its layers and of as many positions as were needed so
 * far: a model may have more positions than any memory. A position's numbers do not depend on how many there are.
 */
export class Rotations {
  private constructor(
    private readonly gpu: Gpu,
    private readonly config: ModelConfig,
    private readonly byRotation: Map<Rotation, Tensor>,
  ) {}

  static create(gpu: Gpu, config: ModelConfig): Rotations {
    const positions = Math.min(firstPositions, config.maxPositions);
    const rotations = new Set(config.kinds.map(({ rotation }) => rotation));
    const tables = Array.from(
      rotations,
      (rotation) => [rotation, tableOf(gpu, config, rotation, positions)] as const,
    );
    return new Rotations(gpu, config, new Map(tables));
  }

  /** The tables as they are now; see `upTo`. */
  get tables(): Tensor[] {
    return [...this.byRotation.values()];
  }

  /**
   * A table [P, D/2, 2] as `ropeTable` makes it, which is good until the next call.
   *
   * @param rotation one of the model's
   * @param positions how many are needed at least, of those that the model has
   */
  upTo(rotation: Rotation, positions: number): Tensor {
    const { gpu, config, byRotation } = this;
    const table = byRotation.get(rotation);
    if (!table) throw new Error("the rotation is another model's");
    const needed = Math.min(positions, config.maxPositions);
    if (needed <= table.shape[0]) return table;
    const bound = Math.floor(gpu.device.limits.maxStorageBufferBindingSize / (4 * config.headDim));
    const doubled = Math.min(2 ** Math.ceil(Math.log2(needed)), config.maxPositions, bound);
    // The new table outlives the scope of the work that needs it.
    using scope = gpu.steps();
    const longer = scope.run(() => tableOf(gpu, config, rotation, Math.max(needed, doubled)));
    scope.keep([longer]);
    gpu.release(table);
    byRotation.set(rotation, longer);
    return longer;
  }

  /** Makes all tables so long, for work that may make no tensors. */
  prepare(positions: number): void {
    for (const rotation of this.byRotation.keys()) this.upTo(rotation, positions);
  }

  /** A copy of the tables. */
  copy(): Rotations {
    const { gpu, config } = this;
    const copies = Array.from(this.byRotation, ([rotation, table]) => {
      const copy = gpu.tensor(table.shape, table.dtype, table.label);
      gpu.copy(table, copy);
      return [rotation, copy] as const;
    });
    return new Rotations(gpu, config, new Map(copies));
  }

  /** Returns the GPU memory. */
  release(): void {
    this.gpu.release(...this.tables);
  }
}

function tableOf(gpu: Gpu, { headDim }: ModelConfig, rotation: Rotation, positions: number) {
  return ropeTable(gpu, positions, ropeAngles(headDim, rotation));
}
