/** A process of the command line that has said what was waited for. */
export interface Tango {
  readonly pid: number;
  readonly printed: string;
  readonly child: Deno.ChildProcess;
}

/**
 * Starts `tango` with arguments.
 *
 * @param wanted what it prints when it is ready
 * @param profile a folder for V8's profile of where its time goes
 */
export async function startTango(
  args: readonly string[],
  wanted: RegExp,
  profile?: string,
): Promise<Tango> {
  const flags = profile === undefined ? [] : [`--cpu-prof`, `--cpu-prof-dir=${profile}`];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", ...flags, "src/cli/main.ts", ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  void (async () => {
    let printed = "";
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      printed += text;
      const found = wanted.exec(printed)?.[0];
      if (found !== undefined) resolve(found);
    }
    reject(new Error(`tango ${args.join(" ")} ended: ${printed}`));
  })();
  return { pid: child.pid, printed: await promise, child };
}

/** Ends it as Ctrl-C does. */
export async function stopTango({ child }: Tango): Promise<void> {
  child.kill("SIGINT");
  await child.status;
}
