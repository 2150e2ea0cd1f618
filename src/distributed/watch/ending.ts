import { killProcess, type ProcessIdentity } from "../../platform/process/process_identity.ts";
import { endProcess } from "./process_end.ts";

/** The ways a watch ends processes. */
export interface Ending {
  /** Prints the one message. */
  say(message: string): void;
  /** Ends this process at once. */
  end(code: number): void;
  /** Ends another process of this machine; one of another machine is left alone. */
  kill(process: ProcessIdentity): void;
}

/** The real one. */
export const ending: Ending = {
  say(message) {
    // A progress line may stand there.
    const text = `${Deno.stderr.isTerminal() ? "\n" : ""}${message}\n`;
    Deno.stderr.writeSync(new TextEncoder().encode(text));
  },
  end: endProcess,
  kill: killProcess,
};
