/** The loop in which a kernel spends its time. */
export interface InnerLoop {
  /** Operations: of two that are issued at once each counts. */
  readonly instructions: number;
  /** Those that multiply and add, in f32 or packed. */
  readonly multiplyAdds: number;
}

const matrixProduct = /^\s*v_wmma_/;
const multiplyAdd = /^\s*v_(dual_)?(pk_)?(fma|fmac|fmaak|fmamk|dot2acc|dot2c|wmma)_/;

/** A loop of machine code with its place among the others. */
export interface NestedLoop extends InnerLoop {
  /** Loops around it. */
  readonly depth: number;
  /** Of its multiply-adds those of matrices. */
  readonly matrixProducts: number;
}

/**
 * The loops of AMD machine code as Mesa prints it, in the order in which they begin: blocks begin with `BB0:`, a loop
 * ends with a branch to an earlier block or its own. Instructions of a loop within belong to that one.
 */
export function nestedLoops(assembly: string): NestedLoop[] {
  const lines = assembly.split("\n");
  const blocks = new Map<string, number>();
  lines.forEach((line, at) => {
    const name = line.match(/^(BB\d+):/)?.[1];
    if (name !== undefined) blocks.set(name, at);
  });
  const ends = new Map<number, number>();
  lines.forEach((line, to) => {
    const target = line.match(/^\s+s_c?branch\S*\s+(BB\d+)/)?.[1];
    const from = target === undefined ? undefined : blocks.get(target);
    if (from !== undefined && from < to) ends.set(from, Math.max(to, ends.get(from) ?? 0));
  });
  const counts = { instructions: 0, multiplyAdds: 0, matrixProducts: 0 };
  const loops = [...ends].map(([from, to]) => ({ from, to, ...counts }))
    .sort((a, b) => a.from - b.from);
  lines.forEach((line, at) => {
    if (!/^\s+[a-z]\w*/.test(line)) return;
    // Of loops around a line the innermost begins last.
    const around = loops.findLast(({ from, to }) => from < at && at <= to);
    if (around === undefined) return;
    // RDNA3 may issue two operations as one instruction.
    for (const operation of line.split(" :: ")) {
      around.instructions++;
      if (multiplyAdd.test(operation)) around.multiplyAdds++;
      if (matrixProduct.test(operation)) around.matrixProducts++;
    }
  });
  return loops.map(({ from, to, ...counts }) => {
    const depth = loops.filter((other) => other.from < from && to <= other.to).length;
    return { depth, ...counts };
  });
}

/**
 * The loop with the most products of matrices, or else with the most multiply-adds.
 *
 * @returns null when none multiplies and adds
 */
export function innerLoop(loops: readonly NestedLoop[]): InnerLoop | null {
  const [most] = loops.filter(({ multiplyAdds }) => multiplyAdds > 0).toSorted((a, b) =>
    b.matrixProducts - a.matrixProducts || b.multiplyAdds - a.multiplyAdds
  );
  return most ? { instructions: most.instructions, multiplyAdds: most.multiplyAdds } : null;
}
