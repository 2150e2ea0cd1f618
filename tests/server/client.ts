/** A server that starts real processes, and who asks it. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { RunView } from "../../src/server/runs/run_view.ts";
import { type RunningServer, serve } from "../../src/server/serve.ts";
import { tinyArchitecture } from "../run/tiny_architecture.ts";
import { breath, withFolder } from "./written_run.ts";

/** The command line. */
export const program = fileURLToPath(import.meta.resolve("../../src/cli/main.ts"));

/** More steps than a test ever waits for. */
export const ENDLESS = 1_000_000;

/** Fine-tuning of a model so small that a step takes milliseconds. */
export const configuration = {
  policy: "generator",
  architecture: tinyArchitecture,
  batch_size: 2,
  schedule: { test_frequency: ENDLESS },
  max_response_length: 10,
  evaluation: { problems: 2 },
  tuning: "default",
};

/** What a client sees of a server. */
export class Client {
  constructor(readonly url: string) {}

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    await breath();
    const response = await fetch(this.url + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, answer: text === "" ? null : JSON.parse(text) };
  }

  async start(steps: number, others: object = {}): Promise<RunView> {
    const body = { kind: "sft", configuration, steps, ...others };
    const { status, answer } = await this.send("POST", "/api/runs", body);
    assert.equal(status, 202, JSON.stringify(answer));
    return answer;
  }

  /** Asks a run for something that it does. */
  async act(id: string, action: string): Promise<void> {
    const { status, answer } = await this.send("POST", `/api/runs/${id}/${action}`);
    assert.equal(status, 202, JSON.stringify(answer));
  }

  /** Waits until a run is in one of some states. */
  async until(id: string, ...states: readonly RunView["state"][]): Promise<RunView> {
    for (;;) {
      const { answer } = await this.send("GET", `/api/runs/${id}`);
      if (states.includes(answer.state)) return answer;
      const isOver = ["failed", "killed", "lost", "finished", "stopped"].includes(answer.state);
      // A run that is gone on with is over until its process begins.
      const isAwaited = states.includes("running");
      assert.ok(!isOver || (isAwaited && answer.state !== "failed"), JSON.stringify(answer));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** @param folders that configurations may lead into */
export function open(
  root: string,
  folders: readonly string[] = ["configs", "weights"],
): { readonly server: RunningServer; readonly client: Client } {
  const server = serve({
    ...{ hostname: "127.0.0.1", port: 0, token: null, root, program },
    folders,
  });
  return { server, client: new Client(server.url) };
}

/** A server that is asked to start runs; none of them outlives the test. */
export async function withServer(
  body: (client: Client, root: string) => Promise<void>,
  folders?: readonly string[],
): Promise<void> {
  await withFolder(async (root) => {
    const { server, client } = open(root, folders);
    try {
      await body(client, root);
    } finally {
      await killAll(client);
      await server[Symbol.asyncDispose]();
    }
  });
}

/** Ends all runs. */
export async function killAll(client: Client): Promise<void> {
  const { answer } = await client.send("GET", "/api/runs");
  // The runs of a comparison end with it.
  for (const { id } of answer.runs) await client.send("POST", `/api/runs/${id}/kill`);
  const going = ["waiting", "starting", "running", "paused", "stopping"];
  for (const { id } of answer.runs) {
    while (going.includes((await client.send("GET", `/api/runs/${id}`)).answer.state)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
