/** Settings that change while a run goes on: from the next step, and again when it is resumed. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Settings } from "../../../src/run/config/changeable.ts";
import type { TangoConfig } from "../../../src/run/config/config_schema.ts";
import { loadSftConfig, loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { RunControl } from "../../../src/run/control/run_control.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { fineTuneWithReport } from "../../../src/run/session/sft_session.ts";
import { listCheckpoints } from "../../../src/run/store/checkpoint.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { gpuOf } from "../../kernels/harness.ts";
import { assertSameFiles } from "../killable_runs.ts";
import { withTinyProject } from "../tiny_project.ts";

/** What is asked for while a step is being done. */
interface Requests {
  /** Settings, by the step in whose course they are asked for. */
  readonly changes?: Readonly<Record<number, Settings>>;
  /** Ends the run with an error when this step is done, as a killed one ends. */
  readonly dieAfter?: number;
}

async function train(
  gpu: Gpu,
  config: TangoConfig,
  path: string,
  { changes = {}, dieAfter }: Requests,
): Promise<void> {
  const events = new RunEvents();
  const control = new RunControl();
  events.listen((event) => {
    if (event.type === "phaseBegan" && event.phase === "rollout" && event.step in changes) {
      control.change(changes[event.step]);
    }
    if (event.type === "step" && event.step === dieAfter) throw new Error("killed");
  });
  const run = trainWithReport(gpu, config, path, {
    resume: RunFolder.at(path).isUsed,
    events,
    control,
  });
  if (dieAfter === undefined) assert.ok(await run);
  else await assert.rejects(run, { message: "killed" });
}

const compared = [
  "metrics.jsonl",
  "samples.jsonl",
  "config-history.jsonl",
  "generator/model.safetensors",
  "verifier/model.safetensors",
];

const RATE = "generator.optimizer.learning_rate";
const changes = {
  2: { [RATE]: 0.02, "rollout.temperature": 0.5, "schedule.test_frequency": 1 },
  4: { [RATE]: 0.001, "advantage.alpha.schedule": "linear" },
};

/** Where nothing depends on the engine. */
function onOneGpu(name: string, body: (gpu: Gpu) => Promise<void>): void {
  // The device outlives a test on purpose: it is opened once per process.
  const sanitizers = { sanitizeOps: false, sanitizeResources: false };
  Deno.test({ name, ...sanitizers, fn: async () => await body(await gpuOf("native")) });
}

onOneGpu("changed settings: a run that was killed repeats them bit for bit", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const module = join(project.folder, "reward.ts");
    Deno.writeTextFileSync(module, "export default ({ response }) => response.length;");
    const config = loadTangoConfig(project.config, {
      steps: 6,
      set: [
        `rewards.module=${module}`,
        "schedule.save_frequency=1",
        "schedule.test_frequency=2",
        "schedule.keep_checkpoints=9",
      ],
    });
    const path = (name: string) => join(project.folder, name);
    await train(gpu, config, path("whole"), { changes });
    const lines = readJsonLines<MetricsLine>(RunFolder.open(path("whole")).metrics);
    const stepLine = (step: number) =>
      lines.find((line) => line.step === step && line.phase !== "evaluation") ?? {} as MetricsLine;
    // They hold from the step after the one in which they were asked for, and their lines say so.
    assert.deepEqual(
      [1, 3, 5].map((step) => stepLine(step)["generator/learning_rate"]),
      [1e-4, 0.02, 0.001],
    );
    assert.equal(stepLine(3)[`set/${RATE}`], 0.02);
    assert.equal(stepLine(5)["set/advantage.alpha.schedule"], "linear");
    assert.ok(!(`set/${RATE}` in stepLine(4)));
    const evaluated = lines.filter(({ phase }) => phase === "evaluation").map(({ step }) => step);
    // Every second generator step is step 3; from then on each: 3, 5, and the last.
    assert.deepEqual(evaluated, [0, 3, 5, 6]);
    assert.match(
      Deno.readTextFileSync(RunFolder.open(path("whole")).report),
      /\| changed \| `rollout\.temperature` 0\.5 from step 3 on \|/,
    );
    // Killed before the changes' steps and after them, and resumed without a word about them.
    const deaths = [[2], [3], [5], [2, 4, 5]];
    for (const [index, steps] of deaths.entries()) {
      let died = 0;
      for (const dieAfter of [...steps, undefined]) {
        // What was asked for before is in the history.
        const asked = Object.entries(changes).filter(([step]) => Number(step) > died);
        const requests = { changes: Object.fromEntries(asked), dieAfter };
        await train(gpu, config, path(`killed-${index}`), requests);
        died = dieAfter ?? died;
      }
      assertSameFiles(path(`killed-${index}`), path("whole"), compared);
    }
    // Resumed from a checkpoint before the changes: the history still has them.
    const early = RunFolder.open(path("killed-0"));
    for (const { step, path } of listCheckpoints(early.checkpoints)) {
      if (step > 1) Deno.removeSync(path, { recursive: true });
    }
    await train(gpu, config, early.path, {});
    assertSameFiles(early.path, path("whole"), compared);
  });
});

onOneGpu("changed settings: a bad request is refused and the run goes on", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config, { steps: 2 });
    const events = new RunEvents();
    const control = new RunControl();
    const refusals: string[] = [];
    events.listen((event) => {
      if (event.type !== "step") return;
      try {
        control.change(event.step === 1 ? { [RATE]: 0 } : { [RATE]: 1e-3 });
      } catch (error) {
        refusals.push((error as Error).message);
      }
    });
    const path = join(project.folder, "run");
    assert.ok(await trainWithReport(gpu, config, path, { resume: false, events, control }));
    assert.match(refusals[0], /learning_rate is 0; expected a number, greater than 0/);
    assert.match(refusals[1], /at its last step/);
    assert.equal(refusals.length, 2);
  });
});

onOneGpu("changed settings: fine-tuning takes them too", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadSftConfig(project.sftConfig, {
      steps: 4,
      set: ["schedule.test_frequency=9", "schedule.save_frequency=1"],
    });
    const events = new RunEvents();
    const control = new RunControl();
    events.listen((event) => {
      if (event.type !== "step" || event.step !== 1) return;
      control.change({ "optimizer.learning_rate": 0.5, "schedule.test_frequency": 2 });
    });
    const path = join(project.folder, "run");
    const ignored = { onPlan() {}, onOpen() {} };
    const options = { resume: false, events, control, ...ignored };
    assert.ok(await fineTuneWithReport(gpu, config, path, options));
    const lines = readJsonLines<MetricsLine>(RunFolder.open(path).metrics);
    const rates = lines.flatMap((line) => line["sft/learning_rate"] ?? []);
    assert.deepEqual(rates, [2e-3, 0.5, 0.5, 0.5]);
    const evaluated = lines.filter(({ phase }) => phase === "evaluation").map(({ step }) => step);
    assert.deepEqual(evaluated, [0, 2, 4]);
    assert.match(
      Deno.readTextFileSync(RunFolder.open(path).report),
      /Changed: `optimizer\.learning_rate` 0\.5 from step 2 on\./,
    );
  });
});
