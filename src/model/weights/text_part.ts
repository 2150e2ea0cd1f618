/** Files that hold more than a text decoder, of which that alone is read. */

import { UserError } from "../../base/user_error.ts";
import type { Json } from "./config/config_keys.ts";
import { withSplitExperts } from "./fused_experts.ts";
import type { StoredTensor, WeightFile } from "./weight_file.ts";

interface OtherParts {
  /** Before the names of the decoder's tensors, where these stand without it `model.`; null where they stand as usual. */
  readonly prefix: string | null;
  /** The tensors of other parts, which are left where they are. */
  readonly skipped: RegExp;
  /** The matrices of experts may lie in one tensor. */
  readonly fusesExperts?: boolean;
}

/** Layers that guess the token after the next one, and what reads pictures. */
const whole = { prefix: "model.language_model.", skipped: /^(mtp|model\.visual)\./ };

/** By `model_type` of a folder's `config.json`. */
const otherParts: Readonly<Record<string, OtherParts>> = {
  qwen3_5_text: { prefix: null, skipped: /^mtp\./ },
  qwen3_5_moe_text: { prefix: null, skipped: /^mtp\./, fusesExperts: true },
  qwen3_5: whole,
  qwen3_5_moe: { ...whole, fusesExperts: true },
};

/**
 * The tensors of a file's text decoder, by the names that they have in files of it alone.
 *
 * @param config the folder's `config.json`
 * @throws UserError when two tensors would have one name
 */
export function textPart(file: WeightFile, { model_type: type }: Json): WeightFile {
  const parts = typeof type === "string" && Object.hasOwn(otherParts, type)
    ? otherParts[type]
    : null;
  if (!parts) return file;
  const { prefix, skipped, fusesExperts } = parts;
  const tensors = new Map<string, StoredTensor>(), inFile = new Map<string, string>();
  for (const [name, tensor] of file.tensors) {
    if (skipped.test(name)) continue;
    const own = prefix !== null && name.startsWith(prefix)
      ? `model.${name.slice(prefix.length)}`
      : name;
    if (tensors.has(own)) {
      throw new UserError(
        `${file.path}: tensors ${inFile.get(own)} and ${name} are one and the same`,
      );
    }
    tensors.set(own, tensor);
    inFile.set(own, name);
  }
  const decoder: WeightFile = {
    path: file.path,
    tensors,
    read: (name, begin, bytes) => file.read(inFile.get(name) ?? name, begin, bytes),
    [Symbol.dispose]: () => file[Symbol.dispose](),
  };
  return fusesExperts ? withSplitExperts(decoder) : decoder;
}
