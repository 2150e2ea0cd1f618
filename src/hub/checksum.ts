/** Hashes that the Hub lists for every file: SHA-256 of large ones, git's blob SHA-1 of the others. */

import { createHash } from "node:crypto";

/** The hash that a file's content must have. */
export interface Checksum {
  readonly algorithm: "sha256" | "git-sha1";
  /** Lower case. */
  readonly hex: string;
}

/** A hash that is fed piece by piece. */
export interface RunningHash {
  update(bytes: Uint8Array): unknown;
  digest(encoding: "hex"): string;
}

/**
 * Begins to hash a file.
 *
 * @param size of the whole file in bytes; git hashes it before the content
 */
export function startHash(algorithm: Checksum["algorithm"], size: number): RunningHash {
  return algorithm === "sha256"
    ? createHash("sha256")
    : createHash("sha1").update(`blob ${size}\0`);
}

/** The hash of bytes in memory, in hexadecimal. */
export function hashBytes(algorithm: Checksum["algorithm"], bytes: Uint8Array): string {
  const hash = startHash(algorithm, bytes.length);
  hash.update(bytes);
  return hash.digest("hex");
}

/**
 * Feeds a file on disk to `hash`, from its beginning to its end.
 *
 * @param signal stops it between two pieces
 */
export async function hashFile(
  hash: RunningHash,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  using file = await Deno.open(path, { read: true });
  const buffer = new Uint8Array(1 << 20);
  for (let read = await file.read(buffer); read !== null; read = await file.read(buffer)) {
    signal.throwIfAborted();
    hash.update(buffer.subarray(0, read));
  }
}

/** Whether two checksums are of the same content. */
export function isSameChecksum(one: Checksum, other: Checksum): boolean {
  return one.algorithm === other.algorithm && one.hex === other.hex;
}
