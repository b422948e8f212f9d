//! The C example, in Zig: a prompt, an answer as it streams in, and the message as a whole.

const std = @import("std");
const chatparse = @import("chatparse");

/// A template as a model vendor ships it. How this model writes reasoning and tool calls is learnt from the text.
const source =
    \\{%- for tool in tools or [] -%}
    \\Tool: {{ tool.function | tojson }}
    \\{% endfor -%}
    \\{%- for message in messages -%}
    \\<|{{ message.role }}|>
    \\{%- if message.reasoning_content -%}<think>{{ message.reasoning_content }}</think>{%- endif -%}
    \\{{- message.content or '' }}
    \\{%- for call in message.tool_calls or [] -%}
    \\<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
    \\{%- endfor -%}
    \\<|end|>
    \\{%- endfor -%}
    \\{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}
;

/// An OpenAI chat-completions body.
const request =
    \\{"messages": [{"role": "user", "content": "Is it raining in Oslo?"}],
    \\ "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
    \\ "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]}
;

/// What the model writes, in pieces as they come.
const pieces = [_][]const u8{
    "<think>Rain? Let me", " look.</think>One moment. <tool", //
    "_call>{\"name\": \"wea", "ther\", \"arguments\": {\"city\"", ": \"Oslo\"}}</tool_call>",
};

pub fn main() !void {
    var fail: chatparse.Diagnostic = .{};
    defer fail.deinit();
    run(&fail) catch |err| {
        std.debug.print("{t}: {s}\n", .{ err, fail.message() });
        return err;
    };
}

fn run(fail: *chatparse.Diagnostic) !void {
    const template = try chatparse.Template.init(source, .{ .eos = "<|end|>" }, fail);
    defer template.deinit();

    const params = try template.params(request, "{}", fail);
    defer params.deinit();
    std.debug.print("{s}\n", .{params.prompt()});

    const stream = try params.stream();
    defer stream.deinit();
    for (pieces) |piece| show(try stream.feed(piece));
    show(try stream.finish(.{}, fail));

    const message = try stream.message();
    defer message.deinit();
    std.debug.print("{s}\n", .{try message.json()});
}

fn show(all: chatparse.Deltas) void {
    var deltas = all;
    while (deltas.next()) |delta|
        std.debug.print("{s}: {s}\n", .{ @tagName(delta.kind), delta.text });
}
