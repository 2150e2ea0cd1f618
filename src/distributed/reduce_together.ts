import type { WholeGradients } from "../engine/training/whole_gradients.ts";
import type { Communicator } from "./communicator.ts";
import { failureOf, inTime, type Outcome, valueOf } from "./outcomes.ts";
import { gatherValues } from "./values.ts";

/** The failure of another process, which tells why once all have given up. */
class PeerFailure extends Error {}

/**
 * Computes gradients and exchanges them at the same time. When one process fails, the others hear of it in the middle and
 * give up too; what was on its way is then left over on the gradients' channel.
 *
 * @param channels which nothing else is sent on: for the gradients, and for who has failed
 * @param compute tells `whole` how far it is
 * @param exchange sends and receives what is whole
 * @throws what this process threw, or a Failure that says what another one did
 */
export async function reduceTogether(
  channels: { readonly gradients: Communicator; readonly failures: Communicator },
  whole: WholeGradients,
  compute: () => Promise<void>,
  exchange: (over: Communicator) => Promise<void>,
): Promise<void> {
  const states = new States(channels.failures);
  const computing = compute();
  const exchanging = whole.begun.then(() => {
    // From now on others are waited for.
    states.listen();
    return exchange(channels.gradients);
  });
  const [both] = await Promise.allSettled([
    Promise.race([Promise.all([computing, exchanging]), states.failure]),
  ]);
  if (both.status === "rejected") whole.fail(both.reason);
  // Computing has ended when this returns; a message still under way is not used.
  const [computed] = await Promise.allSettled([computing]);
  const own = [both, computed].find((settled): settled is PromiseRejectedResult =>
    settled.status === "rejected" && !(settled.reason instanceof PeerFailure)
  );
  if (own) {
    // An error while telling the others matters less than the one to tell.
    await inTime(states.tell(failureOf(own.reason)).catch(() => {}));
    throw own.reason;
  }
  await states.tell({ value: null });
}

/** Whether each process has failed. */
class States {
  readonly #states: readonly Uint8Array[];
  readonly #failure = Promise.withResolvers<never>();
  #heard: Promise<unknown> | null = null;

  constructor(private readonly communicator: Communicator) {
    this.#states = Array.from({ length: communicator.size }, () => new Uint8Array(1));
    this.#failure.promise.catch(() => {});
  }

  /** Rejects when another one has failed, or cannot be heard. */
  get failure(): Promise<never> {
    return this.#failure.promise;
  }

  /** Hears the others from now on. */
  listen(): Promise<unknown> {
    if (this.#heard) return this.#heard;
    const { communicator } = this;
    const heard = this.#states.map(async (state, from) => {
      if (from === communicator.rank) return;
      await communicator.receive(state, from);
      if (state[0] === 1) this.#failure.reject(new PeerFailure(`rank ${from} failed`));
    });
    const all = this.#heard = Promise.all(heard);
    all.catch(this.#failure.reject);
    return all;
  }

  /**
   * Tells the others what came of it here, and hears what came of it there.
   *
   * @throws what went wrong on the first rank on which something did
   */
  async tell(own: Outcome<null>): Promise<void> {
    const { communicator } = this;
    const state = Uint8Array.of("value" in own ? 0 : 1);
    this.#states[communicator.rank].set(state);
    const told = this.#states.map((_, to) =>
      to === communicator.rank ? null : communicator.send(state, to)
    );
    await Promise.all([...told, this.listen()]);
    if (this.#states.every(([failed]) => failed === 0)) return;
    const outcomes = await gatherValues(communicator, own);
    outcomes.forEach((outcome, rank) => valueOf(outcome, rank, communicator));
  }
}
