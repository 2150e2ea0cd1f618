import type { Communicator } from "./communicator.ts";
import { failureOf, type Outcome, valueOf } from "./outcomes.ts";
import type { Placed } from "./placed.ts";
import { sharesOf } from "./shared_work.ts";
import { receiveValue, sendValue } from "./values.ts";

/** Some of what a rank has found, and at last what came of it all. */
interface Message<Found> {
  readonly found: readonly Found[];
  readonly end: Outcome<null> | null;
}

/**
 * Cuts items over the ranks that hold a thing, as `shareOut` does, and tells all ranks each thing found as soon
 * as it is there. All ranks call it; it returns when all has been heard.
 *
 * @param lengthOf how much an item takes, in whatever unit
 * @param work tells what it finds; of its promises none may be left behind
 * @param hear is told what any rank found, this one too; in which order depends on time
 */
export async function streamOut<Thing, Item, Found>(
  { all, ranks, here }: Placed<Thing>,
  items: readonly Item[],
  lengthOf: (item: Item) => number,
  work: (thing: Thing, own: readonly Item[], tell: (found: Found) => void) => Promise<void>,
  hear: (found: Found) => void,
): Promise<void> {
  const others = ranks.filter((rank) => rank !== all.rank);
  const heard = Promise.all(others.map((from) => listen(all, from, hear)));
  // The others are awaited below, unless this rank's own work fails first.
  heard.catch(() => {});
  if (here !== null) {
    const share = sharesOf(ranks, items, lengthOf)[ranks.indexOf(all.rank)];
    const outbox = new Outbox<Found>(all);
    try {
      await work(here, share.map((i) => items[i]), (found) => {
        hear(found);
        outbox.put(found);
      });
    } catch (error) {
      // An error while telling the others matters less than the one to tell.
      await outbox.close(failureOf(error)).catch(() => {});
      throw error;
    }
    await outbox.close({ value: null });
  }
  await heard;
}

async function listen<Found>(
  all: Communicator,
  from: number,
  hear: (found: Found) => void,
): Promise<void> {
  for (;;) {
    const { found, end } = await receiveValue<Message<Found>>(all, from);
    found.forEach(hear);
    if (end !== null) return void valueOf(end, from, all);
  }
}

/** An outbox to all other ranks: while a message is on its way the next one gathers. */
class Outbox<Found> {
  readonly #others: readonly number[];
  #found: Found[] = [];
  #sending: Promise<void> | null = null;

  constructor(private readonly all: Communicator) {
    const ranks = Array.from({ length: all.size }, (_, rank) => rank);
    this.#others = ranks.filter((rank) => rank !== all.rank);
  }

  put(found: Found): void {
    if (this.#others.length === 0) return;
    this.#found.push(found);
    this.#sending ??= this.#empty();
    // Awaited by `close`.
    this.#sending.catch(() => {});
  }

  async close(end: Outcome<null>): Promise<void> {
    await this.#sending;
    await this.#send({ found: [], end });
  }

  async #empty(): Promise<void> {
    // Findings of the same turn go together.
    await Promise.resolve();
    while (this.#found.length > 0) {
      const found = this.#found.splice(0);
      await this.#send({ found, end: null });
    }
    this.#sending = null;
  }

  async #send(message: Message<Found>): Promise<void> {
    await sendValue(this.all, message, this.#others);
  }
}
