import assert from "node:assert/strict";
import { exists } from "../../../src/platform/files/atomic_file.ts";
import { identify, isAlive, killProcess } from "../../../src/platform/process/process_identity.ts";
import { fromPs, processStart } from "../../../src/platform/process/process_start.ts";

/** A bare Debian has none. */
const hasPs = ["/bin/ps", "/usr/bin/ps"].some(exists);

const sleep = () => new Deno.Command("sleep", { args: ["60"] }).spawn();

for (const [name, start] of [["this system's way", processStart], ["ps", fromPs]] as const) {
  const ignore = start === fromPs && !hasPs;
  Deno.test(
    `${name} tells a process that goes on from one that has ended`,
    { ignore },
    async () => {
      const child = sleep();
      const told = start(child.pid);
      assert.match(told ?? "", /\d/);
      assert.equal(start(child.pid), told);
      child.kill("SIGKILL");
      await child.status;
      assert.equal(start(child.pid), null);
    },
  );
}

Deno.test(
  "ps says when this process was started, whatever the language",
  { ignore: !hasPs },
  () => {
    assert.match(fromPs(Deno.pid) ?? "", /^[A-Z][a-z]{2} [A-Z][a-z]{2} \d+ \d\d:\d\d:\d\d \d{4}$/);
  },
);

Deno.test("a process is found and ended by what identifies it, and no other that has its number", async () => {
  const child = sleep();
  const identity = identify(child.pid);
  const other = { ...identity, started: "another time" };
  assert.ok(isAlive(identity) && !isAlive(other) && !isAlive({ ...identity, place: "elsewhere" }));
  killProcess(other);
  assert.ok(isAlive(identity));
  killProcess(identity);
  assert.equal((await child.status).signal, "SIGKILL");
  assert.ok(!isAlive(identity));
});
