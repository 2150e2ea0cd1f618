import { UserError } from "../base/user_error.ts";
import { dawnPolling } from "../platform/gpus/dawn_polling.ts";
import { type EngineName, requestAdapter } from "../platform/gpus/request_adapter.ts";

export type { EngineName };

/** A product of matrix units, [M, K] by [K, N], with the types of its factors and of its sum. */
export interface SubgroupMatrixConfig {
  readonly M: number;
  readonly N: number;
  readonly K: number;
  readonly componentType: string;
  readonly resultComponentType: string;
}

/** Everything the engine knows about the device it opened. */
export interface DeviceInfo {
  readonly engine: EngineName;
  readonly name: string;
  readonly vendor: string;
  /** Number of the GPU on this machine, where one was chosen. */
  readonly index?: number;
  /** True for drivers that run on the CPU (lavapipe, SwiftShader, WARP). */
  readonly software: boolean;
  readonly subgroups: boolean;
  readonly subgroupMinSize: number;
  readonly subgroupMaxSize: number;
  /** Whether a kernel may say how many lanes its subgroups have. */
  readonly subgroupSizeControl: boolean;
  readonly f16: boolean;
  /** Whether kernels may use u64: the native engine, where the device has it. */
  readonly int64: boolean;
  readonly subgroupMatrix: boolean;
  /** Types and shapes that the matrix units multiply; empty without `subgroupMatrix`. */
  readonly subgroupMatrixConfigs: readonly SubgroupMatrixConfig[];
}

/** An open device with its description. */
export interface OpenedDevice {
  readonly device: GPUDevice;
  readonly adapter: GPUAdapter;
  readonly info: DeviceInfo;
}

const noAdapter = (engine: EngineName) =>
  `No GPU adapter for the ${engine} engine. Run \`./tango doctor\`: it says what is missing. Tasks started ` +
  `through ./tango see to a software driver themselves.`;

const softwareNames = /llvmpipe|lavapipe|swiftshader|software|basic render|warp/i;

/** What the native engine calls u64 in kernels; only it has them. */
const int64Feature = "wgpu-shader-int64";

/**
 * Opens a device with the first of some sets of features that is granted besides those wanted. The native engine
 * hides these from `features` and grants them all the same: asking is the test.
 */
async function requestDevice(
  engine: EngineName,
  adapter: GPUAdapter,
  requiredLimits: Record<string, number>,
  wanted: readonly string[],
  sets: readonly (readonly string[])[],
): Promise<{ device: GPUDevice; granted: readonly string[] }> {
  // An adapter serves one device, so that a second request needs a fresh adapter.
  let next: GPUAdapter | null = adapter;
  for (const [index, granted] of sets.entries()) {
    next ??= await requestAdapter(engine);
    if (!next) throw new UserError(noAdapter(engine));
    const requiredFeatures = [...wanted, ...granted] as GPUFeatureName[];
    try {
      return { device: await next.requestDevice({ requiredFeatures, requiredLimits }), granted };
    } catch (cause) {
      if (index === sets.length - 1) throw cause;
      next = null;
    }
  }
  throw new Error("no set of features to ask for");
}

/** Limits beyond what WebGPU promises that are asked for where an adapter has them. */
const usefulLimits = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "minUniformBufferOffsetAlignment",
  "minStorageBufferOffsetAlignment",
] as const;

/** Features that are asked for where an adapter shows them. */
const usefulFeatures = [
  "shader-f16",
  "chromium-experimental-subgroup-matrix",
  "subgroup-size-control",
  "timestamp-query",
] as const;

/**
 * Opens the adapter of one engine with everything it offers that the kernels can use.
 *
 * @param promisedOnly see `GpuOptions`
 */
export async function openDevice(
  engine: EngineName,
  { promisedOnly = false }: { readonly promisedOnly?: boolean } = {},
): Promise<OpenedDevice> {
  const adapter = await requestAdapter(engine);
  if (!adapter) throw new UserError(noAdapter(engine));
  const wanted = promisedOnly
    ? []
    : usefulFeatures.filter((name) => adapter.features.has(name as GPUFeatureName));
  const limits = promisedOnly
    ? {}
    : Object.fromEntries(usefulLimits.map((name) => [name, adapter.limits[name]]));
  const { device, granted } = await requestDevice(
    engine,
    adapter,
    limits,
    wanted,
    promisedOnly
      ? [[]]
      : engine === "native"
      ? [["subgroups", int64Feature], ["subgroups"], []]
      : [["subgroups"], []],
  );
  const details = adapter.info as GPUAdapterInfo & {
    subgroupMinSize?: number;
    subgroupMaxSize?: number;
    subgroupMatrixConfigs?: Iterable<SubgroupMatrixConfig>;
  };
  // A browser tells no more than maker and architecture.
  const maker = [details.vendor, details.architecture].filter((word) => word).join(" ");
  const name = details.description || details.device || maker || "unknown adapter";
  const software = softwareNames.test(`${name} ${details.vendor} ${details.architecture}`);
  if (engine === "dawn") dawnPolling.isOnCpu = software;
  return {
    adapter,
    device,
    info: {
      engine,
      name,
      vendor: details.vendor,
      software,
      subgroups: granted.includes("subgroups"),
      subgroupMinSize: details.subgroupMinSize ?? 0,
      subgroupMaxSize: details.subgroupMaxSize ?? 0,
      subgroupSizeControl: wanted.includes("subgroup-size-control"),
      f16: wanted.includes("shader-f16"),
      int64: granted.includes(int64Feature),
      subgroupMatrix: wanted.includes("chromium-experimental-subgroup-matrix"),
      // Dawn's objects have getters alone, which neither JSON nor a spread sees.
      subgroupMatrixConfigs: [...details.subgroupMatrixConfigs ?? []].map((
        { M, N, K, componentType, resultComponentType },
      ) => ({ M, N, K, componentType, resultComponentType })),
    },
  };
}
