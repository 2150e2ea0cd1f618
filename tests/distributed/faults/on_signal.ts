/**
 * Preloaded into a rank: says which process it is, and does at a signal what a machine does to a process. SIGUSR1 fills
 * the disk for weights, SIGUSR2 takes the GPU away.
 */

import { join } from "node:path";
import { startedBy } from "../../../src/distributed/mpi/started_by.ts";

const { rank } = startedBy((name) => Deno.env.get(name)) ?? { rank: 0 };
const folder = Deno.env.get("TEST_RANKS");
if (folder) Deno.writeTextFileSync(join(folder, `${rank}`), `${Deno.pid}`);

let isFull = false;
Deno.addSignalListener("SIGUSR1", () => isFull = true);
const { open } = Deno;
Deno.open = async (path, options) => {
  const isWeights = options?.write && String(path).endsWith(".safetensors");
  return await open(isFull && isWeights ? "/dev/full" : path, options);
};

const devices: GPUDevice[] = [];
Deno.addSignalListener("SIGUSR2", () => devices.forEach((device) => device.destroy()));
const { requestDevice } = GPUAdapter.prototype;
GPUAdapter.prototype.requestDevice = async function (descriptor) {
  const device = await requestDevice.call(this, descriptor);
  devices.push(device);
  return device;
};
