/** The Modelfile by which Ollama runs a GGUF file: its chat template in the language of Go. */

import { UserError } from "../../base/user_error.ts";
import type { ChatMessage, ChatTemplate } from "../tokenizer/chat_template.ts";

type Role = ChatMessage["role"];

/** A conversation's text as what stands around each message. */
export interface TurnTexts {
  /** Before the first message. */
  readonly head: string;
  readonly around: Readonly<Record<Role, readonly [before: string, after: string]>>;
  /** Behind the last message: what asks for a reply. */
  readonly asking: string;
  /** What the template says as the system where nobody else does; null for nothing. */
  readonly system: string | null;
}

/**
 * Takes a chat template apart, and checks on conversations of other shapes that the parts are all of it.
 *
 * @throws UserError where a message's surroundings depend on more than its role
 */
export function turnTextsOf(template: ChatTemplate): TurnTexts {
  const [s, u, a, v] = Array.from({ length: 4 }, () => crypto.randomUUID());
  const told = [message("system", s), message("user", u), message("assistant", a)];
  const asked = [...told, message("user", v)];
  const cut = (messages: readonly ChatMessage[], asksForReply: boolean) =>
    cutAt(template.render(messages, { asksForReply }), messages.map(({ content }) => content));

  const [beforeSystem, systemToUser, userToAssistant, assistantToUser, open] = cut(asked, true);
  const userAfter = cut(asked, false).at(-1) ?? "";
  const assistantAfter = cut(told, false).at(-1) ?? "";
  const userBefore = without(assistantToUser, assistantAfter, "");
  const systemAfter = without(systemToUser, "", userBefore);
  const assistantBefore = without(userToAssistant, userAfter, "");
  const asking = without(open, userAfter, "");

  // Without a system message its place is empty, or the template's own.
  const [beforeUser] = cut(asked.slice(1), true);
  const head = without(beforeUser, "", userBefore);
  const hasOwn = head.length > beforeSystem.length + systemAfter.length &&
    head.startsWith(beforeSystem) && head.endsWith(systemAfter);
  const texts: TurnTexts = {
    head: hasOwn ? "" : head,
    around: {
      system: [hasOwn ? beforeSystem : without(beforeSystem, head, ""), systemAfter],
      user: [userBefore, userAfter],
      assistant: [assistantBefore, assistantAfter],
    },
    asking,
    system: hasOwn ? without(head, beforeSystem, systemAfter) : null,
  };
  for (const roles of SHAPES) {
    const messages = roles.map((role, i) => message(role, `${role} ${i}.`));
    if (conversationOf(texts, messages) !== template.render(messages)) throw unfit();
  }
  return texts;
}

/** Conversations on which the parts are tried. */
const SHAPES: readonly (readonly Role[])[] = [
  ["user"],
  ["system", "user"],
  ["user", "assistant", "user"],
  ["system", "user", "assistant", "user", "assistant", "user"],
];

const message = (role: Role, content: string): ChatMessage => ({ role, content });

/** A conversation as Ollama puts it together. */
function conversationOf(
  { head, around, asking, system }: TurnTexts,
  messages: readonly ChatMessage[],
): string {
  const own = system !== null && messages[0].role !== "system" ? [message("system", system)] : [];
  const turns = [...own, ...messages].map(({ role, content }) => around[role].join(content));
  return head + turns.join("") + asking;
}

/** What stands before, between and behind some texts, each of which is there once and in their order. */
function cutAt(text: string, marks: readonly string[]): string[] {
  const parts: string[] = [];
  let rest = text;
  for (const mark of marks) {
    const [before, ...after] = rest.split(mark);
    if (after.length !== 1) throw unfit();
    parts.push(before);
    rest = after[0];
  }
  return [...parts, rest];
}

/** A text without its beginning and its end. */
function without(text: string, beginning: string, end: string): string {
  const fits = text.length >= beginning.length + end.length && text.startsWith(beginning) &&
    text.endsWith(end);
  if (!fits) throw unfit();
  return text.slice(beginning.length, text.length - end.length);
}

function unfit(): UserError {
  return new UserError(
    "What the model's chat template writes around a message depends on more than who says it: no Modelfile was made " +
      "of it. Leave --ollama out, and write its TEMPLATE by hand.",
  );
}

/**
 * The Modelfile's text.
 *
 * @param file of the weights, beside it
 * @param bos the token that Ollama puts before every text by itself; null where it puts none
 * @param stops texts of tokens that end a reply
 */
export function modelfile(
  file: string,
  { head, around, asking, system }: TurnTexts,
  bos: string | null,
  stops: readonly string[],
): string {
  const first = bos !== null && head.startsWith(bos) ? head.slice(bos.length) : head;
  const turns = (["system", "user", "assistant"] as const).map((role, i) => {
    const [before, after] = around[role].map(literal);
    return `{{ ${i === 0 ? "" : "else "}if eq .Role "${role}" }}${before}{{ .Content }}${after}`;
  });
  const template = `${literal(first)}{{ range .Messages }}${turns.join("")}{{ end }}{{ end }}${
    literal(asking)
  }`;
  return [
    `FROM ./${file}`,
    `TEMPLATE ${quoted(template)}`,
    ...(system === null ? [] : [`SYSTEM ${quoted(system)}`]),
    ...stops.map((stop) => `PARAMETER stop ${JSON.stringify(stop)}`),
    "",
  ].join("\n");
}

/** A text in which Go sees nothing but text. */
const literal = (text: string) => text.replaceAll("{{", '{{ "{{" }}');

/** @throws UserError of a text that no quotation marks can hold */
function quoted(text: string): string {
  if (text.includes('"""')) throw unfit();
  return `"""${text}"""`;
}
