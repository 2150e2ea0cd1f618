import { alignedTable } from "../../src/base/table.ts";
import type { EngineName } from "../../src/gpu/adapter.ts";
import type { Precision } from "../../src/gpu/tuning.ts";
import type { ModelConfig } from "../../src/model/decoder/config.ts";
import { parseModelConfig } from "../../src/model/weights/config/config_json.ts";
import { targetsOf } from "../../src/model/decoder/lora.ts";
import { Model } from "../../src/model/decoder/model.ts";
import { rollout } from "../../src/engine/sampling/rollout.ts";
import { Sampler } from "../../src/engine/sampling/sampler.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { samplingOf } from "../end_to_end/random_model.ts";
import { hardware, judgedModels } from "./model_kernels.ts";

/** Steps of a window, all of which launch the same. */
const STEPS = 16;

/**
 * Launches of one step that decodes a token for each of some sequences.
 *
 * @param gpu a rehearsal of the device
 * @param rank of an adapter that is not merged; null: there is none
 */
export async function decodeLaunches(
  gpu: Gpu,
  config: ModelConfig,
  { sequences, context, rank }: {
    readonly sequences: number;
    /** Tokens of the prompt. */
    readonly context: number;
    readonly rank: number | null;
  },
): Promise<number> {
  const base = Model.create(gpu, config, { trained: false, storage: "bf16" });
  const model = rank === null ? base : base.adapted({
    config: { rank, alpha: 2 * rank, targets: targetsOf(config) },
    basePath: "base",
    trained: true,
  });
  // All passes of a rehearsal are one object.
  const pass = gpu.device.createCommandEncoder().beginComputePass();
  const { dispatchWorkgroups } = pass;
  const launchesOf = async (tokens: number) => {
    const sampler = new Sampler(model, { slots: sequences, stepsBetweenReadbacks: STEPS });
    let launches = 0;
    Object.assign(pass, { dispatchWorkgroups: () => void launches++ });
    const sequenceIds = Array.from({ length: sequences }, (_, i) => i);
    await rollout(sampler, [{ prompt: new Uint32Array(context), sequenceIds }], samplingOf(tokens));
    Object.assign(pass, { dispatchWorkgroups });
    sampler.close();
    return launches;
  };
  await launchesOf(2 * STEPS + 1); // what is made once, such as the table of rotations
  const [shorter, longer] = [await launchesOf(STEPS + 1), await launchesOf(2 * STEPS + 1)];
  if (model !== base) model.release();
  base.release();
  return (longer - shorter) / STEPS;
}

/** What is decoded: one sequence of a short context and of a long one, and many. */
const DECODED = [
  { what: "1 sequence of 40 tokens", sequences: 1, context: 40 },
  { what: "1 of 3,000", sequences: 1, context: 3000 },
  { what: "64 of 300", sequences: 64, context: 300 },
];

/** Launches of a decode step of each judged model, by itself and with an adapter on all its matrices. */
export async function launchTable(engine: EngineName, precision: Precision): Promise<string> {
  const rows: string[][] = [];
  for (const name of judgedModels) {
    const file = `configs/models/${name}.json`;
    const config = parseModelConfig(JSON.parse(Deno.readTextFileSync(file)), file);
    for (const rank of [null, 16]) {
      const row = [`${name}${rank === null ? "" : ", adapter"}`];
      for (const { sequences, context } of DECODED) {
        const gpu = hardware(engine, precision);
        row.push(`${await decodeLaunches(gpu, config, { sequences, context, rank })}`);
      }
      rows.push(row);
    }
  }
  return alignedTable([["launches of a decode step", ...DECODED.map(({ what }) => what)], ...rows]);
}
