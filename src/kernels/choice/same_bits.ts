import { Failure } from "../../base/failure.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { RandomStream } from "../../random/philox.ts";
import { attentionForward } from "../attention/attention.ts";
import { attentionDecode } from "../attention/attention_decode.ts";
import { attendedRows, attentionSegments } from "../attention/attention_segments.ts";
import { type AttentionShape, pageTokens } from "../attention/attention_shape.ts";
import { gemm } from "../products/gemm.ts";
import { faultInTokenSums } from "./token_sums_check.ts";

/** Rows of a batch, and which one is computed alone. */
const rows = 37, chosen = 21;
const shape: AttentionShape = { heads: 4, kvHeads: 2, headDim: 16, scale: 0.25 };

/**
 * Tests what all training on sampled text rests on: a product and attention have the same bits in the shape of
 * prefill and training (many rows at once) as in that of decoding (one row, keys from the cache).
 *
 * @throws Failure when this device computes them otherwise
 */
export async function requireSameBits(gpu: Gpu): Promise<void> {
  const fault = await faultInBits(gpu);
  if (fault === null) return;
  const { name, engine } = gpu.info;
  throw new Failure(
    `${name} with the ${engine} engine computes wrongly: ${fault}. What is sampled would not be what is trained on. Take the ` +
      `other engine (--gpu ${
        engine === "native" ? "dawn" : "native"
      }) or update the GPU's driver, and report it ` +
      `with what ./tango doctor --json prints.`,
  );
}

/** What this device computes otherwise; null where it is nothing. On matrix units gradients over tokens are looked at too. */
export async function faultInBits(gpu: Gpu): Promise<string | null> {
  for (
    const [what, launch] of [["a matrix product", products], ["attention", attentions]] as const
  ) {
    using steps = gpu.steps();
    const [batch, alone] = await gpu.readAll(steps.run(() => launch(gpu)));
    const [found, expected] = [alone, batch].map((data) => new Uint32Array(data.buffer));
    if (found.some((bits, i) => bits !== expected[i])) {
      return `${what} has other bits for one row than for many`;
    }
  }
  return await faultInTokenSums(gpu);
}

function numbers(gpu: Gpu, shape: readonly number[], seed: number): Tensor {
  const random = new RandomStream(seed, 99);
  const count = shape.reduce((product, n) => product * n, 1);
  return gpu.from(Float32Array.from({ length: count }, () => 2 * random.uniform() - 1), shape);
}

/** A row as computed among many, and as computed by itself. */
function products(gpu: Gpu): readonly Tensor[] {
  const [columns, depth] = [136, 320];
  const a = numbers(gpu, [rows, depth], 1), b = numbers(gpu, [columns, depth], 2);
  const all = gpu.tensor([rows, columns]), alone = gpu.tensor([1, columns]);
  gemm(gpu, "nt", a, b, all, { label: "bits of a batch" });
  gemm(gpu, "nt", a.view(chosen * depth, [1, depth]), b, alone, { label: "bits of a row" });
  return [all.view(chosen * columns, [1, columns]), alone];
}

/** Attention of the last token of a sequence, in the sequence and decoded. */
function attentions(gpu: Gpu): readonly Tensor[] {
  const { heads, kvHeads, headDim } = shape;
  const pages = Math.ceil(rows / pageTokens);
  const queries = numbers(gpu, [rows, heads, headDim], 3);
  const [cacheKeys, cacheValues] = [4, 5].map((seed) =>
    numbers(gpu, [pages * pageTokens, kvHeads, headDim], seed)
  );
  const [keys, values] = [cacheKeys, cacheValues].map((cache) =>
    cache.view(0, [rows, kvHeads, headDim])
  );
  const pack = [{ prefix: 0, continuations: [rows] }];
  const segments = gpu.from(attentionSegments(pack), [rows, 4]);
  const output = gpu.tensor([rows, heads, headDim]), statistics = gpu.tensor([2, rows, heads]);
  const inputs = { queries, keys, values, segments, attendedRows: attendedRows(pack) };
  attentionForward(gpu, inputs, { output, statistics }, shape);
  const last = (rows - 1) * heads * headDim;
  const query = queries.view(last, [1, heads, headDim]);
  const pageTable = gpu.from(Uint32Array.from({ length: pages }, (_, page) => page), [1, pages]);
  const lengths = gpu.from(Uint32Array.of(rows), [1]);
  const decoded = gpu.tensor([1, heads, headDim]);
  attentionDecode(
    gpu,
    { queries: query, cacheKeys, cacheValues, pageTable, lengths },
    decoded,
    shape,
  );
  return [output.view(last, [1, heads, headDim]), decoded];
}
