import { UserError } from "../../../base/user_error.ts";

export type Json = Readonly<Record<string, unknown>>;

/** The keys of a `config.json`, or of an object in it. */
export class ConfigKeys {
  /**
   * @param file how error messages name it
   * @param place what they say after a key's name
   */
  constructor(readonly json: Json, readonly file: string, private readonly place = "") {}

  /** @throws UserError when it is no whole number of at least 1 */
  integer(key: string, fallback?: number): number {
    const value = this.json[key] ?? fallback;
    if (typeof value === "number" && Number.isInteger(value) && value >= 1) return value;
    throw this.#refused(key, value, "a positive integer");
  }

  /** @throws UserError when it is no number above 0 */
  positive(key: string, fallback?: number): number {
    const value = this.json[key] ?? fallback;
    if (typeof value === "number" && value > 0 && Number.isFinite(value)) return value;
    throw this.#refused(key, value, "a positive number");
  }

  /** False where it is left out. @throws UserError when it is no boolean */
  flag(key: string, fallback = false): boolean {
    const value = this.json[key] ?? fallback;
    if (typeof value === "boolean") return value;
    throw this.#refused(key, value, "true or false");
  }

  /** @throws UserError when it is no list of so many numbers above 0 */
  positives(key: string, count: number): number[] {
    const value = this.json[key];
    const isRight = Array.isArray(value) && value.length === count &&
      value.every((one) => typeof one === "number" && one > 0);
    if (isRight) return value;
    const found = Array.isArray(value) ? `a list of ${value.length}` : JSON.stringify(value);
    throw new UserError(
      `${this.file}: ${key}${this.place} is ${found}; expected ${count} positive numbers`,
    );
  }

  #refused(key: string, value: unknown, expected: string): UserError {
    return new UserError(
      `${this.file}: ${key}${this.place} is ${JSON.stringify(value)}; expected ${expected}`,
    );
  }
}
