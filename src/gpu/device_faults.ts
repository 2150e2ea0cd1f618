import { ErrorScopes } from "./error_scopes.ts";
import { DeviceLost } from "./gpu_failure.ts";

/** Faults of a device since the last read, which throws them, so that no wrong number leaves the device. */
export class DeviceFaults {
  /** Scopes for faults that are reported in words of their own. */
  readonly scopes: ErrorScopes;
  #failure: Error | null = null;
  #lost: GPUDeviceLostInfo | null = null;
  #closed = false;
  /** Labels of the kernels launched since the last read, for error messages. */
  #launched = new Set<string>();

  constructor(device: GPUDevice) {
    this.scopes = new ErrorScopes(device);
    // Errors that no scope sees: a driver's own complaints outside any call.
    device.addEventListener("uncapturederror", (event) => {
      this.#failure ??= new Error(`GPU error: ${(event as GPUUncapturedErrorEvent).error.message}`);
    });
    device.lost.then((lost) => {
      if (!this.#closed) this.#lost = lost;
    });
  }

  /** A kernel is launched. */
  launches(label: string): void {
    this.#launched.add(label);
  }

  /** The device is given up, which is no fault. */
  closes(): void {
    this.#closed = true;
  }

  /**
   * A read is over.
   *
   * @param unread why it gave nothing; null when it did
   * @throws DeviceLost or OutOfMemory when the GPU gave out
   * @throws Error with the first error since the last read
   */
  async expectNone(unread: Error | null): Promise<void> {
    const launched = `launched since the last read: ${[...this.#launched].join(", ") || "nothing"}`;
    if (this.#lost) {
      const { reason, message } = this.#lost;
      const why = [reason, message.trim()].filter((words) => words).join(": ");
      throw new DeviceLost(`The GPU was lost (${why}; ${launched}).`);
    }
    const failure = await this.scopes.settle() ?? this.#failure ?? unread;
    this.#failure = null;
    this.#launched.clear();
    if (!failure) return;
    failure.message += ` (${launched})`;
    throw failure;
  }
}
