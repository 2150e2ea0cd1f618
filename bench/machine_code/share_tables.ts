import { alignedTable } from "../../src/base/table.ts";
import type { Tuning } from "../../src/gpu/tuning.ts";
import type { GemmVariant } from "../../src/kernels/products/gemm_variants.ts";
import { attentionShare, tiledAttention, tiledKernel } from "./attention_shares.ts";
import { type GpuLimits, gpuLimits } from "./gpu_limits.ts";
import type { KernelCode } from "./kernel_code.ts";
import { judgedProducts, shareOf, waitingShare } from "./product_shares.ts";
import { decodeShare, memoryOverIssue, streamingKernels } from "./streaming_shares.ts";

/** What the kernels can reach of several GPUs' limits at most: products, attention, and what memory limits. */
export function shareTables(kernels: readonly KernelCode[], tuning: Tuning): string {
  return [
    productTable(kernels, tuning),
    waitingTable(tuning),
    attentionTable(kernels, tuning),
    decodeTable(kernels),
    streamingTable(kernels),
  ].join("\n\n");
}

const percent = (part: number) => `${(100 * part).toFixed(0)} %`;
const onEach = (shareOf: (limits: GpuLimits) => number) =>
  gpuLimits.map((limits) => percent(shareOf(limits)));
const names = gpuLimits.map(({ name }) => name);

/** Rows and columns of C that a workgroup makes. */
function tileName(variant: GemmVariant): string {
  if (variant.sharing === "streamed") return `${variant.tile.rows} x ${variant.tile.columns}`;
  if (variant.sharing !== "tiled") throw new Error(`${variant.name} is no kernel of a GPU's`);
  const { rm, rn, lx, ly } = variant.tile;
  return `${ly * rm} x ${lx * rn}`;
}

function productTable(kernels: readonly KernelCode[], tuning: Tuning): string {
  return alignedTable([
    ["product: share of the limit at most", "tile", ...names],
    ...judgedProducts(tuning).map(({ what, shape, variant }) => {
      const shares = gpuLimits.map((limits) => shareOf(kernels, shape, variant, limits));
      const cells = shares.map((part) => part === null ? "" : percent(part));
      return [`${what} (${shape.layout})`, tileName(variant), ...cells];
    }),
  ]);
}

/** What is left of memory's rate where few rows wait: of the tile that is second choice, and of the first. */
function waitingTable(tuning: Tuning): string {
  const rows = judgedProducts(tuning).flatMap(({ what, shape, variant, others }) => {
    const tiled = others.find(({ sharing }) => sharing === "tiled");
    if (variant.sharing !== "streamed" || tiled === undefined) return [];
    const cells = gpuLimits.map((limits) =>
      [tiled, variant].map((one) => percent(waitingShare(shape, one, limits))).join(", ")
    );
    return [[what, `${tileName(tiled)}, ${tileName(variant)}`, ...cells]];
  });
  return alignedTable([["memory's rate at most, with what waits", "tiles", ...names], ...rows]);
}

/** Heads of Qwen2.5-0.5B and Qwen2.5-1.5B. */
const judgedHeads = [
  { heads: 14, kvHeads: 2, headDim: 64 },
  { heads: 12, kvHeads: 2, headDim: 128 },
];

/** 16k tokens of sequences of 1,024. */
const packed = { sequences: 16, length: 1024 };

function attentionTable(kernels: readonly KernelCode[], tuning: Tuning): string {
  const rows = judgedHeads.flatMap((heads) =>
    tiledAttention.flatMap((kernel) => {
      const found = tiledKernel(kernels, tuning, kernel, heads.headDim);
      if (found === null) return [];
      const { code, tile } = found;
      const work = { ...packed, ...heads };
      const shares = onEach((limits) => attentionShare(work, kernel, code, tile, limits));
      return [[kernel.what, `${heads.headDim}`, ...shares]];
    })
  );
  return alignedTable([["attention: share of the limit at most", "head", ...names], ...rows]);
}

function decodeTable(kernels: readonly KernelCode[]): string {
  const rows = judgedHeads.flatMap((heads) => {
    const code = kernels.find(({ kernel }) =>
      kernel.startsWith("attention decode D=") && kernel.includes(" SPLIT ") &&
      kernel.includes(`D=${heads.headDim} `) &&
      kernel.includes(` GROUP=${heads.heads / heads.kvHeads} `)
    );
    if (code === undefined) return [];
    return [[1, 8192], [64, 1024]].map(([slots, context]) => [
      `${slots} of ${context} keys`,
      `${heads.headDim}`,
      ...onEach((limits) => decodeShare({ slots, context, ...heads }, code, limits)),
    ]);
  });
  return alignedTable([
    ["decode attention: share of the limit at most", "head", ...names],
    ...rows,
  ]);
}

function streamingTable(kernels: readonly KernelCode[]): string {
  const rows = streamingKernels.flatMap((streaming) => {
    const code = kernels.find(({ kernel }) =>
      kernel === streaming.label || kernel.startsWith(`${streaming.label} `)
    );
    if (code === undefined) return [];
    const factors = gpuLimits.map((limits) =>
      memoryOverIssue(streaming, code, limits).toPrecision(2)
    );
    return [[streaming.what, ...factors]];
  });
  return alignedTable([["memory's time over the instructions'", ...names], ...rows]);
}
