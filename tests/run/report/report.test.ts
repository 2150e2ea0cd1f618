import assert from "node:assert/strict";
import { join } from "node:path";
import { tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { drawCurves, movingMean } from "../../../src/run/report/curves.ts";
import { METRIC } from "../../../src/run/store/metric_names.ts";
import { type MetricsLine, MetricsLog } from "../../../src/run/store/metrics_log.ts";
import { findHeadlines, methodName, writeReport } from "../../../src/run/report/report.ts";
import type { RunFacts } from "../../../src/run/report/run_facts.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";

const config = tangoConfigSchema.parse({
  generator: { model: "weights/generator" },
  verifier: { model: "weights/verifier" },
});

const facts: RunFacts = {
  device: { name: "llvmpipe", software: true, engine: "native" },
  seconds: 245,
  memory: { plannedBytes: 1.5e9, peakBytes: 1.4e9 },
  warnings: [],
  reachedEnd: true,
};

/** Metrics of a run in which everything rises in a straight line over 100 steps. */
function risingRun(): MetricsLine[] {
  const lines: MetricsLine[] = [];
  for (let step = 0; step <= 100; step++) {
    const wobble = Math.sin(step * 12.9898) * 0.08;
    if (step > 0) {
      const phase = step % 4 === 0 ? "verifier" : "generator";
      lines.push({
        step,
        phase,
        [phase === "verifier" ? METRIC.verifierReward : METRIC.generatorReward]: 0.4 + step / 250 +
          wobble,
        [METRIC.alpha]: 0.1 * Math.exp(-step / 20),
        [METRIC.logProbDifference]: step === 50 ? 2e-6 : 0,
      });
    }
    if (step % 10 === 0) {
      lines.push({
        step,
        phase: "evaluation",
        [METRIC.generatorAccuracy]: 0.5 + step / 300,
        [METRIC.verifierBalancedAccuracy]: 0.55 + step / 400,
        [METRIC.verifierStepAccuracy]: 0.5 + step / 500,
        [METRIC.verifierStepBalancedAccuracy]: 0.5 + step / 1000,
      });
    }
  }
  return lines;
}

Deno.test("report: start, end and change of what was measured; curves beside it", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const run = RunFolder.create(join(folder, "run"), config);
    {
      using log = new MetricsLog(run.metrics);
      for (const line of risingRun()) log.append(line);
    }
    writeReport(run, config, facts);
    const report = Deno.readTextFileSync(run.report);
    assert.match(report, /^# RL Tango \(GRPO\) on last-letter\n/);
    assert.match(
      report,
      /\| generator accuracy, held-out problems \| 50\.0 % \| 83\.3 % \| \+33\.3 points \|/,
    );
    assert.match(
      report,
      /\| verifier balanced accuracy[^|]*\| 55\.0 % \| 80\.0 % \| \+25\.0 points \|/,
    );
    assert.match(report, /\| verifier step accuracy \| 50\.0 % \| 70\.0 % \| \+20\.0 points \|/);
    assert.match(
      report,
      /\| step judgments, balanced accuracy \| 50\.0 % \| 60\.0 % \| \+10\.0 points \|/,
    );
    const three = [
      { label: "generator accuracy, held-out problems", change: "50.0 % → 83.3 %" },
      { label: "verifier balanced accuracy, fresh solutions", change: "55.0 % → 80.0 %" },
      { label: "step judgments, balanced accuracy", change: "50.0 % → 60.0 %" },
    ];
    assert.deepEqual(findHeadlines(risingRun()), three);
    for (const { label, change } of three) {
      assert.ok(report.includes(`\n- ${label}: **${change}**\n`), label);
    }
    const withoutLabels = risingRun().map((line) => ({
      ...line,
      [METRIC.verifierStepBalancedAccuracy]: "",
    }));
    assert.deepEqual(findHeadlines(withoutLabels), three.slice(0, 2));
    assert.match(report, /\| the verifier had imitated \| not known;/);
    assert.match(report, /\| steps done \| 75 generator, 25 verifier \|/);
    assert.match(report, /llvmpipe \(software\), native engine/);
    assert.match(report, /4 min 05 s/);
    assert.match(report, /at most 2\.0e-6/);
    assert.doesNotMatch(report, /verifier F1|NaN|undefined/);
    const verifier = join(folder, "verifier");
    Deno.mkdirSync(verifier);
    const started = { ...config, verifier: { ...config.verifier!, model: verifier } };
    for (
      const [labels, name] of [
        ["gold", "step accuracy (its warm start imitated true labels of steps)"],
        ["coin_flip", "step accuracy (its warm start was told no label)"],
      ]
    ) {
      const content = JSON.stringify({ judgment_labels: labels });
      Deno.writeTextFileSync(join(verifier, "judgment_labels.json"), content);
      writeReport(run, started, facts);
      assert.ok(Deno.readTextFileSync(run.report).includes(`| verifier ${name} | 50.0 % |`));
    }
    const svg = Deno.readTextFileSync(run.curves);
    assert.match(svg, /^<svg[^]*<\/svg>\s*$/);
    assert.match(svg, /verifier balanced accuracy/);
    assert.match(svg, />step judgments</);
    assert.doesNotMatch(drawCurves(withoutLabels), /step judgments/);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("report: a run stopped before anything was measured still gets one", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const run = RunFolder.create(join(folder, "run"), config);
    new MetricsLog(run.metrics).close();
    writeReport(run, config, { ...facts, reachedEnd: false });
    assert.match(Deno.readTextFileSync(run.report), /stopped after step 0 of 100; `--resume`/);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("report: names the method as the configuration makes it", () => {
  const verifier = config.verifier!;
  assert.equal(methodName({ ...config, verifier: null }), "GRPO alone");
  assert.equal(
    methodName({ ...config, verifier: { ...verifier, trained: false } }),
    "GRPO with a frozen verifier",
  );
});

Deno.test("curves: the same metrics give the same picture", () => {
  assert.equal(drawCurves(risingRun()), drawCurves(risingRun()));
});

Deno.test("movingMean: the window shrinks at the ends", () => {
  assert.deepEqual(movingMean([[1, 0], [2, 3], [3, 6], [5, 9]], 3), [[1, 1.5], [2, 3], [3, 6], [
    5,
    7.5,
  ]]);
});
