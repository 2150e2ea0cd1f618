import { UserError } from "../../src/base/user_error.ts";

/**
 * The variants whose names hold a text.
 *
 * @throws UserError that shows some names when none does
 */
export function filtered<Variant>(
  variants: readonly Variant[],
  nameOf: (variant: Variant) => string,
  filter: string,
): Variant[] {
  const found = variants.filter((variant) => nameOf(variant).includes(filter));
  if (found.length > 0) return found;
  const labels = [...new Set(variants.map((variant) => nameOf(variant).split(/ [A-Z]/)[0]))];
  throw new UserError(
    `--filter ${filter}: no kernel variant has this in its name. Their names begin with ${
      labels.sort().join(", ")
    }.`,
  );
}
