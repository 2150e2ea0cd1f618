import { Digest } from "../../platform/files/digest.ts";
import type { TeacherConfig } from "../config/teacher_schema.ts";

/** The digest of all that a teacher's solutions depend on, the problems and their number too; which are kept is none of it. */
export function askedDigest(
  config: TeacherConfig,
  weights: string,
  prompt: string,
  questions: readonly string[],
): string {
  const { seed, model, server, chat, system_prompt, answers, temperature, top_p } = config;
  const { max_response_length, precision, frozen_dtype, cache_dtype } = config;
  const sampling = [seed, answers, temperature, top_p, max_response_length];
  const teacher = server === null ? weights : [server.url, server.model];
  const stored = model === null ? null : [precision, frozen_dtype, cache_dtype];
  return new Digest().value([teacher, stored, chat, system_prompt, prompt, sampling, questions])
    .hex();
}
