/** `./tango test` on files of its own, as a process. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";

const files: Readonly<Record<string, string>> = {
  "passes.test.ts": `Deno.test("one", () => {}); Deno.test("two", () => {});`,
  "fails.test.ts":
    `Deno.test("three", () => {}); Deno.test("four", () => { throw new Error("five"); });`,
  "breaks.test.ts": `throw new Error("six");`,
  "waits.test.ts": `Deno.test("seven", async () => {
    Deno.writeTextFileSync(import.meta.resolve("./started").slice(7), String(Deno.pid));
    await new Promise((resolve) => setTimeout(resolve, 1e9));
  });`,
  "untyped.test.ts": `const word: number = "eight"; Deno.test(String(word), () => {});`,
};

/** Hands `body` a folder with some of the files. */
async function withFiles(
  names: readonly string[],
  body: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = Deno.makeTempDirSync();
  for (const name of names) Deno.writeTextFileSync(join(folder, name), files[name]);
  try {
    await body(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const testCommand = (...args: string[]) =>
  new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-check", "src/cli/main.ts", "test", ...args],
    cwd: PROJECT_FOLDER,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });

async function run(...args: string[]): Promise<{ code: number; printed: string }> {
  const { code, stdout } = await testCommand(...args).output();
  return { code, printed: new TextDecoder().decode(stdout) };
}

Deno.test("test: files in two lanes, those that fail in whatever way by name, and one closing line", async () => {
  const names = ["passes", "fails", "breaks", "untyped"].map((name) => `${name}.test.ts`);
  await withFiles(names, async (folder) => {
    const { code, printed } = await run("--jobs", "2", folder);
    assert.equal(code, 1);
    assert.match(printed, /\n4 passed, 3 failed\n$/);
    for (const failed of ["types", "fails.test.ts", "breaks.test.ts"]) {
      assert.match(printed, new RegExp(`^failed: \\S*${failed} \\(exit code 1\\)$`, "m"));
    }
    assert.match(printed, /^failed: \S*fails\.test\.ts .*\n {2}four => [^]*\n {2}error: /m);
    for (const said of [/Type 'string' is not assignable/, /five/, /six/]) {
      assert.match(printed, said);
    }
    // What a file says stays together.
    assert.match(
      printed,
      /^running 2 tests from \S*passes\.test\.ts\none \.\.\. ok .*\ntwo \.\.\. /m,
    );
    const chosen = await run(folder, "--filter", "three");
    assert.match(chosen.printed, /^three \.\.\. ok/m);
    assert.match(chosen.printed, /\n1 passed, 2 failed\n$/);
  });
});

Deno.test("test: --fail-fast ends what runs beside the failure, and begins nothing more", async () => {
  await withFiles(["fails.test.ts", "waits.test.ts"], async (folder) => {
    const { code, printed } = await run("--jobs", "2", "--fail-fast", folder);
    assert.equal(code, 1);
    assert.match(printed, /\n1 passed, 1 failed\n$/);
  });
});

Deno.test("test: Ctrl-C ends the processes of the tests too", async () => {
  await withFiles(["waits.test.ts", "passes.test.ts"], async (folder) => {
    const started = join(folder, "started");
    using watcher = Deno.watchFs(folder);
    const command = testCommand("--jobs", "2", folder).spawn();
    let pid = 0;
    for await (const { paths } of watcher) {
      if (paths.includes(started)) pid = Number(Deno.readTextFileSync(started));
      if (pid > 0) break;
    }
    command.kill("SIGINT");
    await command.stdout.cancel();
    await command.stderr.cancel();
    assert.equal((await command.status).code, 130);
    assert.throws(() => Deno.kill(pid, "SIGCONT"), Deno.errors.NotFound);
  });
});
