"""What OpenAI's own client does with this server: it lists, completes, chats, streams and hangs up. Run by main.ts."""

import os
import time
import urllib.request

from openai import BadRequestError, NotFoundError, OpenAI

URL = os.environ["TINKER_BASE_URL"]
client = OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
(model,) = client.models.list().data
asked = {"model": model.id, "prompt": "<bos>cat dog?", "temperature": 0.0, "max_tokens": 60}

whole = client.completions.create(**asked, logprobs=2)
assert whole.choices[0].finish_reason == "stop"
assert len(whole.choices[0].logprobs.tokens) == whole.usage.completion_tokens
print("completes:", whole.choices[0].text)

streamed, usage = "", None
for chunk in client.completions.create(**asked, stream=True, stream_options={"include_usage": True}):
    streamed += chunk.choices[0].text if chunk.choices else ""
    usage = chunk.usage or usage
assert streamed == whole.choices[0].text and usage.completion_tokens == whole.usage.completion_tokens
print("streams the same")


def waiting():
    text = urllib.request.urlopen(f"{URL}/metrics").read().decode()
    return float(next(line for line in text.splitlines() if line.startswith("tango_model_responses{")).split()[-1])


endless = {**asked, "max_tokens": 500, "temperature": 1.0, "extra_body": {"ignore_eos": True}, "n": 8}
stream = client.completions.create(**endless, stream=True)
next(iter(stream))
assert waiting() > 0
stream.close()
end = time.monotonic() + 20
while waiting() > 0:
    assert time.monotonic() < end, "it is sampled though nobody waits"
    time.sleep(0.05)
print("hangs up, and nothing is sampled any more")

for error, others in ((NotFoundError, {"model": "none"}), (BadRequestError, {"presence_penalty": 1.0})):
    try:
        client.completions.create(**{**asked, **others})
    except error as refusal:
        print("is refused:", refusal.message[:100])
    else:
        raise AssertionError(f"{others} was not refused")
try:
    client.chat.completions.create(model=model.id, messages=[{"role": "user", "content": "cat"}])
except BadRequestError as refusal:
    print("is refused:", refusal.message[:100])
else:
    raise AssertionError("a model without a template was talked to")
