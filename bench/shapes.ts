import { UserError } from "../src/base/user_error.ts";
import shapesFile from "./shapes.json" with { type: "json" };

/** The decoder of the end-to-end rates, with the names of bench/shapes.json. */
export interface ModelShape {
  readonly hidden: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly intermediate: number;
  readonly vocabulary: number;
  readonly ropeTheta: number;
  readonly normEpsilon: number;
  readonly tiedEmbeddings: boolean;
}

/** One shape at which a kernel or a whole step is measured. */
export interface Shape {
  readonly label: string;
  /** Its numbers by name. */
  readonly size: Readonly<Record<string, number>>;
  /** Lengths of packed sequences (attention). */
  readonly lengths: readonly number[];
  /** Null for a kernel. */
  readonly model: ModelShape | null;
}

/** One thing to measure: `name` is KERNEL or KERNEL_VARIANT. */
export interface BenchTask {
  readonly name: string;
  readonly kernel: string;
  readonly variant: string;
  readonly unit: Unit;
  readonly shape: Shape;
}

/** What a rate counts: 10⁹ floating-point operations, 10⁹ bytes, or tokens per second. */
export type Unit = "gflops" | "gbps" | "tokens_per_second";

interface ShapesFile {
  readonly kernels: Readonly<
    Record<string, {
      readonly variants?: readonly string[];
      readonly work: { readonly unit: Unit };
      readonly shapes: readonly (Readonly<Record<string, number | string | readonly number[]>>)[];
    }>
  >;
  readonly endToEnd: {
    readonly model: ModelShape;
    readonly trainingStep: Readonly<Record<string, number>>;
    readonly rollout: Readonly<Record<string, number>>;
  };
}

/**
 * All tasks of bench/shapes.json whose NAME/LABEL contains `filter`.
 *
 * @throws UserError when there are none
 */
export function listTasks(filter: string): BenchTask[] {
  const { kernels, endToEnd } = shapesFile as unknown as ShapesFile;
  const kernelTasks = Object.entries(kernels).flatMap((
    [kernel, { variants = [""], work, shapes }],
  ) =>
    shapes.flatMap((entry) =>
      variants.map((variant) => ({
        name: variant ? `${kernel}_${variant}` : kernel,
        kernel,
        variant,
        unit: work.unit,
        shape: readShape(entry),
      }))
    )
  );
  const tasks: BenchTask[] = [...kernelTasks, ...endToEndTasks(endToEnd)];
  const wanted = tasks.filter(({ name, shape }) => `${name}/${shape.label}`.includes(filter));
  if (wanted.length === 0) {
    const names = [...new Set(tasks.map(({ name }) => name))].join(", ");
    throw new UserError(
      `--filter ${filter}: nothing is called that. There are ${names}; /tiny, /7b …`,
    );
  }
  return wanted;
}

function readShape(entry: Readonly<Record<string, number | string | readonly number[]>>): Shape {
  const { label, lengths = [], ...size } = entry;
  return {
    label: label as string,
    model: null,
    lengths: lengths as readonly number[],
    size: size as Record<string, number>,
  };
}

function endToEndTasks({ model, trainingStep, rollout }: ShapesFile["endToEnd"]): BenchTask[] {
  return Object.entries({ training_step: trainingStep, rollout }).map(([name, size]) => ({
    name,
    kernel: name,
    variant: "",
    unit: "tokens_per_second",
    shape: { label: "default", size, lengths: [], model },
  }));
}
