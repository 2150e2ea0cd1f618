/** A whole number that is larger by `by` in every repetition of the launch; see `Gpu.repeat`. */
export interface Growing {
  readonly first: number;
  readonly by: number;
}

/** The value of a field of a kernel's `Params`. */
export type ParameterValue = number | Growing;

/** The value in a repetition, counted from 0. */
export function parameterAt(value: ParameterValue, repetition: number): number {
  return typeof value === "number" ? value : value.first + value.by * repetition;
}
