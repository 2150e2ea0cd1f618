/** The loop in which a kernel spends its time. */
export interface InnerLoop {
  /** Operations: of two that are issued at once each counts. */
  readonly instructions: number;
  /** Those that multiply and add, in f32 or packed; on matrix units alone where the loop multiplies matrices. */
  readonly multiplyAdds: number;
}

/** A loop of machine code with its place among the others. */
export interface NestedLoop extends InnerLoop {
  /** Loops around it. */
  readonly depth: number;
  /** Of its multiply-adds those of matrices. */
  readonly matrixProducts: number;
}

/** How a compiler writes instructions. */
export interface Notation {
  /** Operations of a line. */
  readonly operations: (line: string) => readonly string[];
  readonly multiplyAdd: RegExp;
  readonly matrixProduct: RegExp;
}

const amd: Notation = {
  // RDNA3 may issue two operations as one instruction.
  operations: (line) => /^\s+[a-z]\w*/.test(line) ? line.split(" :: ") : [],
  multiplyAdd: /^\s*v_(dual_)?(pk_)?(fma|fmac|fmaak|fmamk|dot2acc|dot2c|wmma)_/,
  matrixProduct: /^\s*v_wmma_/,
};

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
  const loops = [...ends].map(([first, last]) => ({
    first,
    last,
    holds: (line: number) => first < line && line <= last,
  }));
  return countLoops(lines, loops, amd);
}

/** Where a loop lies among the lines. */
export interface LoopPlace {
  /** Where it begins; no line of its own. */
  readonly first: number;
  /** The line from which it is repeated. */
  readonly last: number;
  readonly holds: (line: number) => boolean;
}

/** What loops hold, in the order in which they begin. */
export function countLoops(
  lines: readonly string[],
  places: readonly LoopPlace[],
  { operations, multiplyAdd, matrixProduct }: Notation,
): NestedLoop[] {
  const counts = { instructions: 0, multiplyAdds: 0, matrixProducts: 0 };
  const loops = places.map((place) => ({ place, ...counts }))
    .sort((a, b) => a.place.first - b.place.first);
  lines.forEach((line, at) => {
    // Of loops around a line the innermost begins last.
    const around = loops.findLast(({ place }) => place.holds(at));
    if (around === undefined) return;
    for (const operation of operations(line)) {
      around.instructions++;
      if (multiplyAdd.test(operation)) around.multiplyAdds++;
      if (matrixProduct.test(operation)) around.matrixProducts++;
    }
  });
  return loops.map(({ place: { first, last }, ...counts }) => {
    const depth = loops.filter(({ place }) => place.holds(first) && place.holds(last)).length;
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
  if (!most) return null;
  const { instructions, multiplyAdds, matrixProducts } = most;
  return { instructions, multiplyAdds: matrixProducts || multiplyAdds };
}
