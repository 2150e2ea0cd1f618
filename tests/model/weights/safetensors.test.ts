import assert from "node:assert/strict";
import fc from "fast-check";
import { UserError } from "../../../src/base/user_error.ts";
import {
  decodeSafetensors,
  encodeSafetensors,
  SafetensorsFile,
  type Tensor,
} from "../../../src/model/weights/safetensors.ts";

/** A file of the given header text (or JSON value) and data, with a length that may lie. */
function fileOf(header: unknown, dataBytes = 0, announced?: bigint): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(
    typeof header === "string" ? header : JSON.stringify(header),
  );
  const bytes = new Uint8Array(8 + text.length + dataBytes);
  new DataView(bytes.buffer).setBigUint64(0, announced ?? BigInt(text.length), true);
  bytes.set(text, 8);
  return bytes;
}

function joined(pieces: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let position = 0;
  for (const piece of pieces) {
    bytes.set(piece, position);
    position += piece.length;
  }
  return bytes;
}

const sample: Record<string, Tensor> = {
  "half": { dtype: "F16", shape: [3], data: Uint16Array.of(0x3c00, 0xc100, 0x7bff) },
  "model.weight": { dtype: "F32", shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, -0) },
  "brain": { dtype: "BF16", shape: [1, 2], data: Uint16Array.of(0x3f80, 0xc040) },
  "counts": { dtype: "U32", shape: [2], data: Uint32Array.of(7, 4294967295) },
  "scalar": { dtype: "I64", shape: [], data: BigInt64Array.of(-5n) },
  "empty": { dtype: "I32", shape: [0, 4], data: new Int32Array(0) },
};

Deno.test("safetensors: encode then decode gives the same tensors and metadata", () => {
  const bytes = joined(encodeSafetensors(sample, { format: "pt" }));
  const { tensors, metadata } = decodeSafetensors(bytes, "sample");
  assert.deepEqual(tensors, sample);
  assert.deepEqual({ ...metadata }, { format: "pt" });
});

Deno.test("safetensors: the order in which tensors are given does not change the bytes", () => {
  const reversed = Object.fromEntries(Object.entries(sample).reverse());
  assert.deepEqual(joined(encodeSafetensors(sample)), joined(encodeSafetensors(reversed)));
});

Deno.test("safetensors: a file on disk is read tensor by tensor, and by ranges", () => {
  const path = Deno.makeTempFileSync({ suffix: ".safetensors" });
  try {
    Deno.writeFileSync(path, joined(encodeSafetensors(sample)));
    using file = SafetensorsFile.open(path);
    assert.deepEqual(new Set(file.names), new Set(Object.keys(sample)));
    assert.deepEqual(file.read("counts"), sample.counts);
    assert.deepEqual(file.readBytes("half", 2, 4), Uint8Array.of(0x00, 0xc1, 0xff, 0x7b));
    assert.deepEqual(file.readBytes("brain", 0, 2), Uint8Array.of(0x80, 0x3f));
    assert.throws(() => file.read("absent"), /has no tensor "absent"/);
  } finally {
    Deno.removeSync(path);
  }
});

Deno.test("safetensors: a missing file is named", () => {
  assert.throws(() => SafetensorsFile.open("no/such.safetensors"), {
    name: "UserError",
    message: /no\/such\.safetensors/,
  });
});

Deno.test("safetensors: data that does not fit its shape is refused when written", () => {
  const wrong: Tensor = { dtype: "F32", shape: [3], data: new Float32Array(2) };
  assert.throws(() => encodeSafetensors({ wrong }), /needs 12 bytes; its data has 8/);
});

const f32 = (begin: number, end: number, shape: unknown = [(end - begin) / 4]) => ({
  dtype: "F32",
  shape,
  data_offsets: [begin, end],
});

const corrupt: [string, Uint8Array<ArrayBuffer>, RegExp][] = [
  ["an empty file", new Uint8Array(0), /has 0 bytes/],
  ["a file of 5 bytes", new Uint8Array(5), /has 5 bytes/],
  ["a header longer than the file", fileOf({}, 0, 1000n), /header of 1000 bytes but has only 2/],
  ["a gigabyte header", fileOf({}, 0, 1n << 30n), /header of 1073741824 bytes, more than/],
  ["a header length near 2^64", fileOf({}, 0, (1n << 64n) - 1n), /18446744073709551615 bytes/],
  ["a header that is not JSON", fileOf("{]"), /not JSON/],
  ["a header that is an array", fileOf("[]"), /not a JSON object/],
  ["a header that is not UTF-8", fileOf({}).fill(0xff, 8), /not UTF-8/],
  ["an unknown dtype", fileOf({ a: { dtype: "F8", shape: [1], data_offsets: [0, 1] } }, 1), /"F8"/],
  ["a negative dimension", fileOf({ a: f32(0, 4, [-1]) }, 4), /shape \[-1\]/],
  ["a fractional dimension", fileOf({ a: f32(0, 4, [0.5]) }, 4), /shape \[0\.5\]/],
  ["an overflowing shape", fileOf({ a: f32(0, 4, [2 ** 40, 2 ** 40]) }, 4), /is given 4/],
  [
    "a shape too large for its bytes",
    fileOf({ a: f32(0, 4, [2]) }, 4),
    /needs 8 bytes but is given 4/,
  ],
  ["a range past the end", fileOf({ a: f32(0, 8) }, 4), /ends at byte 8 .* only 4 bytes/],
  ["a reversed range", fileOf({ a: f32(4, 0, [0]) }, 4), /impossible data_offsets \[4,0\]/],
  ["overlapping ranges", fileOf({ a: f32(0, 8), b: f32(4, 12) }, 12), /"a" and "b" overlap/],
  ["a gap", fileOf({ a: f32(0, 4), b: f32(8, 12) }, 12), /the 4 bytes before tensor "b"/],
  ["bytes after the last tensor", fileOf({ a: f32(0, 4) }, 6), /last 2 bytes belong to no tensor/],
  [
    "a name given twice",
    fileOf(`{"a": ${JSON.stringify(f32(0, 4))}, "\\u0061": ${JSON.stringify(f32(0, 4))}}`, 4),
    /"a" appears twice/,
  ],
  ["metadata that is not text", fileOf({ __metadata__: { a: 1 } }), /__metadata__/],
];

for (const [what, bytes, message] of corrupt) {
  Deno.test(`safetensors: ${what} is refused with a clear message`, () => {
    assert.throws(() => decodeSafetensors(bytes, "weights/model.safetensors"), (error) => {
      assert.ok(error instanceof UserError, String(error));
      assert.match(error.message, message);
      assert.match(error.message, /weights\/model\.safetensors/);
      return true;
    });
  });
}

Deno.test("safetensors: any damage to the header gives tensors or a UserError, never a crash", () => {
  const good = joined(encodeSafetensors(sample));
  const headerBytes = 8 + Number(new DataView(good.buffer).getBigUint64(0, true));
  fc.assert(
    fc.property(fc.nat(headerBytes - 1), fc.nat(255), fc.nat(good.length), (at, value, keep) => {
      const bytes = good.slice(0, keep);
      if (at < bytes.length) bytes[at] = value;
      try {
        decodeSafetensors(bytes, "damaged");
      } catch (error) {
        assert.ok(error instanceof UserError, String(error));
      }
    }),
    { numRuns: 500 },
  );
});
