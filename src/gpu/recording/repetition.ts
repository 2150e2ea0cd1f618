import type { BufferPool } from "../buffer_pool.ts";
import type { Launch, Recording } from "./recording.ts";

/** Launches that are recorded once more each time what launched them is to be done again. */
export class Repetition {
  /** Launches to record again; null outside of `run`. */
  #launches: Launch[] | null = null;
  /** Counted from 0. */
  #number = 0;

  constructor(private readonly recording: Recording, private readonly pool: BufferPool) {}

  /** Records a launch, which belongs to what is repeated, if anything is. */
  launch(launch: Launch): void {
    this.recording.launch(launch, this.#number);
    this.#launches?.push(launch);
  }

  /** @throws Error while something is repeated: this would not be done again */
  expectNone(what: string): void {
    if (this.#launches) throw new Error(`Gpu.repeat repeats launches alone, not ${what}`);
  }

  /** See `Gpu.repeat`. */
  run(times: number, body: () => void): void {
    if (this.#launches) throw new Error("Gpu.repeat: not within itself");
    try {
      for (let done = 0; done < times;) {
        const launches: Launch[] = this.#launches = [];
        const { trims } = this.pool;
        this.#number = done++;
        body();
        this.#launches = null;
        // A trim may have destroyed tensors of these launches.
        if (trims !== this.pool.trims) continue;
        for (; done < times; done++) {
          for (const launch of launches) this.recording.launch(launch, done);
        }
      }
    } finally {
      this.#launches = null;
      this.#number = 0;
    }
  }
}
