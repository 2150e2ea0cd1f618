import { UserError } from "../../base/user_error.ts";
import { listVulkanDevices, type VulkanDevice, type VulkanDeviceType } from "./vulkan_devices.ts";

/** A GPU with the number by which it is chosen. */
export interface ListedGpu extends VulkanDevice {
  readonly index: number;
}

const order: readonly VulkanDeviceType[] = [
  "discrete",
  "integrated",
  "virtual",
  "other",
  "software",
];

/**
 * The GPUs of this machine, numbered: cards first, then what is integrated, software drivers last; those of one kind by
 * PCI address, as `nvidia-smi` numbers them.
 *
 * @returns empty where Vulkan shows none
 */
export function listGpus(): ListedGpu[] {
  return numberGpus(listVulkanDevices() ?? []);
}

/**
 * Name and version of the driver of an open device, in its own words, such as `radv Mesa 26.1.6`; null where Vulkan does
 * not tell.
 */
export function driverOf(info: { readonly name: string; readonly index?: number }): string | null {
  const listed = listGpus().find(({ name, index }) =>
    info.index === undefined ? name === info.name : index === info.index
  );
  return listed?.driver ?? null;
}

/** As `listGpus`, of given devices in the loader's order. A GPU that two drivers serve is listed with the first. */
export function numberGpus(devices: readonly VulkanDevice[]): ListedGpu[] {
  return devices
    .filter((device, i) => devices.findIndex((other) => isSameGpu(other, device)) === i)
    .sort((a, b) =>
      order.indexOf(a.type) - order.indexOf(b.type) ||
      compare(placeOf(a), placeOf(b))
    )
    .map((device, index) => ({ ...device, index }));
}

/** Whether two descriptions, maybe by two drivers, are of one device. */
export function isSameGpu(a: VulkanDevice, b: VulkanDevice): boolean {
  if (a.pciAddress !== null || b.pciAddress !== null) return a.pciAddress === b.pciAddress;
  const identity = ({ deviceUuid, driverUuid, name }: VulkanDevice) =>
    JSON.stringify([deviceUuid, driverUuid, name]);
  return identity(a) === identity(b);
}

/**
 * The GPU with a number.
 *
 * @throws UserError that lists what there is
 */
export function gpuAt(gpus: readonly ListedGpu[], index: number): ListedGpu {
  const gpu = gpus[index];
  if (gpu) return gpu;
  const found = gpus.map((each) => `\n  ${describeGpu(each)}`).join("");
  throw new UserError(
    gpus.length === 0
      ? `There is no GPU ${index}: Vulkan shows no GPU at all. Run \`./tango doctor\`: it says what is missing.`
      : `There is no GPU ${index} on this machine. Choose one of these with --gpu-index:${found}`,
  );
}

/** `GPU 1: NVIDIA H100 80GB HBM3 (discrete, 0000:65:00.0)` */
export function describeGpu(gpu: ListedGpu): string {
  return `GPU ${gpu.index}: ${describeModel(gpu)}`;
}

/** As `describeGpu`, without the number. */
export function describeModel({ name, type, pciAddress }: VulkanDevice): string {
  const kind = type === "software" ? "software driver" : type;
  return `${name} (${[kind, ...(pciAddress === null ? [] : [pciAddress])].join(", ")})`;
}

/** Key to order GPUs by, the same in every process: the PCI address, or else the unique identifiers. */
const placeOf = ({ pciAddress, deviceUuid, driverUuid }: VulkanDevice) =>
  pciAddress ?? `without ${String.fromCharCode(...deviceUuid, ...driverUuid)}`;

const compare = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;
