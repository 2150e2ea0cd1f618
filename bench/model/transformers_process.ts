import { fileURLToPath } from "node:url";
import { LineProcess } from "../line_process.ts";

/** The number formats that transformers is measured in. */
export const peerTypes = ["f32", "bf16"] as const;
export type PeerType = (typeof peerTypes)[number];

/** What bench/peers/transformers_model.py is asked; its head says what each means. */
export type PeerRequest =
  & { readonly dtype: PeerType }
  & (
    | { readonly do: "log_probs"; readonly tokens: readonly number[][] }
    | { readonly do: "sample"; readonly prompts: readonly number[][]; readonly new_tokens: number }
    | {
      readonly do: "train";
      readonly tokens: readonly number[][];
      readonly adapter: string | null;
      readonly scale: number;
    }
  );

/** What it answers, each field with the requests that give it. */
export interface PeerAnswer {
  readonly log_probs: readonly (readonly number[])[];
  readonly seconds: number;
  readonly cache: string;
  readonly loss: number;
  readonly gradient_norm: number;
}

interface Greeting {
  readonly name: string;
  readonly threads: number | null;
  readonly torch: string;
  readonly transformers: string;
}

/** A process of transformers that holds the model and measures itself when it is asked. */
export class TransformersProcess {
  private constructor(
    private readonly process: LineProcess,
    /** What it runs on, in words. */
    readonly description: string,
  ) {}

  /**
   * Starts it.
   *
   * @param folder of the model, as `export` writes it in float32
   * @param cpu whether it is to leave a GPU alone
   * @throws UserError when Python, PyTorch or transformers is missing
   */
  static async start(
    python: string,
    folder: string,
    { cpu }: { readonly cpu: boolean },
  ): Promise<TransformersProcess> {
    const program = "bench/peers/transformers_model.py";
    const script = fileURLToPath(new URL("../peers/transformers_model.py", import.meta.url));
    const threads = `${navigator.hardwareConcurrency}`;
    const process = LineProcess.start(python, {
      args: [script, folder, "--threads", threads, ...(cpu ? ["--device", "cpu"] : [])],
      option: `--python ${python}`,
      program,
      advice: "It needs PyTorch and transformers: python3 -m venv .venv && .venv/bin/pip install " +
        "-r bench/peers/requirements.txt, then --peer --python .venv/bin/python",
    });
    const { name, threads: used, torch, transformers } = await process.greeting() as Greeting;
    const where = used === null ? name : `${name}, ${used} threads`;
    const description = `transformers ${transformers}, PyTorch ${torch}, on ${where}`;
    return new TransformersProcess(process, description);
  }

  /** @throws UserError when the process has ended */
  async ask(request: PeerRequest): Promise<PeerAnswer> {
    return await this.process.ask(request) as PeerAnswer;
  }

  /** Ends the process. */
  async close(): Promise<void> {
    await this.process.close();
  }
}
