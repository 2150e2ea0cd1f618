import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../../src/cli/commands.ts";
import {
  matricesOrChains,
  type PrecisionKeys,
  precisionOnMatrixUnits,
  settlePrecision,
} from "../../../src/run/tuning/settled_precision.ts";
import { runCaptured } from "../../cli/run_captured.ts";
import { gpuOf, testedEngines } from "../../kernels/harness.ts";
import { areStandIns } from "../../kernels/f32_matrices.ts";
import { onMatrixUnits } from "../../kernels/on_matrix_units.ts";
import { withTinyProject } from "../tiny_project.ts";

Deno.test("precision auto: what is said is kept, and no GPU is asked", async () => {
  const told: string[] = [];
  const config = { gpu: "dawn", precision: "f16-pair", seed: 3 } as const;
  // A GPU of this number would be refused.
  assert.deepEqual(await settlePrecision(config, 99, (line) => told.push(line)), config);
  assert.deepEqual(told, []);
});

Deno.test("precision auto: f32 on an engine that shows no matrix units", async () => {
  const told: string[] = [];
  const config: PrecisionKeys = { gpu: "native", precision: "auto" };
  const settled = await settlePrecision(config, undefined, (line) => told.push(line));
  assert.equal(settled.precision, "f32");
  assert.deepEqual(told, ["precision auto: f32, as only the Dawn engine shows matrix units"]);
});

onMatrixUnits("precision auto: f16 where products in it were checked", ["f16"], async (gpu) => {
  const { precision, because } = await precisionOnMatrixUnits(gpu, await gpuOf("dawn"));
  assert.equal(precision, "f16");
  assert.match(because, /^on matrix units of \d+x\d+x\d+, which were checked$/);
});

Deno.test("precision auto: matrices of f32 where a product needs clearly less of its time in chains", () => {
  assert.deepEqual(matricesOrChains(0.9, "units"), {
    precision: "f32-matrix",
    because: "on units: a product took 0.90 of its time in chains",
  });
  assert.equal(matricesOrChains(0.97, "units").precision, "f32");
});

onMatrixUnits(
  "precision auto: f32 where matrices of f32 are right and slower than chains",
  ["f32-matrix"],
  async (gpu) => {
    const { precision, because } = await precisionOnMatrixUnits(gpu, await gpuOf("dawn"), {
      rows: 64,
      columns: 64,
      depth: 64,
    });
    assert.equal(precision, "f32");
    assert.match(
      because,
      areStandIns(gpu)
        ? /^as .*'s matrix units cannot be trusted: a matrix product .* is right/
        : /^as on matrix units of 8x8x8, which were checked, a product took [\d.]+ of its time/,
    );
  },
);

Deno.test({
  name: "precision auto: a run's folder has what it came to",
  // The GPU that makes the models outlives a test on purpose: it is opened once per process.
  sanitizeOps: false,
  sanitizeResources: false,
  ignore: !testedEngines.includes("native"),
  fn: async () => {
    const gpu = await gpuOf("native");
    if (!gpu.info.software) {
      console.warn("SKIPPED: what a GPU comes to is its own");
      return;
    }
    await withTinyProject(gpu, async ({ config, folder }) => {
      const run = join(folder, "run");
      const set = ["--set", "precision=auto", "--set", "schedule.total_training_steps=1"];
      const { code, output, printed } = await runCaptured(
        { train: COMMANDS.train },
        ["train", "--config", config, "--run", run, ...set],
      );
      assert.equal(code, 0, printed);
      assert.match(
        output,
        /^precision auto: f32, as a software driver multiplies matrices slowly$/m,
      );
      assert.match(Deno.readTextFileSync(join(run, "config.yaml")), /^precision: f32$/m);
    });
  },
});
