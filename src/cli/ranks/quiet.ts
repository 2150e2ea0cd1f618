/** A rank whose output and Ctrl-C are another's business, as long as this lives. */
export class Quiet implements Disposable {
  readonly #log = console.log;
  readonly #error = console.error;
  readonly #deaf = () => {};

  constructor() {
    console.log = console.error = () => {};
    Deno.addSignalListener("SIGINT", this.#deaf);
  }

  [Symbol.dispose](): void {
    console.log = this.#log;
    console.error = this.#error;
    Deno.removeSignalListener("SIGINT", this.#deaf);
  }
}
