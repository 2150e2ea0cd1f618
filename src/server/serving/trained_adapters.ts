import { UserError } from "../../base/user_error.ts";
import { Adapters, type TrainedAdapter } from "../../engine/adapters.ts";
import { savedState, stateReceiver } from "../../engine/training/saved_state.ts";
import type { BetweenPasses } from "../../engine/training/forward.ts";
import type { TrainerOptions } from "../../engine/training/trainer.ts";
import { type LoraConfig, targetsIn } from "../../model/decoder/lora.ts";
import { loadAdapterWeights, openAdapterFolder } from "../../model/weights/adapter_folder.ts";
import { modelFiles } from "../../model/weights/model_files.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import { encodeSafetensors } from "../../model/weights/safetensors.ts";
import { type Checkpoint, writeSets } from "../../run/store/checkpoint.ts";
import { StoredCheckpoint } from "../../run/store/stored_checkpoint.ts";
import { writeContents } from "../../run/store/weights_folder.ts";
import { writeFolderAtomically } from "../../platform/files/atomic_file.ts";
import type { Operation, OperationAnswer, Operations } from "./messages.ts";
import type { ServingMemory } from "./serving_memory.ts";

/** The set of a checkpoint that has weights and moments. */
const SET = "trained";
/** What to do when the disk does not take a checkpoint. */
const NEXT = "Make room and save again; the adapter itself is as it was.";

type Handlers = {
  readonly [Kind in keyof Operations]: (
    asked: Extract<Operation, { kind: Kind }>,
    between: BetweenPasses,
  ) => Promise<Operations[Kind]["answer"]>;
};

/** The adapters that clients train on one frozen base. */
export class TrainedAdapters {
  readonly #adapters: Adapters;
  readonly #handlers: Handlers;

  constructor(
    private readonly loaded: LoadedModel,
    basePath: string,
    private readonly trainer: TrainerOptions,
    private readonly memory: ServingMemory,
  ) {
    this.#adapters = new Adapters(loaded.model, basePath);
    this.#handlers = {
      create: async ({ adapter, config, seed }) => {
        const targets = targetsIn(loaded.model.config, config.targets);
        await this.#create(adapter, { ...config, targets }, seed);
        return null;
      },
      load: (asked) => this.#load(asked),
      forward: async ({ adapter, sequences }, between) => {
        const outputs = await this.#get(adapter).trainer.forward(sequences, 1, between);
        return { logProbs: outputs.map(({ logProbs }) => logProbs) };
      },
      forwardBackward: async ({ adapter, loss, sequences }, between) => {
        const { trainer } = this.#get(adapter);
        const found = await trainer.forwardBackward(sequences as never, loss, 1, { between });
        return { loss: found.loss, logProbs: found.outputs.map(({ logProbs }) => logProbs) };
      },
      optimStep: async ({ adapter, numbers }) => {
        const { trainer } = this.#get(adapter);
        return { ...await trainer.optimStep(numbers), step: trainer.optimizer.step };
      },
      save: async (asked) => {
        await this.#save(asked);
        return null;
      },
      drop: ({ adapter }) => {
        this.#drop(adapter);
        return Promise.resolve(null);
      },
    };
  }

  /** How many there are. */
  get count(): number {
    return this.#adapters.names.length;
  }

  /**
   * @param between called between two passes of one operation
   * @throws UserError when it cannot be done; the adapter is as it was, unless the message says otherwise
   */
  do(operation: Operation, between: BetweenPasses): Promise<OperationAnswer> {
    const handler = this.#handlers[operation.kind] as (
      asked: Operation,
      between: BetweenPasses,
    ) => Promise<OperationAnswer>;
    return handler(operation, between);
  }

  #get(name: string): TrainedAdapter {
    if (this.#adapters.names.includes(name)) return this.#adapters.get(name);
    throw new UserError(
      `${name} is not there any more: its session has ended, or the model's process was started again. ` +
        `Load it from its last checkpoint.`,
    );
  }

  async #create(name: string, config: LoraConfig, seed: number): Promise<TrainedAdapter> {
    const { trainer } = this;
    if (this.#adapters.names.includes(name)) throw new UserError(`${name} is there already.`);
    await this.memory.take(name, { config, trainer });
    try {
      return this.#adapters.create(name, { config, seed, trainer });
    } catch (error) {
      this.memory.free(name);
      throw error;
    }
  }

  #drop(name: string): void {
    if (!this.#adapters.names.includes(name)) return;
    this.#adapters.drop(name);
    this.memory.free(name);
  }

  async #load(
    { adapter: name, folder, optimizer }: Extract<Operation, { kind: "load" }>,
  ): Promise<Operations["load"]["answer"]> {
    using saved = openAdapterFolder(folder);
    const { config } = saved;
    const checkpoint = optimizer ? new StoredCheckpoint(folder) : null;
    // Its moments go with it: those of a new adapter are zeros.
    this.#drop(name);
    const made = await this.#create(name, config, 0);
    try {
      if (checkpoint === null) await loadAdapterWeights(made.model, saved);
      else await restore(checkpoint, made);
      return { config };
    } catch (error) {
      this.#drop(name);
      throw error;
    }
  }

  async #save(
    { adapter, folder, optimizer }: Extract<Operation, { kind: "save" }>,
  ): Promise<void> {
    const { model, trainer } = this.#get(adapter);
    const files = modelFiles({ ...this.loaded, model });
    const sets: Checkpoint["sets"] = optimizer
      ? { [SET]: encodeSafetensors(savedState(trainer)) }
      : {};
    const bytes = [...Object.values(files), ...Object.values(sets)]
      .reduce((sum, one) => sum + (typeof one === "string" ? one.length : one.bytes), 0);
    await writeFolderAtomically({ path: folder, bytes, next: NEXT }, async (unfinished) => {
      await writeContents(unfinished, files);
      if (!optimizer) return;
      const { step } = trainer.optimizer;
      await writeSets(unfinished, { step, sets, state: {} });
    });
  }
}

/** Weights and moments, to the last bit. */
async function restore(
  checkpoint: StoredCheckpoint,
  { trainer }: TrainedAdapter,
): Promise<void> {
  const differs = (kind: string) =>
    new UserError(`${checkpoint.path}: its ${kind} are not those of its adapter.`);
  if (!checkpoint.has(SET)) {
    throw new UserError(`${checkpoint.path} has no optimizer's state; load the weights alone.`);
  }
  await checkpoint.read(SET, (entries) => stateReceiver(trainer, entries, differs));
  trainer.optimizer.step = checkpoint.step;
  trainer.optimizer.weightsTaken();
}
