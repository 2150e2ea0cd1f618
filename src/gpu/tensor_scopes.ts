import type { BufferPool } from "./buffer_pool.ts";
import type { Tensor } from "./tensor.ts";

/** Scopes that return the memory of the tensors which were allocated in them and are not kept. */
export class TensorScopes {
  readonly #open: Set<Tensor>[] = [];

  constructor(private readonly pool: BufferPool) {}

  /** A new tensor belongs to the innermost open scope, if any. */
  add(tensor: Tensor): void {
    this.#open.at(-1)?.add(tensor);
  }

  /** Returns a tensor's memory, whichever scope it belongs to. */
  release(tensor: Tensor): void {
    for (const scope of this.#open) scope.delete(tensor);
    this.pool.release(tensor.storage);
  }

  /** See `Gpu.scope`. */
  run<R>(body: () => R, kept: (result: R) => readonly Tensor[]): R {
    const opened = new Set<Tensor>();
    this.#open.push(opened);
    try {
      const result = synchronous(body());
      for (const tensor of kept(result)) {
        opened.delete(tensor);
        this.#open.at(-2)?.add(tensor);
      }
      return result;
    } finally {
      for (const tensor of opened) this.pool.release(tensor.storage);
      this.#open.pop();
    }
  }

  /** See `Gpu.steps`. */
  steps(): ScopeOfSteps {
    const opened = new Set<Tensor>();
    return {
      run: (body) => {
        this.#open.push(opened);
        try {
          return synchronous(body());
        } finally {
          this.#open.pop();
        }
      },
      keep: (tensors) => tensors.forEach((tensor) => opened.delete(tensor)),
      [Symbol.dispose]: () => {
        for (const tensor of opened) this.pool.release(tensor.storage);
        opened.clear();
      },
    };
  }
}

/** See `Gpu.steps`. */
export interface ScopeOfSteps extends Disposable {
  /** Does one step. Other work may come between two of them. */
  run<R>(body: () => R): R;
  /** Gives tensors to the caller, who releases them. */
  keep(tensors: readonly Tensor[]): void;
}

function synchronous<R>(result: R): R {
  if (result instanceof Promise) throw new Error("Gpu.scope: its body must not be asynchronous");
  return result;
}
