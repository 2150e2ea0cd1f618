/**
 * Says what this process waits for when that takes long, from a thread of its own: the main one may be in a call that
 * blocks. To be disposed of when the wait is over.
 */
export class WaitNotice implements Disposable {
  /**
   * @param seconds after which it is said
   * @returns once the thread is there
   */
  static async begin(message: string, seconds: number): Promise<WaitNotice> {
    const module = new URL("./wait_notice_worker.ts", import.meta.url);
    const worker = new Worker(module, { type: "module", name: "wait notice" });
    const ready = Promise.withResolvers<void>();
    worker.onmessage = () => ready.resolve();
    worker.onerror = (event) => {
      event.preventDefault();
      ready.reject(new Error(`no thread can be had for what is waited for: ${event.message}`));
    };
    worker.postMessage({ message, seconds } satisfies Notice);
    await ready.promise;
    return new WaitNotice(worker);
  }

  private constructor(private readonly worker: Worker) {}

  [Symbol.dispose](): void {
    this.worker.terminate();
  }
}

/** A notice to the thread. */
export interface Notice {
  readonly message: string;
  readonly seconds: number;
}
