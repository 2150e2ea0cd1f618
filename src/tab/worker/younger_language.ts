/**
 * What the engine has of the language that browsers with WebGPU may not have yet: explicit disposal (no Safari, Chrome
 * before 134) and `Promise.try` (Chrome before 128). Imported before all else.
 */

function define(holder: object, name: PropertyKey, value: unknown): void {
  if (Reflect.has(holder, name)) return;
  Object.defineProperty(holder, name, { value, configurable: true, writable: true });
}

define(Symbol, "dispose", Symbol("Symbol.dispose"));
define(Symbol, "asyncDispose", Symbol("Symbol.asyncDispose"));

/** The part of `DisposableStack` that is used here. */
export class Stack {
  #callbacks: (() => void)[] = [];

  use<Value extends Disposable>(value: Value): Value {
    this.#callbacks.push(() => value[Symbol.dispose]());
    return value;
  }

  defer(callback: () => void): void {
    this.#callbacks.push(callback);
  }

  move(): Stack {
    const moved = new Stack();
    moved.#callbacks = this.#callbacks.splice(0);
    return moved;
  }

  dispose(): void {
    const errors: unknown[] = [];
    for (const callback of this.#callbacks.splice(0).reverse()) {
      try {
        callback();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

define(globalThis, "DisposableStack", Stack);
define(
  Promise,
  "try",
  (body: (...args: unknown[]) => unknown, ...args: unknown[]) =>
    new Promise((resolve) => resolve(body(...args))),
);
