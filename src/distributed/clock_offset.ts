import type { Communicator } from "./communicator.ts";

/** Questions, of which the one answered soonest counts. */
const questions = 8;

/**
 * Milliseconds to add to this rank's clock to read the first rank's (Cristian 1989): of eight questions the one
 * answered soonest counts, and the first rank's time is taken to be that halfway between question and answer, which
 * is wrong by at most half the time between them. All ranks call it.
 *
 * @param clock milliseconds
 */
export async function clockOffset(
  communicator: Communicator,
  clock: () => number,
): Promise<number> {
  const { rank, size } = communicator;
  if (rank === 0) {
    await Promise.all(
      Array.from({ length: size - 1 }, (_, i) => answer(communicator, clock, i + 1)),
    );
    return 0;
  }
  let shortest = Infinity;
  let offset = 0;
  for (let question = 0; question < questions; question++) {
    const time = new Float64Array(1);
    const bytes = new Uint8Array(time.buffer);
    const asked = clock();
    await communicator.send(new Uint8Array(1), 0);
    await communicator.receive(bytes, 0);
    const heard = clock();
    if (heard - asked >= shortest) continue;
    shortest = heard - asked;
    offset = time[0] - (asked + heard) / 2;
  }
  return offset;
}

async function answer(communicator: Communicator, clock: () => number, to: number): Promise<void> {
  for (let question = 0; question < questions; question++) {
    await communicator.receive(new Uint8Array(1), to);
    await communicator.send(new Uint8Array(Float64Array.of(clock()).buffer), to);
  }
}
