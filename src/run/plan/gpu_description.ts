import { basename, dirname, join, resolve } from "node:path";
import type { z } from "zod";
import { exists } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import type { DeviceInfo } from "../../gpu/adapter.ts";
import { loadYaml } from "../config/load_config.ts";
import { realNumber, section, text, wholeNumber } from "../config/schema_fields.ts";
import { readBenchRates } from "./bench_rates.ts";

const link = () =>
  section({
    gbps: realNumber({ above: 0 }),
    latency_microseconds: realNumber({ minimum: 0 }),
  });

const descriptionSchema = section({
  name: text("the GPU's name"),
  source: text("where the figures are from"),
  memory_gb: realNumber({ above: 0 }),
  /** A file of `bench --json`, beside this one; takes the place of the next three. */
  bench: text("the path of a file written by bench --json, or null").nullable().default(null),
  peak: section({
    gflops: realNumber({ above: 0 }),
    gbps: realNumber({ above: 0 }),
  }).nullable().default(null),
  reached: section({
    products: realNumber({ above: 0, maximum: 1 }),
    attention: realNumber({ above: 0, maximum: 1 }),
    bandwidth: realNumber({ above: 0, maximum: 1 }),
  }).nullable().default(null),
  launch_microseconds: realNumber({ minimum: 0 }).nullable().default(null),
  /** Ranks that share the device: each has its share of the rates. */
  shared_by: wholeNumber({ minimum: 1 }).default(1),
  host_gbps: realNumber({ above: 0 }),
  machine: link().extend({ gpus: wholeNumber({ minimum: 1 }) }).strict(),
  network: link(),
  disk_gbps: realNumber({ above: 0 }),
});

type Description = z.output<typeof descriptionSchema>;

/** How fast a GPU runs this engine's kernels. */
export interface KernelRates {
  /** f32 operations of matrix products per second. */
  readonly products: number;
  /** f32 operations of attention per second. */
  readonly attention: number;
  /** Bytes of its memory read or written per second. */
  readonly bandwidth: number;
  /** Seconds that a launch takes beside its work. */
  readonly launch: number;
}

/** A way between two ranks. */
export interface Link {
  readonly bytesPerSecond: number;
  /** Seconds. */
  readonly latency: number;
}

/** A GPU and what it stands in. */
export interface GpuDescription {
  readonly name: string;
  /** Whether its rates were measured, or are taken from published peaks. */
  readonly isMeasured: boolean;
  /** Device that a rehearsed run is told of. */
  readonly info: DeviceInfo;
  readonly limits: Partial<GPUSupportedLimits>;
  readonly memoryBytes: number;
  readonly rates: KernelRates;
  /** Bytes per second between the GPU's memory and the host's. */
  readonly hostRate: number;
  /** GPUs of a machine. */
  readonly gpusPerMachine: number;
  /** Link between two ranks of a machine, through its memory. */
  readonly machine: Link;
  /** Link of each GPU between machines: its share of the network. */
  readonly network: Link;
  /** Bytes per second that a checkpoint is written with. */
  readonly diskRate: number;
}

/** Bindings stop near 2 GiB on both engines; workgroups have what desktop GPUs of all makers offer. */
const hardwareLimits = {
  maxStorageBufferBindingSize: 2 ** 31 - 4,
  maxBufferSize: 2 ** 31 - 4,
  minUniformBufferOffsetAlignment: 256,
  maxComputeWorkgroupStorageSize: 32 * 1024,
  maxComputeInvocationsPerWorkgroup: 1024,
};

/** A GPU with what the kernels can use. */
function deviceOf(name: string): DeviceInfo {
  return {
    engine: "native",
    name,
    vendor: "",
    software: false,
    subgroups: true,
    subgroupMinSize: 32,
    subgroupMaxSize: 32,
    subgroupSizeControl: false,
    f16: true,
    int64: false,
    subgroupMatrix: false,
    subgroupMatrixConfigs: [],
  };
}

/** Descriptions that come along. */
const folder = "configs/gpus";

/**
 * Reads a description: one that comes along by its name, or any file.
 *
 * @throws UserError when there is none, or a figure in it cannot be
 */
export function loadGpuDescription(nameOrFile: string): GpuDescription {
  const own = join(folder, `${nameOrFile}.yaml`);
  const file = /^[\w.-]+$/.test(nameOrFile) && exists(own) ? own : nameOrFile;
  if (!exists(file)) {
    throw new UserError(
      `--gpu ${nameOrFile}: there is no such file, and the GPUs that come along are ${
        known().join(", ")
      }.`,
    );
  }
  const description = loadYaml(descriptionSchema, file);
  return {
    name: description.name,
    isMeasured: description.bench !== null,
    info: deviceOf(description.name),
    limits: hardwareLimits,
    memoryBytes: description.memory_gb * 1e9,
    rates: sharedRates(ratesOf(description, file), description.shared_by),
    hostRate: description.host_gbps * 1e9,
    gpusPerMachine: description.machine.gpus,
    machine: linkOf(description.machine),
    network: linkOf(description.network),
    diskRate: description.disk_gbps * 1e9,
  };
}

function known(): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => basename(name, ".yaml")).sort();
}

function linkOf({ gbps, latency_microseconds }: z.output<ReturnType<typeof link>>): Link {
  return { bytesPerSecond: gbps * 1e9, latency: latency_microseconds / 1e6 };
}

function sharedRates({ products, attention, bandwidth, launch }: KernelRates, ranks: number) {
  return {
    products: products / ranks,
    attention: attention / ranks,
    bandwidth: bandwidth / ranks,
    launch: launch * ranks,
  };
}

function ratesOf(description: Description, file: string): KernelRates {
  const { bench, peak, reached, launch_microseconds } = description;
  const published = [peak, reached, launch_microseconds].filter((one) => one !== null).length;
  if (bench === null ? published < 3 : published > 0) {
    throw new UserError(
      `${file}: expected either bench, a file of measured rates, or peak, reached and ` +
        `launch_microseconds.`,
    );
  }
  if (bench !== null) return readBenchRates(resolve(dirname(file), bench));
  if (peak === null || reached === null || launch_microseconds === null) throw new Error("checked");
  return {
    products: peak.gflops * 1e9 * reached.products,
    attention: peak.gflops * 1e9 * reached.attention,
    bandwidth: peak.gbps * 1e9 * reached.bandwidth,
    launch: launch_microseconds / 1e6,
  };
}
