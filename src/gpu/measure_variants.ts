import { Failure } from "../base/failure.ts";
import type { Gpu } from "./gpu.ts";
import { GpuFailure } from "./gpu_failure.ts";
import type { Tensor } from "./tensor.ts";
import type { AskedClass, Variant, VariedOperation } from "./variants.ts";

/** An operation set up to be launched again and again at one shape. */
export interface Trial<Own extends Variant> {
  /** The shape in words. */
  readonly shape: string;
  readonly variants: readonly Own[];
  /** Overwritten by each launch. */
  readonly output: Tensor;
  launch(variant: Own): void;
  /** The fault of an output, judged by numbers that no kernel made; null when there is none. */
  fault(output: Float32Array): string | null;
  release(): void;
}

/** How the variants of an operation are tried. */
export interface Trials<Shape, Own extends Variant> {
  readonly operation: VariedOperation<Shape, Own>;
  /** WGSL texts of all its kernels: a measurement holds only for the texts it was made with. */
  readonly texts: readonly string[];
  /** A trial of a shape's class, with a smaller shape of the class where this one would take long. */
  prepare(gpu: Gpu, shape: Shape): Trial<Own>;
}

/** A class of shapes that is to be measured, and how its operation's variants are tried. */
export interface TriedClass<Shape, Own extends Variant> {
  readonly trials: Trials<Shape, Own>;
  readonly asked: AskedClass<Shape>;
}

/** A variant as measured. */
export interface MeasuredVariant {
  readonly name: string;
  /** Median time of a launch; null when it was not timed. */
  readonly seconds: number | null;
  /** Why it may not be taken; null when it may. */
  readonly excluded: string | null;
}

/** A class of shapes as measured. */
export interface MeasuredClass {
  readonly operation: string;
  readonly shapeClass: string;
  /** The shape that was launched, in words. */
  readonly shape: string;
  /** The variant that is taken for this shape when nothing is measured. */
  readonly suggested: string;
  /** The fastest variant. */
  readonly variant: string;
  readonly variants: readonly MeasuredVariant[];
}

/** A batch of launches lasts this long at least, so that the wait at its end counts for little. */
const batchSeconds = 0.01;
const mostLaunches = 64;
/** Batches of each variant, one variant after the other in each round. */
const mostRounds = 7;
const fewestRounds = 3;
/** A variant that was never better than this many times as slow as the first one is not timed further. */
const hopeless = 1.5;
/** A variant takes the place of the first one only when it needs less than this share: more may be noise. */
const clearlyFaster = 0.95;
/** A class takes no more of the time than this share. */
const shareOfClass = 0.2;

/**
 * Measures which variant is fastest for each class: those whose numbers are wrong, that do not compile or whose
 * bits are not those of the first right one are left out.
 *
 * @param classes of any operations; those with most work are measured first
 * @param seconds after which no further variant is tried; classes that are not reached are left out
 * @throws Failure when no variant of a class gives right numbers
 * @throws GpuFailure when the GPU gave out
 */
export async function measureVariants<Shape, Own extends Variant>(
  gpu: Gpu,
  classes: readonly TriedClass<Shape, Own>[],
  seconds: number,
): Promise<MeasuredClass[]> {
  const deadline = performance.now() + seconds * 1000;
  const measured: MeasuredClass[] = [];
  const inTurn = classes.toSorted((a, b) => b.asked.flops - a.asked.flops);
  for (const { trials, asked: { shapeClass, shape } } of inTurn) {
    if (performance.now() > deadline) break;
    const trial = trials.prepare(gpu, shape);
    try {
      const end = { class: performance.now() + shareOfClass * seconds * 1000, all: deadline };
      const separated = await separate(gpu, trial, end.all);
      if (separated === null) break;
      const { right, excluded } = separated;
      if (right.length === 0) throw noneIsRight(gpu, trials.operation.name, shapeClass, excluded);
      const times = await timeInTurns(gpu, trial, right, end);
      if (times === null) break;
      const timed = right.map(({ name }, v) => ({
        name,
        seconds: median(times[v]),
        excluded: null,
      }));
      measured.push({
        operation: trials.operation.name,
        shapeClass,
        shape: trial.shape,
        suggested: trial.variants[0].name,
        variant: timed[fastest(times)].name,
        variants: [...timed, ...excluded],
      });
    } finally {
      trial.release();
    }
  }
  gpu.pool.trim();
  return measured;
}

function noneIsRight(
  { info }: Gpu,
  operation: string,
  shapeClass: string,
  excluded: readonly MeasuredVariant[],
): Failure {
  const [{ name, excluded: reason }] = excluded;
  return new Failure(
    `${info.name} with the ${info.engine} engine computes ${operation} (${shapeClass}) wrong, in every variant; ` +
      `${name}: ${reason}. Update the GPU's driver, or take the other engine with --gpu.`,
  );
}

/**
 * Launches each variant once and compares: those that are right, and why the others are not; null when there is no
 * time to compile and compare them all.
 */
async function separate<Own extends Variant>(gpu: Gpu, trial: Trial<Own>, end: number) {
  const right: Own[] = [];
  const excluded: MeasuredVariant[] = [];
  let expected: Float32Array | null = null;
  for (const variant of trial.variants) {
    if (performance.now() > end) return null;
    const output = await outputOf(gpu, trial, variant);
    const reason = typeof output === "string"
      ? output
      : trial.fault(output) ?? (expected && difference(output, expected, right[0].name));
    if (reason === null) right.push(variant);
    else excluded.push({ name: variant.name, seconds: null, excluded: reason });
    if (reason === null && typeof output !== "string") expected ??= output;
  }
  return { right, excluded };
}

/** The numbers a variant makes, or why it makes none. */
async function outputOf<Own extends Variant>(
  gpu: Gpu,
  trial: Trial<Own>,
  variant: Own,
): Promise<Float32Array | string> {
  try {
    gpu.clear(trial.output);
    trial.launch(variant);
    return await gpu.readFloats(trial.output);
  } catch (error) {
    // A lost device makes no numbers of any variant; what its compiler refuses is this one's matter.
    if (error instanceof GpuFailure) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

function difference(output: Float32Array, expected: Float32Array, of: string): string | null {
  const [own, theirs] = [output, expected].map((data) =>
    new Uint32Array(data.buffer, data.byteOffset, data.length)
  );
  const at = own.findIndex((bits, i) => bits !== theirs[i]);
  return at < 0
    ? null
    : `its bits are not those of ${of}: element ${at} is ${output[at]}, not ${expected[at]}`;
}

/**
 * Seconds of a launch of each variant in batches, in rounds of one batch each, so that what else the machine does
 * falls on all alike; null when there is no time for it.
 *
 * @param end when no further round begins, and when no further batch does
 */
async function timeInTurns<Own extends Variant>(
  gpu: Gpu,
  trial: Trial<Own>,
  variants: readonly Own[],
  end: { readonly class: number; readonly all: number },
): Promise<number[][] | null> {
  const batch = async (variant: Own, launches: number) => {
    const start = performance.now();
    for (let i = 0; i < launches; i++) trial.launch(variant);
    await gpu.finish();
    return (performance.now() - start) / 1000 / launches;
  };
  const once = await batch(variants[0], 1);
  const launches = Math.max(1, Math.min(mostLaunches, Math.ceil(batchSeconds / once)));
  const times = variants.map((): number[] => []);
  for (let round = 0; round < mostRounds; round++) {
    if (performance.now() > end.class && round >= fewestRounds) break;
    for (const [v, variant] of variants.entries()) {
      if (round > 0 && Math.min(...times[v]) > hopeless * median(times[0])) continue;
      if (performance.now() > end.all && round < fewestRounds) return null;
      times[v].push(await batch(variant, launches));
    }
  }
  return times;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** The first one, unless another is clearly faster, in its median and in its best batch. */
function fastest(times: readonly (readonly number[])[]): number {
  const medians = times.map(median);
  const best = medians.indexOf(Math.min(...medians));
  const bests = times.map((own) => Math.min(...own));
  const isFaster = [medians, bests].every((of) => of[best] < clearlyFaster * of[0]);
  return isFaster ? best : 0;
}
