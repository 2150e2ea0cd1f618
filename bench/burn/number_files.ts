/** Writes numbers as they lie in memory, little-endian on all machines that Deno runs on. */
export function writeNumbers(path: string, { buffer, byteOffset, byteLength }: ArrayBufferView) {
  Deno.writeFileSync(
    path,
    new Uint8Array(buffer, byteOffset, byteLength) as Uint8Array<ArrayBuffer>,
  );
}

/** Reads what the other side wrote. */
export function readFloats(path: string): Float32Array {
  return new Float32Array(Deno.readFileSync(path).buffer);
}
