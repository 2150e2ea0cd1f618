/** What waits, of several clients that take turns: one who asks for much holds up nobody who asks for little. */
export class FairQueue<Item> {
  /** By client, each with at least one item, in the order of their turns. */
  readonly #lines = new Map<string, Item[]>();
  #length = 0;

  /** Items of all clients. */
  get length(): number {
    return this.#length;
  }

  /** Puts an item behind its client's others. */
  add(client: string, item: Item): void {
    const line = this.#lines.get(client);
    if (line) line.push(item);
    else this.#lines.set(client, [item]);
    this.#length++;
  }

  /** The next item of the client whose turn it is; undefined when nothing waits. */
  take(): Item | undefined {
    for (const [client, line] of this.#lines) {
      this.#lines.delete(client);
      const item = line.shift();
      if (line.length > 0) this.#lines.set(client, line);
      this.#length--;
      return item;
    }
    return undefined;
  }

  /** Takes an item out of its line; false when it does not wait. */
  remove(client: string, item: Item): boolean {
    const line = this.#lines.get(client) ?? [];
    const at = line.indexOf(item);
    if (at < 0) return false;
    line.splice(at, 1);
    if (line.length === 0) this.#lines.delete(client);
    this.#length--;
    return true;
  }

  /** Takes all items, in the order of the lines. */
  clear(): Item[] {
    const items = [...this.#lines.values()].flat();
    this.#lines.clear();
    this.#length = 0;
    return items;
  }
}
