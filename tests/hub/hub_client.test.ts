import assert from "node:assert/strict";
import { readAccess } from "../../src/hub/access.ts";
import { FakeHub } from "./fake_hub.ts";
import { modelFiles, pullFrom, withFolder } from "./pull_from.ts";

const busy = (status: number, retryAfter?: string) => {
  const headers = retryAfter === undefined ? undefined : { "retry-after": retryAfter };
  return new Response("later", { status, headers });
};

Deno.test("hub: the token goes to the endpoint and not where it redirects to", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    hub.intercept = ({ url }) => {
      const { pathname } = new URL(url);
      return pathname.includes("/resolve/") && !pathname.startsWith("/cdn")
        ? new Response(null, {
          status: 302,
          headers: { location: `${hub.otherHost}/cdn${pathname}` },
        })
        : null;
    };
    await pullFrom(hub, { folder, token: "secret" });
    assert.deepEqual(
      Deno.readFileSync(`${folder}/model.safetensors`),
      hub.files.get("model.safetensors"),
    );
    const redirected = hub.seen.filter(({ hostname }) => hostname === "localhost");
    assert.ok(redirected.length > 5);
    for (const { hostname, authorization } of hub.seen) {
      assert.equal(authorization, hostname === "localhost" ? null : "Bearer secret");
    }
  });
});

Deno.test("hub: a renamed repository redirects within the endpoint, with the token", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    const path = "/api/models/owner/small/revision/main";
    let redirects = 0;
    hub.intercept = ({ url }) =>
      url.includes(path) && redirects++ === 0
        ? new Response(null, { status: 307, headers: { location: `${path}?blobs=true` } })
        : null;
    await pullFrom(hub, { folder, token: "secret", patterns: ["config.json"] });
    assert.ok(hub.seen.every(({ authorization }) => authorization === "Bearer secret"));
  });
});

Deno.test("hub: redirects have an end and lead to web addresses", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", {});
    hub.intercept = ({ url }) => new Response(null, { status: 302, headers: { location: url } });
    await assert.rejects(pullFrom(hub, { folder }), /redirects more than 5 times/);
    hub.intercept = () =>
      new Response(null, { status: 302, headers: { location: "file:///etc/passwd" } });
    await assert.rejects(pullFrom(hub, { folder }), /expected a web address/);
  });
});

Deno.test("hub: a busy server is asked again, after pauses that grow", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    const answers = [busy(503), busy(429, "7"), busy(500), busy(429, "3600")];
    hub.intercept = () => answers.shift() ?? null;
    const pauses: number[] = [];
    await pullFrom(hub, { folder, pauses });
    assert.deepEqual(pauses, [1, 7, 4, 60]);
  });
});

Deno.test("hub: a server that stays busy is given up", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", {});
    hub.intercept = () => busy(503);
    const pauses: number[] = [];
    await assert.rejects(
      pullFrom(hub, { folder, pauses }),
      /The list of owner\/small: the server has a problem \(503\), 6 times in a row/,
    );
    assert.deepEqual(pauses, [1, 2, 4, 8, 16]);
  });
});

Deno.test("access: the token comes from HF_TOKEN, or from the file of the Hub's own tools", () => {
  const home = Deno.makeTempDirSync();
  try {
    assert.deepEqual(readAccess({ HOME: home }), {
      endpoint: "https://huggingface.co",
      token: null,
    });
    Deno.mkdirSync(`${home}/.cache/huggingface`, { recursive: true });
    Deno.writeTextFileSync(`${home}/.cache/huggingface/token`, "from-file\n");
    assert.equal(readAccess({ HOME: home }).token, "from-file");
    assert.equal(
      readAccess({ HOME: home, HF_TOKEN: "from-environment" }).token,
      "from-environment",
    );
    assert.equal(readAccess({ HOME: home, HF_HOME: `${home}/other` }).token, null);
    assert.equal(readAccess({ HF_ENDPOINT: "http://hub:8080/" }).endpoint, "http://hub:8080");
  } finally {
    Deno.removeSync(home, { recursive: true });
  }
});
