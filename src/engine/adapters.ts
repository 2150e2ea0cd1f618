import { UserError } from "../base/user_error.ts";
import { initialiseAdapter } from "../model/decoder/initialise.ts";
import type { LoraConfig } from "../model/decoder/lora.ts";
import type { Model } from "../model/decoder/model.ts";
import { Trainer, type TrainerOptions } from "./training/trainer.ts";

/** A new adapter. */
export interface NewAdapter {
  readonly config: LoraConfig;
  /** Seed of its first weights. */
  readonly seed: number;
  /** How it is trained. */
  readonly trainer: TrainerOptions;
}

/** An adapter in training. Its model is sampled from as it is; `model.snapshot()` stays as it was. */
export interface TrainedAdapter {
  readonly model: Model;
  readonly trainer: Trainer;
}

/**
 * The adapters that stand on one frozen base, by name. They come and go while others are trained and sampled
 * from; none of them shows in another.
 */
export class Adapters {
  readonly #adapters = new Map<string, TrainedAdapter>();

  /**
   * @param base stays the caller's to release
   * @param basePath where it is, for what is saved of the adapters
   */
  constructor(readonly base: Model, private readonly basePath: string) {}

  /** In the order in which they were made. */
  get names(): string[] {
    return [...this.#adapters.keys()];
  }

  /**
   * Makes an adapter that at first changes nothing.
   *
   * @throws UserError for a name that is taken, or a rank that the kernels have no shape for
   */
  create(name: string, { config, seed, trainer: options }: NewAdapter): TrainedAdapter {
    if (this.#adapters.has(name)) {
      throw new UserError(
        `There is an adapter ${name} already; drop it first or take another name.`,
      );
    }
    if (!Number.isInteger(config.rank) || config.rank < 4 || config.rank % 4 !== 0) {
      throw new UserError(`Adapter ${name}: rank is ${config.rank}; expected a multiple of 4.`);
    }
    const model = this.base.adapted({ config, basePath: this.basePath, trained: true });
    try {
      const { adapter } = model;
      if (!adapter) throw new Error("a model was adapted and has no adapter");
      if (!model.gpu.isRehearsal) initialiseAdapter(adapter.parameters, seed);
      const made = { model, trainer: new Trainer(model, options) };
      this.#adapters.set(name, made);
      return made;
    } catch (error) {
      model.release();
      throw error;
    }
  }

  /** @throws UserError when there is no adapter of that name */
  get(name: string): TrainedAdapter {
    const adapter = this.#adapters.get(name);
    if (adapter) return adapter;
    const known = this.names.join(", ") || "none";
    throw new UserError(`There is no adapter ${name}; there are: ${known}.`);
  }

  /**
   * Returns an adapter's GPU memory. Its snapshots stay.
   *
   * @throws UserError when there is no adapter of that name
   */
  drop(name: string): void {
    const { model, trainer } = this.get(name);
    this.#adapters.delete(name);
    trainer.release();
    model.release();
  }

  /** Drops all. */
  release(): void {
    for (const name of this.names) this.drop(name);
  }
}
