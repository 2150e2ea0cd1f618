import assert from "node:assert/strict";
import { join } from "node:path";
import { exists } from "../../../src/platform/files/atomic_file.ts";
import { loadSftConfig, loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { latestCheckpoint } from "../../../src/run/store/checkpoint.ts";
import { AnswerJudge } from "../../../src/grading/answer_judge.ts";
import { readJudgmentLabels } from "../../../src/run/store/judgment_labels.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { SftRun } from "../../../src/run/sft/sft_run.ts";
import { TaskProblems } from "../../../src/run/problems/task_problems.ts";
import { isFinished, trainWithReport } from "../../../src/run/session/training_session.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { eventsOf } from "../event_file.ts";
import { withTinyProject } from "../tiny_project.ts";

onEveryGpu("training session: a whole run, its files, and all GPU memory back", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config, {
      set: ["schedule.save_frequency=0", "loss.kl_coefficient=0.1", "report.tensorboard=true"],
    });
    const folder = RunFolder.at(join(project.folder, "run"));
    const before = gpu.pool.liveBytes;
    assert.equal(await trainWithReport(gpu, config, folder.path, { resume: false }), true);
    assert.equal(gpu.pool.liveBytes, before);
    assert.equal(latestCheckpoint(folder.checkpoints)?.step, 5, "the end is saved in any case");
    assert.ok(isFinished(folder, config));
    assert.ok(
      !isFinished(folder, {
        ...config,
        schedule: { ...config.schedule, total_training_steps: 6 },
      }),
    );
    for (const file of [folder.report, folder.curves, folder.metrics, folder.samples]) {
      assert.ok(Deno.statSync(file).size > 0, file);
    }
    const shown = [...Deno.readDirSync(folder.tensorBoard)].flatMap(({ name }) =>
      eventsOf(join(folder.tensorBoard, name)).flatMap(({ scalars = {} }) => Object.keys(scalars))
    );
    for (const name of ["generator/reward", "perf/step_seconds", "eval/generator/accuracy"]) {
      assert.ok(shown.includes(name), name);
    }
  });
});

onEveryGpu("training session: a run that goes on elsewhere says what changes", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const path = join(project.folder, "run");
    const trained = async (steps: number) => {
      const set = [`schedule.total_training_steps=${steps}`];
      const events = new RunEvents();
      const warnings: string[] = [];
      events.listen((event) => {
        if (event.type === "warning") warnings.push(event.message);
      });
      const config = loadTangoConfig(project.config, { set });
      await trainWithReport(gpu, config, path, { resume: steps > 1, events });
      return warnings;
    };
    assert.deepEqual(await trained(1), []);
    const folder = RunFolder.at(path);
    const { adapter, engine, bits } = JSON.parse(Deno.readTextFileSync(folder.device));
    assert.deepEqual([adapter, engine, bits], [gpu.info.name, gpu.info.engine, "chain"]);
    assert.deepEqual(await trained(2), []);
    const file = join(latestCheckpoint(folder.checkpoints)?.path ?? "", "state.json");
    const { sha256: _, ...facts } = JSON.parse(Deno.readTextFileSync(file));
    facts.state.device.adapter = "Radeon";
    Deno.writeTextFileSync(file, JSON.stringify(facts));
    const [warning, ...others] = await trained(3);
    assert.deepEqual(others, []);
    assert.ok(warning.includes(`the device ${gpu.info.name} instead of Radeon: the last bits`));
  });
});

onEveryGpu("training session: it is said and kept what the verifier had imitated", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config, { set: ["schedule.test_frequency=100"] });
    const kept = async (name: string) => {
      const folder = RunFolder.at(join(project.folder, name));
      await trainWithReport(gpu, config, folder.path, { resume: false });
      const labels = readJudgmentLabels(folder.weights("verifier"));
      assert.equal(readJudgmentLabels(folder.weights("generator")), null);
      return { labels, report: Deno.readTextFileSync(folder.report) };
    };
    // The project's verifier was made by fine-tuning, which imitates true judgments unless told otherwise.
    const gold = await kept("gold");
    assert.equal(gold.labels, "gold");
    assert.match(gold.report, /\| the verifier had imitated \| critiques with true judgments/);
    const sft = loadSftConfig(project.sftConfig, {
      set: [
        "policy=verifier",
        "judgment_labels=coin_flip",
        `output_directory=${project.verifier}`,
        "schedule.total_training_steps=1",
      ],
    });
    const run = await SftRun.open(gpu, sft);
    await run.save(project.verifier);
    run.close();
    const flipped = await kept("flipped");
    assert.equal(flipped.labels, "coin_flip");
    assert.match(
      flipped.report,
      /\| the verifier had imitated \| critiques with judgments by coin flip/,
    );
    // What was imitated once stays so.
    Deno.writeTextFileSync(
      join(project.verifier, "judgment_labels.json"),
      JSON.stringify({ judgment_labels: "gold" }),
    );
    const again = await SftRun.open(gpu, { ...sft, initial_model: project.verifier });
    await again.save(project.generator);
    again.close();
    assert.equal(readJudgmentLabels(project.generator), "gold");
    const written = join(project.verifier, "judgment_labels.json");
    Deno.writeTextFileSync(written, JSON.stringify({ verifier_labels: "coin_flip" }));
    assert.equal(readJudgmentLabels(project.verifier), "coin_flip", "as earlier versions wrote it");
    Deno.writeTextFileSync(written, "{}");
    assert.throws(() => readJudgmentLabels(project.verifier), /expected "gold" or "coin_flip"/);
  });
});

onEveryGpu("training session: a run that cannot begin leaves no folder", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config, { set: ["generator.model=nowhere"] });
    const path = join(project.folder, "run");
    await assert.rejects(trainWithReport(gpu, config, path, { resume: false }), {
      name: "UserError",
      message: /There is no model nowhere; expected a folder/,
    });
    assert.ok(!exists(path));
  });
});

onEveryGpu(
  "training session: a damaged checkpoint leaves no thread that judges answers",
  async (gpu) => {
    await withTinyProject(gpu, async (project) => {
      const file = (letters: string) => {
        const path = join(project.folder, `${letters}.jsonl`);
        const rows = [...letters].map((question) => JSON.stringify({ question, answer: "1" }));
        Deno.writeTextFileSync(path, rows.join("\n"));
        return `[{path: ${path}}]`;
      };
      const data = `{train: ${file("abcd")}, held_out: ${file("efgh")}, validation: null}`;
      const set = [`data=${data}`, "schedule.save_frequency=1"];
      const config = loadTangoConfig(project.config, { steps: 2, set });
      const folder = RunFolder.at(join(project.folder, "run"));
      await trainWithReport(gpu, config, folder.path, { resume: false });
      const checkpoint = latestCheckpoint(folder.checkpoints);
      assert.ok(checkpoint);
      const weights = join(checkpoint.path, "generator.safetensors");
      const bytes = Deno.readFileSync(weights);
      bytes[bytes.length - 1] ^= 1;
      Deno.writeFileSync(weights, bytes);
      const live = gpu.pool.liveBytes;
      const { close } = AnswerJudge.prototype;
      const closed = new Set<AnswerJudge>();
      AnswerJudge.prototype.close = function () {
        closed.add(this);
        close.call(this);
      };
      try {
        await assert.rejects(trainWithReport(gpu, config, folder.path, { resume: true }), {
          name: "UserError",
          message: /generator\.safetensors has changed since it was written/,
        });
      } finally {
        AnswerJudge.prototype.close = close;
      }
      assert.equal(closed.size, 2, "the plan's and the run's");
      assert.equal(gpu.pool.liveBytes, live);
    });
  },
);

onEveryGpu("training session: a run whose making fails returns all it had opened", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    const config = loadTangoConfig(project.config);
    const folder = RunFolder.create(join(project.folder, "run"), config);
    Deno.writeTextFileSync(folder.history, "no JSON\n");
    const live = gpu.pool.liveBytes;
    const dispose = TaskProblems.prototype[Symbol.dispose];
    let disposed = 0;
    TaskProblems.prototype[Symbol.dispose] = () => void disposed++;
    try {
      await assert.rejects(trainWithReport(gpu, config, folder.path, { resume: true }), {
        name: "UserError",
        message: /config-history\.jsonl:1 is damaged/,
      });
    } finally {
      TaskProblems.prototype[Symbol.dispose] = dispose;
    }
    assert.equal(
      disposed,
      2,
      "the plan's and the run's: with files this ends the thread that judges answers",
    );
    assert.equal(gpu.pool.liveBytes, live);
  });
});
