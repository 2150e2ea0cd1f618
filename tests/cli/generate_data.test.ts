/** `generate --config`: a teacher's solutions of tiny problems, killed and gone on with, local and behind an endpoint. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { splitOf } from "../../src/data/split.ts";
import type { KeptRow } from "../../src/run/teacher/kept_rows.ts";
import { tinyColumns, tinyData } from "../run/tiny_data.ts";
import { tinyPolicies } from "../run/tiny_policies.ts";
import { runTo as run } from "./run_captured.ts";

const rowsOf = (path: string): KeptRow[] =>
  Deno.readTextFileSync(path).split("\n").filter((line) => line !== "")
    .map((line) => JSON.parse(line));

Deno.test({
  name: "generate --config: killed and gone on with, it leaves the same file; sft reads it",
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    const folder = Deno.makeTempDirSync();
    const path = (name: string) => join(folder, name);
    const questions = tinyData(40).split("\n").map((line) => JSON.parse(line).question as string);
    const configure = (name: string, changes: object) => {
      const config = {
        data: { train: [{ path: path("problems.jsonl"), columns: tinyColumns }] },
        ...{ model: tinyPolicies.generator, answers: 3, max_response_length: 16, batch_size: 8 },
        output: path(`${name}.jsonl`),
        ...changes,
      };
      Deno.writeTextFileSync(path(`${name}.yaml`), stringify(config));
      return ["generate", "--config", path(`${name}.yaml`)];
    };
    try {
      Deno.writeTextFileSync(path("problems.jsonl"), tinyData(40));

      await test.step("what is right and in the format is kept, nothing of what is held out", async () => {
        const printed = await run(0, ...configure("whole", {}));
        const rows = rowsOf(path("whole.jsonl"));
        const [, answers, formatted, right] =
          /solutions (\d+), ended \d+, in the format (\d+), right (\d+)\n\d+ solutions/.exec(
            printed,
          )?.map(
            Number,
          ) ?? [];
        const train = questions.filter((question) => splitOf(question) === "train");
        assert.equal(answers, 3 * train.length);
        // The tiny generator solves some, and not all: else this would show nothing.
        assert.ok(right > 5 && right < answers && formatted > right, printed);
        assert.ok(rows.length > 3 && rows.length <= right, `${rows.length} rows`);
        assert.ok(rows.every(({ question }) => train.includes(question)));
        for (const { solution, solution_steps = [] } of rows) {
          const steps = [...solution.matchAll(/<step>([^]*?)<\/step>/g)].map(([, text]) => text);
          assert.deepEqual(solution_steps, steps);
        }
        const isRight = ({ answer, solution }: KeptRow) => solution.includes(`\\boxed{${answer}}`);
        assert.ok(rows.every(isRight));
        const texts = rows.map(({ question, solution }) => `${question}\n${solution}`);
        assert.equal(new Set(texts).size, texts.length, "no solution twice");
      });

      await test.step("killed twice, in a line and before the file: the same", async () => {
        const killed = configure("killed", { output: path("killed.jsonl") });
        const whole = Deno.readTextFileSync(path("whole.answers.jsonl"));
        for (const share of [0.3, 0.8]) {
          Deno.writeTextFileSync(
            path("killed.answers.jsonl"),
            whole.slice(0, Math.floor(share * whole.length)),
          );
          await run(0, ...killed);
          assert.equal(
            Deno.readTextFileSync(path("killed.answers.jsonl")),
            whole,
            "every solution by its place",
          );
          assert.deepEqual(rowsOf(path("killed.jsonl")), rowsOf(path("whole.jsonl")));
        }
        // What is kept may be chosen anew from what is there, without a GPU.
        const all = await run(0, ...killed, "--set", "keep=all", "--gpu", "native");
        assert.doesNotMatch(all, / left$/m);
        assert.ok(rowsOf(path("killed.jsonl")).length > rowsOf(path("whole.jsonl")).length);
      });

      await test.step("what was asked otherwise is not mixed", async () => {
        const other = await run(2, ...configure("whole", {}), "--set", "temperature=0.5");
        assert.match(other, /whole\.answers\.jsonl holds answers that were asked for otherwise/);
        assert.match(
          await run(2, ...configure("none", { model: null })),
          /model .*null with server/,
        );
        const train = [{ path: path("problems.jsonl"), columns: tinyColumns, weight: 2 }];
        assert.match(
          await run(2, ...configure("twice", { data: { train } })),
          /data\.train\[0\]\.weight is 2; expected 1, because each problem is solved once/,
        );
        assert.match(
          await run(2, "generate", "--set", "answers=1", "cat"),
          /name one with --config/,
        );
      });

      await test.step("fine-tuning reads it as it is", async () => {
        Deno.writeTextFileSync(path("others.jsonl"), tinyData(4, 40));
        const tuning = {
          policy: "generator",
          initial_model: tinyPolicies.generator,
          data: {
            train: [{ path: path("whole.jsonl") }],
            held_out: [{
              path: path("others.jsonl"),
              columns: { ...tinyColumns, solution: "solution" },
            }],
            validation: null,
          },
          batch_size: 2,
          schedule: { total_training_steps: 1, test_frequency: 1 },
        };
        Deno.writeTextFileSync(path("sft.yaml"), stringify(tuning));
        const printed = await run(0, "sft", "--config", path("sft.yaml"), "--run", path("sft"));
        assert.match(printed, /update 1\/1/);
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test("generate --config: a teacher behind an endpoint, which fails now and then", async (test) => {
  const folder = Deno.makeTempDirSync();
  const path = (name: string) => join(folder, name);
  const asked: {
    readonly path: string;
    readonly key: string | null;
    readonly body: Record<string, unknown>;
  }[] = [];
  let failures = 1;
  let status = 200;
  /** Question that is refused. */
  let refused = "";
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const body = await request.json();
      asked.push({
        path: new URL(request.url).pathname,
        key: request.headers.get("authorization"),
        body,
      });
      if (failures-- > 0) return new Response("busy", { status: 503 });
      if (status !== 200) return new Response("no such model", { status });
      const question = body.messages.at(-1).content as string;
      if (question === refused) return new Response("too long", { status: 400 });
      const solution = (text: string) =>
        `<think><step>${text}</step></think><answer>\\boxed{${text}}</answer>`;
      return Response.json({
        choices: [
          { message: { content: solution(question.at(-1) ?? "") }, finish_reason: "stop" },
          { message: { content: solution("wrong") }, finish_reason: "stop" },
          { message: { content: "<think>" }, finish_reason: "length" },
        ],
      });
    },
  );
  const { port } = server.addr as Deno.NetAddr;
  try {
    Deno.writeTextFileSync(path("prompt.txt"), "{{ question }}");
    const train = Array.from(
      { length: 12 },
      (_, i) => ({ question: `say ${i % 10}, ${i} ${i % 10}`, answer: `${i % 10}` }),
    );
    Deno.writeTextFileSync(
      path("problems.jsonl"),
      train.map((row) => JSON.stringify(row)).join("\n"),
    );
    const config = {
      data: {
        train: [{ path: path("problems.jsonl") }],
        held_out: [{ path: path("held.jsonl") }],
        validation: null,
      },
      server: { url: `http://127.0.0.1:${port}/v1/`, model: "wise", key_variable: "TEACHER_KEY" },
      prompt_template: path("prompt.txt"),
      ...{ chat: true, system_prompt: "Think.", answers: 3, temperature: 0.1, top_p: 0.5 },
      output: path("taught.jsonl"),
    };
    Deno.writeTextFileSync(path("held.jsonl"), JSON.stringify({ question: "held", answer: "0" }));
    Deno.writeTextFileSync(path("teacher.yaml"), stringify(config));
    const args = ["generate", "--config", path("teacher.yaml")];

    await test.step("the key is asked for", async () => {
      assert.match(await run(2, ...args), /no environment variable TEACHER_KEY/);
    });

    Deno.env.set("TEACHER_KEY", "secret");
    await test.step("every problem once more after a failure, with a seed of its own", async () => {
      const printed = await run(0, ...args);
      assert.match(printed, /solutions 36, ended 24, in the format 24, right 12/);
      assert.deepEqual(
        rowsOf(path("taught.jsonl")).map(({ question, answer }) => ({ question, answer })),
        train,
      );
      assert.equal(asked.length, 13);
      assert.ok(
        asked.every(({ path, key }) => path === "/v1/chat/completions" && key === "Bearer secret"),
      );
      const [{ body }] = asked;
      const { model, n, temperature, top_p, max_tokens } = body;
      assert.deepEqual({ model, n, temperature, top_p, max_tokens }, {
        ...{ model: "wise", n: 3, temperature: 0.1, top_p: 0.5, max_tokens: 1024 },
      });
      assert.equal(new Set(asked.map(({ body }) => body.seed)).size, 12);
      assert.ok(!Deno.readTextFileSync(path("taught.answers.jsonl")).includes("secret"));
    });

    await test.step("what was answered before one that is refused is kept, and not asked again", async () => {
      const begun = ["--set", `output=${path("begun.jsonl")}`, "--set", "server.jobs=1"];
      refused = train[7].question;
      assert.match(await run(2, ...args, ...begun), /refused the request: 400: too long/);
      refused = "";
      const before = asked.length;
      await run(0, ...args, ...begun);
      assert.equal(asked.length - before, 5);
      assert.deepEqual(rowsOf(path("begun.jsonl")), rowsOf(path("taught.jsonl")));
    });

    await test.step("what it refuses is said", async () => {
      status = 404;
      const other = ["--set", `output=${path("other.jsonl")}`];
      assert.match(await run(2, ...args, ...other), /refused the request: 404: no such model/);
    });
  } finally {
    Deno.env.delete("TEACHER_KEY");
    Deno.removeSync(folder, { recursive: true });
  }
});
