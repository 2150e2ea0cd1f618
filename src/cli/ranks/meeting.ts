import type { RankWatch } from "./rank_watch.ts";

/** How often the ranks are looked at. */
const LOOK_MS = 1000;
/** Looks in a row that find a process stopped before it counts as such. */
const STOPPED_LOOKS = 5;
/** Seconds in which one more rank has to be heard of while they join each other. */
const JOIN_SECONDS = 90;

/** The time in which ranks of this machine come together, and cannot yet see to each other. */
export class Meeting implements Disposable {
  readonly #failed = Promise.withResolvers<string>();
  readonly #stopped = new Map<number, number>();
  readonly #timer: ReturnType<typeof setInterval>;
  /** Settles with the words to be said when they will not come together. */
  readonly failed: Promise<string> = this.#failed.promise;

  constructor(
    private readonly watch: Pick<RankWatch, "stageOf" | "pidOf" | "silentSeconds">,
    private readonly size: number,
  ) {
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    Deno.unrefTimer(this.#timer);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const ranks = Array.from({ length: this.size }, (_, rank) => rank);
    for (const rank of ranks.filter((rank) => this.watch.stageOf(rank) !== "begun")) {
      const pid = this.watch.pidOf(rank);
      const looks = pid !== null && isStopped(pid) ? (this.#stopped.get(rank) ?? 0) + 1 : 0;
      this.#stopped.set(rank, looks);
      if (looks < STOPPED_LOOKS) continue;
      this.#failed.resolve(
        `rank ${rank} (process ${pid}) was stopped before the ranks had begun, which ended all of them.`,
      );
    }
    const late = ranks.filter((rank) => ["here", null].includes(this.watch.stageOf(rank)));
    const silent = ranks.filter((rank) => this.watch.stageOf(rank) === null);
    if (late.length === 0 || this.watch.silentSeconds < JOIN_SECONDS) return;
    const [who, what] = silent.length > 0
      ? [silent, "has not begun"]
      : [late, "has not joined the others"];
    this.#failed.resolve(
      `rank ${
        who.join(", ")
      } ${what} within ${JOIN_SECONDS} s, which ended all ranks: its process is stopped, or ` +
        `the machine has no time for it.`,
    );
  }
}

/** Whether a process was stopped, by a signal or a debugger; where the system does not tell, it counts as running. */
function isStopped(pid: number): boolean {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    return ["T", "t"].includes(stat[stat.lastIndexOf(")") + 2]);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
