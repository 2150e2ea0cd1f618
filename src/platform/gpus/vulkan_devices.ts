/** Kind of a Vulkan device; `software` runs on the CPU. */
export type VulkanDeviceType = "discrete" | "integrated" | "virtual" | "other" | "software";

/** A device as its Vulkan driver describes it. WebGPU tells the name alone. */
export interface VulkanDevice {
  readonly name: string;
  readonly type: VulkanDeviceType;
  /** 16 bytes each, which together belong to no other device. */
  readonly deviceUuid: readonly number[];
  readonly driverUuid: readonly number[];
  readonly driverVersion: number;
  /** Name and version of the driver, such as `radv Mesa 26.1.6`; null when it does not tell. */
  readonly driver: string | null;
  /** Such as `0000:65:00.0`; null when there is none, or the driver does not tell. */
  readonly pciAddress: string | null;
}

const loader = "libvulkan.so.1";
/** `VkPhysicalDeviceType` by its numbers. */
const types: readonly VulkanDeviceType[] = [
  "other",
  "integrated",
  "discrete",
  "virtual",
  "software",
];

// Numbers, sizes and offsets of vulkan_core.h, for pointers of 8 bytes.
const structureType = {
  instanceCreateInfo: 1,
  deviceProperties2: 1000059001,
  idProperties: 1000071004,
  pciBusInfo: 1000212000,
  driverProperties: 1000196000,
} as const;
const apiVersion1_1 = (1 << 22) | (1 << 12);
const unknown = 0xffffffff;

/**
 * Asks the Vulkan loader for all devices, in its order. What the environment says of drivers and layers holds, as it
 * stands at the time of the call.
 *
 * @returns null where there is no Vulkan loader
 * @throws Error when the loader fails; no driver at all is an empty list
 */
export function listVulkanDevices(): VulkanDevice[] | null {
  const vulkan = openLoader();
  if (vulkan === null) return null;
  const { vkCreateInstance, vkDestroyInstance, vkEnumeratePhysicalDevices } = vulkan.symbols;
  try {
    const application = structure(48, 0, null);
    application.setUint32(44, apiVersion1_1, true);
    const creation = structure(64, structureType.instanceCreateInfo, null);
    creation.setBigUint64(24, addressOf(application), true);
    const place = new BigUint64Array(1);
    const incompatible = -9; // VK_ERROR_INCOMPATIBLE_DRIVER: there is none
    const created = vkCreateInstance(creation.buffer, null, place);
    if (created === incompatible) return [];
    check("vkCreateInstance", created);
    const instance = Deno.UnsafePointer.create(place[0]);
    try {
      const count = new Uint32Array(1);
      check("vkEnumeratePhysicalDevices", vkEnumeratePhysicalDevices(instance, count, null));
      const devices = new BigUint64Array(count[0]);
      check("vkEnumeratePhysicalDevices", vkEnumeratePhysicalDevices(instance, count, devices));
      return [...devices.subarray(0, count[0])].map((device) => describe(vulkan, device));
    } finally {
      vkDestroyInstance(instance, null);
    }
  } finally {
    vulkan.close();
  }
}

type Vulkan = NonNullable<ReturnType<typeof openLoader>>;

function openLoader() {
  if (Deno.build.os !== "linux") return null;
  try {
    return Deno.dlopen(loader, {
      vkCreateInstance: { parameters: ["buffer", "pointer", "buffer"], result: "i32" },
      vkDestroyInstance: { parameters: ["pointer", "pointer"], result: "void" },
      vkEnumeratePhysicalDevices: { parameters: ["pointer", "buffer", "buffer"], result: "i32" },
      vkGetPhysicalDeviceProperties2: { parameters: ["pointer", "buffer"], result: "void" },
    });
  } catch {
    return null; // Deno gives one class of error for a library that is missing and one that is too old.
  }
}

function describe({ symbols }: Vulkan, device: bigint): VulkanDevice {
  // Fields that a driver does not know it leaves alone.
  const bus = structure(32, structureType.pciBusInfo, null);
  for (let offset = 16; offset < 32; offset += 4) bus.setUint32(offset, unknown, true);
  const driver = structure(536, structureType.driverProperties, bus);
  const ids = structure(64, structureType.idProperties, driver);
  const properties = structure(1024, structureType.deviceProperties2, ids);
  symbols.vkGetPhysicalDeviceProperties2(Deno.UnsafePointer.create(device), properties.buffer);
  const bytes = (view: DataView<ArrayBuffer>, offset: number, length: number) =>
    new Uint8Array(view.buffer, offset, length);
  const text = (view: DataView<ArrayBuffer>, offset: number) => {
    const field = bytes(view, offset, 256);
    return new TextDecoder().decode(field.subarray(0, field.indexOf(0)));
  };
  return {
    name: text(properties, 36),
    type: types[properties.getInt32(32, true)] ?? "other",
    deviceUuid: [...bytes(ids, 16, 16)],
    driverUuid: [...bytes(ids, 32, 16)],
    driverVersion: properties.getUint32(20, true),
    driver: `${text(driver, 20)} ${text(driver, 276)}`.trim() || null,
    pciAddress: pciAddress([16, 20, 24, 28].map((offset) => bus.getUint32(offset, true))),
  };
}

function pciAddress([domain, bus, device, fn]: readonly number[]): string | null {
  // Mesa's software driver says that it is at 0, where there is no device.
  if (domain === unknown || (domain | bus | device | fn) === 0) return null;
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");
  return `${hex(domain, 4)}:${hex(bus, 2)}:${hex(device, 2)}.${fn}`;
}

/** Zeros but for a Vulkan structure's first two fields: what it is, and where the next one lies. */
function structure(
  bytes: number,
  type: number,
  next: DataView<ArrayBuffer> | null,
): DataView<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(bytes));
  view.setUint32(0, type, true);
  if (next !== null) view.setBigUint64(8, addressOf(next), true);
  return view;
}

const addressOf = ({ buffer }: DataView<ArrayBuffer>) =>
  Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer));

function check(call: string, result: number): void {
  if (result !== 0) throw new Error(`${call} failed with ${result}`);
}
