/** Two runs with records, written by hand: they part in their third step. */

import { parse } from "yaml";
import { encodeSafetensors } from "../../src/model/weights/safetensors.ts";
import type { RecordKind } from "../../src/run/store/audit_log.ts";
import { saveCheckpoint } from "../../src/run/store/checkpoint.ts";
import { streamOf } from "../model/safetensors_tensors.ts";
import { WrittenRun } from "./written_run.ts";

const PRESET = "configs/last-letter.yaml";

/** How one of the runs differs from the other. */
interface Own {
  readonly temperature: number;
  readonly driver: string;
  /** The tokens of its third step's second solution. */
  readonly tokens: readonly string[];
  /** Of the checkpoint of its third step. */
  readonly weights: readonly number[];
}

const OWN: Readonly<Record<"warm" | "cool", Own>> = {
  warm: { temperature: 1, driver: "Mesa 1", tokens: ["The ", "d", "og", ""], weights: [1, -0, 2] },
  cool: {
    temperature: 0.9,
    driver: "Mesa 2",
    tokens: ["The ", "d", "og", "s"],
    weights: [1, 0, 3],
  },
};

/** Writes the runs `warm` and `cool`. */
export async function writeTwoRuns(root: string): Promise<void> {
  for (const name of ["warm", "cool"] as const) await writeRun(root, name);
}

/** Writes one of them, or another run that is like it but for its name. */
export async function writeRun(
  root: string,
  like: keyof typeof OWN,
  name: string = like,
): Promise<WrittenRun> {
  const { temperature, driver, tokens, weights } = OWN[like];
  const preset = parse(Deno.readTextFileSync(PRESET));
  const rollout = { ...preset.rollout, temperature };
  const run = new WrittenRun(root, name, { ...preset, rollout });
  run.event({ type: "started", step: 0, total: 9, ranks: 1 });
  const device = { adapter: "a GPU", engine: "native", bits: "chain", driver, variants: {} };
  Deno.writeTextFileSync(run.folder.device, JSON.stringify(device));
  const record = (step: number, phase: RecordKind, parts: Record<string, string>) =>
    Deno.writeTextFileSync(
      run.folder.audit,
      `${JSON.stringify({ step, phase, parts, chain: `${step}` })}\n`,
      { append: true },
    );
  record(0, "start", { "config.rollout": like });
  for (const [step, phase] of [[1, "generator"], [2, "verifier"]] as const) {
    run.step(step, phase, { [`${phase}/reward`]: 1 });
    run.event({ type: "step", step, phase });
    record(step, phase, { problems: "p", solutions: "s" });
  }
  run.step(3, "generator", { "generator/reward": 1 });
  run.event({ type: "step", step: 3, phase: "generator" });
  run.sample({ step: 3, problem: "What is it?", solution: "The same." });
  const lengths = tokens.map(({ length }) => length);
  const advantages = tokens.map(() => 0);
  run.sample({
    ...{ step: 3, problem: "What is it?", solution: tokens.join("") },
    tokens: { lengths, advantages },
  });
  record(3, "generator", { problems: "p", solutions: like, rewards: like });
  const data = Float32Array.from(weights);
  const set = encodeSafetensors({
    weights: streamOf({ dtype: "F32", shape: [data.length], data }, 4),
  });
  await saveCheckpoint(run.folder.checkpoints, { step: 3, sets: { generator: set }, state: {} }, 1);
  return run;
}
