import type { Ending } from "./ending.ts";
import { causes, lastWords } from "./last_words.ts";
import { Door, type FollowerConnection } from "./door.ts";
import type { Listener } from "./line_connection.ts";
import { JOIN_SECONDS, type MeetingPoint, openMeetingPoint } from "./meeting_point.ts";
import { isOrphaned } from "./process_end.ts";
import { hasEnded } from "../../platform/process/process_identity.ts";
import { Pulse, Stall } from "./pulse.ts";
import type { WatchedRank, WatchLimits } from "./watched_rank.ts";
import type { FollowerMessage, Hello, LeaderMessage, ToldFailure } from "./watch_messages.ts";

/**
 * In this time a failure of all ranks shows to be one, a rank that another one has heard of says more about its failure
 * itself, and one of which nothing is known yet says anything.
 */
const GRACE_MS = { own: 300, told: 5000, unknown: 12_000 };
/** Time for the others to hear that they are to end. */
const FAREWELL_MS = 500;
/** Connections of strangers besides those of the ranks, each of which tries all of rank 0's addresses at once. */
const STRANGERS = 64;

interface Peer {
  readonly rank: WatchedRank;
  readonly connection: FollowerConnection;
  doing: string;
  silentSeconds: number;
  /** Whether the rank has said why it ends, or has ended. */
  hasSpoken: boolean;
  /** Resolves when it says that it is done. */
  readonly done: PromiseWithResolvers<void>;
  /** Resolves with its connection's end. */
  readonly ended: Promise<void>;
}

/** The watch of rank 0, to which all others report: it says what went wrong, once, and ends the run on all ranks. */
export class Leader {
  readonly point: MeetingPoint;
  readonly #ranks: readonly WatchedRank[];
  readonly #limits: WatchLimits;
  readonly #ending: Ending;
  readonly #door: Door;
  readonly #pulse: Pulse;
  readonly #stall: Stall;
  readonly #peers = new Map<number, Peer>();
  /** What the main thread is doing, for messages. */
  doing = "starting";
  #hint = "";
  /** Whether all ranks are done, and may leave. */
  #isFarewell = false;
  /** The message of this rank's own failure. */
  #failure: string | null = null;
  #isOver = false;

  constructor(
    ranks: readonly WatchedRank[],
    limits: WatchLimits,
    progress: SharedArrayBuffer,
    ending: Ending,
  ) {
    const { point, port } = openMeetingPoint();
    this.point = point;
    this.#ranks = ranks;
    this.#limits = limits;
    this.#ending = ending;
    this.#stall = new Stall(progress);
    this.#pulse = new Pulse(limits, () => this.#beat());
    const strangers = STRANGERS + ranks.length * point.addresses.length;
    this.#door = new Door(
      port,
      { strangers, seconds: JOIN_SECONDS },
      (hello, connection) => this.#admit(hello, connection),
    );
  }

  /** How to go on with the run if it ends now. */
  set hint(hint: string) {
    this.#hint = hint;
    this.#tellAll({ type: "hint", hint });
  }

  /**
   * Reports this rank's failure.
   *
   * @returns when it may say why and end; not at all when another rank failed before it, which ends the process
   */
  async failed(failure: ToldFailure): Promise<void> {
    const [own] = this.#ranks;
    const { message, code, culprit } = failure;
    if (culprit === own.rank) this.#failure = message;
    await graceFor(failure, own);
    if (culprit !== null && culprit !== own.rank) this.#end([this.#ranks[culprit]], message, code);
    if (this.#isOver) return await new Promise(() => {});
    this.#isOver = true;
    this.#pulse.stop();
    await this.#tellAll({ type: "endAfterMe", code });
  }

  /**
   * Reports that this rank is done. The others are watched until they are done, and watch this one as long.
   *
   * @returns when all are and have left
   */
  async done(): Promise<void> {
    const peers = [...this.#peers.values()];
    await Promise.all(peers.map(({ done }) => done.promise));
    this.#isFarewell = true;
    this.#tellAll({ type: "bye" });
    await Promise.all(peers.map(({ ended }) => ended));
    this.close();
  }

  /** Stops watching. */
  close(): void {
    this.#isOver = true;
    this.#pulse.stop();
    this.#door.close();
    for (const { connection } of this.#peers.values()) connection.close();
  }

  /** Admits a connection that knows the token, and each rank once: it may have come by several addresses. */
  #admit(
    { token, rank: number }: Hello,
    connection: FollowerConnection,
  ): Listener<FollowerMessage> | null {
    const rank = this.#ranks[number];
    if (token !== this.point.token || !rank || this.#peers.has(number)) return null;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const peer: Peer = {
      ...{ rank, connection, ended, done: Promise.withResolvers() },
      ...{ doing: "starting", silentSeconds: 0, hasSpoken: false },
    };
    this.#peers.set(number, peer);
    connection.send({ type: "welcome" });
    connection.send({ type: "hint", hint: this.#hint });
    if (this.#peers.size === this.#ranks.length - 1) this.#door.close();
    return {
      hear: (message) => this.#hear(peer, message),
      ended: () => {
        resolve();
        this.#lost(peer);
      },
    };
  }

  #hear(peer: Peer, message: FollowerMessage): void {
    peer.silentSeconds = 0;
    if (message.type === "beat") peer.doing = message.doing;
    if (message.type === "bye") peer.done.resolve();
    if (message.type === "failed") {
      peer.hasSpoken = true;
      const culprit = this.#ranks[message.culprit ?? peer.rank.rank] ?? peer.rank;
      void graceFor(message, peer.rank).then(() => {
        // A failure that all ranks share is told by this one, in its own words.
        if (this.#failure !== message.message) this.#end([culprit], message.message, message.code);
      });
    }
  }

  /** A connection ended. */
  #lost(peer: Peer): void {
    if (peer.hasSpoken || this.#isFarewell) return;
    peer.hasSpoken = true;
    this.#end([peer.rank], causes.death(peer.doing), 1);
  }

  #beat(): void {
    const { silenceSeconds, stallSeconds } = this.#limits;
    if (isOrphaned()) this.#end([this.#ranks[0]], causes.orphaned, 1);
    this.#tellAll({ type: "beat" });
    const listened = [...this.#peers.values()].filter(({ hasSpoken }) => !hasSpoken);
    for (const peer of listened) peer.silentSeconds += this.#pulse.seconds;
    if (listened.some(({ silentSeconds }) => silentSeconds >= silenceSeconds)) {
      // A cut link silences several ranks, but not in the same moment: half as long counts as silent too.
      const silent = listened.filter(({ silentSeconds }) => silentSeconds >= silenceSeconds / 2);
      // A process keeps its connections until all of its memory is given back.
      const dead = silent.filter(({ rank }) => hasEnded(rank.process));
      const [{ doing }] = dead.length > 0 ? dead : silent;
      const cause = dead.length > 0 ? causes.death(doing) : causes.silence(silenceSeconds, doing);
      this.#end(ranksOf(dead.length > 0 ? dead : silent), cause, 1, ranksOf(silent));
    }
    if (this.#stall.after(this.#pulse.seconds) >= stallSeconds) {
      this.#end([this.#ranks[0]], causes.stall(stallSeconds, this.doing), 1);
    }
  }

  async #tellAll(message: LeaderMessage): Promise<void> {
    const sent = [...this.#peers.values()].map(({ connection }) => connection.send(message));
    await Promise.race([Promise.all(sent), after(FAREWELL_MS)]);
  }

  /** Says why, once, and ends the run on all ranks, those that no longer hear it too. */
  async #end(
    culprits: readonly WatchedRank[],
    cause: string,
    code: number,
    silent: readonly WatchedRank[] = [],
  ): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#pulse.stop();
    this.#ending.say(lastWords(culprits, cause, this.#hint));
    for (const { process } of silent) this.#ending.kill(process);
    await this.#tellAll({ type: "end", code, silent: silent.map(({ rank }) => rank) });
    // A connection that is closed with something unread may take back what was sent last.
    const others = [...this.#peers.values()].filter(({ rank }) => !culprits.includes(rank));
    await Promise.race([Promise.all(others.map(({ ended }) => ended)), after(FAREWELL_MS)]);
    this.#ending.end(code);
  }
}

/** In ascending order. */
const ranksOf = (peers: readonly Peer[]) =>
  peers.map(({ rank }) => rank).sort((a, b) => a.rank - b.rank);

/** @param teller whoever failed with it */
const graceFor = ({ culprit }: ToldFailure, { rank: teller }: WatchedRank) =>
  after(culprit === null ? GRACE_MS.unknown : culprit === teller ? GRACE_MS.own : GRACE_MS.told);

const after = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));
