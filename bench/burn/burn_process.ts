import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findVulkanDrivers } from "../../src/platform/gpus/vulkan_drivers.ts";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { exists } from "../../src/platform/files/atomic_file.ts";
import { UserError } from "../../src/base/user_error.ts";
import { LineProcess, type LineProcessOptions } from "../line_process.ts";
import type { ModelShape } from "../shapes.ts";

/** What bench/peers/burn is asked; its src says what each means. Paths are of files of little-endian numbers. */
export type BurnRequest =
  | {
    readonly do: "product";
    readonly layout: string;
    readonly m: number;
    readonly n: number;
    readonly k: number;
    readonly a: string;
    readonly b: string;
    readonly result: string;
  }
  | {
    readonly do: "training_step";
    readonly model: ModelShape;
    readonly weights: readonly {
      readonly name: string;
      readonly rows: number;
      readonly columns: number;
      readonly path: string;
    }[];
    readonly sequences: number;
    readonly tokens: number;
    readonly tokensFile: string;
    readonly oldLogProbsFile: string;
    readonly clipLow: number;
    readonly clipHigh: number;
    readonly entropyCoefficient: number;
    readonly learningRate: number;
    readonly epsilon: number;
    readonly weightDecay: number;
    readonly maxGradientNorm: number;
  }
  | { readonly do: "run"; readonly times: number };

/** What it answers, each field with the requests that give it. */
export interface BurnAnswer {
  readonly losses: readonly number[];
  readonly gradient_norms: readonly number[];
  readonly seconds: number;
}

interface Greeting {
  readonly adapter: string;
  readonly driver: string;
  readonly burn: string;
}

/** Where cargo puts what it builds. */
const target = join(PROJECT_FOLDER, ".tango/burn");

/** A process of burn that prepares work and does it when it is asked. */
export class BurnProcess {
  private constructor(
    private readonly process: LineProcess,
    /** The adapter it runs on, by its name. */
    readonly adapter: string,
    /** What it runs on, in words. */
    readonly description: string,
  ) {}

  /**
   * Builds it, which takes minutes the first time, and starts it.
   *
   * @param software whether it is to run on the software driver, as we do
   * @throws UserError when there is no cargo, or it does not build
   */
  static async start(
    cargo: string,
    { software }: { readonly software: boolean },
  ): Promise<BurnProcess> {
    build(cargo);
    const process = LineProcess.start(...launch(software ? ["--cpu"] : []));
    const { adapter, driver, burn } = await process.greeting() as Greeting;
    return new BurnProcess(
      process,
      adapter,
      `burn ${burn}, wgpu backend, on ${adapter} (${driver})`,
    );
  }

  /** @throws UserError when the process has ended */
  async ask(request: BurnRequest): Promise<BurnAnswer> {
    return await this.process.ask(request) as BurnAnswer;
  }

  /** Ends the process. */
  async close(): Promise<void> {
    await this.process.close();
  }
}

const advice = "It takes Rust 1.95 or newer (https://rustup.rs), and for its first build a network";

function build(cargo: string): void {
  const manifest = fileURLToPath(new URL("../peers/burn/Cargo.toml", import.meta.url));
  const args = ["build", "--release", "--locked", "--manifest-path", manifest];
  let code: number;
  try {
    const command = new Deno.Command(cargo, {
      args: [...args, "--target-dir", target],
      stdout: "inherit",
      stderr: "inherit",
    });
    ({ code } = command.outputSync());
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : cause;
    throw new UserError(`--cargo ${cargo} cannot be run: ${why}. ${advice}`);
  }
  if (code === 0) return;
  throw new UserError(
    `${cargo} build of bench/peers/burn ended with ${code}; what it said is above. ${advice}`,
  );
}

/**
 * How it is started. The launcher's software driver comes with a C library newer than the system's, which Deno runs
 * with: so must this.
 */
function launch(options: readonly string[]): [command: string, LineProcessOptions] {
  const program = join(target, "release/burn-peer");
  const { loader } = findVulkanDrivers((name) => Deno.env.get(name));
  const folder = loader === null ? null : dirname(loader);
  const linker = folder && join(folder, "ld-linux-x86-64.so.2");
  const common = { option: program, program: "bench/peers/burn", advice };
  if (folder === null || linker === null || !exists(linker) || !folder.includes(".tango")) {
    return [program, { args: options, ...common }];
  }
  return [linker, { args: ["--library-path", folder, program, ...options], ...common }];
}
