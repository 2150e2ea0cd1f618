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
  constructor() {
    let held = "";
    super({
      transform(chunk, controller) {
        held += chunk;
        const { shown, rest } = strip(held);
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
function strip(text: string): { shown: string; rest: string } {
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
    text = text.slice(after + last.index + last[0].length);
  }
}
