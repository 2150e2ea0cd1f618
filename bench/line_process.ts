import { UserError } from "../src/base/user_error.ts";

/** How a process is started, and what its errors say. */
export interface LineProcessOptions {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Names the command where it cannot be run, such as `--python python3`. */
  readonly option: string;
  /** What runs, such as `bench/peers/transformers_model.py`. */
  readonly program: string;
  /** What to do about either. */
  readonly advice: string;
}

/** A process that answers each line of JSON with one; what it says on standard error shows. */
export class LineProcess {
  #closed = false;

  private constructor(
    private readonly options: LineProcessOptions,
    private readonly child: Deno.ChildProcess,
    private readonly lines: AsyncIterator<string>,
    private readonly input: WritableStreamDefaultWriter<Uint8Array>,
  ) {}

  /** @throws UserError when there is no such command */
  static start(command: string, options: LineProcessOptions): LineProcess {
    const { args, env, option, advice } = options;
    let child: Deno.ChildProcess;
    try {
      const pipes = { stdin: "piped", stdout: "piped", stderr: "inherit" } as const;
      child = new Deno.Command(command, { args: [...args], env, ...pipes }).spawn();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : cause;
      throw new UserError(`${option} cannot be run: ${why}. ${advice}`);
    }
    return new LineProcess(options, child, linesOf(child.stdout), child.stdin.getWriter());
  }

  /**
   * What it says before it is asked.
   *
   * @throws UserError when the process has ended
   */
  async greeting(): Promise<unknown> {
    const { value, done } = await this.lines.next();
    if (!done) return JSON.parse(value);
    const { code } = await this.child.status;
    const { program, option, advice } = this.options;
    throw new UserError(
      `${program} ended with ${code} under ${option}; what it said is above. ${advice}`,
    );
  }

  /** @throws UserError when the process has ended */
  async ask(request: object): Promise<unknown> {
    // One that has ended takes nothing; that it has, the missing answer says.
    await this.input.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`)).catch(
      () => {},
    );
    return await this.greeting();
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
