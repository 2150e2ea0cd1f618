import assert from "node:assert/strict";
import { attentionTile, bytesOfTile } from "../../../src/kernels/attention/attention_tile.ts";

const headDims = [4, 8, 12, 16, 20, 32, 64, 80, 96, 112, 128, 192, 256, 512];

Deno.test("a tile of attention covers its rows, whatever the head size", () => {
  for (const workgroupBytes of [16384, 32768]) {
    const device = { lanes: "gpu", limits: { workgroupBytes } } as const;
    for (const headDim of headDims) {
      for (const rows of [32, 64] as const) {
        const tile = attentionTile(device, headDim, rows);
        const { ROWS, LANES, LX, LY, SI, DX, PY, PI, V, SLAB, WALK } = tile;
        const what = `head size ${headDim}, ${rows} rows, ${workgroupBytes} bytes`;
        assert.ok(Object.values(tile).every((value) => Number(value) % 1 === 0), what);
        assert.deepEqual([LX * LY, DX * PY], [LANES, LANES], what);
        assert.deepEqual([LY * SI, PY * PI, LX * 4], [ROWS, ROWS, WALK], what);
        assert.deepEqual([DX * V * 4, headDim % (SLAB * 4)], [headDim, 0], what);
        assert.ok(LANES <= 256 && LANES >= ROWS && LANES >= WALK && ROWS <= rows, what);
        assert.ok(bytesOfTile(tile) <= workgroupBytes, what);
      }
    }
  }
});

Deno.test("a device's tile of attention is made once for each head size and number of rows", () => {
  const device = { lanes: "gpu", limits: { workgroupBytes: 32768 } } as const;
  const smaller = { lanes: "gpu", limits: { workgroupBytes: 16384 } } as const;
  assert.equal(attentionTile(device, 64, 64), attentionTile(device, 64, 64));
  assert.deepEqual(
    [[64, 64], [64, 32], [128, 64]].map(([headDim, rows]) => {
      const { D, ROWS } = attentionTile(device, headDim, rows as 32 | 64);
      return [D, ROWS];
    }),
    [[64, 64], [64, 32], [128, 64]],
  );
  assert.equal(attentionTile(smaller, 256, 64).ROWS, 32);
});
