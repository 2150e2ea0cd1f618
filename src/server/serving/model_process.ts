/**
 * A process of its own that samples from one model and trains adapters on it, since waiting for a GPU would hold up the
 * server, and a lost GPU ends it alone. It is given a `ServedSource` as its only argument, reads `ToModel` and writes `FromModel`, and ends
 * when nobody writes any more.
 */

import { UserError } from "../../base/user_error.ts";
import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import { pagesFor } from "../../engine/sampling/kv_cache.ts";
import { Sampler } from "../../engine/sampling/sampler.ts";
import type { TrainerOptions } from "../../engine/training/trainer.ts";
import { deviceMemory } from "../../platform/gpus/device_memory.ts";
import { Gpu } from "../../gpu/gpu.ts";
import type { Model } from "../../model/decoder/model.ts";
import { adapterMark } from "../../model/weights/adapter_folder.ts";
import { type LoadedModel, loadModelFolder } from "../../model/weights/model_folder.ts";
import { streams } from "../../random/philox.ts";
import { frozenStorage } from "../../run/config/frozen_storage.ts";
import { loadTangoConfig } from "../../run/config/load_config.ts";
import { asOptions, checkMemory } from "../../run/memory/memory_check.ts";
import { type MemoryPlan, rehearsePhases, residentUses } from "../../run/memory/memory_plan.ts";
import { halve } from "../../run/memory/shrink.ts";
import { RunFolder } from "../../run/store/run_folder.ts";
import { StoredCheckpoint } from "../../run/store/stored_checkpoint.ts";
import { loadPolicy } from "../../run/tango/load_policy.ts";
import { useStoredTuning } from "../../run/tuning/tune.ts";
import type { FromModel, ServedInfo, ServedSource, ToModel } from "./messages.ts";
import { PolicyTurns } from "./policies.ts";
import { PolicyLoader } from "./policy_loader.ts";
import { openSettled } from "../../run/tuning/settled_precision.ts";
import { ProcessPipes } from "./process_pipes.ts";
import { type Serving, ServingLoop } from "./serving_loop.ts";
import { type MemoryLimit, ServingMemory } from "./serving_memory.ts";
import { TrainedAdapters } from "./trained_adapters.ts";

/** Tokens decoded between two looks at what has ended and who has come. */
const STEPS_BETWEEN_READBACKS = 8;
/** The most neighbours that a request may ask for. */
const PLANNED_LIKELIEST = 20;

interface Served extends Serving {
  readonly info: ServedInfo;
}

const limitOf = (gpu: Gpu, { memoryLimit }: ServedSource): MemoryLimit =>
  memoryLimit === undefined
    ? deviceMemory(gpu.info) ?? { bytes: Infinity, origin: "no limit is known" }
    : { bytes: memoryLimit * 1e9, origin: "--memory-limit" };

async function open(source: ServedSource): Promise<Served> {
  const { gpuIndex, precision, cacheDtype } = source;
  const opened = { index: gpuIndex, precision, cacheDtype };
  const gpu = await openSettled(source.gpu, opened, (line) => console.error(line));
  useStoredTuning(gpu);
  const limit = limitOf(gpu, source);
  const { peakBytes } = await checkMemory(gpu, {
    config: source,
    limit: source.memoryLimit ?? null,
    plan: (changed) => planServing(gpu, changed),
    shrinks: [
      halve("cache-tokens", pageTokens, ({ cacheTokens }) => cacheTokens, (all, cacheTokens) => ({
        ...all,
        cacheTokens,
      })),
      halve("slots", 1, ({ slots }) => slots, (all, slots) => ({ ...all, slots })),
    ],
    spelling: asOptions,
  });
  const loaded = await load(gpu, source);
  const { model } = loaded;
  const makeSampler = (model: Model) => samplerOf({ ...loaded, model }, source);
  const rehearsed = await load(gpu.rehearsal(), source);
  const memory: ServingMemory = new ServingMemory(
    ...[gpu, rehearsed.model, peakBytes, limit] as const,
    () => policies.makeRoom(),
  );
  const trainer = trainerOptions(source);
  const { name, index, software, engine } = gpu.info;
  const basePath = Deno.realPathSync(source.model);
  const loader = new PolicyLoader(model, basePath, makeSampler, memory);
  const policies = new PolicyTurns((folder) => loader.load(folder), adapterMark);
  const adapters = new TrainedAdapters(loaded, basePath, trainer, memory);
  const { pages, mostTokens } = makeSampler(model);
  if (pages === null) throw new Error("a served cache without a size");
  return {
    policies,
    adapters,
    state: () => ({
      pages,
      availablePages: policies.availablePages ?? pages,
      trained: adapters.count,
      sampled: policies.adapters,
      memoryBytes: gpu.pool.liveBytes,
    }),
    info: {
      maximumTokens: mostTokens,
      maximumExample: Math.min(source.microBatchTokens, model.config.maxPositions),
      slots: makeSampler(model).slots,
      device: { name, index, software, engine },
      peakBytes,
      adaptable: model.adapter === null && source.run === null,
    },
  };
}

/** As it is, or as a run's checkpoint has it. */
async function load(gpu: Gpu, { model, run, frozenDtype }: ServedSource): Promise<LoadedModel> {
  if (run === null) {
    return await loadModelFolder(gpu, model, {
      trained: false,
      storage: frozenStorage(frozenDtype),
    });
  }
  const config = loadTangoConfig(RunFolder.at(run.folder).configuration);
  return await loadPolicy(gpu, config, run.policy, new StoredCheckpoint(run.checkpoint));
}

async function planServing(gpu: Gpu, source: ServedSource): Promise<MemoryPlan> {
  const rehearsal = gpu.rehearsal();
  const loaded = await load(rehearsal, source);
  const { model } = loaded;
  try {
    return await rehearsePhases(rehearsal, residentUses([{ name: "model", model }]), [
      { what: "sampling", run: () => fillCache(samplerOf(loaded, source)) },
    ]);
  } finally {
    model.release();
  }
}

const trainerOptions = ({ microBatchTokens }: ServedSource): TrainerOptions => ({
  microBatchTokens,
  sharePrompts: true,
  gradientCheckpointing: false,
  shards: 1,
});

function samplerOf({ model, tokenizer }: LoadedModel, source: ServedSource): Sampler {
  return new Sampler(model, {
    slots: source.slots,
    stepsBetweenReadbacks: STEPS_BETWEEN_READBACKS,
    pages: pagesFor(source.cacheTokens),
    tokenizer,
  });
}

/** All that may be asked at once, as far as memory is concerned: every slot taken, every page filled. */
async function fillCache(sampler: Sampler): Promise<void> {
  const { slots, options: { pages = 1 } } = sampler;
  const tokens = Math.max(2, Math.min(sampler.mostTokens, Math.floor(pages / slots) * pageTokens));
  const size = sampler.model.config.vocabularySize;
  const asked = Math.min(slots, Math.floor(pages / pagesFor(tokens)));
  for (let i = 0; i < asked; i++) {
    sampler.add({
      ...{ temperature: 1, topK: 2, topP: 0.5, minP: 0.1 },
      ...{ seed: 0, stream: streams.served, step: 0, sequenceId: i },
      // No two begin alike, or they would share pages.
      prompt: Uint32Array.from(
        { length: tokens - 1 },
        (_, at) => Math.floor(i / size ** at) % size,
      ),
      maximumResponse: 1,
      stopTokens: [0],
      ...{ likeliest: PLANNED_LIKELIEST, promptLogProbs: true, promptLikeliest: PLANNED_LIKELIEST },
      listener: { end() {} },
    });
  }
  while (await sampler.step());
  sampler.close();
}

function fail(error: unknown): never {
  console.error(error instanceof UserError ? error.message : error);
  Deno.exit(error instanceof UserError ? 2 : 1);
}

// What any code prints is no message.
console.log = console.error;
// A server that is gone ends this process by its closed pipe.
const pipes = new ProcessPipes<ToModel, FromModel>(fail);

try {
  const served = await open(JSON.parse(Deno.args[0]));
  pipes.tell({ type: "ready", info: served.info });
  const loop = new ServingLoop(served, pipes, fail);
  for await (const message of pipes.messages()) loop.take(message);
  Deno.exit(0);
} catch (error) {
  fail(error);
}
