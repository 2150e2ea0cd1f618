import assert from "node:assert/strict";
import { readAccess } from "../../src/hub/access.ts";
import { FakeHub } from "./fake_hub.ts";
import { modelFiles, namesIn, pullFrom, type PullSettings, withFolder } from "./pull_from.ts";

/** Fetching must fail with one message for the user and leave nothing. */
async function assertRefused(
  hub: FakeHub,
  message: RegExp,
  settings: Partial<PullSettings> = {},
): Promise<void> {
  await withFolder(async (folder) => {
    await assert.rejects(pullFrom(hub, { folder, ...settings }), (error: Error) => {
      assert.equal(error.name, "UserError", error.stack);
      assert.match(error.message, message);
      return true;
    });
    assert.deepEqual(namesIn(folder), []);
    assert.throws(() => Deno.statSync(folder), Deno.errors.NotFound);
  });
}

function answer(status: number, code: string | null = null): Response {
  const headers = code === null ? undefined : { "x-error-code": code };
  return new Response("no", { status, headers });
}

Deno.test("refusals: an unknown repository, with and without a reason", async () => {
  await using hub = new FakeHub("owner/none", {});
  hub.intercept = () => answer(404, "RepoNotFound");
  await assertRefused(hub, /There is no model owner\/none .* add --dataset/);
  hub.intercept = () => answer(401); // as the Hub answers those without a token
  await assertRefused(hub, /There is no model owner\/none .* set HF_TOKEN/);
});

Deno.test("refusals: an unknown revision", async () => {
  await using hub = new FakeHub("owner/small", modelFiles());
  hub.intercept = () => answer(404, "RevisionNotFound");
  await assertRefused(hub, /has no revision old; expected a branch, tag or commit/, {
    revision: "old",
  });
});

Deno.test("refusals: a gated repository, which can be listed", async () => {
  await using hub = new FakeHub("owner/small", modelFiles());
  hub.intercept = ({ url }) => url.includes("/resolve/") ? answer(401, "GatedRepo") : null;
  const page = `${hub.endpoint}/owner/small`;
  await assertRefused(hub, new RegExp(`gated .* at ${page}, then set HF_TOKEN`));
  hub.intercept = ({ url }) => url.includes("/resolve/") ? answer(403, "GatedRepo") : null;
  const settings = { token: "secret", patterns: ["*.safetensors"] };
  await assertRefused(hub, /gated .* with the account that HF_TOKEN belongs to/, settings);
});

Deno.test("refusals: a token that is not valid", async () => {
  await using hub = new FakeHub("owner/small", modelFiles());
  hub.intercept = () => answer(401);
  await assertRefused(hub, /does not accept the token .*settings\/tokens/, { token: "old" });
});

Deno.test("refusals: a wrong hash; the file is removed", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    hub.wrongHashes.set("model.safetensors", "0".repeat(64));
    await assert.rejects(
      pullFrom(hub, { folder }),
      /model\.safetensors of owner\/small arrived with sha256 \w{64}; the Hub lists 0{64}/,
    );
    assert.deepEqual(namesIn(folder).filter((name) => name.startsWith("model")), []);
  });
});

Deno.test("refusals: more bytes than listed", async () => {
  await using hub = new FakeHub("owner/small", { "a.gguf": "short" });
  hub.misbehave = () => new Response("longer than it should be");
  await withFolder(async (folder) => {
    const pulled = pullFrom(hub, { folder, patterns: ["a.gguf"] });
    await assert.rejects(pulled, /is longer than the 5 bytes/);
    assert.deepEqual(namesIn(folder), [".pulled.json"]);
  });
});

const outside = [
  "../evil.json",
  "/etc/evil.json",
  "a/../../evil.json",
  "a\\..\\evil.json",
  "./a.json",
];
for (const path of outside) {
  Deno.test(`refusals: a file that would lie outside the folder: ${path}`, async () => {
    await using hub = new FakeHub("owner/rows", { [path]: "{}" }, "dataset");
    await assertRefused(hub, /would lie outside the folder; nothing was fetched/, {
      kind: "dataset",
      patterns: [path],
    });
    assert.deepEqual(hub.asked, []);
  });
}

Deno.test("refusals: names that are kept", async () => {
  await using hub = new FakeHub("owner/rows", { ".pulled.json": "{}", "a.json.part": "" });
  await assertRefused(hub, /\.pulled\.json; that name is kept/, { patterns: [".pulled.json"] });
  await assertRefused(hub, /a\.json\.part; that name is kept/, { patterns: ["a.json.part"] });
});

Deno.test("refusals: programs, of which nothing is fetched", async () => {
  const names = ["a.ts", "code/B.MJS", "modeling_x.py", "run.sh", "a.wasm"];
  const files = Object.fromEntries(names.map((name) => [name, "1"]));
  await using hub = new FakeHub("owner/small", { ...files, "notes.txt": "" });
  for (const name of names) {
    await assertRefused(hub, new RegExp(`a program ${name}; only data`), { patterns: [name] });
  }
  await assertRefused(hub, /a program a\.ts; .*--file/, { patterns: ["*"] });
  assert.deepEqual(hub.asked, []);
});

Deno.test("refusals: a listing without sizes, or none at all", async () => {
  await using hub = new FakeHub("owner/small", {});
  const sha = hub.commit;
  hub.intercept = () => Response.json({ sha, siblings: [{ rfilename: "a.gguf" }] });
  await assertRefused(hub, /lacks the size or the hash of a\.gguf/, { patterns: ["a.gguf"] });
  hub.intercept = () => Response.json({ hello: "world" });
  await assertRefused(hub, /answered something else .*Is HF_ENDPOINT right\?/);
  hub.intercept = () => new Response("<html>");
  await assertRefused(hub, /did not answer in JSON/);
});

Deno.test("refusals: no server", async () => {
  const hub = new FakeHub("owner/small", {});
  await hub[Symbol.asyncDispose]();
  const pauses: number[] = [];
  await assertRefused(hub, /127\.0\.0\.1:\d+ cannot be reached: .*Check the network/, { pauses });
  assert.deepEqual(pauses, []);
});

Deno.test("refusals: HF_ENDPOINT that is no address", () => {
  assert.throws(() => readAccess({ HF_ENDPOINT: "hub.local" }), /HF_ENDPOINT is hub\.local/);
  assert.throws(() => readAccess({ HF_ENDPOINT: "file:///x" }), /expected an address/);
});

Deno.test("refusals: a file where the folder should be", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    Deno.writeTextFileSync(folder, "a file");
    await assert.rejects(pullFrom(hub, { folder }), /cannot be written.*--to/);
    assert.equal(Deno.readTextFileSync(folder), "a file");
  });
});
