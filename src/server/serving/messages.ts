/** What the server and the process of a served model tell each other. */

import type { Response, SampledTokens, SampleRequest } from "../../engine/sampling/request.ts";
import type { Loss, SampledSequence, WeightedSequence } from "../../engine/training/losses.ts";
import type { TrainingSequence } from "../../engine/training/sequence.ts";
import type { DeviceInfo } from "../../gpu/adapter.ts";
import type { EngineChoice } from "../../gpu/gpu_options.ts";
import type { CacheDtype } from "../../gpu/tensor.ts";
import type { PrecisionChoice } from "../../run/tuning/settled_precision.ts";
import type { LoraConfig } from "../../model/decoder/lora.ts";
import type { AdamwNumbers, UpdateResult } from "../../model/decoder/optimizer.ts";
import type { PolicyName } from "../../rl/policy.ts";
import type { FrozenDtype } from "../../run/config/shared_schema.ts";

/** How models are served. */
export interface ServingOptions {
  readonly gpu?: EngineChoice;
  readonly gpuIndex?: number;
  readonly precision?: PrecisionChoice;
  readonly frozenDtype?: FrozenDtype;
  readonly cacheDtype?: CacheDtype;
  /** Responses decoded at once, at most. */
  readonly slots: number;
  /** Tokens that the cache has room for. */
  readonly cacheTokens: number;
  /** Tokens of one training pass, at most. */
  readonly microBatchTokens: number;
  /** GB that may be taken. */
  readonly memoryLimit?: number;
}

/** A policy of a run, as a checkpoint has it. */
export interface RunPolicy {
  /** The run's folder. */
  readonly folder: string;
  readonly policy: PolicyName;
  /** The checkpoint's folder. */
  readonly checkpoint: string;
}

/** A model to be served; the process is given it as its only argument, in JSON. */
export interface ServedSource extends ServingOptions {
  /** Folder or .gguf file; of a run's policy what it was made of. */
  readonly model: string;
  /** Null: the model as it is. */
  readonly run: RunPolicy | null;
}

/** What a model's process tells once it can sample. */
export interface ServedInfo {
  /** The most tokens of a prompt with its response. */
  readonly maximumTokens: number;
  /** The most tokens of an example that adapters are trained on. */
  readonly maximumExample: number;
  /** Responses decoded at once, at most. */
  readonly slots: number;
  readonly device: Pick<DeviceInfo, "name" | "index" | "software" | "engine">;
  /** Bytes of the GPU's memory that it takes at most, without adapters. */
  readonly peakBytes: number;
  /** Whether adapters can be put on it: it is none itself. */
  readonly adaptable: boolean;
}

/** A response that is asked for, whose listener is elsewhere. */
export type RemoteRequest = Omit<SampleRequest, "listener">;

/**
 * What is done with adapters in training, by name: each adapter's in the order in which they were sent, those of
 * several in turns. What saves or loads is given a folder.
 */
export interface Operations {
  /** Makes an adapter that at first changes nothing. */
  create: {
    readonly asked: { readonly config: LoraConfig; readonly seed: number };
    readonly answer: null;
  };
  /** Makes an adapter of a saved one, or puts the one there is back to it. */
  load: {
    readonly asked: { readonly folder: string; readonly optimizer: boolean };
    readonly answer: { readonly config: LoraConfig };
  };
  /** See `Trainer.forward`. */
  forward: {
    readonly asked: { readonly sequences: readonly TrainingSequence[] };
    /** Of each sequence's predictions. */
    readonly answer: { readonly logProbs: readonly Float32Array[] };
  };
  /** See `Trainer.forwardBackward`. */
  forwardBackward: {
    readonly asked: {
      readonly loss: Loss;
      readonly sequences: readonly (WeightedSequence | SampledSequence)[];
    };
    readonly answer: { readonly loss: number; readonly logProbs: readonly Float32Array[] };
  };
  /** See `Trainer.optimStep`. */
  optimStep: {
    readonly asked: { readonly numbers: AdamwNumbers };
    /** With the number of updates so far. */
    readonly answer: UpdateResult & { readonly step: number };
  };
  /** Writes the adapter to a folder as PEFT reads it; with the optimizer's state to go on from. */
  save: {
    readonly asked: { readonly folder: string; readonly optimizer: boolean };
    readonly answer: null;
  };
  /** Returns the adapter's memory; nothing is done where there is none. */
  drop: { readonly asked: Record<never, never>; readonly answer: null };
}

/** Something to do with an adapter. */
export type Operation = {
  [Kind in keyof Operations]:
    & { readonly kind: Kind; readonly adapter: string }
    & Operations[Kind][
      "asked"
    ];
}[keyof Operations];

/** What comes of it. */
export type OperationAnswer = Operations[keyof Operations]["answer"];

/** How a model's process is. */
export interface ServedState {
  /** Of the cache, of the layers that look back farthest. */
  readonly pages: number;
  /** Of those, the ones that no response has. */
  readonly availablePages: number;
  /** Adapters in training. */
  readonly trained: number;
  /** Adapters that are on the GPU to be sampled from. */
  readonly sampled: number;
  /** Bytes of the GPU's memory that are taken. */
  readonly memoryBytes: number;
}

/** To the model's process. */
export type ToModel =
  | {
    readonly type: "sample";
    readonly id: number;
    readonly request: RemoteRequest;
    /** Folder of the adapter that is sampled from; null: the model as it is. */
    readonly adapter: string | null;
    /** Whether its tokens are told as they come. */
    readonly streams: boolean;
  }
  | { readonly type: "abort"; readonly id: number }
  /** Of an adapter that is sampled from; nobody will ask for it. */
  | { readonly type: "forget"; readonly folder: string }
  | { readonly type: "look"; readonly id: number }
  | { readonly type: "call"; readonly id: number; readonly operation: Operation };

/** From the model's process. */
export type FromModel =
  | { readonly type: "ready"; readonly info: ServedInfo }
  | { readonly type: "tokens"; readonly id: number; readonly next: SampledTokens }
  | { readonly type: "end"; readonly id: number; readonly response: Response }
  | { readonly type: "answer"; readonly id: number; readonly answer: OperationAnswer }
  | { readonly type: "state"; readonly id: number; readonly state: ServedState }
  | { readonly type: "refused"; readonly id: number; readonly message: string };
