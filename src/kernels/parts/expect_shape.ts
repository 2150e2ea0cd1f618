import { type CacheDtype, cacheDtypes, type DataType, type Tensor } from "../../gpu/tensor.ts";

/**
 * Checks a kernel's argument.
 *
 * @param expected the shape; -1 accepts any length there
 * @throws Error naming operation, argument, what was found and what was expected
 */
export function expectShape(
  operation: string,
  name: string,
  tensor: Tensor,
  expected: readonly number[],
  dtype: DataType = "f32",
): void {
  const fits = tensor.shape.length === expected.length && tensor.dtype === dtype &&
    expected.every((length, i) => length === -1 || length === tensor.shape[i]);
  if (!fits) {
    const wanted = expected.map((length) => length === -1 ? "any" : length).join(",");
    throw new Error(
      `${operation}: ${name} is ${tensor.dtype} [${tensor.shape}], expected ${dtype} [${wanted}]`,
    );
  }
}

/**
 * Checks keys and values of the cache, both of one type.
 *
 * @param expected the shape; -1 accepts any length there
 * @throws Error naming operation, argument, what was found and what was expected
 */
export function expectCache(
  operation: string,
  { cacheKeys, cacheValues }: { readonly cacheKeys: Tensor; readonly cacheValues: Tensor },
  expected: readonly number[],
): CacheDtype {
  const dtype = cacheDtypes.find((dtype) => dtype === cacheKeys.dtype) ?? "f32";
  expectShape(operation, "cacheKeys", cacheKeys, expected, dtype);
  expectShape(operation, "cacheValues", cacheValues, cacheKeys.shape, dtype);
  return dtype;
}

/** @throws Error when a row length is no multiple of the 4 elements a vector load takes */
export function expectVectors(operation: string, name: string, length: number): void {
  if (length % 4 !== 0) {
    throw new Error(`${operation}: ${name} has ${length} elements, expected a multiple of 4`);
  }
}
