/** Two network namespaces with a cable between them stand in for two machines. */

/** Runs a command and returns whether it succeeded. */
function run(command: string): boolean {
  const [program, ...args] = command.split(" ");
  try {
    return new Deno.Command(program, { args, stdout: "null", stderr: "null" }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** A machine of `TwoHosts`. */
export interface Host {
  readonly host: string;
  readonly address: string;
  /** What runs another command there. */
  readonly command: readonly string[];
}

/** Removed with the cable, and with all that still runs there, when it is disposed of. */
export class TwoHosts implements Disposable {
  readonly hosts: readonly [Host, Host];
  readonly #names: readonly [string, string];

  /** @returns null on a machine where this process may not make any */
  static make(): TwoHosts | null {
    const names = ["a", "b"].map((end) => `tango-${Deno.pid}-${end}`) as [string, string];
    const hosts = new TwoHosts(names);
    if (names.every((name) => run(`ip netns add ${name}`)) && hosts.#connect()) return hosts;
    hosts[Symbol.dispose]();
    return null;
  }

  private constructor(names: readonly [string, string]) {
    this.#names = names;
    const [a, b] = names.map((name, i): Host => ({
      host: `host-${"ab"[i]}`,
      address: `10.213.7.${i + 1}`,
      // Names and numbers of processes are its own, too: nobody ends a process of another machine.
      command: [
        ...["ip", "netns", "exec", name, "unshare", "--uts", "--pid", "--fork", "--kill-child"],
        ...["--mount-proc", "sh", "-c"],
        'hostname "$0" && exec "$@"',
        `host-${"ab"[i]}`,
      ],
    }));
    this.hosts = [a, b];
  }

  /** Pulls the cable. */
  cut(): void {
    const [name] = this.#names;
    if (!run(`ip -n ${name} link set cable down`)) throw new Error("the link cannot be cut");
  }

  #connect(): boolean {
    const [a, b] = this.#names;
    return run(`ip link add cable netns ${a} type veth peer name cable netns ${b}`) &&
      this.#names.every((name, i) =>
        run(`ip -n ${name} addr add ${this.hosts[i].address}/24 dev cable`) &&
        run(`ip -n ${name} link set lo up`) && run(`ip -n ${name} link set cable up`)
      );
  }

  /**
   * A script that runs a command on the host with an address, as `ssh [options] address command` does: what MPI's
   * launchers start their helpers with.
   */
  writeAgent(path: string): void {
    const cases = this.hosts.map(({ host, address }, i) =>
      `  ${address}) host=${host} network=${this.#names[i]} ;;`
    );
    const lines = [
      "#!/bin/sh",
      'while [ "${1#-}" != "$1" ]; do shift; done',
      'case "$1" in',
      ...cases,
      "esac",
      "shift",
      'exec ip netns exec "$network" unshare --uts --pid --fork --kill-child --mount-proc \\',
      '  sh -c \'hostname "$0"; exec sh -c "$*"\' "$host" "$@"',
      "",
    ];
    Deno.writeTextFileSync(path, lines.join("\n"), { mode: 0o755 });
  }

  /** Numbers of all processes on both hosts. */
  processes(): number[] {
    return this.#names.flatMap((name) => {
      const { stdout } = new Deno.Command("ip", { args: ["netns", "pids", name], stderr: "null" })
        .outputSync();
      return new TextDecoder().decode(stdout).split(/\s+/).filter(Boolean).map(Number);
    });
  }

  [Symbol.dispose](): void {
    for (const process of this.processes()) run(`kill -KILL ${process}`);
    for (const name of this.#names) run(`ip netns del ${name}`);
  }
}
