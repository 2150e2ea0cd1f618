/** Whole runs over ranks that are tasks of this process, each with a GPU of its own. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Communicator } from "../../../src/distributed/communicator.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { resolveTangoConfig, type TangoConfig } from "../../../src/run/config/config_schema.ts";
import type { RunEvent } from "../../../src/run/events/run_event.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { withTimeline } from "../../../src/run/trace/run_timeline.ts";
import { onRanks } from "../../distributed/in_process.ts";
import { assertSameFiles } from "../killable_runs.ts";
import { tinyPolicies, tinyTask } from "../tiny_policies.ts";

/** What must be the same to the last byte on any number of ranks. */
export const comparedFiles = [
  "metrics.jsonl",
  "samples.jsonl",
  "audit.jsonl",
  "generator/model.safetensors",
  "verifier/model.safetensors",
];

/** What all ranks of a run told, by rank. */
export type Told = readonly (readonly RunEvent[])[];

/** Runs of tiny policies in a folder that is removed in the end. */
export class RankRuns implements AsyncDisposable {
  readonly root = Deno.makeTempDirSync();
  readonly #gpus: Gpu[] = [];

  /**
   * A configuration of a generator and a verifier step, changed in some sections. Unless they say how to make a
   * generator it is one of tiny policies.
   */
  config(changes: object = {}): TangoConfig {
    const { generator, verifier } = "generator" in changes
      ? { generator: null, verifier: null }
      : tinyPolicies;
    const optimizer = { learning_rate: 0.003 };
    const base = {
      task: "task" in changes ? changes.task : tinyTask,
      generator: { model: generator, max_response_length: 48, optimizer },
      verifier: { model: verifier, max_response_length: 64, optimizer },
      rollout: { batch_size: 4, group_size: 2, decode_slots: 5 },
      reduction: { shards: 4 },
      advantage: { alpha: { initial: 0.5 } },
      rewards: { generator_format_weight: 0.5, minimum_steps: 1 },
      schedule: {
        generator_steps: 1,
        verifier_steps: 1,
        total_training_steps: 2,
        test_frequency: 1,
        save_frequency: 0,
      },
      evaluation: { problems: 3 },
      samples_per_step: 3,
    };
    return resolveTangoConfig(tangoConfigSchema.parse(merged(base, changes)));
  }

  /** The path of a run by its name. */
  path(name: string): string {
    return join(this.root, name);
  }

  /**
   * Trains to the end.
   *
   * @param hear told what each rank tells; throwing ends that rank at once, as a kill does
   */
  async train(
    name: string,
    size: number,
    config: TangoConfig,
    { resume = false, hear = () => {} }: {
      readonly resume?: boolean;
      readonly hear?: (event: RunEvent, ranks: Communicator) => void;
    } = {},
  ): Promise<Told> {
    const gpus = await this.#open(size);
    return await onRanks(size, async (ranks) => {
      const events = new RunEvents();
      const told: RunEvent[] = [];
      events.listen((event) => {
        told.push(event);
        hear(event, ranks);
      });
      const gpu = gpus[ranks.rank];
      await withTimeline(
        gpu,
        { ranks, events },
        null,
        (timeline) =>
          trainWithReport(gpu, config, this.path(name), {
            resume,
            events,
            ranks: timeline.ranks,
            timeline,
          }),
      );
      return told;
    });
  }

  /** Trains until a step is done, and ends there without saving. */
  async trainUntil(
    name: string,
    size: number,
    config: TangoConfig,
    step: number,
    resume = false,
  ): Promise<void> {
    const killed = new Error("killed");
    const hear = (event: RunEvent) => {
      if (event.type === "step" && event.step === step) throw killed;
    };
    await assert.rejects(this.train(name, size, config, { resume, hear }), killed);
  }

  /** Trains on one rank and on several, and compares what they leave. */
  async compare(
    name: string,
    changes: object,
    sizes: readonly number[],
    files: readonly string[] = comparedFiles,
  ): Promise<Told> {
    const config = this.config(changes);
    let told = await this.train(`${name}-1`, 1, config);
    for (const size of sizes) {
      told = await this.train(`${name}-${size}`, size, config);
      assertSameFiles(this.path(`${name}-${size}`), this.path(`${name}-1`), files);
      for (const [rank, one] of told.entries()) assertSameTold(one, told[0], `rank ${rank}`);
    }
    return told;
  }

  async #open(count: number): Promise<readonly Gpu[]> {
    while (this.#gpus.length < count) this.#gpus.push(await Gpu.open("auto"));
    return this.#gpus;
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const gpu of this.#gpus) gpu.close();
    Deno.removeSync(this.root, { recursive: true });
    return Promise.resolve();
  }
}

/** All ranks measure the same: none goes by what it alone has sampled. */
function assertSameTold(
  own: readonly RunEvent[],
  expected: readonly RunEvent[],
  who: string,
): void {
  const measured = (events: readonly RunEvent[]) =>
    events.flatMap((event) => "metrics" in event ? [{ step: event.step, ...event.metrics }] : []);
  assert.deepEqual(measured(own), measured(expected), who);
}

function merged(base: object, changes: object): object {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(changes)) {
    const before = result[key];
    const isSection = (one: unknown) =>
      typeof one === "object" && one !== null && !Array.isArray(one);
    result[key] = isSection(before) && isSection(value) ? merged(before as object, value) : value;
  }
  return result;
}
