import assert from "node:assert/strict";
import fc from "fast-check";
import { UserError } from "../../../src/base/user_error.ts";
import { encodeSafetensors, SafetensorsFile } from "../../../src/model/weights/safetensors.ts";
import { bytesOf, encoded, readTensors, streamOf, type Tensor } from "../safetensors_tensors.ts";

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

async function withFile(body: (path: string) => Promise<void> | void): Promise<void> {
  const path = Deno.makeTempFileSync({ suffix: ".safetensors" });
  try {
    await body(path);
  } finally {
    Deno.removeSync(path);
  }
}

const sample: Record<string, Tensor> = {
  "half": { dtype: "F16", shape: [3], data: Uint16Array.of(0x3c00, 0xc100, 0x7bff) },
  "model.weight": { dtype: "F32", shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, -0) },
  "brain": { dtype: "BF16", shape: [1, 2], data: Uint16Array.of(0x3f80, 0xc040) },
  "counts": { dtype: "U32", shape: [2], data: Uint32Array.of(7, 4294967295) },
  "scalar": { dtype: "I64", shape: [], data: BigInt64Array.of(-5n) },
  "empty": { dtype: "I32", shape: [0, 4], data: new Int32Array(0) },
};

Deno.test("safetensors: written then read gives the same tensors and metadata", async () => {
  await withFile(async (path) => {
    Deno.writeFileSync(path, await encoded(sample, { format: "pt" }));
    assert.deepEqual(readTensors(path), sample);
    const bytes = Deno.readFileSync(path);
    const header = bytes.subarray(8, 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true)));
    assert.deepEqual(JSON.parse(new TextDecoder().decode(header)).__metadata__, { format: "pt" });
  });
});

Deno.test("safetensors: neither the order of tensors nor how they are cut changes the bytes", async () => {
  const names = Object.keys(sample).reverse();
  const cut = Object.fromEntries(names.map((name) => [name, streamOf(sample[name], 3)]));
  assert.deepEqual(await bytesOf(encodeSafetensors(cut)), await encoded(sample));
});

Deno.test("safetensors: a file on disk is read by ranges, and once from end to end", async () => {
  await withFile(async (path) => {
    const bytes = await encoded(sample);
    Deno.writeFileSync(path, bytes);
    using file = SafetensorsFile.open(path);
    assert.deepEqual(new Set(file.names), new Set(Object.keys(sample)));
    assert.deepEqual(file.readBytes("half", 2, 4), Uint8Array.of(0x00, 0xc1, 0xff, 0x7b));
    assert.deepEqual(file.readBytes("brain", 0, 2), Uint8Array.of(0x80, 0x3f));
    assert.throws(() => file.readBytes("absent", 0, 1), /has no tensor "absent"/);
    for (const most of [1, 8, 1000]) {
      const read = [...file.head];
      for (const piece of file.pieces(most)) {
        assert.ok(piece.bytes.length <= most);
        assert.deepEqual(piece.bytes, file.readBytes(piece.name, piece.begin, piece.bytes.length));
        file.readBytes("counts", 0, 1);
        read.push(...piece.bytes);
      }
      assert.deepEqual(Uint8Array.from(read), bytes);
    }
  });
});

Deno.test("safetensors: a missing file is named", () => {
  assert.throws(() => SafetensorsFile.open("no/such.safetensors"), {
    name: "UserError",
    message: /no\/such\.safetensors/,
  });
});

Deno.test("safetensors: data that does not fit its shape is an error when written", async () => {
  const wrong: Tensor = { dtype: "F32", shape: [3], data: new Float32Array(2) };
  await assert.rejects(encoded({ wrong }), /tensor "wrong": 4 bytes are missing/);
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
  Deno.test(`safetensors: ${what} is refused with a clear message`, async () => {
    await withFile((path) => {
      Deno.writeFileSync(path, bytes);
      assert.throws(() => SafetensorsFile.open(path), (error) => {
        assert.ok(error instanceof UserError, String(error));
        assert.match(error.message, message);
        assert.ok(error.message.includes(path));
        return true;
      });
    });
  });
}

Deno.test("safetensors: any damage to the header gives tensors or a UserError, never a crash", async () => {
  const good = await encoded(sample);
  const headerBytes = 8 + Number(new DataView(good.buffer).getBigUint64(0, true));
  await withFile((path) => {
    fc.assert(
      fc.property(fc.nat(headerBytes - 1), fc.nat(255), fc.nat(good.length), (at, value, keep) => {
        const bytes = good.slice(0, keep);
        if (at < bytes.length) bytes[at] = value;
        Deno.writeFileSync(path, bytes);
        try {
          readTensors(path);
        } catch (error) {
          assert.ok(error instanceof UserError, String(error));
        }
      }),
      { numRuns: 500 },
    );
  });
});
