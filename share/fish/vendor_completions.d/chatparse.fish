# Completions of chatparse for fish, made by `chatparse completions fish`.
complete -c chatparse -f -n __fish_use_subcommand -a render -d 'print the prompt of a request'
complete -c chatparse -f -n __fish_use_subcommand -a inspect -d 'show what was learnt of a template, and from what'
complete -c chatparse -f -n __fish_use_subcommand -a lint -d 'check that what templates write is read back'
complete -c chatparse -f -n __fish_use_subcommand -a parse -d 'read a model'\''s output as a message, while it comes'
complete -c chatparse -f -n __fish_use_subcommand -a grammar -d 'print the grammar of a JSON schema, or check a grammar'
complete -c chatparse -f -n __fish_use_subcommand -a board -d 'print a page with what is known of each of many templates'
complete -c chatparse -f -n __fish_use_subcommand -a export -d 'print how a template'\''s model writes, as a response template'
complete -c chatparse -f -n __fish_use_subcommand -a replay -d 'answer recorded scenarios, one JSON object a line'
complete -c chatparse -f -n __fish_use_subcommand -a templates -d 'list the built-in templates'
complete -c chatparse -f -n __fish_use_subcommand -a completions -d 'print the completions of a shell'
complete -c chatparse -f -n __fish_use_subcommand -a man -d 'print the manual page'
complete -c chatparse -f -n __fish_use_subcommand -a help -d 'print the help of a command'
complete -c chatparse -n __fish_use_subcommand -l version -d 'the version'
complete -c chatparse -l color -x -a 'auto always never' -d 'auto (the default): colours on a terminal, unless NO_COLOR is set or TERM is dumb; always; never'
complete -c chatparse -l help -d 'this text; also -h'
complete -c chatparse -n '__fish_seen_subcommand_from render' -l plain -d 'pass the messages, tools, documents and chat_template_kwargs of the request to the template unchanged, and nothing else: as transformers does'
complete -c chatparse -n '__fish_seen_subcommand_from render' -l segments -d 'print the origin of each part of the prompt: in colours on a terminal, otherwise as one JSON object per line'
complete -c chatparse -n '__fish_seen_subcommand_from render' -l params -d 'print all parameters of the request as JSON: the prompt, the generation prompt, triggers, stops, preserved tokens'
complete -c chatparse -n '__fish_seen_subcommand_from render' -l bos -x -d 'the token that begins a prompt, e.g. '\''<s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from render' -l eos -x -d 'the token that ends a turn, e.g. '\''</s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from render' -l name -x -d 'which of several templates in a tokenizer_config.json; default: default'
complete -c chatparse -n '__fish_seen_subcommand_from render' -a 'chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder' -d TEMPLATE
complete -c chatparse -n '__fish_seen_subcommand_from inspect' -l evidence -d 'also print each text that was learnt, and the renders that show it'
complete -c chatparse -n '__fish_seen_subcommand_from inspect' -l json -d 'the same as one JSON object: caps, reader, tried, proof, layout, turn and evidence'
complete -c chatparse -n '__fish_seen_subcommand_from inspect' -l learn-only -d 'learn from the template only: use no knowledge of families of templates'
complete -c chatparse -n '__fish_seen_subcommand_from inspect' -l response-template -r -d 'a response template (JSON) that says how the output is read; used unless another reader reads back more of what the template renders'
complete -c chatparse -n '__fish_seen_subcommand_from inspect' -l bos -x -d 'the token that begins a prompt, e.g. '\''<s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from inspect' -l eos -x -d 'the token that ends a turn, e.g. '\''</s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from inspect' -l name -x -d 'which of several templates in a tokenizer_config.json; default: default'
complete -c chatparse -n '__fish_seen_subcommand_from inspect' -a 'chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder' -d TEMPLATE
complete -c chatparse -n '__fish_seen_subcommand_from lint' -l json -d 'the report on each template as one JSON object, with every turn; one object after the other'
complete -c chatparse -n '__fish_seen_subcommand_from lint' -l fix -d 'write the edits that mend findings to the file, and print them; a Jinja file only, neither standard input nor JSON'
complete -c chatparse -n '__fish_seen_subcommand_from lint' -l sarif -d 'what was found in SARIF 2.1.0, for code hosts and editors'
complete -c chatparse -n '__fish_seen_subcommand_from lint' -l learn-only -d 'learn from the template only: use no knowledge of families of templates'
complete -c chatparse -n '__fish_seen_subcommand_from lint' -l bos -x -d 'the token that begins a prompt, e.g. '\''<s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from lint' -l eos -x -d 'the token that ends a turn, e.g. '\''</s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from lint' -l name -x -d 'which of several templates in a tokenizer_config.json; default: default'
complete -c chatparse -n '__fish_seen_subcommand_from lint' -a 'chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder' -d TEMPLATE
complete -c chatparse -n '__fish_seen_subcommand_from parse' -l json -d 'print the message as OpenAI JSON, and its status, when all is read'
complete -c chatparse -n '__fish_seen_subcommand_from parse' -l events -d 'print a JSON line for each piece: its kind (reasoning, content, tool_name, tool_id, tool_arguments, tool_end), the number of its call, its text and its span in the output in bytes; at the end the status'
complete -c chatparse -n '__fish_seen_subcommand_from parse' -l partial -d 'the output was cut off, it did not end by itself'
complete -c chatparse -n '__fish_seen_subcommand_from parse' -l fail-on -x -a 'partial recovered calls' -d 'exit with 3 where the result is one of these, with commas between them: partial, recovered (the status), calls (a call that is not complete, of no offered tool, or has arguments that its schema does not allow)'
complete -c chatparse -n '__fish_seen_subcommand_from parse' -l strict -d 'fail if the output does not match the template'\''s format, or ends before it does (unless --partial), and print no status; otherwise the rest is content'
complete -c chatparse -n '__fish_seen_subcommand_from parse' -l learn-only -d 'learn from the template only: use no knowledge of families of templates'
complete -c chatparse -n '__fish_seen_subcommand_from parse' -l response-template -r -d 'a response template (JSON) that says how the output is read; used unless another reader reads back more of what the template renders'
complete -c chatparse -n '__fish_seen_subcommand_from parse' -l bos -x -d 'the token that begins a prompt, e.g. '\''<s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from parse' -l eos -x -d 'the token that ends a turn, e.g. '\''</s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from parse' -l name -x -d 'which of several templates in a tokenizer_config.json; default: default'
complete -c chatparse -n '__fish_seen_subcommand_from parse' -a 'chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder' -d TEMPLATE
complete -c chatparse -n '__fish_seen_subcommand_from grammar' -l check -d 'check a grammar, or a text against it'
complete -c chatparse -n '__fish_seen_subcommand_from grammar' -l dialect -x -a 'gbnf portable-gbnf lark structural-tag structural-tag-old' -d 'gbnf, portable-gbnf (also for XGrammar), lark (llguidance, XGrammar, vLLM) or structural-tag (XGrammar)'
complete -c chatparse -n '__fish_seen_subcommand_from grammar' -l llama -d 'the rules that llama.cpp makes of the schema, to the letter'
complete -c chatparse -n '__fish_seen_subcommand_from board' -l markdown -d 'a table in Markdown instead'
complete -c chatparse -n '__fish_seen_subcommand_from board' -l learn-only -d 'learn from the template only: use no knowledge of families of templates'
complete -c chatparse -n '__fish_seen_subcommand_from board' -l bos -x -d 'the token that begins a prompt, e.g. '\''<s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from board' -l eos -x -d 'the token that ends a turn, e.g. '\''</s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from board' -l name -x -d 'which of several templates in a tokenizer_config.json; default: default'
complete -c chatparse -n '__fish_seen_subcommand_from board' -a 'chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder' -d TEMPLATE
complete -c chatparse -n '__fish_seen_subcommand_from export' -l response-template -d 'a response template; the only format so far'
complete -c chatparse -n '__fish_seen_subcommand_from export' -l learn-only -d 'learn from the template only: use no knowledge of families of templates'
complete -c chatparse -n '__fish_seen_subcommand_from export' -l bos -x -d 'the token that begins a prompt, e.g. '\''<s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from export' -l eos -x -d 'the token that ends a turn, e.g. '\''</s>'\'''
complete -c chatparse -n '__fish_seen_subcommand_from export' -l name -x -d 'which of several templates in a tokenizer_config.json; default: default'
complete -c chatparse -n '__fish_seen_subcommand_from export' -a 'chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder' -d TEMPLATE
complete -c chatparse -n '__fish_seen_subcommand_from replay' -f
complete -c chatparse -n '__fish_seen_subcommand_from templates' -f -a 'chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder' -d NAME
complete -c chatparse -n '__fish_seen_subcommand_from templates' -f
complete -c chatparse -n '__fish_seen_subcommand_from completions' -f -a 'bash zsh fish' -d SHELL
complete -c chatparse -n '__fish_seen_subcommand_from completions' -f
complete -c chatparse -n '__fish_seen_subcommand_from man' -f
complete -c chatparse -n '__fish_seen_subcommand_from help' -f -a 'render inspect lint parse grammar board export replay templates completions man help' -d COMMAND
complete -c chatparse -n '__fish_seen_subcommand_from help' -f
