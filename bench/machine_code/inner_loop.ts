/** The loop in which a kernel spends its time. */
export interface InnerLoop {
  /** Operations: of two that are issued at once each counts. */
  readonly instructions: number;
  /** Those that multiply and add, in f32 or packed. */
  readonly multiplyAdds: number;
}

const multiplyAdd = /^\s*v_(dual_)?(pk_)?(fma|fmac|fmaak|fmamk|dot2acc|dot2c|wmma)_/;

/**
 * Finds the loop with the most multiply-adds in AMD machine code as Mesa prints it: blocks begin with `BB0:`, a
 * loop ends with a branch to an earlier block or its own. Instructions of a loop within belong to that one.
 *
 * @returns null when no loop multiplies and adds
 */
export function innerLoop(assembly: string): InnerLoop | null {
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
  const loops = [...ends].map(([from, to]) => ({ from, to, instructions: 0, multiplyAdds: 0 }));
  lines.forEach((line, at) => {
    if (!/^\s+[a-z]\w*/.test(line)) return;
    // Of loops around a line the innermost begins last.
    const around = loops.filter(({ from, to }) => from < at && at <= to)
      .reduce<(typeof loops)[number] | null>(
        (inner, loop) => inner && inner.from > loop.from ? inner : loop,
        null,
      );
    if (around === null) return;
    // RDNA3 may issue two operations as one instruction.
    for (const operation of line.split(" :: ")) {
      around.instructions++;
      if (multiplyAdd.test(operation)) around.multiplyAdds++;
    }
  });
  const most = Math.max(0, ...loops.map(({ multiplyAdds }) => multiplyAdds));
  const found = loops.find(({ multiplyAdds }) => multiplyAdds > 0 && multiplyAdds === most);
  return found ? { instructions: found.instructions, multiplyAdds: found.multiplyAdds } : null;
}
