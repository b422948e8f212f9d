# What share of the recorded reference behaviour must be matched, in percent. The packs are those of llama.cpp 0.8.0: from there on
# floors only rise, each with the change that reaches it.

# check.py over all templates and schemas, without the outputs of judges/differences.txt: each has a rule of the table of
# differences in cmake/LLAMA.md. Of these, `on_purpose` says how many keep as many words as the reference does. `grammar_text` and
# `white_space` have no floor: a grammar may say the same in other words, and whose the white space at a marker is, is a choice.
# Below 100: what llama.cpp tells hosts of command-r-plus.
FLOORS=(
  additional_stops=100
  answered=100
  append_only=100
  caps=100
  format=100
  generation_prompt=100
  grammar_lazy=100
  grammar_present=100
  grammar_triggers=99.5
  grammar_verdict=99.2
  message=99.6
  message_delimiters=99.8
  on_purpose=100
  params=100
  preserved_tokens=99.3
  prompt=100
  schema_refused=100
  schema_text=100
  supports_thinking=100
  thinking_end_tags=100
  thinking_start_tag=100
  timeline=100
  tolerated=100
)

# check.py over the templates whose format is learnt.
LEARNT_FLOORS=(
  append_only=100
  grammar_verdict=100
  message=99.4
  on_purpose=100
  timeline=100
)

# roundtrip.py over both packs: cases, and formats that come back whole; and the same with no knowledge of any model. And over wild-3.
ROUNDTRIP_FLOORS=(--min 99.4 --min-whole 98.6)
ROUNDTRIP_LEARNT_FLOORS=(--learn-only --min 99.9 --min-whole 99.3)
ROUNDTRIP_WILD_3_FLOORS=(--min 100 --min-whole 100)

# response_engines.py: how many of the exports an engine serves, and which share of the messages its reader reads as we do.
ENGINE_FLOORS=(vllm:129:97.7 vllm-rust:129:86.7 sglang:129:97.1)

# response_templates.py: templates with an export, messages that transformers reads the same with it, and messages that chatparse reads by TRL's
# response templates as transformers does, or whole where that loses something.
RESPONSE_FLOORS=(--min-exports 100 --min-same 98.1 --min-imports 100)

# seeded.py: planted faults that lint finds, of the templates that --every 8 takes, and faults that transformers' Jinja renders, in percent.
SEEDED_FLOORS=(--found 98 --true 100)

# instances.py: how faithful the grammars of schemas are. Two schemas allow nothing, and are refused.
INSTANCE_FLOORS=(
  compiles=99.8
  right=95.7
  valid=97
  invalid=98.7
  told_wide=100
  told_narrow=100
)

# laws.py: what share of each law is violated, in percent, over the templates of all three folders. `foreign` counts text behind a prompt
# that opens a thought as content, in six templates.
LAWS=(
  --max both=0.2
  --max effort=0.5
  --max foreign=19.8
  --max media=0.1
  --max near=0.3
  --max order=0.5
  --max parts=0
  --max prefill=0.5
  --max quoted=1.2
  --max said=0.1
  --max thought=0
  --max types=0.1
  --max unchanged=0
  --max unclosed=0.5
)

# invented/judge.py: how many of 300 templates that nobody published are read whole, and have a grammar that is right, in percent.
INVENTED=(--min "templates read whole=97.9" --min "templates whose grammar is right=96.6" --min "grammar takes what the template writes=100")

# calls-fit.py: of how many calls, in percent, a request's grammar says rightly whether they fit the tool's schema, or its report says more.
CALLS_FIT=100

# constrained.py: how many outputs of real engines with random logits, in percent, are read and hold to the tools' schemas.
CONSTRAINED=99

# constrained.py --model: what a token may cost in llama.cpp's sampler beside its own grammar of the same request, median over requests.
TOKEN_COST=1.1

# samples.py: how many random outputs under a request's grammar, in percent, are not read, or have calls that do not fit.
SAMPLES=0.05
SAMPLES_HUB=0.05

# conserve.py: of how many mutated outputs, in percent, text is lost.
LOST=0

# canitoolcall.py: how many outputs of real models are read exactly, in percent, without calls that have no end.
REAL_OUTPUTS=98.3

# peers/run.py: how many cases of other engines' tests may fail. Most of them want text to be dropped, broken arguments to be guessed, or
# a call to be text; some contradict each other.
PEER_FAILURES=44

# shapes.py: how many requests that clients send, in percent, may be refused or lose a text; none without a note.
SHAPES=0.2

# Prompts that differ from transformers', are refused, or lose a text of a message: three, where llama.cpp's way to show a Gemma 4 turn
# has no room for what stands beside its calls.
PROMPT_FAILURES=3

# masks.py beside TRL's training templates, in percent: inferred, and where the template marks the text itself. 7.5 are lost to two templates
# that print the day, which the comparison fixes on one side only; 1.2 to one that trains on the end of a tool's result.
MASKS=91
TAGGED_MASKS=92.5
