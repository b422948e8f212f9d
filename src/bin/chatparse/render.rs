//! `render`: a request as prompt text.

use std::io::Write;

use serde_json::json;

use crate::args::{Args, Syntax};
use crate::failure::Outcome;
use crate::screen::Screen;
use crate::{Command, input};

pub const COMMAND: Command = Command {
    name: "render",
    help: "\
chatparse render TEMPLATE [REQUEST]

Prints the prompt that the template makes of the request: its exact bytes, nothing
added. TEMPLATE is a Jinja file, a tokenizer_config.json with one, or the name of a
built-in template. REQUEST is the JSON body of a chat-completions request; standard
input where it is `-` or missing.

options:
  --bos TEXT    the token that begins a prompt, e.g. '<s>'
  --eos TEXT    the token that ends a turn, e.g. '</s>'
  --name NAME   which of several templates in a tokenizer_config.json; default: default
  --plain       show the template the messages, tools, documents and chat_template_kwargs
                of the request as they are, and nothing else: as transformers does
  --params      print all that the request needs as JSON: the prompt, what of it is
                the assistant's turn already, triggers, stops, preserved tokens

examples:
  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | chatparse render chatml
  chatparse render model.jinja request.json --bos '<s>' > prompt.txt
  chatparse render model.jinja request.json --params | jq .additional_stops
",
    syntax: Syntax {
        required: &["TEMPLATE"],
        optional: &["REQUEST"],
        flags: &["--plain", "--params"],
        values: input::TEMPLATE_OPTIONS,
    },
    run,
};

fn run(args: &Args, screen: &mut Screen) -> Outcome {
    let word = args.word(1).unwrap_or("-".as_ref());
    input::check_stdin(&[args.word(0).unwrap_or_default(), word])?;
    let template = input::template(args)?;
    let request = match args.flag("--plain") {
        true => input::request_with(word, &json!({"plain": true}))?,
        false => input::request(word)?,
    };
    if args.flag("--params") {
        let params = template.params(&request).map_err(|error| input::refused(args, word, &error))?;
        return Ok(writeln!(screen, "{:#}", params.to_json())?);
    }
    let prompt = template.prompt(&request).map_err(|error| input::refused(args, word, &error))?;
    Ok(screen.write_all(prompt.as_bytes())?)
}
