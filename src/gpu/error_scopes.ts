import { dawnPolling } from "../platform/gpus/dawn_polling.ts";
import { OutOfMemory } from "./gpu_failure.ts";

const filters: readonly GPUErrorFilter[] = ["validation", "out-of-memory", "internal"];

/**
 * Catches every error a device reports, so that none is lost between two reads.
 *
 * WebGPU reports errors to whichever scope is open, else by an `uncapturederror` event. The event comes
 * too late: on the native engine only after the event loop turned, when the wrong numbers have long
 * been read. So a scope is open at all times, and whoever reads closes it, asks, and opens the next.
 */
export class ErrorScopes {
  readonly #device: GPUDevice;
  #inner: Promise<Error | null>[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
    this.#push();
  }

  /** Runs `body` in a scope of its own; an error in it will be reported with `what` before it. */
  within<R>(what: string, body: () => R): R {
    const { result, error } = scoped(this.#device, body);
    this.#inner.push(error.then((found) => found && withContext(what, found)));
    return result;
  }

  /** The first error since the last call, or null. A lack of memory goes first: others come of it. */
  async settle(): Promise<Error | null> {
    const found = [...this.#inner, this.#pop()];
    this.#inner = [];
    this.#push();
    const errors = (await Promise.all(found)).filter((error) => error !== null);
    return errors.find((error) => error instanceof OutOfMemory) ?? errors[0] ?? null;
  }

  #push(): void {
    for (const filter of filters) this.#device.pushErrorScope(filter);
  }

  async #pop(): Promise<Error | null> {
    const error = await firstError(this.#device);
    return error && withContext("GPU error", error);
  }
}

/** Runs `body` in an error scope. `error` resolves once the device has dealt with its calls. */
function scoped<R>(
  device: GPUDevice,
  body: () => R,
): { readonly result: R; readonly error: Promise<Error | null> } {
  for (const filter of filters) device.pushErrorScope(filter);
  let error: Promise<Error | null> | undefined;
  try {
    const result = body();
    error = firstError(device);
    return { result, error };
  } finally {
    if (!error) firstError(device);
  }
}

function withContext(what: string, error: Error): Error {
  return error instanceof OutOfMemory
    ? error
    : new Error(`${what}: ${error.message}`, { cause: error });
}

/** Closes one scope of each filter. A lost device answers nothing: that is reported elsewhere. */
async function firstError(device: GPUDevice): Promise<Error | null> {
  const closed = filters.toReversed();
  dawnPolling.waitBegins();
  const errors = await Promise.all(
    closed.map(() => device.popErrorScope().catch(() => null)),
  );
  const memory = errors[closed.indexOf("out-of-memory")];
  if (memory) {
    const said = memory.message.trim();
    return new OutOfMemory(
      `The GPU has no memory left; other programs may hold some of it: ${said}`,
    );
  }
  const found = errors.find((error) => error !== null && error !== undefined);
  return found ? new Error(found.message.trim()) : null;
}
