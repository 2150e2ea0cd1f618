import type { Ending } from "./ending.ts";
import { causes, lastWords } from "./last_words.ts";
import { join, type LeaderConnection, type MeetingPoint } from "./meeting_point.ts";
import { isOrphaned } from "./process_end.ts";
import { hasEnded } from "../../platform/process/process_identity.ts";
import { Pulse, Stall } from "./pulse.ts";
import type { WatchedRank, WatchLimits } from "./watched_rank.ts";
import type { LeaderMessage, ToldFailure } from "./watch_messages.ts";

/** Time for rank 0 to say what happened before this rank says it itself; more than rank 0 takes. */
const PATIENCE_MS = 16_000;
/** Time for rank 0 to end after it has said what happened. */
const FAREWELL_MS = 8000;
/** Time for the one that speaks, before the end of this process makes a launcher end that one. */
const COURTESY_MS = 2000;

/** The watch of another rank than 0. */
export class Follower {
  readonly #rank: WatchedRank;
  readonly #ranks: readonly WatchedRank[];
  readonly #limits: WatchLimits;
  readonly #ending: Ending;
  readonly #pulse: Pulse;
  readonly #stall: Stall;
  readonly #point: MeetingPoint;
  #leader: LeaderConnection | null = null;
  readonly #goodbye = Promise.withResolvers<void>();
  #doing = "starting";
  #hint = "";
  #silentSeconds = 0;
  /** This rank's own failure, which rank 0 is to say. */
  #failure: ToldFailure | null = null;
  /** Set when all is said: the end of rank 0 is then the end of this process, with that code. */
  #lastCode: number | null = null;
  #isOver = false;

  constructor(
    rank: number,
    ranks: readonly WatchedRank[],
    point: MeetingPoint,
    limits: WatchLimits,
    progress: SharedArrayBuffer,
    ending: Ending,
  ) {
    this.#rank = ranks[rank];
    this.#ranks = ranks;
    this.#limits = limits;
    this.#ending = ending;
    this.#stall = new Stall(progress);
    this.#point = point;
    this.#pulse = new Pulse(limits, () => this.#beat());
  }

  /**
   * Reports to rank 0 from now on.
   *
   * @throws Error when it cannot be reached
   */
  async join(): Promise<void> {
    this.#leader = await join(this.#point, this.#rank.rank, {
      hear: (message) => this.#hear(message),
      ended: () => this.#lost(),
    });
  }

  /** Sets what the main thread is doing, for messages. */
  set doing(doing: string) {
    this.#doing = doing;
    this.#leader?.send({ type: "beat", doing });
  }

  /** Reports this rank's failure. Rank 0 says why and ends the process. */
  failed(failure: ToldFailure): void {
    if (this.#failure !== null || this.#isOver) return;
    this.#failure = failure;
    this.#leader?.send({ type: "failed", ...failure });
    setTimeout(() => this.#sayFailure(failure), PATIENCE_MS);
  }

  /**
   * Reports that this rank is done. Rank 0, which may have files to write, is watched until it is done too.
   *
   * @returns when all ranks are
   */
  async done(): Promise<void> {
    this.#leader?.send({ type: "bye" });
    await this.#goodbye.promise;
    this.#isOver = true;
    this.#pulse.stop();
    this.#leader?.close();
  }

  #hear(message: LeaderMessage): void {
    this.#silentSeconds = 0;
    if (message.type === "hint") this.#hint = message.hint;
    if (message.type === "bye") this.#goodbye.resolve();
    if (message.type === "endAfterMe") {
      this.#lastCode = message.code;
      setTimeout(() => this.#end(message.code), FAREWELL_MS);
    }
    if (message.type === "end") {
      for (const rank of message.silent) this.#ending.kill(this.#ranks[rank].process);
      this.#end(message.code);
    }
  }

  /** The connection to rank 0 ended. */
  #lost(): void {
    if (this.#isOver) return;
    if (this.#lastCode !== null) return this.#end(this.#lastCode);
    if (this.#failure !== null) return this.#sayFailure(this.#failure);
    // All ranks notice the end of rank 0 at once; the first of them speaks for all.
    if (this.#rank.rank === 1) this.#sayItself([this.#ranks[0]], causes.death(this.#doing), 1);
    else setTimeout(() => this.#end(1), COURTESY_MS);
  }

  #beat(): void {
    if (this.#leader === null) return;
    const { silenceSeconds, stallSeconds } = this.#limits;
    const culprit = this.#rank.rank;
    if (isOrphaned()) this.failed({ message: causes.orphaned, code: 1, culprit });
    if (this.#stall.after(this.#pulse.seconds) >= stallSeconds) {
      this.failed({ message: causes.stall(stallSeconds, this.#doing), code: 1, culprit });
    }
    this.#silentSeconds += this.#pulse.seconds;
    if (this.#silentSeconds >= silenceSeconds) this.#unheard(silenceSeconds);
    this.#leader.send({ type: "beat", doing: this.#doing });
  }

  /** Rank 0 is silent. Ranks of other hosts may not be reached, so that each host's first one speaks. */
  #unheard(seconds: number): void {
    const [leader, ...others] = this.#ranks;
    const speaker = others.find(({ host }) => host === this.#rank.host);
    if (speaker === this.#rank) {
      const cause = hasEnded(leader.process)
        ? causes.death(this.#doing)
        : causes.silence(seconds, this.#doing);
      this.#sayItself([leader], cause, 1, leader);
    } else setTimeout(() => this.#end(1), COURTESY_MS);
  }

  #sayFailure({ message, code, culprit }: ToldFailure): void {
    this.#sayItself([this.#ranks[culprit ?? this.#rank.rank]], message, code);
  }

  #sayItself(
    culprits: readonly WatchedRank[],
    cause: string,
    code: number,
    silent: WatchedRank | null = null,
  ): void {
    if (this.#isOver) return;
    this.#ending.say(lastWords(culprits, cause, this.#hint));
    if (silent !== null) this.#ending.kill(silent.process);
    this.#end(code);
  }

  #end(code: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#pulse.stop();
    this.#ending.end(code);
  }
}
