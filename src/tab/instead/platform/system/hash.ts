import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";

/** A digest of what comes in pieces, as node's. */
export class Hash {
  readonly #hash = sha256.create();

  update(piece: string | Uint8Array): this {
    this.#hash.update(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
    return this;
  }

  digest(_encoding: "hex"): string {
    return bytesToHex(this.#hash.digest());
  }
}

export const createHash = (_name: "sha256") => new Hash();
