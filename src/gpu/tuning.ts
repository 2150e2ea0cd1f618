import { UserError } from "../base/user_error.ts";
import type { DeviceInfo, SubgroupMatrixConfig } from "./adapter.ts";

/**
 * Hardware that executes the lanes of a workgroup: `cpu`, SIMD lanes of a processor's cores, where workgroup memory and
 * barriers cost, a lane should do much, and long unrolled kernels compile for minutes; `gpu`, a GPU's own.
 */
export type LaneKind = "cpu" | "gpu";

/**
 * How sums of products are rounded. Within a class a number has the same bits in prefill, decoding and training,
 * whatever tiles its kernels take, and a run keeps to one class. `chain`: each sum is one ascending chain of fused
 * multiply-adds. `mma`: blocks of the sum in ascending order, each by a matrix instruction of the device, factors in
 * f16; gradients of adapters are chains over blocks of tokens. `mma-pair`: the same with two f16 for each factor;
 * `mma-f32`: the same with f32 for each; all gradients of weights stay chains in both.
 */
export type BitClass = "chain" | "mma" | "mma-pair" | "mma-f32";

/**
 * Bits of their factors that products of activations with weights use: all of f32, in chains or in matrices, f16, or 21
 * bits in two f16.
 */
export type Precision = "f32" | "f16" | "f16-pair" | "f32-matrix";

const classOf: Record<Precision, BitClass> = {
  "f32": "chain",
  "f16": "mma",
  "f16-pair": "mma-pair",
  "f32-matrix": "mma-f32",
};

/** Limits of a device by which kernels choose their tiles. */
export interface TuningLimits {
  /** Bytes of memory that a workgroup shares. */
  readonly workgroupBytes: number;
  /** Lanes of a workgroup. */
  readonly workgroupLanes: number;
}

/** Abilities of a device by which the kernels choose; made when the device opens. */
export interface Tuning {
  readonly lanes: LaneKind;
  /** Lanes of a subgroup; null where kernels cannot use them. */
  readonly subgroups: { readonly smallest: number; readonly largest: number } | null;
  readonly f16: boolean;
  /**
   * Kernels load and store 64 bits at a time: on a CPU core each lane's address costs more than what lies there.
   */
  readonly wideLoads: boolean;
  /** Types and shape that the matrix units are to multiply; null where `bits` is `chain`. */
  readonly matrix: SubgroupMatrixConfig | null;
  /** Lanes that subgroups of kernels on matrix units are asked to have; null where a device takes no such wish. */
  readonly pinnedSubgroup: number | null;
  readonly limits: TuningLimits;
  /** Rounding of sums in all its kernels. */
  readonly bits: BitClass;
}

/** The limits that WebGPU promises everywhere. */
const promised = { maxComputeWorkgroupStorageSize: 16384, maxComputeInvocationsPerWorkgroup: 256 };

/**
 * The record of a device.
 *
 * @param limits of the device; one that is left out is what WebGPU promises
 * @throws UserError when the precision takes matrix units that the device does not show
 */
export function tuningOf(
  info: DeviceInfo,
  limits: Partial<GPUSupportedLimits>,
  precision: Precision = "f32",
): Tuning {
  const {
    maxComputeWorkgroupStorageSize = promised.maxComputeWorkgroupStorageSize,
    maxComputeInvocationsPerWorkgroup = promised.maxComputeInvocationsPerWorkgroup,
  } = limits;
  return {
    lanes: info.software ? "cpu" : "gpu",
    subgroups: info.subgroups
      ? { smallest: info.subgroupMinSize, largest: info.subgroupMaxSize }
      : null,
    f16: info.f16,
    wideLoads: info.software && info.int64,
    matrix: precision === "f32" ? null : matrixFor(info, precision),
    pinnedSubgroup: precision !== "f32" && info.subgroupSizeControl ? matrixSubgroup(info) : null,
    limits: {
      workgroupBytes: maxComputeWorkgroupStorageSize,
      workgroupLanes: maxComputeInvocationsPerWorkgroup,
    },
    bits: classOf[precision],
  };
}

/** Lanes of the subgroups that multiply matrices: on Intel 16, which Dawn takes there anyway; elsewhere the most. */
function matrixSubgroup({ vendor, subgroupMinSize, subgroupMaxSize }: DeviceInfo): number {
  const has16 = subgroupMinSize <= 16 && subgroupMaxSize >= 16;
  return /intel/i.test(vendor) && has16 ? 16 : subgroupMaxSize;
}

/** Types of the factors that kernels on matrix units take. */
export type MatrixFactor = "f16" | "f32";

/** The largest product of such matrices that is summed in f32; null where kernels can use none. */
export function largestMatrix(
  { subgroupMatrixConfigs, subgroups, f16 }: DeviceInfo,
  factor: MatrixFactor,
): SubgroupMatrixConfig | null {
  const terms = ({ M, N, K }: SubgroupMatrixConfig) => M * N * K;
  const [largest] = subgroupMatrixConfigs
    .filter(({ componentType, resultComponentType }) =>
      componentType === factor && resultComponentType === "f32"
    ).toSorted((a, b) => terms(b) - terms(a));
  return largest && subgroups && (f16 || factor === "f32") ? largest : null;
}

/** @throws UserError where there is none */
function matrixFor(info: DeviceInfo, precision: Exclude<Precision, "f32">): SubgroupMatrixConfig {
  const factor = precision === "f32-matrix" ? "f32" : "f16";
  const largest = largestMatrix(info, factor);
  if (largest !== null) return largest;
  const { name, engine } = info;
  const other = factor === "f16" ? "f32-matrix" : "f16";
  const hasOther = largestMatrix(info, factor === "f16" ? "f32" : "f16") !== null;
  throw new UserError(
    `precision ${precision} multiplies on matrix units, and the ${engine} engine shows none of ${name} that take ` +
      `${factor} and sum in f32. ` +
      (engine === "native"
        ? `Only the Dawn engine shows any: --gpu dawn, or precision f32.`
        : `Take precision ${
          hasOther ? `${other} or ` : ""
        }f32; ./tango doctor lists what there is.`),
  );
}

/** Whether the matrix units take f16, of which rows are made before or on the way. */
export const multipliesHalves = ({ matrix }: Pick<Tuning, "matrix">): boolean =>
  matrix !== null && matrix.componentType === "f16";

/**
 * How many lanes of a workgroup share values by broadcasts, which a CPU core does in its registers; null where they
 * go through workgroup memory.
 */
export function broadcastLanes({ lanes, subgroups }: Tuning): 8 | 4 | null {
  if (lanes === "gpu" || !subgroups || subgroups.smallest < 4) return null;
  return subgroups.smallest >= 8 ? 8 : 4;
}

/** Lanes of a workgroup whose lanes have nothing to do with one another. */
export function independentLanes({ lanes }: Tuning): 16 | 64 {
  return lanes === "cpu" ? 16 : 64;
}

/** Lanes of `onGpu` that share a row; on a CPU core each lane does best with a row of its own. */
export function lanesOfRow<OnGpu extends number>({ lanes }: Tuning, onGpu: OnGpu): 1 | OnGpu {
  return lanes === "cpu" ? 1 : onGpu;
}
