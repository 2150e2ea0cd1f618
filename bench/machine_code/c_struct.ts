/**
 * A C struct in memory that stays where it is, written field by field. Offsets are those of a 64-bit C compiler.
 */
export class CStruct {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  /** What it points at must not be collected before it. */
  readonly #held: unknown[] = [];

  /** @param type Vulkan's `sType`, which most of its structs begin with */
  constructor(size: number, type?: number) {
    this.bytes = new Uint8Array(size);
    this.#view = new DataView(this.bytes.buffer);
    if (type !== undefined) this.u32(0, type);
  }

  /** Where it lies. */
  get address(): bigint {
    return addressOf(this.bytes);
  }

  /** Sets a 4-byte field. */
  u32(offset: number, value: number): this {
    this.#view.setUint32(offset, value, true);
    return this;
  }

  /** Sets an 8-byte field. */
  u64(offset: number, value: bigint): this {
    this.#view.setBigUint64(offset, value, true);
    return this;
  }

  /** Sets a pointer to another struct or to bytes. */
  pointer(offset: number, target: CStruct | Uint8Array<ArrayBuffer>): this {
    this.#held.push(target);
    return this.u64(offset, target instanceof CStruct ? target.address : addressOf(target));
  }

  /** Sets a pointer to a string. */
  text(offset: number, value: string): this {
    return this.pointer(offset, new TextEncoder().encode(`${value}\0`));
  }

  /** Reads a 4-byte field. */
  readU32(offset: number): number {
    return this.#view.getUint32(offset, true);
  }

  /** Reads an 8-byte field. */
  readU64(offset: number): bigint {
    return this.#view.getBigUint64(offset, true);
  }

  /** Reads an array of characters. */
  readText(offset: number, length: number): string {
    const field = this.bytes.subarray(offset, offset + length);
    const end = field.indexOf(0);
    return new TextDecoder().decode(end < 0 ? field : field.subarray(0, end));
  }
}

function addressOf(bytes: Uint8Array<ArrayBuffer>): bigint {
  return BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes)));
}
