import type { WatchLimits } from "./watched_rank.ts";

/**
 * The clock of a watch. It counts its own beats, so that time in which the whole process stood still, as in a suspended
 * job, is nobody's silence.
 */
export class Pulse {
  /** Seconds between two beats. */
  readonly seconds: number;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor({ silenceSeconds }: WatchLimits, onBeat: () => void) {
    this.seconds = Math.min(1, silenceSeconds / 10);
    this.#timer = setInterval(onBeat, 1000 * this.seconds);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Whether a main thread gets on, as its counter tells. */
export class Stall {
  readonly #counter: Int32Array;
  #last = 0;
  #seconds = 0;

  constructor(progress: SharedArrayBuffer) {
    this.#counter = new Int32Array(progress);
  }

  /** To be called at each beat. @returns seconds for which it has been stuck */
  after(seconds: number): number {
    const count = Atomics.load(this.#counter, 0);
    this.#seconds = count === this.#last ? this.#seconds + seconds : 0;
    this.#last = count;
    return this.#seconds;
  }
}
