import assert from "node:assert/strict";
import { join } from "node:path";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { lossOptions } from "../../../src/run/config/loss_options.ts";
import { planTangoMemory } from "../../../src/run/memory/tango_memory_plan.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withTinyProject } from "../tiny_project.ts";

onEveryGpu("a policy's own KL weight: it alone is held to its start", async (gpu) => {
  await withTinyProject(gpu, async (project) => {
    for (const set of [["verifier.kl_coefficient=0.5"], ["generator.kl_coefficient=0.5"]]) {
      const config = loadTangoConfig(project.config, { set: ["loss.kl_coefficient=0", ...set] });
      const [held, free] = set[0].startsWith("verifier")
        ? ["verifier", "generator"] as const
        : ["generator", "verifier"] as const;
      assert.equal(lossOptions(config, held, 8).klCoefficient, 0.5);
      assert.equal(lossOptions(config, free, 8).klCoefficient, 0);

      const { resident } = await planTangoMemory(gpu, config);
      const references = resident.filter(({ what }) => what.startsWith("reference"));
      assert.deepEqual(references.map(({ what }) => what), [`reference of the ${held}`]);

      const run = join(project.folder, `run-${held}`);
      assert.equal(await trainWithReport(gpu, config, run, { resume: false }), true);
      const lines = readJsonLines<MetricsLine>(RunFolder.at(run).metrics);
      const divergences = (policy: string) =>
        lines.filter(({ phase }) => phase === policy).map((line) => Number(line[`${policy}/kl`]));
      assert.ok(divergences(held).some((divergence) => divergence > 0), `${divergences(held)}`);
      assert.ok(divergences(free).length > 0);
      assert.ok(divergences(free).every((divergence) => divergence === 0));
    }
  });
});
