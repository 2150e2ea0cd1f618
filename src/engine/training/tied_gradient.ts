import type { Tensor } from "../../gpu/tensor.ts";
import { add } from "../../kernels/products/add.ts";
import type { TableTile } from "../../kernels/layers/embedding.ts";
import { embeddingGradient } from "../../model/decoder/backward.ts";
import type { Model } from "../../model/decoder/model.ts";

/**
 * The embedding's share of a tied table's gradient, summed by itself. Such a table is added to by the head
 * and then by the embedding in every pass, so that the order of the additions shows where the passes were
 * cut; summed apart, and joined when the last pass is done, it does not.
 */
export class TiedGradient {
  readonly tiles: readonly TableTile[];
  readonly #joined: readonly Tensor[];

  private constructor(private readonly model: Model, own: readonly TableTile[]) {
    const { gpu } = model;
    this.#joined = own.map(({ rows }) => rows);
    this.tiles = own.map(({ firstRow, rows: { shape } }) => ({
      firstRow,
      rows: gpu.zeros(shape, "f32", "embedding gradient"),
    }));
  }

  /** Null where the embedding is not trained or has a table to itself. */
  static of(model: Model): TiedGradient | null {
    const own = embeddingGradient(model);
    return model.config.tiedEmbeddings && own.length > 0 ? new TiedGradient(model, own) : null;
  }

  /** Adds it to the table's gradient, and begins anew. */
  join(): void {
    const { gpu } = this.model;
    this.tiles.forEach(({ rows }, i) => {
      add(gpu, rows, this.#joined[i]);
      gpu.clear(rows);
    });
  }

  /** Returns the GPU memory. */
  release(): void {
    this.model.gpu.release(...this.tiles.map(({ rows }) => rows));
  }
}
