import { fileURLToPath } from "node:url";
import { UserError } from "../../src/base/user_error.ts";

/** The number formats that transformers is measured in. */
export const peerTypes = ["f32", "bf16"] as const;
export type PeerType = (typeof peerTypes)[number];

/** What bench/peers/transformers_model.py is asked; its head says what each means. */
export type PeerRequest =
  & { readonly dtype: PeerType }
  & (
    | { readonly do: "log_probs"; readonly tokens: readonly number[][] }
    | { readonly do: "sample"; readonly prompts: readonly number[][]; readonly new_tokens: number }
    | {
      readonly do: "train";
      readonly tokens: readonly number[][];
      readonly adapter: string | null;
      readonly scale: number;
    }
  );

/** What it answers, each field with the requests that give it. */
export interface PeerAnswer {
  readonly log_probs: readonly (readonly number[])[];
  readonly seconds: number;
  readonly cache: string;
  readonly loss: number;
  readonly gradient_norm: number;
}

interface Greeting {
  readonly name: string;
  readonly threads: number | null;
  readonly torch: string;
  readonly transformers: string;
}

const setUp =
  "It needs PyTorch and transformers: python3 -m venv .venv && .venv/bin/pip install -r " +
  "bench/peers/requirements.txt, then --peer --python .venv/bin/python";

/** A process of transformers that holds the model and measures itself when it is asked. */
export class TransformersProcess {
  #closed = false;

  private constructor(
    private readonly python: string,
    private readonly child: Deno.ChildProcess,
    private readonly lines: AsyncIterator<string>,
    private readonly input: WritableStreamDefaultWriter<Uint8Array>,
  ) {}

  /** What it runs on, in words. */
  description = "";

  /**
   * Starts it.
   *
   * @param folder of the model, as `export` writes it in float32
   * @param cpu whether it is to leave a GPU alone
   * @throws UserError when Python, PyTorch or transformers is missing
   */
  static async start(
    python: string,
    folder: string,
    { cpu }: { readonly cpu: boolean },
  ): Promise<TransformersProcess> {
    const script = fileURLToPath(
      new URL("../peers/transformers_model.py", import.meta.url),
    );
    const threads = `${navigator.hardwareConcurrency}`;
    const args = [script, folder, "--threads", threads, ...(cpu ? ["--device", "cpu"] : [])];
    let child: Deno.ChildProcess;
    try {
      const pipes = { stdin: "piped", stdout: "piped", stderr: "inherit" } as const;
      child = new Deno.Command(python, { args, ...pipes }).spawn();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : cause;
      throw new UserError(`--python ${python} cannot be run: ${why}. ${setUp}`);
    }
    const lines = linesOf(child.stdout);
    const peer = new TransformersProcess(python, child, lines, child.stdin.getWriter());
    const { name, threads: used, torch, transformers } = await peer.#line() as Greeting;
    const where = used === null ? name : `${name}, ${used} threads`;
    peer.description = `transformers ${transformers}, PyTorch ${torch}, on ${where}`;
    return peer;
  }

  /** @throws UserError when the process has ended */
  async ask(request: PeerRequest): Promise<PeerAnswer> {
    await this.input.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`));
    return await this.#line() as PeerAnswer;
  }

  async #line(): Promise<unknown> {
    const { value, done } = await this.lines.next();
    if (!done) return JSON.parse(value);
    const { code } = await this.child.status;
    throw new UserError(
      `bench/peers/transformers_model.py ended with ${code} under ${this.python}; what it said is above. ` +
        setUp,
    );
  }

  /** Ends the process. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // It may have ended by itself, and then takes no end of its input.
    await this.input.close().catch(() => {});
    await this.child.status;
  }
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
