import type { Tensor } from "../tensor.ts";

/** Kinds of work whose rates differ. */
export type WorkKind = "products" | "attention" | "other";

/** Cost of a launch: at most its true cost, and about that. */
export interface LaunchCost {
  /** Other than products and attention by default. */
  readonly kind?: WorkKind;
  /** Bytes read and written. */
  readonly bytes: number;
  /** Floating-point operations, a fused multiply-add counting as two; 0 by default. */
  readonly flops?: number;
}

/** So many operations take about as long as moving a byte, on GPUs and on CPUs within a factor of a few. */
const flopsPerByte = 8;
/** Fixed cost of a launch besides its work, in bytes. */
const launchBytes = 2 ** 16;
/** Bytes per second that a device is taken to move before it was measured: a GPU built into a CPU. */
const firstRate = 32e9;
/** A measured rate below this says that the host was busy with something else. */
const lowestRate = 1e9;
/** Shorter measurements are mostly the wait itself: they may raise the rate, not lower it. */
const leastSeconds = 0.02;

/**
 * Cuts recorded work into submits of a given time. Drivers reset a GPU whose submit takes some seconds, and
 * the time of a launch is not known beforehand: it is estimated from its cost and a rate, which every wait for
 * the GPU measures anew. A rate is never too high: what lies between two waits is not all work.
 */
export class SubmitPacing {
  /** Bytes per second. */
  #rate = firstRate;
  /** Work of the submit that is being recorded, in bytes. */
  #recorded = 0;
  /** Work sent in all, and how much of it is known to have run. */
  #sent = 0;
  #ran = 0;
  /** When the GPU began with what is not known to have run. */
  #since = 0;
  /** Since it was last known to be idle. */
  #submits = 0;

  /** @param submitSeconds that a submit may take; one launch that takes longer has a submit of its own */
  constructor(private readonly submitSeconds: number) {}

  /** Into how many launches work should be cut, so that none takes more than five submits may. */
  launchesFor(cost: LaunchCost): number {
    return Math.ceil(workOf(cost) / this.#rate / (5 * this.submitSeconds));
  }

  /** Whether a launch may join the submit that is being recorded. */
  hasRoomFor(cost: LaunchCost): boolean {
    // The first ones after a wait are small: the GPU has nothing else to do meanwhile.
    const share = Math.min(1, 4 ** this.#submits / 16);
    const work = this.#recorded + workOf(cost);
    return this.#recorded === 0 || work <= this.submitSeconds * share * this.#rate;
  }

  /** A launch joined the submit. */
  record(cost: LaunchCost): void {
    this.#recorded += workOf(cost);
  }

  /** @param now milliseconds of a steady clock */
  submitted(now: number): void {
    if (this.#sent === this.#ran) this.#since = now;
    this.#sent += this.#recorded;
    this.#recorded = 0;
    this.#submits++;
  }

  /** A mark behind all work sent so far, for `ran`. */
  get mark(): number {
    return this.#sent;
  }

  /**
   * The work up to a mark has run.
   *
   * @returns whether nothing was sent after it
   */
  ran(mark: number, now: number): boolean {
    const work = Math.max(0, mark - this.#ran);
    const seconds = Math.max(1e-6, (now - this.#since) / 1000);
    const measured = Math.max(lowestRate, work / seconds);
    if (measured > this.#rate) this.#rate = Math.min(measured, 4 * this.#rate);
    else if (seconds >= leastSeconds && work > 0) this.#rate = measured;
    this.#ran += work;
    this.#since = now;
    const isIdle = this.#sent === this.#ran;
    if (isIdle) this.#submits = 0;
    return isIdle;
  }
}

function workOf({ bytes, flops = 0 }: LaunchCost): number {
  return launchBytes + Math.max(bytes, flops / flopsPerByte);
}

/** Cost of a launch that touches every byte of its tensors once. */
export function costOfTouching(tensors: Readonly<Record<string, Tensor>>): LaunchCost {
  let bytes = 0;
  for (const name in tensors) bytes += tensors[name].bytes;
  return { bytes };
}
