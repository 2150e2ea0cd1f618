import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { FakeMachine, type Launch } from "./fake_machine.ts";

/** A launch on a machine with nothing but the given programs. */
async function launch(args: string[], programs: Record<string, string> = {}): Promise<Launch> {
  using machine = new FakeMachine();
  for (const [name, script] of Object.entries(programs)) machine.program(name, script);
  return await machine.launch(args);
}

const denoOf = (version: string) =>
  `[ "$1" = --version ] && echo "deno ${version} (stable)" || echo "deno $*"`;

Deno.test("launcher: its help lists exactly the tasks of deno.json", async () => {
  const { code, output } = await launch(["--help"]);
  assert.equal(code, 0);
  const listed = [...output.matchAll(/^ {2}([\w-]+) {2,}\S/gm)].map((match) => match[1]);
  const { tasks } = JSON.parse(Deno.readTextFileSync(join(PROJECT_FOLDER, "deno.json")));
  assert.deepEqual(listed.sort(), Object.keys(tasks).sort());
});

Deno.test("launcher: an unknown task is one message, exit 2", async () => {
  assert.deepEqual(await launch(["trian"]), {
    code: 2,
    output: "tango: there is no task 'trian'. ./tango --help lists them.\n",
  });
});

Deno.test("launcher: passes the task and its arguments to Deno unchanged", async () => {
  const { code, output } = await launch(["doctor", "--filter", "two words", ""], {
    deno: `[ "$1" = --version ] && echo "deno 2.9.6" || printf '[%s]' "$@"`,
  });
  assert.equal(output, "[run][-A][src/cli/main.ts][doctor][--filter][two words][]");
  assert.equal(code, 0);
});

Deno.test("launcher: ranks do not look whether the dependencies are installed", async () => {
  using machine = new FakeMachine();
  machine.program("deno", denoOf("2.9.6"));
  for (const size of ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"]) {
    const { output } = await machine.launch(["doctor"], { [size]: "4" });
    assert.equal(output, "deno run -A --node-modules-dir=manual src/cli/main.ts doctor\n");
    const alone = await machine.launch(["doctor"], { [size]: "1" });
    assert.equal(alone.output, "deno run -A src/cli/main.ts doctor\n");
  }
});

Deno.test("launcher: every task but check is the program that `deno task` would run", () => {
  const { tasks } = JSON.parse(Deno.readTextFileSync(join(PROJECT_FOLDER, "deno.json")));
  const others = Object.entries(tasks).filter(([task, line]) =>
    line !== `deno run -A src/cli/main.ts ${task}`
  );
  assert.deepEqual(others.map(([task]) => task), ["check"]);
});

Deno.test("launcher: neither Deno nor Node is one message, exit 2", async () => {
  const { code, output } = await launch(["lint"]);
  assert.equal(code, 2);
  assert.match(output, /^tango: neither Deno nor Node \(npm\) was found\. .*\n$/);
});

Deno.test("launcher: a Deno that is too old without npm to replace it is one message, exit 2", async () => {
  const { code, output } = await launch(["lint"], { deno: denoOf("2.3.1") });
  assert.equal(code, 2);
  assert.match(
    output,
    /^tango: deno 2\.3\.1 .*too old: 2\.9 or newer is needed\. Run: deno upgrade\n$/,
  );
});

Deno.test("launcher: newer versions of Deno will do", async () => {
  for (const version of ["2.9.0", "2.10.3", "3.0.0"]) {
    const { output } = await launch(["fmt"], { deno: denoOf(version) });
    assert.equal(output, "deno run -A src/cli/main.ts fmt\n", version);
  }
});

Deno.test("launcher: installs Deno from npm into .tango when there is none or only an old one", async () => {
  const npm = `
folder=.tango/node_modules/@deno/some-platform
/bin/mkdir -p $folder
printf '#!/bin/sh\\n%s\\n' '${denoOf("2.9.6")}' > $folder/deno
/bin/chmod +x $folder/deno
echo "npm $*"`;
  const cases: Record<string, string>[] = [{ npm }, { npm, deno: denoOf("1.46.0") }];
  for (const programs of cases) {
    const { code, output } = await launch(["doctor"], programs);
    assert.equal(code, 0, output);
    assert.match(output, /deno run -A src\/cli\/main\.ts doctor/);
    assert.match(output, /installing Deno 2\.9\.6 from npm into \.tango/);
    assert.match(output, /npm install --prefix \.tango .*deno@2\.9\.6/);
  }
});

Deno.test("launcher: a failed npm installation is one message, exit 2", async () => {
  const { code, output } = await launch(["doctor"], { npm: "echo no network >&2; exit 1" });
  assert.equal(code, 2);
  assert.match(output, /no network\n.*npm could not install deno@2\.9\.6/);
});
