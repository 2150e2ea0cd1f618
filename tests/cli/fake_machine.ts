import { join } from "node:path";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";

/** What a launch printed, standard output first, and its exit code. */
export interface Launch {
  readonly code: number;
  readonly output: string;
}

const TOOLS =
  "sh sed uname dirname cat head tail grep id stat cp mv rm mkdir ls sort mktemp flock env chmod tee"
    .split(" ");

/** Places of the system that the launcher looks at; a fake machine has its own. */
const SYSTEM_PATHS = /(?<![\w$}"])\/(?=(?:etc|usr|sbin|dev\/(?:dri|nvidia|dxg))\b)/g;

/**
 * A folder with a copy of the launcher, a PATH of basic tools and fake programs, and a system root: in the copy, the
 * absolute paths of the system lead into that root.
 */
export class FakeMachine {
  readonly folder = Deno.makeTempDirSync();
  readonly #bin = join(this.folder, "bin");
  /** Folder of the project with the launcher. */
  project = join(this.folder, "project");

  constructor() {
    Deno.mkdirSync(this.#bin);
    Deno.mkdirSync(join(this.project, "node_modules"), { recursive: true });
    for (const tool of TOOLS) this.#link(tool);
    this.#copyLauncher("tango", (text) => text);
    Deno.mkdirSync(join(this.project, "src/cli/launcher"), { recursive: true });
    for (const { name } of Deno.readDirSync(join(PROJECT_FOLDER, "src/cli/launcher"))) {
      this.#copyLauncher(
        `src/cli/launcher/${name}`,
        (text) => text.replaceAll(SYSTEM_PATHS, `${this.system}/`),
      );
    }
  }

  /** Root of the fake system. */
  get system(): string {
    return join(this.folder, "system");
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.folder, { recursive: true });
  }

  /** Puts a shell script on the PATH, in place of any other program of this name. */
  program(name: string, script: string): void {
    const path = join(this.#bin, name);
    // A link to the real program must not be written through.
    const beside = `${path}.new`;
    Deno.writeTextFileSync(beside, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    Deno.renameSync(beside, path);
  }

  /** Writes a file of the fake system. */
  systemFile(path: string, text = ""): void {
    const file = join(this.system, path);
    Deno.mkdirSync(join(file, ".."), { recursive: true });
    Deno.writeTextFileSync(file, text);
  }

  /** Text of a file of the project, or null. */
  read(path: string): string | null {
    try {
      return Deno.readTextFileSync(join(this.project, path));
    } catch {
      return null;
    }
  }

  async launch(args: readonly string[], environment: Record<string, string> = {}): Promise<Launch> {
    const { code, stdout, stderr } = await new Deno.Command(join(this.project, "tango"), {
      args: [...args],
      env: { PATH: this.#bin, HOME: this.folder, ...environment },
      clearEnv: true,
    }).output();
    const decoder = new TextDecoder();
    return { code, output: decoder.decode(stdout) + decoder.decode(stderr) };
  }

  #link(tool: string): void {
    for (const folder of ["/usr/bin", "/bin", "/usr/local/bin"]) {
      try {
        Deno.statSync(join(folder, tool));
      } catch {
        continue;
      }
      Deno.symlinkSync(join(folder, tool), join(this.#bin, tool));
      return;
    }
  }

  #copyLauncher(path: string, edit: (text: string) => string): void {
    const text = Deno.readTextFileSync(join(PROJECT_FOLDER, path));
    Deno.writeTextFileSync(join(this.project, path), edit(text), { mode: 0o755 });
  }
}
