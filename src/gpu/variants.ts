import type { Tuning } from "./tuning.ts";

/** A variant of an operation: one of the kernels that compute it. */
export interface Variant {
  /** Within the operation its own. */
  readonly name: string;
}

/** An operation that several variants of its kernels compute, all with the same bits. */
export interface VariedOperation<Shape, Own extends Variant> {
  readonly name: string;
  /** The class of a shape: shapes of one class have the same fastest variant. */
  classOf(shape: Shape): string;
  /** Variants a device should try for a shape; the first one is taken as long as nothing is measured. */
  variantsFor(tuning: Tuning, shape: Shape): readonly [Own, ...Own[]];
  /** Operations that a launch of this shape makes. */
  flops(shape: Shape): number;
}

/** Names of variants, as they were measured at one shape of a class. */
export interface MeasuredChoice {
  /** The first of those that the device should try for that shape. */
  readonly suggested: string;
  readonly fastest: string;
  /** Variants that are wrong on this device. */
  readonly excluded: readonly string[];
}

/** Measured choices, by operation and class of shapes. */
export type VariantTable = Readonly<Record<string, Readonly<Record<string, MeasuredChoice>>>>;

/** A class of shapes that work asked for, and how much of the work it is. */
export interface AskedClass<Shape> {
  readonly shapeClass: string;
  /** The largest shape of the class. */
  readonly shape: Shape;
  /** Operations of all shapes of the class together. */
  readonly flops: number;
}

/** Which classes of shapes some work asked for, by operation. */
export class AskedClasses {
  #byOperation = new Map<string, Map<string, AskedClass<unknown>>>();

  add<Shape, Own extends Variant>(
    operation: VariedOperation<Shape, Own>,
    shapeClass: string,
    shape: Shape,
  ): void {
    const classes = this.#of(operation);
    const before = classes.get(shapeClass);
    const own = operation.flops(shape);
    const largest = before && operation.flops(before.shape) >= own ? before.shape : shape;
    classes.set(shapeClass, { shapeClass, shape: largest, flops: own + (before?.flops ?? 0) });
  }

  /** The classes of an operation. */
  of<Shape, Own extends Variant>(operation: VariedOperation<Shape, Own>): AskedClass<Shape>[] {
    return [...this.#of(operation).values()];
  }

  #of<Shape, Own extends Variant>({ name }: VariedOperation<Shape, Own>) {
    let classes = this.#byOperation.get(name);
    if (!classes) this.#byOperation.set(name, classes = new Map());
    // The cast holds: only shapes of this operation come in under its name.
    return classes as Map<string, AskedClass<Shape>>;
  }
}

/** Which variants a device runs: those measured fastest, else those that its abilities suggest. */
export class VariantChoices {
  /** Whatever it says shows in no bit; a name that this device does not try counts for nothing. */
  table: VariantTable = {};
  /** Told of every choice; null: nobody is. */
  told: ((operation: string, shapeClass: string, variant: string) => void) | null = null;

  /** @param asked told what is asked for; null: nobody is */
  constructor(private readonly tuning: Tuning, private readonly asked: AskedClasses | null) {}

  /** The variant for a shape. */
  of<Shape, Own extends Variant>(operation: VariedOperation<Shape, Own>, shape: Shape): Own {
    const shapeClass = operation.classOf(shape);
    this.asked?.add(operation, shapeClass, shape);
    const variant = this.#variantFor(operation, shapeClass, shape);
    this.told?.(operation.name, shapeClass, variant.name);
    return variant;
  }

  #variantFor<Shape, Own extends Variant>(
    operation: VariedOperation<Shape, Own>,
    shapeClass: string,
    shape: Shape,
  ): Own {
    const variants = operation.variantsFor(this.tuning, shape);
    const measured = this.table[operation.name]?.[shapeClass];
    if (measured === undefined) return variants[0];
    const { suggested, fastest, excluded } = measured;
    // For a shape of the class that another tile suits, nothing is known of the one measured fastest.
    const wanted = variants[0].name === suggested
      ? variants.find(({ name }) => name === fastest)
      : variants.find(({ name }) => !excluded.includes(name));
    return wanted ?? variants[0];
  }
}
