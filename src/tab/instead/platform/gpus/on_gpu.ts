/** A browser chooses the GPU. */
export function onGpu(): never {
  throw new Error("a tab cannot choose among GPUs");
}
