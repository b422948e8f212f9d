# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_chatparse_global_optspecs
    string join \n color= h/help V/version
end

function __fish_chatparse_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_chatparse_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_chatparse_using_subcommand
    set -l cmd (__fish_chatparse_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c chatparse -n "__fish_chatparse_needs_command" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_needs_command" -s V -l version -d 'Print version'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "render" -d 'Print the prompt of a request'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "inspect" -d 'Show what is learnt from a template, and from which renders'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "lint" -d 'Check templates: are their messages read back, do they contradict themselves'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "parse" -d 'Parse a model\'s output, while it comes'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "audit" -d 'Check what a server answered: calls in content, bytes sent twice, wrong finishes'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "grammar" -d 'Print the grammar of a JSON schema, or check a grammar'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "board" -d 'Print a page about many templates'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "export" -d 'Print a response template, made from a chat template'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "replay" -d 'Answer recorded scenarios, one JSON object a line'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "templates" -d 'List the built-in templates'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "completions" -d 'Print the completions of a shell'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "man" -d 'Print a manual page'
complete -c chatparse -n "__fish_chatparse_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c chatparse -n "__fish_chatparse_using_subcommand render" -l bos -d 'The token that begins a prompt, e.g. \'<s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand render" -l eos -d 'The token that ends a turn, e.g. \'</s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand render" -l name -d 'Which template, if a tokenizer_config.json has several; default: default' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand render" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand render" -l plain -d 'Pass the messages, tools, documents and chat_template_kwargs of the request to the template unchanged, and nothing else: as transformers does'
complete -c chatparse -n "__fish_chatparse_using_subcommand render" -l segments -d 'Print the origin of each part of the prompt: in colours on a terminal, otherwise as one JSON object per line'
complete -c chatparse -n "__fish_chatparse_using_subcommand render" -l tools -d 'Print how much of the prompt each tool takes: bytes, per cent, and the name of the tool'
complete -c chatparse -n "__fish_chatparse_using_subcommand render" -l params -d 'Print all parameters of the request as JSON: the prompt, the generation prompt, triggers, stops, preserved tokens'
complete -c chatparse -n "__fish_chatparse_using_subcommand render" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand inspect" -l response-template -d 'A response template (JSON) by which the output is read, unless another reader reads back more of what the template renders' -r -F
complete -c chatparse -n "__fish_chatparse_using_subcommand inspect" -l bos -d 'The token that begins a prompt, e.g. \'<s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand inspect" -l eos -d 'The token that ends a turn, e.g. \'</s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand inspect" -l name -d 'Which template, if a tokenizer_config.json has several; default: default' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand inspect" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand inspect" -l evidence -d 'Also print each text that was learnt, and the renders that show it'
complete -c chatparse -n "__fish_chatparse_using_subcommand inspect" -l json -d 'Print the same as one JSON object: caps, reader, tried, proof, layout, turn and evidence'
complete -c chatparse -n "__fish_chatparse_using_subcommand inspect" -l learn-only -d 'Learn from the template only, without the built-in rules for families'
complete -c chatparse -n "__fish_chatparse_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand lint" -l bos -d 'The token that begins a prompt, e.g. \'<s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand lint" -l eos -d 'The token that ends a turn, e.g. \'</s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand lint" -l name -d 'Which template, if a tokenizer_config.json has several; default: default' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand lint" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand lint" -l json -d 'Print one JSON object for each template, with every turn'
complete -c chatparse -n "__fish_chatparse_using_subcommand lint" -l sarif -d 'Print the findings as SARIF 2.1.0, for code hosts and editors'
complete -c chatparse -n "__fish_chatparse_using_subcommand lint" -l learn-only -d 'Learn from the template only, without the built-in rules for families'
complete -c chatparse -n "__fish_chatparse_using_subcommand lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -l fail-on -d 'Exit with 3 if the status is in this list (separated by commas); calls: if a call is not complete, calls no offered tool, or has arguments that the schema does not allow' -r -f -a "partial\t''
recovered\t''
calls\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -l response-template -d 'A response template (JSON) by which the output is read, unless another reader reads back more of what the template renders' -r -F
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -l bos -d 'The token that begins a prompt, e.g. \'<s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -l eos -d 'The token that ends a turn, e.g. \'</s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -l name -d 'Which template, if a tokenizer_config.json has several; default: default' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -l json -d 'Print the message as OpenAI JSON, and its status, at the end'
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -l events -d 'Print a JSON line for each piece: its kind (reasoning, content, tool_name, tool_id, tool_arguments, tool_end), the number of its call, its text and its span in the output in bytes; at the end the status'
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -l partial -d 'The output was cut off: the model did not end it'
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -l strict -d 'Fail if the output breaks the template\'s format, or stops before the format ends (unless --partial is given), and print no status. Otherwise the rest of such an output is content'
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -l learn-only -d 'Learn from the template only, without the built-in rules for families'
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand audit" -l bos -d 'The token that begins a prompt, e.g. \'<s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand audit" -l eos -d 'The token that ends a turn, e.g. \'</s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand audit" -l name -d 'Which template, if a tokenizer_config.json has several; default: default' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand audit" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand audit" -l json -d 'Print a JSON line for each finding: line, kind, choice, call, event and message'
complete -c chatparse -n "__fish_chatparse_using_subcommand audit" -l learn-only -d 'Learn from the template only, without the built-in rules for families'
complete -c chatparse -n "__fish_chatparse_using_subcommand audit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand grammar" -l dialect -d 'Also portable-gbnf (for XGrammar), lark (llguidance, XGrammar, vLLM) and structural-tag (XGrammar)' -r -f -a "gbnf\t''
portable-gbnf\t''
lark\t''
structural-tag\t''
structural-tag-old\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand grammar" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand grammar" -l check -d 'Check a grammar, or a text against it'
complete -c chatparse -n "__fish_chatparse_using_subcommand grammar" -l llama -d 'Print exactly the rules that llama.cpp makes of the schema'
complete -c chatparse -n "__fish_chatparse_using_subcommand grammar" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand board" -l bos -d 'The token that begins a prompt, e.g. \'<s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand board" -l eos -d 'The token that ends a turn, e.g. \'</s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand board" -l name -d 'Which template, if a tokenizer_config.json has several; default: default' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand board" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand board" -l markdown -d 'Print a table in Markdown instead'
complete -c chatparse -n "__fish_chatparse_using_subcommand board" -l learn-only -d 'Learn from the template only, without the built-in rules for families'
complete -c chatparse -n "__fish_chatparse_using_subcommand board" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand export" -l for -d 'The program that will read it' -r -f -a "transformers\t''
vllm\t''
vllm-rust\t''
sglang\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand export" -l bos -d 'The token that begins a prompt, e.g. \'<s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand export" -l eos -d 'The token that ends a turn, e.g. \'</s>\'' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand export" -l name -d 'Which template, if a tokenizer_config.json has several; default: default' -r
complete -c chatparse -n "__fish_chatparse_using_subcommand export" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand export" -l response-template -d 'Print a response template; the only format so far'
complete -c chatparse -n "__fish_chatparse_using_subcommand export" -l learn-only -d 'Learn from the template only, without the built-in rules for families'
complete -c chatparse -n "__fish_chatparse_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand replay" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand templates" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand templates" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand completions" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand man" -l color -d 'When to use colours; auto: on a terminal' -r -f -a "auto\t''
always\t''
never\t''"
complete -c chatparse -n "__fish_chatparse_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "render" -d 'Print the prompt of a request'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "inspect" -d 'Show what is learnt from a template, and from which renders'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "lint" -d 'Check templates: are their messages read back, do they contradict themselves'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "parse" -d 'Parse a model\'s output, while it comes'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "audit" -d 'Check what a server answered: calls in content, bytes sent twice, wrong finishes'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "grammar" -d 'Print the grammar of a JSON schema, or check a grammar'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "board" -d 'Print a page about many templates'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "export" -d 'Print a response template, made from a chat template'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "replay" -d 'Answer recorded scenarios, one JSON object a line'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "templates" -d 'List the built-in templates'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "completions" -d 'Print the completions of a shell'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "man" -d 'Print a manual page'
complete -c chatparse -n "__fish_chatparse_using_subcommand help; and not __fish_seen_subcommand_from render inspect lint parse audit grammar board export replay templates completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c chatparse -n "__fish_chatparse_using_subcommand render" -a "chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder deepseek-r1 deepseek-v3.1 deepseek-v4 deepseek-v4.1 hy-3 seed-oss solar-open k2-horizon apertus inkling functionary-v2 minicpm3"
complete -c chatparse -n "__fish_chatparse_using_subcommand inspect" -a "chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder deepseek-r1 deepseek-v3.1 deepseek-v4 deepseek-v4.1 hy-3 seed-oss solar-open k2-horizon apertus inkling functionary-v2 minicpm3"
complete -c chatparse -n "__fish_chatparse_using_subcommand lint" -a "chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder deepseek-r1 deepseek-v3.1 deepseek-v4 deepseek-v4.1 hy-3 seed-oss solar-open k2-horizon apertus inkling functionary-v2 minicpm3"
complete -c chatparse -n "__fish_chatparse_using_subcommand parse" -a "chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder deepseek-r1 deepseek-v3.1 deepseek-v4 deepseek-v4.1 hy-3 seed-oss solar-open k2-horizon apertus inkling functionary-v2 minicpm3"
complete -c chatparse -n "__fish_chatparse_using_subcommand audit" -a "chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder deepseek-r1 deepseek-v3.1 deepseek-v4 deepseek-v4.1 hy-3 seed-oss solar-open k2-horizon apertus inkling functionary-v2 minicpm3"
complete -c chatparse -n "__fish_chatparse_using_subcommand board" -a "chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder deepseek-r1 deepseek-v3.1 deepseek-v4 deepseek-v4.1 hy-3 seed-oss solar-open k2-horizon apertus inkling functionary-v2 minicpm3"
complete -c chatparse -n "__fish_chatparse_using_subcommand export" -a "chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder deepseek-r1 deepseek-v3.1 deepseek-v4 deepseek-v4.1 hy-3 seed-oss solar-open k2-horizon apertus inkling functionary-v2 minicpm3"
complete -c chatparse -n "__fish_chatparse_using_subcommand templates" -a "chatml json-call json-nested json-array-ids json-name-key json-bare tag-json tag-json-id tag-arguments tag-invoke tag-parameters wrapped-content ministral-3 llm-jp-harmony gpt-oss harmony-xml muse-glimmer muse-spark functionary-v3.2 kimi-k2 kimi-k3 ling-3 cohere2-moe lfm2 gigachat-3 minimax-m3 deepseek-v3.2 gemma-4 minicpm5 qwen3-coder deepseek-r1 deepseek-v3.1 deepseek-v4 deepseek-v4.1 hy-3 seed-oss solar-open k2-horizon apertus inkling functionary-v2 minicpm3"
