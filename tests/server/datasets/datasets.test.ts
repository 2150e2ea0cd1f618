import assert from "node:assert/strict";
import { join } from "node:path";
import { serve } from "../../../src/server/serve.ts";
import { exists } from "../../../src/platform/files/atomic_file.ts";
import { FakeHub } from "../../hub/fake_hub.ts";
import { breath, withFolder, WrittenRun } from "../written_run.ts";

/** A server with a folder for data, and who asks it. */
async function withData(
  body: (asked: {
    readonly folder: string;
    readonly send: (
      method: string,
      path: string,
      body?: string | object,
      // deno-lint-ignore no-explicit-any -- an answer in JSON, whatever is in it
    ) => Promise<{ status: number; answer: any }>;
  }) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    await using server = serve({
      ...{ hostname: "127.0.0.1", port: 0, token: null, program: "none", folders: [] },
      root: join(folder, "runs"),
      data: join(folder, "data"),
    });
    await body({
      folder,
      async send(method, path, sent) {
        await breath();
        const isText = typeof sent === "string";
        const response = await fetch(server.url + path, {
          method,
          ...(sent === undefined ? {} : {
            headers: { "content-type": isText ? "text/csv" : "application/json" },
            body: isText ? sent : JSON.stringify(sent),
          }),
        });
        const text = await response.text();
        return { status: response.status, answer: text === "" ? null : JSON.parse(text) };
      },
    });
  });
}

const CSV = "Problem,Result,How\n" + Array.from(
  { length: 40 },
  (_, i) => `What is ${i} + 1?,${i + 1},"I add. So it is \\boxed{${i + 1}}."\n`,
).join("");

Deno.test("data sets: a file is uploaded, looked at, mapped, checked, and removed", async () => {
  await withData(async ({ send, folder }) => {
    const put = await send("PUT", "/api/datasets/mine/sums.csv", CSV);
    assert.equal(put.status, 201, JSON.stringify(put.answer));
    const { datasets } = (await send("GET", "/api/datasets")).answer;
    const mine = datasets.find(({ name }: { name: string }) => name === "mine");
    assert.deepEqual(mine, {
      name: "mine",
      path: join(folder, "data/mine"),
      isOwn: true,
      bytes: CSV.length,
      files: [{ path: "sums.csv", bytes: CSV.length }],
    });
    const seen = (await send("GET", "/api/datasets/mine/preview?rows=2")).answer;
    assert.deepEqual([seen.rows, seen.isWhole, seen.first.length], [40, true, 2]);
    assert.deepEqual(seen.columns[1], { name: "Result", kinds: ["number"] });
    assert.ok(seen.formats.includes("gsm8k"), "a person may know better than what was guessed");
    // Problem is a usual name, Result is none.
    assert.deepEqual(seen.columns.map(({ name }: { name: string }) => name), [
      "Problem",
      "Result",
      "How",
    ]);
    const checked = await send("POST", "/api/datasets/mine/check", {
      file: "sums.csv",
      columns: { question: "Problem", answer: "Result", solution: "How" },
    });
    assert.equal(checked.status, 200, JSON.stringify(checked.answer));
    const { uses, errors, first, data } = checked.answer;
    assert.deepEqual([uses.train.records, uses.solutions.records, errors], [40, 40, 0]);
    assert.equal(uses.train.problem, null);
    assert.deepEqual([first[0].question, first[0].answer], ["What is 0 + 1?", "1"]);
    assert.deepEqual(data.train[0].path, join(folder, "data/mine/sums.csv"));
    assert.deepEqual(data.train[0].columns.answer, "Result");
    // It is read so from then on; what stops a run is not kept.
    const again = (await send("POST", "/api/datasets/mine/check", { file: "sums.csv" })).answer;
    assert.deepEqual(again.data, data);
    assert.deepEqual(again.uses, uses);
    const mapped = (await send("GET", "/api/datasets/mine/preview?file=sums.csv")).answer;
    assert.deepEqual([mapped.mapping, mapped.problem], [
      { format: null, columns: data.train[0].columns },
      null,
    ]);
    const whole = (await send("GET", "/api/datasets/mine/preview")).answer;
    assert.equal(whole.mapping?.columns.answer, undefined, "of all files nobody has said it");
    const wrong = await send("POST", "/api/datasets/mine/check", {
      columns: { question: "Problem", answer: "None" },
    });
    assert.equal(wrong.answer.errors, 40);
    assert.match(wrong.answer.firstErrors[0], /sums.csv:2.*"None"/);
    assert.match(wrong.answer.uses.train.problem, /No row can be used/);
    const now = await send("POST", "/api/datasets/mine/check", { file: "sums.csv" });
    assert.deepEqual(now.answer.data, data);
    assert.equal((await send("DELETE", "/api/datasets/mine")).status, 204);
    assert.equal((await send("GET", "/api/datasets/mine/preview")).status, 404);
    // Another one of that name is not read as the one that has gone.
    await send("PUT", "/api/datasets/mine/sums.csv", CSV);
    const anew = (await send("GET", "/api/datasets/mine/preview?file=sums.csv")).answer;
    assert.equal(anew.mapping?.columns.answer, undefined);
  });
});

Deno.test("data sets: pairs of a better and a worse response are told from solutions", async () => {
  await withData(async ({ send }) => {
    const rows = Array.from({ length: 40 }, (_, i) => ({
      prompt: `What is ${i} + 1?`,
      chosen: `${i + 1}`,
      rejected: i === 7 ? `${i + 1}` : `${i + 2}`,
    }));
    const lines = rows.map((row) => JSON.stringify(row)).join("\n");
    assert.equal((await send("PUT", "/api/datasets/mine/pairs.jsonl", lines)).status, 201);
    const { uses, first, data } =
      (await send("POST", "/api/datasets/mine/check", { file: "pairs.jsonl" })).answer;
    assert.deepEqual([uses.solutions.records, uses.pairs.records, uses.train.records], [40, 39, 0]);
    assert.match(uses.pairs.dropped[0].reason, /both responses are equal/);
    assert.deepEqual([first[0].solution, first[0].rejected], ["1", "2"]);
    assert.equal(data.train[0].columns.rejected, "rejected");
  });
});

Deno.test("data sets: what is no data, is there already, or is in use is refused, and nothing is left of it", async () => {
  await withData(async ({ send, folder }) => {
    assert.equal((await send("PUT", "/api/datasets/mine/a.csv", CSV)).status, 201);
    for (
      const [method, path, body, status] of [
        ["PUT", "/api/datasets/mine/a.csv", "q,a\n1,2\n", 409],
        ["PUT", "/api/datasets/mine/reward.ts", "export default 1", 422],
        ["PUT", "/api/datasets/mine/.hidden.csv", CSV, 422],
        ["PUT", "/api/datasets/mine/..%2Fa.csv", CSV, 422],
        ["PUT", "/api/datasets/..%2Fmine/a.csv", CSV, 422],
        ["PUT", "/api/datasets/short-word-problems/a.csv", CSV, 409],
        ["PUT", "/api/datasets/mine/b.csv", undefined, 400],
        ["GET", "/api/datasets/none/preview", undefined, 404],
        ["GET", "/api/datasets/mine/preview?file=../a.csv", undefined, 404],
        ["POST", "/api/datasets/mine/check", { format: "gsm8k", columns: { question: "q" } }, 422],
        ["POST", "/api/datasets/mine/check", { columns: { answer: "Result" } }, 422],
        ["DELETE", "/api/datasets/short-word-problems", undefined, 409],
      ] as const
    ) {
      const found = await send(method, path, body);
      assert.equal(found.status, status, `${method} ${path} ${JSON.stringify(found.answer)}`);
    }
    assert.equal(Deno.readTextFileSync(join(folder, "data/mine/a.csv")), CSV);
    const replaced = await send("PUT", "/api/datasets/mine/a.csv?replace=true", "q,a\n1,2\n");
    assert.equal(replaced.answer.bytes, 8);
    assert.deepEqual([...Deno.readDirSync(join(folder, "data/.arriving"))], []);
    const broken = await send("PUT", "/api/datasets/bad/b.csv", 'question,answer\n1,2,3\n"');
    assert.equal(broken.status, 201);
    const { status, answer } = await send("GET", "/api/datasets/bad/preview");
    assert.deepEqual([status, answer.detail.includes("b.csv:2")], [422, true]);

    const run = new WrittenRun(join(folder, "runs"), "one", {
      data: { train: [{ path: join(folder, "data/mine/a.csv") }] },
    });
    run.event({ type: "started", step: 0, total: 5, ranks: 1 });
    while ((await send("GET", "/api/runs/one")).status !== 200);
    // Nobody runs it.
    assert.equal((await send("DELETE", "/api/datasets/mine?file=a.csv")).status, 204);
  });
});

Deno.test("data sets: one is fetched from the Hub, read, and kept apart from a person's own", async () => {
  await withData(async ({ send, folder }) => {
    const files = { "main/train.csv": CSV, "other/train.csv": CSV, "loader.py": "print(1)" };
    await using hub = new FakeHub("owner/sums", files, "dataset");
    Deno.env.set("HF_ENDPOINT", hub.endpoint);
    try {
      const until = async (id: string) => {
        for (;;) {
          const { answer } = await send("GET", "/api/datasets");
          const pull = answer.pulls.find((pull: { id: string }) => pull.id === id);
          if (pull.state !== "running") return { pull, answer };
        }
      };
      const fetching = (body: object) => send("POST", "/api/datasets/pull", body);
      const begun = await fetching({ id: "owner/sums", files: ["main/*"] });
      const path = join(folder, "data/sums");
      assert.deepEqual([begun.status, begun.answer.path], [202, path]);
      const { pull, answer } = await until("owner/sums");
      assert.deepEqual([pull.state, pull.arrived, pull.error], ["done", CSV.length, null]);
      const found = answer.datasets.find(({ name }: { name: string }) => name === "sums");
      assert.deepEqual([found.path, found.isOwn, found.files], [
        ...[path, true],
        [{ path: "main/train.csv", bytes: CSV.length }],
      ]);
      const columns = { question: "Problem", answer: "Result" };
      const checked = await send("POST", "/api/datasets/sums/check", { columns });
      assert.equal(checked.answer.uses.train.records, 40);
      // Without names what can be read comes, and a script never.
      await fetching({ id: "owner/sums" });
      assert.equal((await until("owner/sums")).pull.arrived, CSV.length);
      assert.deepEqual([...Deno.readDirSync(path)].map(({ name }) => name).sort(), [
        ...[".pulled.json", "main", "other"],
      ]);
      await fetching({ id: "owner/sums", files: ["*.py"] });
      assert.match((await until("owner/sums")).pull.error, /lists a program loader\.py/);
      assert(!exists(join(path, "loader.py")));
      await send("PUT", "/api/datasets/mine/sums.csv", CSV);
      for (const id of ["owner/mine", "owner/short-word-problems", "../mine", "/etc"]) {
        const { status, answer } = await fetching({ id });
        assert.deepEqual([status, answer.field], [id.startsWith("owner") ? 409 : 422, "id"], id);
      }
      assert.equal((await send("DELETE", "/api/datasets/sums")).status, 204);
    } finally {
      Deno.env.delete("HF_ENDPOINT");
    }
  });
});
