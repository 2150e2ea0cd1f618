import assert from "node:assert/strict";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";

Deno.test("without naga one message says what to type, and the exit code is 2", async () => {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "src/cli/main.ts", "translate"],
    cwd: PROJECT_FOLDER,
    env: { PATH: "/nonexistent" },
    stdin: "null",
  }).output();
  const said = new TextDecoder().decode(stderr);
  assert.equal(code, 2, said);
  assert.match(said, /cargo install naga-cli/);
  assert.doesNotMatch(said, /\n {4}at /);
});

Deno.test("without dxc, --dxc is refused before anything is translated", async () => {
  const folder = Deno.makeTempDirSync();
  try {
    const naga = `${folder}/naga`;
    Deno.writeTextFileSync(naga, "#!/bin/sh\necho 30.0.1\n");
    Deno.chmodSync(naga, 0o755);
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "src/cli/main.ts", "translate", "--dxc", "--filter", "rmsnorm"],
      cwd: PROJECT_FOLDER,
      env: { PATH: folder },
      stdin: "null",
    }).output();
    const said = new TextDecoder().decode(stderr);
    assert.equal(code, 2, said);
    assert.match(said, /no dxc on the path/);
    assert.equal(new TextDecoder().decode(stdout), "");
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
