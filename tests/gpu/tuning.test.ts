import assert from "node:assert/strict";
import { Gpu } from "../../src/gpu/gpu.ts";
import { matrixTiles } from "../../src/kernels/products/gemm_matrix_tiles.ts";
import { broadcastLanes, independentLanes, lanesOfRow, tuningOf } from "../../src/gpu/tuning.ts";
import { onEveryGpu } from "../kernels/harness.ts";
import { describedDevice } from "./described_device.ts";

Deno.test("tuning: values are shared by broadcast on a CPU's lanes, by eight or by four as subgroups have", () => {
  for (
    const [software, lanes, shares] of [
      [true, 8, 8],
      [true, 16, 8],
      [true, 4, 4],
      [true, 0, null],
      [false, 32, null],
    ] as const
  ) {
    assert.equal(broadcastLanes(tuningOf(describedDevice(software, lanes), {})), shares);
  }
});

Deno.test("tuning: a CPU's lanes have rows of their own and small workgroups", () => {
  const [cpu, gpu] = [true, false].map((software) => tuningOf(describedDevice(software, 8), {}));
  assert.deepEqual([cpu, gpu].map((tuning) => lanesOfRow(tuning, 128)), [1, 128]);
  assert.deepEqual([cpu, gpu].map(independentLanes), [16, 64]);
  assert.deepEqual([cpu, gpu].map((tuning) => tuning.wideLoads), [true, false]);
});

Deno.test("tuning: what nobody says of a device is what WebGPU promises", () => {
  assert.deepEqual(tuningOf(describedDevice(false, 0), {}), {
    lanes: "gpu",
    subgroups: null,
    f16: false,
    wideLoads: false,
    matrix: null,
    pinnedSubgroup: null,
    limits: { workgroupBytes: 16384, workgroupLanes: 256 },
    bits: "chain",
  });
});

Deno.test("tuning: kernels on matrix units ask for one size of subgroups where they may", () => {
  const matrices = {
    M: 8,
    N: 16,
    K: 16,
    componentType: "f16",
    resultComponentType: "f32",
  } as const;
  const pinned = (vendor: string, smallest: number, largest: number, mayAsk = true) =>
    tuningOf(
      {
        ...describedDevice(false, largest),
        vendor,
        f16: true,
        subgroupMinSize: smallest,
        subgroupSizeControl: mayAsk,
        subgroupMatrix: true,
        subgroupMatrixConfigs: [matrices],
      },
      {},
      "f16",
    );
  assert.equal(pinned("intel", 8, 32).pinnedSubgroup, 16);
  assert.equal(pinned("amd", 32, 64).pinnedSubgroup, 64);
  assert.equal(pinned("amd", 32, 64, false).pinnedSubgroup, null);
  // Nobody's lanes are idle: as many subgroups as matrices are shared by.
  const [tile] = matrixTiles(pinned("intel", 8, 32));
  assert.deepEqual([tile.subgroup, tile.isPinned, tile.writes], [16, true, 2]);
  const [open] = matrixTiles(pinned("intel", 8, 32, false));
  assert.deepEqual([open.subgroup, open.isPinned, open.writes], [32, false, 4]);
});

Deno.test("tuning: matrices of f32 are taken where f32-matrix asks for them, and who has none is told what there is", () => {
  const config = (componentType: string, resultComponentType: string, size: number) => ({
    ...{ M: size, N: size, K: size, componentType, resultComponentType },
  });
  const device = (configs: ReturnType<typeof config>[]) => ({
    ...describedDevice(false, 32),
    ...{ engine: "dawn" as const, name: "a device", f16: true },
    ...{ subgroupMatrix: true, subgroupMatrixConfigs: configs },
  });
  // As Metal has them.
  const apple = device([config("f32", "f32", 8), config("f16", "f16", 8)]);
  const tuning = tuningOf(apple, { maxComputeWorkgroupStorageSize: 32768 }, "f32-matrix");
  assert.deepEqual([tuning.bits, tuning.matrix?.componentType], ["mma-f32", "f32"]);
  // The smallest tile is for decoding, and the largest has room.
  const tiles = matrixTiles(tuning).map(({ sx, sy, rm, rn, m, n }) => [sy * rm * m, sx * rn * n]);
  assert.deepEqual([tiles[0], tiles.at(-1)], [[8, 32], [128, 64]]);
  assert.throws(() => tuningOf(apple, {}, "f16"), /take f16 .* Take precision f32-matrix or f32;/);
  const other = device([config("f16", "f32", 16)]);
  assert.throws(() => tuningOf(other, {}, "f32-matrix"), /take f32 .* Take precision f16 or f32;/);
});

onEveryGpu("tuning: a rehearsal chooses as its device", (gpu) => {
  assert.deepEqual(gpu.rehearsal().tuning, gpu.tuning);
  const { limits } = gpu.device;
  assert.equal(gpu.tuning.limits.workgroupBytes, limits.maxComputeWorkgroupStorageSize);
  assert.equal(Gpu.rehearsalOf(describedDevice(false, 32), {}).tuning.lanes, "gpu");
  return Promise.resolve();
});
