import { UserError } from "../../base/user_error.ts";
import type { Settings } from "../config/changeable.ts";

/** Takes changed settings; throws a UserError when it does not. */
export type SettingsDoor = (settings: Settings) => void;

/** Requests to a run from outside. The run obeys them between two steps. */
export class RunControl {
  #door: SettingsDoor = () => {
    throw new UserError("No run is going on whose settings could change.");
  };
  #lock: string | null = null;
  #isStopRequested = false;
  #isSaveRequested = false;
  #isPaused = false;
  /** Whether anything was asked since the run last looked. */
  #isAsked = false;
  #wake: (() => void) | null = null;

  /** Ends the run after the present step, with a checkpoint. */
  stop(): void {
    this.#isStopRequested = true;
    this.#ask();
  }

  /** Writes a checkpoint after the present step. */
  save(): void {
    this.#isSaveRequested = true;
    this.#ask();
  }

  /** Lets the run wait after the present step. The GPU then has nothing to do. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Lets a paused run go on. */
  goOn(): void {
    this.#isPaused = false;
    this.#ask();
  }

  #ask(): void {
    this.#isAsked = true;
    this.#wake?.();
  }

  /**
   * Changes settings from the next step on.
   *
   * @throws UserError when one may not change or does not fit; nothing is changed then
   */
  change(settings: Settings): void {
    if (this.#lock !== null) throw new UserError(this.#lock);
    this.#door(settings);
  }

  /** Lets no settings change, whatever run is going on. */
  lock(reason: string): Disposable {
    this.#lock = reason;
    return { [Symbol.dispose]: () => void (this.#lock = null) };
  }

  /** Lets changed settings reach a run as long as it goes on. */
  open(door: SettingsDoor): Disposable {
    const before = this.#door;
    this.#door = door;
    return { [Symbol.dispose]: () => void (this.#door = before) };
  }

  /** Whether the run is to end. */
  get isStopRequested(): boolean {
    return this.#isStopRequested;
  }

  /** Whether the run is to wait. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether a checkpoint was asked for since this was last called. */
  takeSave(): boolean {
    const isRequested = this.#isSaveRequested;
    this.#isSaveRequested = false;
    return isRequested;
  }

  /**
   * Waits one turn of the event loop: a step may keep the thread busy from end to end, and signals and
   * requests are only delivered in between.
   */
  async arrivals(): Promise<void> {
    this.#isAsked = false;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }

  /** Waits until something is asked since `arrivals`, at most so long; the process does not end meanwhile. */
  async nextRequest(seconds: number): Promise<void> {
    if (this.#isAsked) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        timer = setTimeout(resolve, 1000 * seconds);
      });
    } finally {
      this.#wake = null;
      clearTimeout(timer);
    }
  }
}
