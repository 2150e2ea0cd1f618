import type { Sampler } from "../../engine/sampling/sampler.ts";
import type { Model } from "../../model/decoder/model.ts";
import { loadAdapterWeights, openAdapterFolder } from "../../model/weights/adapter_folder.ts";
import type { ServingMemory } from "./serving_memory.ts";

/** What is asked of a policy's sampler. */
export type PolicySampler = Pick<
  Sampler,
  "add" | "abort" | "step" | "release" | "close" | "busy" | "availablePages"
>;

/** A policy that is on the GPU. */
export interface LoadedPolicy {
  readonly sampler: PolicySampler;
  /** Returns its memory; the sampler is closed before. */
  readonly release: () => void;
}

/** Puts what is sampled from on the GPU: the base, which is there, or adapters on it. */
export class PolicyLoader {
  #loaded = 0;

  constructor(
    private readonly base: Model,
    private readonly basePath: string,
    private readonly makeSampler: (model: Model) => Sampler,
    private readonly memory: ServingMemory,
  ) {}

  /**
   * @param folder of an adapter; null: the base
   * @throws UserError when it cannot be had; nothing of it is on the GPU then
   */
  async load(folder: string | null): Promise<LoadedPolicy> {
    if (folder === null) return { sampler: this.makeSampler(this.base), release() {} };
    using adapter = openAdapterFolder(folder);
    const { config } = adapter;
    const held = `sampled ${this.#loaded++}`;
    await this.memory.take(held, { config, trainer: null });
    const undo = [() => this.memory.free(held)];
    const release = () => undo.toReversed().forEach((one) => one());
    try {
      const model = this.base.adapted({ config, basePath: this.basePath, trained: false });
      undo.push(() => model.release());
      await loadAdapterWeights(model, adapter);
      return { sampler: this.makeSampler(model), release };
    } catch (error) {
      release();
      throw error;
    }
  }
}
