"""llama.cpp with a real model, for `constrained.py --model`: what it writes under a grammar, and what the grammar costs. From the package xllamacpp."""
import ctypes
import json
import statistics
import time
import urllib.error
import urllib.request

# A small model reads more slowly than it writes: it gets the end of long prompts.
PROMPT = 500


class Opaque(ctypes.Structure):
    """Parameters that go from one function of llama.cpp to another; larger than they are."""

    _fields_ = [("bytes", ctypes.c_byte * 2048)]


class Candidates(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("selected", ctypes.c_int64), ("sorted", ctypes.c_bool)]


class Llama:
    def __init__(self, model):
        import numpy
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path, params.port, params.n_ctx, params.n_parallel = model, 0, 4096, 1
        # More threads wait for each other, where other programs run.
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.warmup, params.verbosity = False, -1
        self.server = xllamacpp.Server(params)
        # Its samplers work by themselves.
        self.llama = llama = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
        llama.llama_model_default_params.restype = Opaque
        llama.llama_model_load_from_file.argtypes, llama.llama_model_load_from_file.restype = [ctypes.c_char_p, Opaque], ctypes.c_void_p
        llama.llama_model_get_vocab.argtypes, llama.llama_model_get_vocab.restype = [ctypes.c_void_p], ctypes.c_void_p
        llama.llama_vocab_n_tokens.argtypes = [ctypes.c_void_p]
        llama.llama_sampler_init_grammar.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
        llama.llama_sampler_init_grammar.restype = ctypes.c_void_p
        llama.llama_sampler_apply.argtypes = [ctypes.c_void_p, ctypes.POINTER(Candidates)]
        llama.llama_sampler_accept.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        llama.llama_sampler_free.argtypes = [ctypes.c_void_p]
        loaded = llama.llama_model_load_from_file(model.encode(), llama.llama_model_default_params())
        self.vocabulary = llama.llama_model_get_vocab(loaded)
        self.tokens = numpy.zeros(llama.llama_vocab_n_tokens(self.vocabulary), dtype=[("id", "i4"), ("logit", "f4"), ("p", "f4")])
        self.tokens["id"] = range(len(self.tokens))

    def write(self, params, seed, limit):
        """A text, how it ended, and all its tokens."""
        # The grammar has the generation prompt, so the model writes that, too.
        opened = params["generation_prompt"]
        assert params["prompt"].endswith(opened)
        body = {"prompt": params["prompt"].removesuffix(opened)[-PROMPT:], "grammar": params["grammar"], "n_predict": limit}
        request = dict(body, temperature=1.0, seed=seed, return_tokens=True)
        try:
            request = urllib.request.Request(self.server.listening_address + "/completion", json.dumps(request).encode())
            answer = json.load(urllib.request.urlopen(request))
        except urllib.error.HTTPError as error:
            return "", f"an error: {error.read().decode()}", []
        text, end = answer["content"], {"eos": "end", "limit": "cut off"}.get(answer["stop_type"], answer["stop_type"])
        if not text.startswith(opened):
            return text, "not the prompt's end", []
        return text[len(opened) :], end, answer["tokens"]

    def cost(self, grammars, tokens):
        """The seconds in which each grammar says which tokens may come next, at each of these while all grammars take them."""
        made = [self.llama.llama_sampler_init_grammar(self.vocabulary, text.encode(), b"root") for text in grammars]
        spent = [0.0] * len(made)
        for token in tokens:
            before, taken = list(spent), True
            for index, sampler in enumerate(made):
                tried = self.tokens.copy()
                all = Candidates(tried.ctypes.data, len(tried), -1, False)
                start = time.thread_time()
                self.llama.llama_sampler_apply(sampler, ctypes.byref(all))
                spent[index] += time.thread_time() - start
                taken &= bool(tried["logit"][token] == 0)
            if not taken:
                spent = before
                break
            for sampler in made:
                self.llama.llama_sampler_accept(sampler, token)
        for sampler in made:
            self.llama.llama_sampler_free(sampler)
        return spent


def sampled(asked, theirs, options):
    """What the model writes under our grammars, as `constrained.with_engines` gives it; prints what they cost beside `theirs`."""
    llama, written, costs = Llama(options.model), [], []
    for (scenario, answer), their in zip(asked, theirs):
        for seed in range(options.seed, options.seed + options.per):
            text, end, tokens = llama.write(answer["params"], seed, options.tokens)
            fault = None if end in ("end", "cut off") else end
            written.append(("llama.cpp", scenario, {"text": text, "partial": end != "end"}, fault))
            ours, own = llama.cost([answer["params"]["grammar"], their["grammar"]], tokens[: options.timed])
            if own:
                costs.append((ours / own, scenario["id"]))
            if options.show:
                print(f"{scenario['id']}: {len(tokens)} tokens, {end}; {ours:.2f} and {own:.2f} s: {text!r}", flush=True)
    cost, worst = statistics.median(cost for cost, _ in costs), max(costs)
    print(f"{len(asked)} requests to a model; a token costs {cost:.3f} of what it costs under llama.cpp's own grammar, at most {worst}")
    if cost > options.max_cost:
        written.append(("llama.cpp", {"id": "all"}, {"text": "", "partial": True}, f"a token costs {cost:.3f}"))
    return written
