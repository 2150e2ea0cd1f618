import { useEffect, useRef } from "preact/hooks";
import type { TargetedKeyboardEvent } from "preact";
import { go, useRoute } from "../live/route.ts";
import { askedName, type ListedModel, titleOf } from "../models/listed_models.ts";
import { useModels } from "../models/use_models.ts";
import { Choice } from "../parts/choice.tsx";
import { Failure } from "../parts/failure.tsx";
import { Link } from "../parts/link.tsx";
import { ask, askBoth, change, conversed, forget, stop, useConversation } from "./conversation.ts";
import { TurnView } from "./turn_view.tsx";

/** So near its end the page follows what is written. */
const NEAR_PX = 300;

/** A conversation with any model that is here; of a run's generator also with its verifier's judgments. */
export function Chat() {
  const { asked } = useRoute();
  const { models, error } = useModels();
  const able = (models ?? []).filter((model) => askedName(model) !== null);
  const first = able.find(({ served }) => served !== null) ?? able[0];
  const before = conversed();
  const wanted = asked || before[0] || (first && askedName(first)) || "";
  const model = able.find((one) => askedName(one) === wanted);
  const { turns, dropped, unkept, ...saying } = useConversation(wanted);
  const { draft, temperature, maximumTokens, wantsJudgment } = saying;
  const last = turns.at(-1);
  const isBusy = last !== undefined && last.end === null;
  const end = useRef<HTMLDivElement>(null);
  const words = useRef<HTMLTextAreaElement>(null);
  const written = (last?.reply.length ?? 0) + (last?.critique.length ?? 0);
  useEffect(() => end.current?.scrollIntoView({ block: "nearest" }), [last?.id]);
  useEffect(() => {
    // Who has gone back up to read stays there.
    const below = document.documentElement.scrollHeight - scrollY - innerHeight;
    if (below < NEAR_PX) end.current?.scrollIntoView({ block: "nearest" });
  }, [written, last?.judged]);
  // Models that have gone, with which something was said.
  const gone = [...new Set([wanted, ...before])].filter((name) =>
    name !== "" && !able.some((one) => askedName(one) === name)
  );
  const isJudged = model !== undefined && isSolver(model) && wantsJudgment;

  const submit = (event: Event) => {
    event.preventDefault();
    const name = model && askedName(model);
    if (!model || !name || isBusy || draft.trim() === "") return;
    // The next one that is gone on with would take its place.
    go({ asked: name }, { replace: true });
    if (isJudged) {
      const { run, step } = model;
      askBoth(name, {
        ...{ run: run ?? "", checkpoint: step, problem: draft, solution: null },
        temperature: Number(temperature),
      });
    } else {
      const sampling = { temperature: Number(temperature), maximumTokens: Number(maximumTokens) };
      ask(draft, { model: name, hasChat: model.hasChat, ...sampling });
    }
  };
  const onKey = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    // While a word of another script is being composed, the key ends the word.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      event.currentTarget.form?.requestSubmit();
    }
  };
  return (
    <article class="chat" aria-labelledby="chat-title">
      <h1 id="chat-title">Chat</h1>
      <Failure error={error} />
      {models !== null && able.length === 0 && (
        <p class="notice">
          There is no model yet that could be asked:{" "}
          <Link to={{ screen: "models" }}>fetch one</Link> or train one.
        </p>
      )}
      {models !== null && wanted !== "" && model === undefined && (
        <p class="notice">
          There is no model {wanted} any more: choose another one.
          {turns.length > 0 && " What was said with it can still be read."}
        </p>
      )}
      <div class="fields asked">
        <Choice
          class="field"
          label="Model"
          value={wanted}
          options={[
            ...(wanted === "" ? [["", "–"] as [string, string]] : []),
            ...able.map((one): [string, string] => [askedName(one) ?? "", nameOf(one)]),
            ...gone.map((name): [string, string] => [
              name,
              models === null ? name : `${name}, which has gone`,
            ]),
          ]}
          onChange={(asked) => go({ asked }, { replace: true })}
        />
        <label class="field">
          Temperature
          <input
            type="number"
            form="say"
            required
            min={0}
            max={10}
            step="any"
            value={temperature}
            onInput={({ currentTarget }) => change({ temperature: currentTarget.value })}
          />
        </label>
        {!isJudged && (
          <label class="field">
            Tokens at most
            <input
              type="number"
              form="say"
              required
              min={1}
              value={maximumTokens}
              onInput={({ currentTarget }) => change({ maximumTokens: currentTarget.value })}
            />
          </label>
        )}
      </div>
      {model !== undefined && isSolver(model) && (
        <div class="field check">
          <input
            type="checkbox"
            id="wants-judgment"
            checked={wantsJudgment}
            onChange={({ currentTarget }) => change({ wantsJudgment: currentTarget.checked })}
          />
          <label for="wants-judgment">
            The run's verifier judges each step
          </label>
        </div>
      )}
      {model !== undefined && !isJudged && model.hasChat === false && (
        <p class="hint">
          It has no chat template: it goes on with the text of the whole conversation as it stands
          here.
        </p>
      )}
      <Failure
        error={unkept &&
          new Error(`This browser does not keep the conversation: ${unkept.message}`)}
      />
      {dropped > 0 && (
        <p class="quiet">
          {dropped === 1 ? "An earlier message was" : `${dropped} earlier messages were`}{" "}
          let go: the browser keeps the end of long conversations.
        </p>
      )}
      <div class="turns" role="log" aria-label="Conversation">
        {turns.map((turn, place) => <TurnView key={turn.id} turn={turn} number={place + 1} />)}
        <div class="end" ref={end} />
      </div>
      <form class="say" id="say" onSubmit={submit}>
        <label class="field">
          {isJudged ? "Problem, on its own" : "Message"}
          <textarea
            ref={words}
            rows={2}
            value={draft}
            onInput={({ currentTarget }) => change({ draft: currentTarget.value })}
            onKeyDown={onKey}
            aria-describedby="say-hint"
          />
        </label>
        <p class="hint" id="say-hint">Enter sends; Shift and Enter begins a new line.</p>
        <div class="buttons">
          {isBusy ? <button type="button" onClick={() => stop(wanted)}>Stop</button> : (
            <button
              type="submit"
              class="primary"
              disabled={model === undefined || draft.trim() === ""}
            >
              Send
            </button>
          )}
          {(turns.length > 0 || dropped > 0) && (
            <button
              type="button"
              onClick={() => {
                go({ asked: wanted }, { replace: true });
                forget(wanted);
                words.current?.focus();
              }}
            >
              New conversation
            </button>
          )}
        </div>
      </form>
    </article>
  );
}

/** Whether its run has a verifier for what it writes: only runs of both have checkpoints that can be asked. */
function isSolver({ kind, policy }: ListedModel): boolean {
  return kind === "checkpoint" && policy === "generator";
}

function nameOf(model: ListedModel): string {
  const { served, path } = model;
  return served === null || served === path ? titleOf(model) : `${served} (${path})`;
}
