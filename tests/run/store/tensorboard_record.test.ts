import assert from "node:assert/strict";
import {
  fileVersionRecord,
  restartRecord,
  scalarsRecord,
} from "../../../src/run/store/tensorboard_record.ts";

// The expected bytes are what Python's tensorboard 2.21.0 writes (its RecordWriter and Event messages).

Deno.test("tensorboard record: the file's version", () => {
  assert.equal(
    fileVersionRecord(1234567890.5).toHex(),
    "1800000000000000a37f4b22090000a0b48065d2411a0d627261696e2e4576656e743a32f5e8f016",
  );
});

Deno.test("tensorboard record: a restart", () => {
  assert.equal(
    restartRecord({ wallTime: 1234567891.25, step: 301 }).toHex(),
    "100000000000000095fbfe18090000d0b48065d24110ad023a02080176f7cb45",
  );
});

Deno.test("tensorboard record: scalars, with a step beyond 32 bits and a name beyond 127 bytes", () => {
  const scalars = [["generator/reward", 0.1], ["é".repeat(100), -3e38]] as const;
  assert.equal(
    scalarsRecord({ wallTime: 1.5, step: 2 ** 40 + 7 }, scalars).toHex(),
    "ff000000000000005311e2a609000000000000f83f108780808080202aec010a170a10" +
      "67656e657261746f722f72657761726415cdcccc3d0ad0010ac801" + "c3a9".repeat(100) +
      "15e6b161ff65062270",
  );
});
