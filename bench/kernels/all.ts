import type { MakeBenchmark } from "../benchmark.ts";
import { makeAttention } from "./attention.ts";
import { makeDecodeAttention } from "./decode_attention.ts";
import { makeEmbedding } from "./embedding.ts";
import { makeGemm } from "./gemm.ts";
import { makeLinearLogprob } from "./linear_logprob.ts";
import { makeAdamw, makeGradientNorm } from "./optimizer.ts";
import { makePolicyLoss } from "./policy_loss.ts";
import { makeRmsnorm } from "./rmsnorm.ts";
import { makeRope } from "./rope.ts";
import { makeGatherRows } from "./rows.ts";
import { makeSampling, makeSamplingFiltered } from "./sampling.ts";
import { makeSequenceOldLogProbs } from "./sequence_old_log_probs.ts";
import { makeSwiglu } from "./swiglu.ts";
import { makeUnpack } from "./unpack.ts";

/** The kernels of bench/shapes.json. */
export const benchmarks: Readonly<Record<string, MakeBenchmark>> = {
  gemm: makeGemm,
  rmsnorm: makeRmsnorm,
  rope: makeRope,
  swiglu: makeSwiglu,
  embedding: makeEmbedding,
  attention: makeAttention,
  linear_logprob: makeLinearLogprob,
  adamw: makeAdamw,
  gradient_norm: makeGradientNorm,
  policy_loss: makePolicyLoss,
  gather_rows: makeGatherRows,
  decode_attention: makeDecodeAttention,
  sampling: makeSampling,
  sampling_filtered: makeSamplingFiltered,
  sequence_old_log_probs: makeSequenceOldLogProbs,
  unpack: makeUnpack,
};
