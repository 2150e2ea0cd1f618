import assert from "node:assert/strict";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import type { TimelineLine } from "../../../src/run/store/timeline_log.ts";
import { readTimeline } from "../../../src/server/runs/read_timeline.ts";
import { RankRuns } from "./rank_runs.ts";

Deno.test({
  name: "ranks: a run killed on four ranks and resumed on two has the timeline of both parts",
  // The GPUs outlive their closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using runs = new RankRuns();
    const config = runs.config({
      schedule: { total_training_steps: 4, save_frequency: 2, test_frequency: 2 },
    });
    await runs.trainUntil("run", 4, config, 3);
    await runs.train("run", 2, config, { resume: true });
    const folder = RunFolder.at(runs.path("run"));
    const lines = readJsonLines<TimelineLine>(folder.timeline);
    // A line for a step and one for what came after it. The newest checkpoint was that of the first step.
    assert.deepEqual(lines.map(({ step, ranks }) => [step, ranks.length]), [
      [0, 4],
      [1, 4],
      [1, 4],
      [2, 2],
      [3, 2],
      [3, 2],
      [4, 2],
      [4, 2],
    ]);
    const shown = readTimeline(folder.timeline, { from: 0, to: 4 }, lines[0].at);
    assert.deepEqual(shown.map(({ spans }) => [...new Set(spans.map(({ step }) => step))]), [
      [0, 1, 2, 3, 4],
      [0, 1, 2, 3, 4],
      [0, 1],
      [0, 1],
    ]);
    const timings = readJsonLines<MetricsLine>(folder.timings);
    for (const { rank, spans } of shown) {
      spans.slice(1).forEach(({ begin }, place) => {
        // Doubles of milliseconds since 1970 are exact to a thousandth.
        assert.ok(begin >= spans[place].end - 1e-5, "spans ascend and are disjoint");
      });
      for (const step of new Set(spans.map(({ step }) => step))) {
        const names = new Set(spans.filter((one) => one.step === step).map(({ name }) => name));
        const expected = step === 0 ? ["evaluation"] : ["rollout", "forward-backward"];
        for (const name of expected) assert.ok(names.has(name), `${name} of ${step}`);
        const line = timings.find((one) => one.step === step);
        if (line === undefined) continue;
        const idle = spans.filter((one) => one.step === step && one.name === "idle")
          .reduce((sum, { begin, end }) => sum + end - begin, 0);
        const inStep = Number(line["perf/step_seconds"]) *
          Number(line[`perf/idle_share/rank_${rank}`]);
        // There may be waiting after the step too; each of some spans is rounded to 0.1 ms at both ends.
        assert.ok(idle >= inStep - 0.005, `rank ${rank}, step ${step}: ${idle} s < ${inStep} s`);
      }
    }
  },
});
