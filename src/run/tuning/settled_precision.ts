import { Gpu } from "../../gpu/gpu.ts";
import type { EngineChoice, GpuOptions } from "../../gpu/gpu_options.ts";
import { largestMatrix, type Precision } from "../../gpu/tuning.ts";
import { faultOnMatrixUnits } from "../../kernels/choice/matrix_units_check.ts";
import {
  productOfUpdate,
  type ProductSize,
  timesOfProduct,
} from "../../kernels/choice/product_times.ts";

/** Values of `precision`: `auto` is settled by the GPU, before anything is computed or written down. */
export type PrecisionChoice = "auto" | Precision;

/** A configuration with a precision that the GPU has settled. */
export type Settled<Config> = Config & { readonly precision: Precision };

/** What came of `auto`. */
export interface SettledPrecision {
  readonly precision: Precision;
  /** Why, in words. */
  readonly because: string;
}

/** Keys by which a precision is settled. */
export interface PrecisionKeys {
  readonly gpu: EngineChoice;
  readonly precision: PrecisionChoice;
}

/** How `openSettled` opens it. */
export interface SettledOptions extends Pick<GpuOptions, "index" | "cacheDtype"> {
  /** f32 by default. */
  readonly precision?: PrecisionChoice;
}

/** What was found of each GPU: it is checked once. */
const settled = new Map<string, Promise<SettledPrecision>>();

/**
 * The same configuration with what its `auto` comes to on this GPU.
 *
 * @param index of the GPU; left out, the engine chooses
 * @param tell told what it came to, and why
 * @throws UserError when the GPU with that number cannot be had, or Dawn was asked for and finds none
 */
export async function settlePrecision<Config extends PrecisionKeys>(
  config: Config,
  index: number | undefined,
  tell: (line: string) => void,
): Promise<Settled<Config>> {
  const { gpu, precision: choice } = config;
  if (choice !== "auto") return { ...config, precision: choice };
  const key = `${gpu} ${index ?? ""}`;
  const found = settled.get(key) ?? precisionFor(gpu, index);
  settled.set(key, found);
  const { precision, because } = await found;
  tell(`precision auto: ${precision}, ${because}`);
  return { ...config, precision };
}

/**
 * Opens a GPU whose precision may be left to it, for work that leaves nothing of it written down.
 *
 * @throws UserError as `Gpu.open` and `settlePrecision` do
 */
export async function openSettled(
  gpu: EngineChoice = "auto",
  { precision: choice = "f32", index, cacheDtype }: SettledOptions,
  tell: (line: string) => void,
): Promise<Gpu> {
  const { precision } = await settlePrecision({ gpu, precision: choice }, index, tell);
  return await Gpu.open(gpu, { index, precision, cacheDtype });
}

async function precisionFor(choice: EngineChoice, index?: number): Promise<SettledPrecision> {
  if (choice === "native") return chains("as only the Dawn engine shows matrix units");
  let plain: Gpu;
  try {
    plain = await Gpu.open("dawn", { index });
  } catch (error) {
    // Without Dawn the native engine is there still, and says itself when it is not.
    if (choice === "dawn") throw error;
    const why = error instanceof Error ? error.message : `${error}`;
    return chains(`as the Dawn engine, which shows matrix units, opens no GPU: ${why}`);
  }
  try {
    return await precisionOf(plain, index);
  } finally {
    plain.close();
  }
}

/**
 * What `auto` comes to on a GPU.
 *
 * @param plain opened by Dawn with `f32`
 * @param index its number, where it was opened by it
 */
export async function precisionOf(plain: Gpu, index?: number): Promise<SettledPrecision> {
  const { info } = plain;
  if (info.software) return chains("as a software driver multiplies matrices slowly");
  const precision = largestMatrix(info, "f16")
    ? "f16"
    : largestMatrix(info, "f32")
    ? "f32-matrix"
    : null;
  if (precision === null) {
    return chains(`as ${info.name} shows no matrix units that take f16 or f32 and sum in f32`);
  }
  const gpu = await Gpu.open("dawn", { index, precision });
  try {
    return await precisionOnMatrixUnits(gpu, plain);
  } finally {
    gpu.close();
  }
}

/** Matrices of f32 are taken where a product needs less than this share of its time in chains: more may be noise. */
const clearlyFaster = 0.95;

/**
 * What products on matrix units come to.
 *
 * @param gpu opened with `f16` or `f32-matrix`
 * @param plain the same, opened with `f32`
 * @param size of the product by which matrices of f32 are compared with chains
 */
export async function precisionOnMatrixUnits(
  gpu: Gpu,
  plain: Gpu,
  size: ProductSize = productOfUpdate,
): Promise<SettledPrecision> {
  const { info: { name }, precision = "f32" } = gpu;
  const fault = await faultOnMatrixUnits(gpu);
  if (fault !== null) return chains(`as ${name}'s matrix units cannot be trusted: ${fault}`);
  const { M, N, K } = gpu.tuning.matrix ?? missing();
  const units = `matrix units of ${M}x${N}x${K}, which were checked`;
  if (precision === "f16") return { precision, because: `on ${units}` };
  const [onUnits, inChains] = await timesOfProduct([gpu, plain], size);
  return matricesOrChains(onUnits / inChains, units);
}

/**
 * What matrices of f32 come to, which run at the rate of the units that chains run on: nothing says beforehand which are
 * faster.
 *
 * @param share of its time in chains that a product takes on the matrix units
 * @param units in words
 */
export function matricesOrChains(share: number, units: string): SettledPrecision {
  const beside = `a product took ${share.toFixed(2)} of its time in chains`;
  return share <= clearlyFaster
    ? { precision: "f32-matrix", because: `on ${units}: ${beside}` }
    : chains(`as on ${units}, ${beside}`);
}

function chains(because: string): SettledPrecision {
  return { precision: "f32", because };
}

function missing(): never {
  throw new Error("opened without matrix units");
}
