/** Writes GGUF files for tests, from the format's description (ggml/docs/gguf.md), version 3. */

/** A header value: whole numbers become u32, others f32; [kind, values] writes an array of that kind. */
export type GgufValue = string | number | boolean | readonly string[] | {
  readonly floats: readonly number[];
} | { readonly integers: readonly number[] };

export interface GgufTensor {
  readonly name: string;
  /** Innermost dimension first, as the format has it. */
  readonly dimensions: readonly number[];
  /** ggml's number of the type: 0 F32, 1 F16, 2 Q4_0 … */
  readonly type: number;
  readonly data: Uint8Array;
  /** Overrides where the header says that the data begins. */
  readonly offset?: number;
}

const alignment = 32;
const valueTypes = { u32: 4, i32: 5, f32: 6, boolean: 7, string: 8, array: 9 } as const;

class Bytes {
  readonly #bytes: number[] = [];

  get length(): number {
    return this.#bytes.length;
  }

  number(kind: "Uint32" | "Int32" | "Float32" | "Uint64", value: number): this {
    const view = new DataView(new ArrayBuffer(kind === "Uint64" ? 8 : 4));
    if (kind === "Uint64") view.setBigUint64(0, BigInt(value), true);
    else view[`set${kind}`](0, value, true);
    return this.append(new Uint8Array(view.buffer));
  }

  text(value: string): this {
    const bytes = new TextEncoder().encode(value);
    return this.number("Uint64", bytes.length).append(bytes);
  }

  append(bytes: Uint8Array): this {
    for (const byte of bytes) this.#bytes.push(byte);
    return this;
  }

  pad(): this {
    while (this.#bytes.length % alignment !== 0) this.#bytes.push(0);
    return this;
  }

  done(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.#bytes);
  }
}

function writeValue(bytes: Bytes, value: GgufValue): void {
  if (typeof value === "string") bytes.number("Uint32", valueTypes.string).text(value);
  else if (typeof value === "boolean") {
    bytes.number("Uint32", valueTypes.boolean).append(Uint8Array.of(value ? 1 : 0));
  } else if (typeof value === "number") {
    if (Number.isInteger(value)) bytes.number("Uint32", valueTypes.u32).number("Uint32", value);
    else bytes.number("Uint32", valueTypes.f32).number("Float32", value);
  } else if ("floats" in value) {
    bytes.number("Uint32", valueTypes.array).number("Uint32", valueTypes.f32);
    bytes.number("Uint64", value.floats.length);
    for (const item of value.floats) bytes.number("Float32", item);
  } else if ("integers" in value) {
    bytes.number("Uint32", valueTypes.array).number("Uint32", valueTypes.i32);
    bytes.number("Uint64", value.integers.length);
    for (const item of value.integers) bytes.number("Int32", item);
  } else {
    bytes.number("Uint32", valueTypes.array).number("Uint32", valueTypes.string);
    bytes.number("Uint64", value.length);
    for (const item of value) bytes.text(item);
  }
}

/** A whole file. */
export function encodeGguf(
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: readonly GgufTensor[],
): Uint8Array<ArrayBuffer> {
  const header = new Bytes().append(new TextEncoder().encode("GGUF"));
  header.number("Uint32", 3).number("Uint64", tensors.length);
  header.number("Uint64", Object.keys(metadata).length);
  for (const [key, value] of Object.entries(metadata)) writeValue(header.text(key), value);
  let offset = 0;
  for (const { name, dimensions, type, data, ...given } of tensors) {
    header.text(name).number("Uint32", dimensions.length);
    for (const dimension of dimensions) header.number("Uint64", dimension);
    header.number("Uint32", type).number("Uint64", given.offset ?? offset);
    offset += Math.ceil(data.length / alignment) * alignment;
  }
  const parts = [header.pad().done()];
  for (const { data } of tensors) {
    const padded = new Uint8Array(Math.ceil(data.length / alignment) * alignment);
    padded.set(data);
    parts.push(padded);
  }
  const file = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    file.set(part, at);
    at += part.length;
  }
  return file;
}
