/** A browser collects by itself, and knows what its GPU's objects hold. */
export function collectGarbage(): void {}
