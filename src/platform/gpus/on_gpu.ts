/**
 * WebGPU offers no way to choose among GPUs, and CUDA_VISIBLE_DEVICES does nothing for Vulkan. What does is the
 * environment that the Vulkan loader, its layers and Dawn read when an engine looks for adapters: for that time it leaves
 * one GPU to be found.
 */

import { dirname, join, resolve } from "node:path";
import { UserError } from "../../base/user_error.ts";
import { describeGpu, gpuAt, isSameGpu, type ListedGpu, listGpus } from "./gpu_list.ts";
import { listVulkanDevices } from "./vulkan_devices.ts";
import { manifestPaths } from "./vulkan_drivers.ts";

/** Variables that leave one GPU to be found, if this machine's loader and layers understand them. */
type Environment = Readonly<Record<string, string>>;

/**
 * Calls `body`, which sees no GPU but the one with that number.
 *
 * @param index as `listGpus` numbers them
 * @param body looks for adapters; what it opens stays open afterwards
 * @throws UserError when there is no such GPU, or nothing on this machine can choose it
 */
export async function onGpu<Result>(index: number, body: () => Promise<Result>): Promise<Result> {
  const gpus = listGpus();
  if (gpus.length === 0 && Deno.build.os !== "linux" && index === 0) return await body();
  const gpu = gpuAt(gpus, index);
  const folder = Deno.makeTempDirSync();
  try {
    const environment = wayTo(gpu, folder);
    if (environment === null) throw new UserError(cannotChoose(gpu));
    using _changed = change(environment);
    return await body();
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Why the GPU with that number cannot be chosen on this machine, in one line; null when it can be. */
export function whyNotOnGpu(gpu: ListedGpu): string | null {
  const folder = Deno.makeTempDirSync();
  try {
    return wayTo(gpu, folder) === null ? cannotChoose(gpu) : null;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const cannotChoose = (gpu: ListedGpu) =>
  `${
    describeGpu(gpu)
  } cannot be chosen on this machine: that takes a Vulkan loader (libvulkan1) of 1.4.329 or newer, or ` +
  `Mesa's device-select layer (package mesa-vulkan-drivers), or a container for each GPU.`;

/** The first way after which the loader lists that GPU alone; null when none does. */
function wayTo(gpu: ListedGpu, folder: string): Environment | null {
  for (const environment of ways(gpu, folder)) {
    using _changed = change(environment);
    const left = listVulkanDevices() ?? [];
    if (left.length > 0 && left.every((device) => isSameGpu(device, gpu))) return environment;
  }
  return null;
}

function* ways(gpu: ListedGpu, folder: string): Generator<Environment> {
  yield {}; // it is the only one
  const manifests = manifestPaths((name) => Deno.env.get(name));
  writeLoaderSettings(gpu, manifests, folder);
  yield { XDG_DATA_HOME: folder };
  if (gpu.pciAddress !== null) {
    yield { DRI_PRIME: `pci-${gpu.pciAddress.replaceAll(/[:.]/g, "_")}!` };
  }
  // GPUs of different makers.
  for (const manifest of manifests) yield { VK_DRIVER_FILES: manifest };
}

/** Settings of the loader that list one device, in a folder that stands in for `XDG_DATA_HOME`. */
function writeLoaderSettings(
  { deviceUuid, driverUuid, driverVersion }: ListedGpu,
  manifests: readonly string[],
  folder: string,
): void {
  const device = {
    deviceUUID: deviceUuid,
    driverUUID: driverUuid,
    driverVersion: driverVersion | 0, // the loader reads a signed number
  };
  const settings = {
    device_configurations: [device],
    // With settings the loader no longer looks at VK_DRIVER_FILES, nor at what XDG_DATA_HOME held before.
    additional_drivers: manifests.map((path) => ({ path: resolve(path) })),
    additional_drivers_use_exclusively: true,
  };
  const file = join(folder, "vulkan", "loader_settings.d", "vk_loader_settings.json");
  Deno.mkdirSync(dirname(file), { recursive: true });
  Deno.writeTextFileSync(file, JSON.stringify({ file_format_version: "1.0.1", settings }));
}

/** Sets variables until it is disposed of. */
function change(environment: Environment): Disposable {
  const before = Object.keys(environment).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(environment)) Deno.env.set(name, value);
  return {
    [Symbol.dispose]() {
      for (const [name, value] of before) {
        if (value === undefined) Deno.env.delete(name);
        else Deno.env.set(name, value);
      }
    },
  };
}
