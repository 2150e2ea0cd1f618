import assert from "node:assert/strict";
import { join } from "node:path";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { gemm } from "../../../src/kernels/products/gemm.ts";
import { trialTexts } from "../../../src/kernels/choice/trials.ts";
import { tune, type Tuned } from "../../../src/run/tuning/tune.ts";
import { readTuning, tuningFile, tuningOwner } from "../../../src/run/tuning/tuning_file.ts";
import { onRanks } from "../../distributed/in_process.ts";

/** A GPU on which some products were rehearsed, and a folder; nothing is left of them. */
async function withProducts(
  body: (gpu: Gpu, folder: string, said: string[]) => Promise<void>,
): Promise<void> {
  const folder = Deno.makeTempDirSync();
  const gpu = await Gpu.open("native");
  try {
    rehearseProducts(gpu);
    await body(gpu, folder, []);
  } finally {
    gpu.close();
    Deno.removeSync(folder, { recursive: true });
  }
}

function rehearseProducts(gpu: Gpu, columns = 48): void {
  const rehearsal = gpu.rehearsal();
  const [a, b, c] = [[40, 64], [columns, 64], [40, columns]].map((shape) =>
    rehearsal.tensor(shape)
  );
  gemm(rehearsal, "nt", a, b, c);
}

const names = ({ classes }: Tuned) => classes.map(({ shapeClass }) => shapeClass);
const test = (name: string, body: () => Promise<void>) =>
  Deno.test({ name, sanitizeOps: false, sanitizeResources: false, fn: body });

test("tuning: what is measured once is read after that, and joined by what is new", () =>
  withProducts(async (gpu, folder, said) => {
    const tell = (line: string) => said.push(line);
    const first = await tune(gpu, { folder, tell });
    assert.deepEqual(names(first), ["nt f32, some rows, narrow, short sums"]);
    assert.equal(gpu.choices.table, first.table);
    assert.match(
      said.join("\n"),
      /^Measuring .*\nKernels: measured for 1 classes .* kept in .*native\.json$/,
    );
    said.length = 0;
    assert.deepEqual(await tune(gpu, { folder, tell }), first);
    assert.match(said.join("\n"), /^Kernels: as .*native\.json has them$/);
    rehearseProducts(gpu, 128);
    const more = await tune(gpu, { folder });
    assert.deepEqual(names(more).length, 2);
    assert.deepEqual(more.classes[0], first.classes[0]);
    const again = await tune(gpu, { folder, redo: true });
    assert.deepEqual(names(again).toSorted(), names(more).toSorted());
    assert.equal(gpu.pool.liveBytes, 0);
  }));

test("tuning: a file that is damaged or of something else is passed over with a word", () =>
  withProducts(async (gpu, folder, said) => {
    const owner = tuningOwner(gpu.info, gpu.tuning, trialTexts);
    const path = tuningFile(folder, owner);
    await tune(gpu, { folder });
    const sound = Deno.readTextFileSync(path);
    const other = tuningOwner(gpu.info, gpu.tuning, ["another kernel"]);
    assert.match(readTuning(path, other).ignored ?? "", /is of other kernels$/);
    for (
      const damage of [
        sound.slice(0, 99),
        "{}",
        sound.replace(/"variant": "[^"]*"/, '"variant": "none"'),
      ]
    ) {
      Deno.writeTextFileSync(path, damage);
      assert.deepEqual(readTuning(path, owner).classes, []);
      said.length = 0;
      await tune(gpu, { folder, tell: (line) => said.push(line) });
      assert.match(said.join("\n"), /native\.json is damaged.*: it is made anew\. measured for 1/);
      assert.equal(readTuning(path, owner).ignored, null);
    }
  }));

test("tuning: a folder that cannot be written costs only the next start its time", () =>
  withProducts(async (gpu, folder, said) => {
    const file = join(folder, "file");
    Deno.writeTextFileSync(file, "");
    const tuned = await tune(gpu, { folder: file, tell: (line) => said.push(line) });
    assert.equal(tuned.classes.length, 1);
    assert.match(said.join("\n"), /which could not be kept: .*file/);
  }));

test("tuning: a GPU that is lost meanwhile is told with the way around it", () =>
  withProducts(async (gpu, folder) => {
    gpu.device.destroy();
    await assert.rejects(
      tune(gpu, { folder }),
      /The GPU was lost .* It gave out while kernels were measured; tuning: default .* starts without\./,
    );
  }));

test("tuning: ranks share what the first one measures, for the shapes of all", () =>
  withProducts(async (first, folder) => {
    const second = await Gpu.open("native");
    rehearseProducts(second, 128);
    const gpus = [first, second];
    const tuned = await onRanks(2, (ranks) => tune(gpus[ranks.rank], { folder, ranks }));
    assert.equal(names(tuned[0]).length, 2);
    assert.deepEqual(tuned[1], tuned[0]);
    assert.deepEqual(second.choices.table, first.choices.table);
    second.close();
  }));
