import assert from "node:assert/strict";
import { UserError } from "../../../src/base/user_error.ts";
import {
  describeGpu,
  gpuAt,
  type ListedGpu,
  listGpus,
  numberGpus,
} from "../../../src/platform/gpus/gpu_list.ts";
import { describeSharing, gpusOfRanks } from "../../../src/platform/gpus/gpus_of_ranks.ts";
import type { VulkanDevice, VulkanDeviceType } from "../../../src/platform/gpus/vulkan_devices.ts";
import { gpuOf } from "../../kernels/harness.ts";

function device(
  name: string,
  type: VulkanDeviceType,
  pciAddress: string | null,
  uuid = 0,
): VulkanDevice {
  const deviceUuid = Array.from({ length: 16 }, () => uuid);
  return {
    name,
    type,
    pciAddress,
    deviceUuid,
    driverUuid: deviceUuid,
    driverVersion: 1,
    driver: null,
  };
}

const software = device("llvmpipe", "software", null);
const integrated = device("iGPU", "integrated", "0000:00:02.0");
const [near, far] = [0x03, 0xc1].map((bus) =>
  device("H100", "discrete", `0000:${bus.toString(16).padStart(2, "0")}:00.0`)
);

Deno.test({
  name: "GPUs: the list holds the adapter that the native engine finds",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const { info } = await gpuOf("native");
    const found = listGpus().find(({ name }) => name === info.name);
    assert.ok(found, `${info.name} is none of ${listGpus().map(describeGpu)}`);
    assert.equal(found.type === "software", info.software);
    assert.ok(found.deviceUuid.length === 16 && found.deviceUuid.some((byte) => byte !== 0));
  },
});

Deno.test("GPUs: cards come first, by their place on the bus, and software last", () => {
  const gpus = numberGpus([software, far, integrated, near]);
  assert.deepEqual(gpus.map(describeGpu), [
    "GPU 0: H100 (discrete, 0000:03:00.0)",
    "GPU 1: H100 (discrete, 0000:c1:00.0)",
    "GPU 2: iGPU (integrated, 0000:00:02.0)",
    "GPU 3: llvmpipe (software driver)",
  ]);
});

Deno.test("GPUs: one with two drivers is one, adapters without an address are told apart", () => {
  const second = { ...near, name: "H100 by another driver", driverUuid: [9] };
  assert.deepEqual(numberGpus([near, second]).map(({ name }) => name), ["H100"]);
  const twins = [1, 2].map((uuid) => device("llvmpipe", "software", null, uuid));
  assert.equal(numberGpus([...twins, twins[1]]).length, 2);
});

Deno.test("GPUs: a number that does not exist is the user's error, which lists those that do", () => {
  const gpus = numberGpus([far, near]);
  assert.equal(gpuAt(gpus, 1).pciAddress, far.pciAddress);
  const expected = (message: RegExp) => (error: unknown) =>
    error instanceof UserError && message.test(error.message);
  assert.throws(
    () => gpuAt(gpus, 2),
    expected(/no GPU 2 on this machine.*--gpu-index:\n {2}GPU 0: H100 .*\n {2}GPU 1: H100/),
  );
  assert.throws(() => gpuAt([], 0), expected(/no GPU 0: Vulkan shows no GPU at all.*doctor/));
});

Deno.test("GPUs of ranks: each has its own while there are enough, and sharing is said", () => {
  const gpus = numberGpus([software, far, integrated, near]);
  const indices = (ranks: number) => gpusOfRanks(gpus, ranks).map(({ index }) => index);
  assert.deepEqual(indices(2), [0, 1]);
  const sharing = (gpus: readonly ListedGpu[], ranks: number) =>
    describeSharing(gpusOfRanks(gpus, ranks).map((gpu) => ({ gpu })));
  assert.deepEqual(sharing(gpus, 2), []);
  assert.deepEqual(indices(5), [0, 1, 0, 1, 0]);
  assert.deepEqual(sharing(gpus, 3), [
    "Ranks 0 and 2 share GPU 0: H100 (discrete, 0000:03:00.0): they take turns on it, and its memory " +
    "has to do for all of them.",
  ]);
  const [shared] = sharing(numberGpus([software]), 3);
  assert.match(shared, /^Ranks 0, 1 and 2 share GPU 0: llvmpipe/);
  assert.deepEqual(gpusOfRanks([], 2), []);
  const [gpu, other] = gpus;
  assert.deepEqual(
    describeSharing([
      { gpu, host: "a" },
      { gpu: null, host: "a" },
      { gpu: other, host: "b" },
      { gpu, host: "b" },
      { gpu: null, host: "a" },
      // A process that sees one GPU alone gives it the number 0.
      { gpu: { ...other, index: 0 }, host: "b" },
    ]),
    [
      "Ranks 2 and 5 share GPU 1: H100 (discrete, 0000:c1:00.0) on b: they take turns on it, and its " +
      "memory has to do for all of them.",
    ],
  );
});
