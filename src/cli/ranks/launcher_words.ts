/**
 * `mpiexec` explains at length when a rank ends with an exit code other than 0. The rank has said why, and `--ranks`
 * says it when it could not; so its words are left out of what the ranks print.
 */

/** A block of such words: how it begins and ends. */
const BLOCKS: readonly (readonly [begin: RegExp, end: RegExp])[] = [
  [/\n?={60,}\n= +BAD TERMINATION/, /for debugging suggestions\n/],
  [/-{60,}\n(?=Primary job|\S*(?:mpirun|mpiexec|prterun|orterun)\S* |MPI_ABORT)/, /\n-{60,}\n/],
];

/** What may turn out to be the beginning of one: it comes in parts. */
const PERHAPS = /(?<=^|\n)(?:\n|\n?(?:=+|-+)(?:\n[^\n]*)?)$/;

/** Text as it comes from a launcher, without the launcher's own words. */
export class WithoutLauncherWords extends TransformStream<string, string> {
  /** @param words are given those that are left out */
  constructor(words: string[] = []) {
    let held = "";
    super({
      transform(chunk, controller) {
        held += chunk;
        const { shown, rest } = strip(held, words);
        if (shown) controller.enqueue(shown);
        held = rest;
      },
      flush(controller) {
        if (held) controller.enqueue(held);
      },
    });
  }
}

/** Leaves out all blocks; `rest` is what cannot be decided on before more has come. */
function strip(text: string, words: string[]): { shown: string; rest: string } {
  let shown = "";
  for (;;) {
    const [begin, end] = BLOCKS.find(([begin]) => begin.test(text)) ?? [];
    const first = begin?.exec(text);
    if (!first || !end) {
      const decided = PERHAPS.exec(text)?.index ?? text.length;
      return { shown: shown + text.slice(0, decided), rest: text.slice(decided) };
    }
    shown += text.slice(0, first.index);
    const after = first.index + first[0].length;
    const last = end.exec(text.slice(after));
    if (last === null) return { shown, rest: text.slice(first.index) };
    const next = after + last.index + last[0].length;
    words.push(text.slice(first.index, next));
    text = text.slice(next);
  }
}

/** What a launcher says of a process that was killed. */
export interface KilledProcess {
  /** Open MPI's; MPICH names some process, maybe one that it has killed itself because of another. */
  readonly rank: number | null;
  readonly pid: number;
  /** Its number. */
  readonly signal: number;
}

/** Reads from a launcher's words which process was killed; null when they do not tell. */
export function killedProcess(words: string): KilledProcess | null {
  const numberAfter = (before: RegExp) => Number(before.exec(words)?.[1] ?? NaN);
  const rank = numberAfter(/process rank (\d+)/), pid = numberAfter(/PID (\d+)/);
  const signal = numberAfter(/signal (\d+)/);
  if (Number.isNaN(pid) || Number.isNaN(signal)) return null;
  return { rank: Number.isNaN(rank) ? null : rank, pid, signal };
}
