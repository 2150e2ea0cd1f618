import { severalErrors } from "../../base/several_errors.ts";
import type { RunEvent, RunListener, RunPhase } from "./run_event.ts";

/** Where a run tells what happens; whoever wants to know listens. */
export class RunEvents {
  readonly #listeners = new Set<RunListener>();

  /**
   * Adds a listener, after those that are there.
   *
   * @returns removes it again; also by `using`
   */
  listen(listener: RunListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /**
   * Tells all listeners. One that throws hears no more, and the run ends with its error once the others
   * have heard: a log that cannot be written must not go unnoticed.
   *
   * @throws whatever a listener throws; when several do, all of it in one error
   */
  emit(event: RunEvent): void {
    const errors: unknown[] = [];
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (error) {
        this.#listeners.delete(listener);
        errors.push(error);
      }
    }
    if (errors.length > 1) {
      throw severalErrors(errors, `several listeners failed at ${event.type}`);
    }
    if (errors.length === 1) throw errors[0];
  }

  /** Runs a phase, telling when it begins and ends. */
  async during<Result>(
    step: number,
    phase: RunPhase,
    body: () => Promise<Result>,
  ): Promise<Result> {
    this.emit({ type: "phaseBegan", step, phase });
    const began = performance.now();
    const result = await body();
    this.emit({ type: "phaseEnded", step, phase, seconds: (performance.now() - began) / 1000 });
    return result;
  }

  /**
   * Runs all that a run does from its first step to its last. Its error, or that of a listener, is told
   * as `failed` and thrown.
   *
   * @param stepsDone asked when it fails
   * @param explain gives the error with what to do about it
   */
  async announceFailure<Result>(
    stepsDone: () => number,
    body: () => Promise<Result>,
    explain: (error: unknown) => unknown = (error) => error,
  ): Promise<Result> {
    try {
      return await body();
    } catch (thrown) {
      const error = explain(thrown);
      try {
        this.emit({ type: "failed", step: stepsDone(), error });
      } catch (second) {
        throw severalErrors([error, second], "a run failed, and so did a listener told of it");
      }
      throw error;
    }
  }
}
