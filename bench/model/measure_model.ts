import { join } from "node:path";
import { forwardSequences } from "../../src/engine/training/forward.ts";
import type { TrainingSequence } from "../../src/engine/training/sequence.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import type { Model } from "../../src/model/decoder/model.ts";
import { modelFiles, wholeModelFiles } from "../../src/model/weights/model_files.ts";
import { loadModelFolder } from "../../src/model/weights/model_folder.ts";
import { loraSchema } from "../../src/run/config/shared_schema.ts";
import { writeFiles } from "../../src/run/store/weights_folder.ts";
import { PeerDisagrees } from "../peer_disagrees.ts";
import { type HostTime, measureHost } from "./host_time.ts";
import { type ComparedRate, type ComparedWork, measurePairs } from "./pairs.ts";
import { newTokens, samplingWidths, samplingWork } from "./sampling.ts";
import { batchTokens, type TrainingWork, trainingWork } from "./training.ts";
import { type PeerType, peerTypes, TransformersProcess } from "./transformers_process.ts";

/** How a model is measured. */
export interface ModelMeasurement {
  /** Only works whose name contains this. */
  readonly filter: string;
  /** Timed runs of each work. */
  readonly runs: number;
  /** The Python that has transformers; null to measure alone. */
  readonly python: string | null;
  /** Told what is measured beside, and how far its numbers are from ours. */
  readonly say: (line: string) => void;
  /** Told what the host does for each launch. */
  readonly reportHost: (time: HostTime) => void;
  /** Told each rate as it is there. */
  readonly report: (rate: ComparedRate<PeerType>) => void;
}

/**
 * What f32 sums in another order leave in log-probs after some tens of layers; transformers' own f32 and f64 differ by
 * about 1e-4 on SmolLM2-135M.
 */
const logProbBound = 2e-3;
/** The same for a loss and a gradient's norm, as a share: a mean over hundreds of predictions. */
const shareBound = 1e-3;

/** A work in each of transformers' number formats; nothing without it. */
const inEachType = (
  seconds: ((dtype: PeerType) => Promise<number>) | null,
): ComparedWork<PeerType>["peers"] =>
  seconds === null
    ? {}
    : Object.fromEntries(peerTypes.map((dtype) => [dtype, () => seconds(dtype)]));

const lists = (tokens: readonly Uint32Array[]) => tokens.map((row) => [...row]);

/**
 * Samples from a model and trains it, forward and backward, alone or in turns with transformers, which reads the
 * same numbers from a folder that we write.
 *
 * @param path Hugging Face folder or .gguf file
 * @throws Error when the first sequence has not the same bits beside others as alone
 * @throws PeerDisagrees when transformers in f32 finds other log-probs, another loss or another gradient
 */
export async function measureModel(
  gpu: Gpu,
  path: string,
  measurement: ModelMeasurement,
): Promise<void> {
  const folder = Deno.makeTempDirSync({ prefix: "tango-bench-" });
  let peer: TransformersProcess | null = null;
  try {
    if ("host".includes(measurement.filter)) {
      measurement.reportHost(await measureHost(gpu, path));
    }
    const frozen = await loadModelFolder(gpu, path, { trained: false });
    try {
      const exported = join(folder, "model");
      await writeFiles(exported, wholeModelFiles(frozen), "free some space");
      if (measurement.python !== null) {
        const { software: cpu } = gpu.info;
        peer = await TransformersProcess.start(measurement.python, exported, { cpu });
        measurement.say(`Beside ${peer.description}`);
        await compareLogProbs(frozen.model, peer, measurement);
      }
      await measureSampling(frozen.model, peer, measurement);
    } finally {
      frozen.model.release();
    }
    await measureTraining(gpu, { path, folder }, peer, measurement);
  } finally {
    await peer?.close();
    Deno.removeSync(folder, { recursive: true });
  }
}

async function compareLogProbs(
  model: Model,
  peer: TransformersProcess,
  { say }: ModelMeasurement,
): Promise<void> {
  using work = samplingWork(model, 4);
  const sequences = work.prompts.map((tokens): TrainingSequence => ({
    tokens: tokens.subarray(0, -1),
    targets: tokens.subarray(1),
    first: 0,
  }));
  const options = { microBatchTokens: batchTokens, sharePrompts: false };
  const ours = await forwardSequences(model, sequences, options);
  const differences: string[] = [];
  for (const dtype of peerTypes) {
    const tokens = lists(work.prompts);
    const { log_probs } = await peer.ask({ do: "log_probs", dtype, tokens });
    const difference = log_probs.flatMap((row, s) =>
      row.map((value, t) => Math.abs(value - ours[s].logProbs[t]))
    ).reduce((a, b) => Math.max(a, b));
    if (dtype === "f32" && !(difference <= logProbBound)) {
      throw new PeerDisagrees(`log-probs differ from transformers' in f32 by ${difference}`);
    }
    differences.push(`${difference.toExponential(1)} (${dtype})`);
  }
  say(`Log-probs of 4 prompts differ from its by at most ${differences.join(", ")}`);
}

async function measureSampling(
  model: Model,
  peer: TransformersProcess | null,
  measurement: ModelMeasurement,
): Promise<void> {
  let first = "";
  for (const sequences of samplingWidths) {
    using work = samplingWork(model, sequences);
    await measureOne({
      name: `sample ${sequences}`,
      amount: sequences * newTokens,
      async run() {
        const bits = await work.run();
        first ||= bits;
        if (bits !== first) throw new Error(`${sequences} sequences: the first has other bits`);
      },
      peers: inEachType(
        peer && (async (dtype) => {
          const request = { do: "sample", dtype, prompts: lists(work.prompts) } as const;
          return (await peer.ask({ ...request, new_tokens: newTokens })).seconds;
        }),
      ),
    }, measurement);
  }
}

async function measureTraining(
  gpu: Gpu,
  { path, folder }: { readonly path: string; readonly folder: string },
  peer: TransformersProcess | null,
  measurement: ModelMeasurement,
): Promise<void> {
  for (const name of ["train adapter", "train all weights"]) {
    if (!name.includes(measurement.filter)) continue;
    const lora = name === "train adapter" ? loraSchema.parse({}) : null;
    // Frozen weights lie as the file has them; those of which all are trained are f32, and both read the same ones.
    const source = lora ? path : join(folder, "model");
    const loaded = await loadModelFolder(gpu, source, { trained: true, lora });
    try {
      using work = trainingWork(loaded.model);
      let adapter: string | null = null;
      if (lora) {
        await writeFiles(join(folder, "adapter"), modelFiles(loaded), "free some space");
        adapter = join(folder, "adapter", "adapter_model.safetensors");
      }
      const ask = peer && ((dtype: PeerType) => {
        const scale = lora ? lora.alpha / lora.rank : 1;
        return peer.ask({ do: "train", dtype, tokens: lists(work.tokens), adapter, scale });
      });
      if (ask) await compareGradients(work, ask, measurement);
      await measureOne({
        name,
        amount: batchTokens,
        run: async () => void await work.run(),
        peers: inEachType(ask && (async (dtype) => (await ask(dtype)).seconds)),
      }, measurement);
    } finally {
      loaded.model.release();
    }
  }
}

async function compareGradients(
  work: TrainingWork,
  ask: (dtype: PeerType) => Promise<{ readonly loss: number; readonly gradient_norm: number }>,
  { say }: ModelMeasurement,
): Promise<void> {
  const [loss, norm] = [await work.run(), await work.gradientNorm()];
  const { loss: peerLoss, gradient_norm: peerNorm } = await ask("f32");
  const off = Math.max(Math.abs(loss / peerLoss - 1), Math.abs(norm / peerNorm - 1));
  const words = `loss ${loss.toFixed(5)} and ${peerLoss.toFixed(5)}, gradient norm ` +
    `${norm.toPrecision(6)} and ${peerNorm.toPrecision(6)}`;
  if (!(off <= shareBound)) throw new PeerDisagrees(`not transformers' in f32: ${words}`);
  say(`Ours and transformers' in f32: ${words}`);
}

async function measureOne(
  work: ComparedWork<PeerType>,
  measurement: ModelMeasurement,
): Promise<void> {
  const { filter, runs, report } = measurement;
  if (work.name.includes(filter)) report(await measurePairs(work, runs));
}
