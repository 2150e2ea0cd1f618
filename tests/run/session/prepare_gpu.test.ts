import assert from "node:assert/strict";
import { alone } from "../../../src/distributed/communicator.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { gemm } from "../../../src/kernels/products/gemm.ts";
import { prepareGpu } from "../../../src/run/session/prepare_gpu.ts";
import type { TuningMode } from "../../../src/run/tuning/tune.ts";

function product(gpu: Gpu): void {
  gpu.scope(() => {
    const [a, b, c] = [[40, 64], [48, 64], [40, 48]].map((shape) => gpu.tensor(shape));
    gemm(gpu, "nt", a, b, c);
  });
}

Deno.test({
  name: "preparing a GPU: what is planned and compiled is what will run, measured or not",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const folder = Deno.makeTempDirSync();
    let plans = 0;
    // Only Dawn compiles before the first launch.
    const prepared = async (tuning: TuningMode) => {
      const gpu = await Gpu.open("dawn");
      plans = 0;
      const run = {
        config: null,
        limit: null,
        plan: () => {
          plans++;
          product(gpu.rehearsal());
          return Promise.resolve({ peakBytes: 2 ** 20, resident: [], phases: [] });
        },
        shrinks: [],
      };
      await prepareGpu(gpu, run, { ranks: alone, tuning, folder });
      return gpu;
    };
    const expectNothingNew = async (gpu: Gpu, kernels: number) => {
      const { length } = gpu.kernels;
      product(gpu);
      await gpu.finish();
      assert.equal(gpu.kernels.length, length);
      assert.equal(length, kernels);
      gpu.close();
    };
    await expectNothingNew(await prepared("default"), 1);
    assert.equal(plans, 1);
    (await prepared("measured")).close();
    // Another variant than the one that is suggested.
    const [file] = [...Deno.readDirSync(folder)].map(({ name }) => `${folder}/${name}`);
    const measured = JSON.parse(Deno.readTextFileSync(file));
    const [class_] = measured.classes;
    const { name } = class_.variants.find((one: { name: string; excluded: string | null }) =>
      one.name !== class_.suggested && one.excluded === null
    );
    class_.variant = name;
    Deno.writeTextFileSync(file, JSON.stringify(measured));
    await expectNothingNew(await prepared("measured"), 1);
    assert.equal(plans, 2);
    Deno.removeSync(folder, { recursive: true });
  },
});
