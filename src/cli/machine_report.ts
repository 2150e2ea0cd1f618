import { join } from "node:path";
import type { DeviceInfo, EngineName } from "../gpu/adapter.ts";
import { type ListedGpu, listGpus } from "../platform/gpus/gpu_list.ts";
import { findVulkanDrivers, type VulkanDrivers } from "../platform/gpus/vulkan_drivers.ts";
import { Gpu } from "../gpu/gpu.ts";
import { type DeviceLimits, limitsOf } from "../gpu/device_limits.ts";
import { requireSameBits } from "../kernels/choice/same_bits.ts";
import { precisionOf, type SettledPrecision } from "../run/tuning/settled_precision.ts";
import { PROJECT_FOLDER } from "./dev/project.ts";

/** One engine that runs kernels. */
export interface WorkingEngine {
  readonly engine: EngineName;
  readonly works: true;
  readonly info: DeviceInfo;
  readonly limits: DeviceLimits;
  /** Median time of one small kernel and reading its result. */
  readonly roundTripMilliseconds: number;
  /** What `precision: auto` comes to; null on the native engine, which shows no matrix units. */
  readonly settled: SettledPrecision | null;
}

/** One engine that does not, and its words why. */
export interface BrokenEngine {
  readonly engine: EngineName;
  readonly works: false;
  readonly problem: string;
}

/** What `deno task doctor` knows. */
export interface MachineReport {
  readonly system: {
    readonly os: string;
    readonly architecture: string;
    readonly processors: number;
    readonly memoryBytes: number;
    readonly freeMemoryBytes: number;
  };
  readonly versions: { readonly deno: string; readonly webgpu: string };
  /** null where Vulkan is not used. */
  readonly vulkan: VulkanDrivers | null;
  /** What `--gpu-index` chooses from. */
  readonly gpus: readonly ListedGpu[];
  /** Device files of a GPU that the operating system shows, whatever Vulkan thinks of it. */
  readonly gpuDeviceFiles: readonly string[];
  readonly engines: readonly (WorkingEngine | BrokenEngine)[];
}

/** Examines this machine; a missing part is reported, never thrown. */
export async function examineMachine(): Promise<MachineReport> {
  const memory = Deno.systemMemoryInfo();
  return {
    system: {
      os: `${Deno.build.os} ${Deno.osRelease()}`,
      architecture: Deno.build.arch,
      processors: navigator.hardwareConcurrency,
      memoryBytes: memory.total,
      freeMemoryBytes: memory.available,
    },
    versions: engineVersions(),
    vulkan: Deno.build.os === "linux" ? findVulkanDrivers((name) => Deno.env.get(name)) : null,
    gpus: listGpus(),
    gpuDeviceFiles: gpuDeviceFiles(),
    engines: [await examineEngine("native"), await examineEngine("dawn")],
  };
}

async function examineEngine(engine: EngineName): Promise<WorkingEngine | BrokenEngine> {
  try {
    const gpu = await Gpu.open(engine);
    const roundTripMilliseconds = await roundTrip(gpu);
    await requireSameBits(gpu);
    const report: WorkingEngine = {
      engine,
      works: true,
      info: gpu.info,
      limits: limitsOf(gpu.device),
      roundTripMilliseconds,
      settled: engine === "dawn" ? await precisionOf(gpu) : null,
    };
    gpu.close();
    return report;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : `${cause}`;
    // The advice to run this very command is of no use here.
    return { engine, works: false, problem: message.split(" Run `./tango doctor`")[0] };
  }
}

const squares = `
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] = id.x * id.x; }`;

/** Runs a kernel, checks its result, and gives the median time in milliseconds. */
async function roundTrip(gpu: Gpu): Promise<number> {
  const x = gpu.zeros([256], "u32");
  const times: number[] = [];
  for (let i = 0; i < 9; i++) {
    gpu.clear(x);
    const start = performance.now();
    gpu.dispatch({ label: "doctor", code: squares }, {}, { x }, [4]);
    const result = await gpu.read(x);
    times.push(performance.now() - start);
    if (!result.every((value, index) => value === index * index)) {
      throw new Error("the adapter was found, but a test kernel gave wrong numbers");
    }
  }
  return times.sort((a, b) => a - b)[4];
}

/** Of the native engine and of Dawn. */
export function engineVersions(): MachineReport["versions"] {
  return { deno: Deno.version.deno, webgpu: webgpuVersion() };
}

function webgpuVersion(): string {
  try {
    const file = join(PROJECT_FOLDER, "node_modules/webgpu/package.json");
    return String(JSON.parse(Deno.readTextFileSync(file)).version);
  } catch {
    return "not installed";
  }
}

function gpuDeviceFiles(): string[] {
  const found: string[] = [];
  for (
    const [folder, pattern] of [["/dev", /^nvidia\d+$/], ["/dev/dri", /^renderD\d+$/]] as const
  ) {
    try {
      for (const { name } of Deno.readDirSync(folder)) {
        if (pattern.test(name)) found.push(join(folder, name));
      }
    } catch {
      // No such folder: no such GPU.
    }
  }
  return found.sort();
}
