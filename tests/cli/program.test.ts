import assert from "node:assert/strict";
import type { Command } from "commander";
import { addExamples } from "../../src/cli/examples.ts";
import { type CommandSource, EXIT } from "../../src/cli/program.ts";
import { addConfigOptions, type ConfigOptions } from "../../src/cli/run_options.ts";
import { UserError } from "../../src/base/user_error.ts";
import { runCaptured } from "./run_captured.ts";

let received: ConfigOptions | null = null;

const commands: Record<string, CommandSource> = {
  go: {
    summary: "goes",
    load: () =>
      Promise.resolve({
        register(program: Command) {
          const command = addConfigOptions(program.command("go"), "configs/default.yaml")
            .option("--fail <how>")
            .action((options: ConfigOptions & { fail?: string }) => {
              if (options.fail === "user") throw new UserError("the file is wrong");
              if (options.fail === "program") throw new Error("a bug");
              received = options;
            });
          addExamples(command, { "deno task go --seed 3": "goes with seed 3" });
        },
      }),
  },
};

const run = (...args: string[]) => runCaptured(commands, args);

Deno.test("program: options reach the command in the form that loading a configuration takes", async () => {
  const { code } = await run(
    "go",
    "--set",
    "a.b=1",
    "--set",
    "c=2",
    "--seed",
    "3",
    "--gpu",
    "dawn",
  );
  assert.equal(code, EXIT.success);
  assert.deepEqual(received, {
    config: "configs/default.yaml",
    set: ["a.b=1", "c=2"],
    seed: 3,
    gpu: "dawn",
  });
});

Deno.test("program: --help shows options and examples and succeeds", async () => {
  const { code, printed } = await run("go", "--help");
  assert.equal(code, EXIT.success);
  assert.match(printed, /--set <key=value>[^]*Examples:\n {2}deno task go --seed 3\n/);
});

Deno.test("program: without a command, and with --help, it lists the commands", async () => {
  assert.match((await run("--help")).printed, /go +goes/);
  assert.match((await run()).printed, /go +goes/);
});

Deno.test("program: wrong usage exits 2 with one message", async () => {
  for (
    const [args, message] of [
      [["gone"], /unknown command 'gone'/],
      [["go", "--sede", "1"], /unknown option '--sede'[^]*--seed/],
      [["go", "--seed", "x"], /'x' is invalid[^]*whole number/],
      [["go", "--gpu", "cuda"], /'cuda' is invalid[^]*auto, native, dawn/],
      [["go", "extra"], /too many arguments/],
    ] as const
  ) {
    const { code, printed } = await run(...args);
    assert.equal(code, EXIT.userError, args.join(" "));
    assert.match(printed, message);
  }
});

Deno.test("program: a UserError is its message and exit 2; any other error its stack and exit 1", async () => {
  const failed = await run("go", "--fail", "user");
  assert.deepEqual([failed.code, failed.printed], [EXIT.userError, "the file is wrong"]);
  const { code, printed } = await run("go", "--fail", "program");
  assert.equal(code, EXIT.failure);
  assert.match(printed, /a bug\n +at /);
});
