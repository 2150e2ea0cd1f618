import { formatBytes } from "../../base/format_bytes.ts";
import { UserError } from "../../base/user_error.ts";
import { Trainer, type TrainerOptions } from "../../engine/training/trainer.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { LoraConfig } from "../../model/decoder/lora.ts";
import type { Model } from "../../model/decoder/model.ts";
import { anyNumbers } from "../../run/memory/any_numbers.ts";

/** What the GPU's memory may be taken for. */
export interface MemoryLimit {
  readonly bytes: number;
  /** Who says so, for messages. */
  readonly origin: string;
}

/** An adapter that takes memory. */
export interface HeldAdapter {
  readonly config: LoraConfig;
  /** How it is trained; null: it is only sampled from. */
  readonly trainer: TrainerOptions | null;
}

/** Keeps a served model and its adapters within the GPU's memory: each is rehearsed before it is there. */
export class ServingMemory {
  readonly #held = new Map<string, number>();
  /** Of a training pass, by the adapter's shape. */
  readonly #passes = new Map<string, number>();
  /** Of the largest training pass so far. */
  #pass = 0;

  /**
   * @param base on a rehearsal of the GPU
   * @param baseBytes what it takes, and sampling from it
   * @param makeRoom frees what nobody needs, before anything is refused
   */
  constructor(
    private readonly gpu: Gpu,
    private readonly base: Model,
    private readonly baseBytes: number,
    private readonly limit: MemoryLimit,
    private readonly makeRoom: () => void,
  ) {}

  /**
   * Counts an adapter before it is put on the base.
   *
   * @param name of which nothing is held
   * @throws UserError when it does not fit beside the others; it is not counted then
   */
  async take(name: string, adapter: HeldAdapter): Promise<void> {
    const { resident, pass } = await this.#rehearse(adapter);
    const largest = Math.max(this.#pass, pass);
    const added = resident + largest;
    if (this.#resident + added > this.limit.bytes) this.makeRoom();
    const total = this.#resident + added;
    if (total > this.limit.bytes) {
      throw new UserError(
        `An adapter of rank ${adapter.config.rank} takes ${formatBytes(resident)}${
          pass > 0 ? ` and a training pass ${formatBytes(pass)}` : ""
        }, which makes ${formatBytes(total)} of GPU memory; ${
          formatBytes(this.limit.bytes)
        } may be taken (${this.limit.origin}). End another session, take a lower rank, or start the server ` +
          `with fewer --micro-batch-tokens or --cache-tokens.`,
      );
    }
    this.#held.set(name, resident);
    this.#pass = largest;
    this.gpu.pool.budgetBytes = total;
  }

  /** Counts an adapter no more that is gone. */
  free(name: string): void {
    this.#held.delete(name);
    this.gpu.pool.budgetBytes = this.#resident + this.#pass;
  }

  get #resident(): number {
    return [...this.#held.values()].reduce((sum, bytes) => sum + bytes, this.baseBytes);
  }

  async #rehearse(
    { config, trainer: options }: HeldAdapter,
  ): Promise<{ readonly resident: number; readonly pass: number }> {
    const { base, base: { gpu: { pool } } } = this;
    const before = pool.liveBytes;
    const model = base.adapted({ config, basePath: "", trained: options !== null });
    const trainer = options && new Trainer(model, options);
    const resident = pool.liveBytes - before;
    const key = JSON.stringify([config, options]);
    try {
      let pass = trainer ? this.#passes.get(key) : 0;
      if (pass === undefined && trainer) {
        pool.peakBytes = pool.liveBytes;
        await largestPass(trainer);
        pass = pool.peakBytes - before - resident;
        this.#passes.set(key, pass);
      }
      return { resident, pass: pass ?? 0 };
    } finally {
      trainer?.release();
      model.release();
    }
  }
}

/** A pass as full as one may be, of the loss that takes the most. */
async function largestPass(trainer: Trainer): Promise<void> {
  const { model: { config }, options: { microBatchTokens } } = trainer;
  const length = Math.min(microBatchTokens, config.maxPositions);
  const ones = new Float32Array(length).fill(1);
  const sequence = {
    tokens: new Uint32Array(length),
    targets: new Uint32Array(length),
    first: 0,
    ...{ weights: ones, advantages: ones, oldLogProbs: ones },
  };
  const count = Math.max(1, Math.floor(microBatchTokens / length));
  await trainer.forwardBackward(
    Array.from({ length: count }, () => ({ ...sequence })),
    {
      ...{ name: "gspo", clipRatioLow: 0.2, clipRatioHigh: 0.2, kl: null, entropyCoefficient: 0 },
    },
  );
  await trainer.optimStep(anyNumbers);
}
