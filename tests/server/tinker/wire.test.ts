/** Bytes that the SDK, version 0.38.0, wrote or read. */

import assert from "node:assert/strict";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { askedLoss } from "../../../src/server/tinker/losses.ts";
import { arrayBytes } from "../../../src/server/tinker/wire/arrays.ts";
import {
  ForwardBackwardRequestSchema,
  SampleResponseSchema,
  StopReason,
} from "../../../src/server/tinker/wire/tinker_pb.ts";
import { encoded } from "../../../src/server/tinker/loss_output.ts";

const bytes = (hex: string) => Uint8Array.fromHex(hex);

const FORWARD =
  "0a0a73313a747261696e3a3010011a640a100a0e0a0c010000000200000003000000121e0a077765696768747312130a0c000000000000803f0000803f180122010312300a0d7461726765745f746f6b656e73121f0a1802000000000000000300000000000000040000000000000018022201031a540a0c0a0a0a080500000006000000121a0a0777656967687473120f0a080000803f0000803f180122010212280a0d7461726765745f746f6b656e7312170a10060000000000000007000000000000001802220102220d63726f73735f656e74726f70793001";
const ANSWER =
  "0a0b41727261795265636f72641242123e0a086c6f6770726f627312320a149cc0a9c05319dcc08c0ccfc0351c00c1e96fb5c0121800000000000000000c000000000000001400000000000000180118021a130a086c6f73733a73756d1134583d8971063b40";
const PPO =
  "0a0a73313a747261696e3a30100a1a9c010a140a120a10010000000200000006010000e500000012380a0d7461726765745f746f6b656e7312270a2002000000000000000601000000000000e500000000000000c101000000000000180222010412250a0a616476616e746167657312170a10000000000000803f0000803f0000803f180122010412230a086c6f6770726f627312170a10000000001349ddc0e863acc095beb2c01801220104220370706f2a1e0a13636c69705f686967685f7468726573686f6c64119a9999999999f13f2a1d0a12636c69705f6c6f775f7468726573686f6c6411cdccccccccccec3f3a200a13636c69705f686967685f7468726573686f6c641209099a9999999999f13f3a1f0a12636c69705f6c6f775f7468726573686f6c64120909cdccccccccccec3f";
const SAMPLES =
  "0a26080112103a010000cd010000a70100005c0000001a1000c397c0124fe3c01aa4bdc01a748ec00a260801121094000000c401000003000000a50100001a108f849fc072bbadc042caa0c013dacac012080000c07f9cc0a9c0";

Deno.test("wire: a request for log-probs is read as the SDK wrote it", () => {
  const request = fromBinary(ForwardBackwardRequestSchema, bytes(FORWARD));
  assert.deepEqual([request.modelId, request.seqId, request.forwardOnly], ["s1:train:0", 1, true]);
  const { loss, sequences } = askedLoss(request, 8);
  assert.deepEqual(loss, { name: "cross_entropy" });
  assert.deepEqual(
    sequences.map(({ tokens, targets, weights }) =>
      [tokens, targets, weights].map((one) => [...one])
    ),
    [[[1, 2, 3], [2, 3, 4], [0, 1, 1]], [[5, 6], [6, 7], [1, 1]]],
  );
});

Deno.test("wire: log-probs are written as the SDK reads them", () => {
  const logProbs = [[-5.3047619, -6.8780913, -6.4702816], [-8.0068865, -5.6699109]]
    .map((values) => Float32Array.from(values));
  assert.equal(encoded(logProbs, 27.025169923283286).toHex(), ANSWER);
});

Deno.test("wire: a request for PPO has its thresholds, and no weight where there is no advantage", () => {
  const { loss, sequences } = askedLoss(fromBinary(ForwardBackwardRequestSchema, bytes(PPO)), 8);
  assert.equal(loss.name, "ppo");
  assert.ok("clipRatioLow" in loss);
  assert.ok(
    Math.abs(loss.clipRatioLow - 0.1) < 1e-12 && Math.abs(loss.clipRatioHigh - 0.1) < 1e-12,
  );
  const [sequence] = sequences;
  assert.ok("oldLogProbs" in sequence);
  assert.deepEqual([...sequence.tokens], [1, 2, 262, 229]);
  assert.deepEqual([...sequence.weights], [0, 1, 1, 1]);
  assert.deepEqual(
    sequence.oldLogProbs,
    Float32Array.from([0, -6.9151702, -5.3871956, -5.5857644]),
  );
});

Deno.test("wire: responses are written as the SDK reads them", () => {
  const sequence = (tokens: number[], logProbs: number[]) => ({
    stopReason: StopReason.LENGTH,
    tokens: arrayBytes(Int32Array.from(tokens)),
    logprobs: arrayBytes(Float32Array.from(logProbs)),
  });
  const message = create(SampleResponseSchema, {
    sequences: [
      sequence([314, 461, 423, 92], [-4.7425537, -7.1034021, -5.9262819, -4.4516726]),
      sequence([148, 452, 3, 421], [-4.9849315, -5.4291315, -5.0246897, -6.3391204]),
    ],
    promptLogprobs: arrayBytes(Float32Array.from([NaN, -5.3047619])),
  });
  assert.equal(Uint8Array.from(toBinary(SampleResponseSchema, message)).toHex(), SAMPLES);
});
