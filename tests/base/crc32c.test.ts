import assert from "node:assert/strict";
import { crc32c } from "../../src/base/crc32c.ts";

Deno.test("crc32c: the examples of RFC 3720, B.4", () => {
  const ascending = Uint8Array.from({ length: 32 }, (_, index) => index);
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
  assert.equal(crc32c(ascending), 0x46dd794e);
  assert.equal(crc32c(ascending.toReversed()), 0x113fdb5c);
  assert.equal(crc32c(new TextEncoder().encode("123456789")), 0xe3069283);
});
