import type { KernelSource } from "../../src/gpu/kernel.ts";
import { countLoops, innerLoop, type NestedLoop, type Notation } from "./inner_loop.ts";
import { type KernelCode, statistic, variantName } from "./kernel_code.ts";
import type { CompiledKernel } from "./vulkan_compiler.ts";

/**
 * Reads what Mesa's NVK says of a kernel. Its warps at once are those that the registers allow: each of a core's four
 * parts has 16,384, of which a warp takes multiples of 256. Memory that workgroups share is not told.
 */
export function nvidiaKernelCode(
  source: KernelSource,
  models: readonly string[],
  { subgroupSize, statistics, assembly }: CompiledKernel,
): KernelCode {
  const read = (name: string) => statistic(statistics, name);
  const loops = nvidiaLoops(assembly);
  return {
    kernel: variantName(source),
    models,
    subgroup: subgroupSize,
    vgprs: read("Number of GPRs"),
    sgprs: null,
    // Predicates and uniform registers also go to the lanes' registers, which is a move.
    spills: read("Spills to memory"),
    scratch: read("SLM size"),
    workgroupBytes: null,
    instructions: read("Instruction count"),
    waves: read("Max warps/SM"),
    loop: innerLoop(loops),
    loops,
  };
}

const nvidia: Notation = {
  operations: (line) => /\/\/ delay=/.test(line) ? [line] : [],
  multiplyAdd: /\b(ffma|hfma2|hmma)\b/,
  matrixProduct: /\bhmma\b/,
};

/** A piece without jumps, `block 3 L7 [2] -> {` to `} -> [4, 5]`, with the blocks that may follow. */
interface Block {
  readonly first: number;
  readonly last: number;
  readonly followers: readonly number[];
}

/**
 * The loops of NVIDIA machine code as Mesa prints it. Where an earlier block may follow one, or the same, these two and
 * all from which the latter is reached past the former are a loop; others may lie between them.
 */
export function nvidiaLoops(assembly: string): NestedLoop[] {
  const lines = assembly.split("\n");
  const blocks: Block[] = [];
  let first = 0;
  lines.forEach((line, last) => {
    if (/^block\b/.test(line)) first = last;
    const followers = line.match(/^} -> \[(.*)\]/)?.[1].match(/\d+/g)?.map(Number) ?? [];
    if (line.startsWith("}")) blocks.push({ first, last, followers });
  });
  const bodies = new Map<number, Set<number>>();
  blocks.forEach(({ followers }, from) => {
    for (const head of followers.filter((follower) => follower <= from)) {
      const body = bodies.get(head) ?? new Set([head]);
      const reaching = [from];
      for (let next = reaching.pop(); next !== undefined; next = reaching.pop()) {
        const block = next;
        if (body.has(block)) continue;
        body.add(block);
        blocks.forEach((other, n) => other.followers.includes(block) && reaching.push(n));
      }
      bodies.set(head, body);
    }
  });
  const places = [...bodies].map(([head, body]) => {
    const held = [...body].map((block) => blocks[block]);
    const { first } = blocks[head];
    const last = Math.max(...held.map((block) => block.last));
    const isHeld = (line: number) =>
      held.some((block) => block.first <= line && line <= block.last);
    return { first, last, holds: (line: number) => line !== first && isHeld(line) };
  });
  return countLoops(lines, places, nvidia);
}
