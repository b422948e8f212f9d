//! What is known of each field of Responses and Messages, in the form of the table of chat completions.

use std::sync::LazyLock;

use chatparse_message::{COMMON_TEXT, Table};

/// Responses.
pub static RESPONSES: LazyLock<Table> = LazyLock::new(|| Table::new(&[RESPONSES_TEXT, COMMON_TEXT]));

/// Messages.
pub static MESSAGES: LazyLock<Table> = LazyLock::new(|| Table::new(&[MESSAGES_TEXT, COMMON_TEXT]));

const RESPONSES_TEXT: &str = "
request = input instructions parallel_tool_calls reasoning text tool_choice tools .model .stream .stream_options .temperature .top_p
request = .top_k .min_p .seed .presence_penalty .frequency_penalty .max_output_tokens .max_tool_calls .top_logprobs .include .truncation
request = -access_programs -background_options -image
request ?context_management the messages are as sent; the host may compact them
request !background answers are not kept here; it must be false
request !previous_response_id answers are not kept here; send the whole conversation as input
request !conversation conversations are not kept here; send the whole conversation as input
request !prompt prompts are not kept here; send instructions and input
request.reasoning = effort .summary .generate_summary -context -mode
request.text = format .verbosity
format.json_schema = name description schema strict
request.tool_choice tool_choice.function tool_choice.custom = name namespace mode tools -server_label
function = name description parameters strict input_examples
custom = name description format
function custom = namespace defer_loading async allowed_callers -cache_control -eager_input_streaming -output_schema
function !* there is no such field, and what it says would be lost
custom !* there is no such field, and what it says would be lost
format.grammar = syntax definition
request.input message = role content phase -id -status
input_text output_text text = text -annotations -logprobs -prompt_cache_breakpoint -cache_control
refusal = refusal
input_image = image_url detail -prompt_cache_breakpoint
input_file = file_data filename -detail -prompt_cache_breakpoint
input_image input_file !file_id files are not kept here; send the data
input_file !file_url files are not kept here; send the data
input_audio = input_audio -prompt_cache_breakpoint
input_audio.input_audio = data format
reasoning = summary content encrypted_content -id -status
summary_text reasoning_text = text
function_call = call_id name arguments namespace
custom_tool_call = call_id name input namespace
function_call custom_tool_call = -id -status -async -caller
function_call_output custom_tool_call_output = call_id output -id -status -caller -name -namespace
apply_patch_call = operation
shell_call = action -environment
local_shell_call = action
tool_search_call = arguments -execution
apply_patch_call shell_call local_shell_call tool_search_call = call_id id -status -caller
apply_patch_call_output shell_call_output local_shell_call_output = call_id id output status -caller -max_output_length
tool_search_output = call_id id tools status -execution
additional_tools = role tools -id
configuration_update = reasoning text -id
configuration_update.reasoning = effort
configuration_update.text = format
compaction_trigger = -id
mcp_list_tools = server_label tools -id -error
mcp_list_tools.tools = name description input_schema -annotations
mcp_approval_request = id name arguments server_label
mcp_approval_response = approval_request_id approve reason -id
mcp_call = id name arguments server_label output error approval_request_id -status
item_reference !type items are not kept here; send the item itself
compaction !type only who has made it can read it; send a message with what it says
program program_output !type no programs run here; send the calls that the program made, and their outputs
file_search_call computer_call computer_call_output web_search_call image_generation_call code_interpreter_call !type \
is of a tool that a server runs; send it as a call of a function, and its output
";

const MESSAGES_TEXT: &str = "
request = messages system tools tool_choice thinking output_config output_format .compaction .model .max_tokens .stop_sequences .stream
request = .temperature .top_p .top_k .min_p .seed .presence_penalty .frequency_penalty -cache_control -speed -inference_geo -diagnostics
request = -billing_policy -fallback_credit_token -fallbacks -user_profile_id -workspace_id -betas
request ?context_management the messages are as sent; the host may edit them
request !container containers are not supported
request !mcp_servers the tools of other servers are not supported; send them as tools
request !thread conversations are not kept here; send all messages
request.output_config = effort format -task_budget
format.json_schema output_format.json_schema = schema
request.thinking = -budget_tokens -display -block_binding
request.tool_choice = name disable_parallel_tool_use
request.tools custom = name description input_schema namespace defer_loading strict input_examples allowed_callers
request.tools custom = -cache_control -eager_input_streaming -output_schema
request.tools custom !* there is no such field, and what it says would be lost
request.messages = role content clear_at output_config
request.messages.output_config = effort
text = text -cache_control -citations
image = source -cache_control -transformations
document = source title context -cache_control
search_result = source title content -cache_control
document search_result ?citations answers have no citations here
source.base64 = media_type data
source.text = data -media_type
source.url = url
source.content = content
source.file !type files are not kept here; send the data
thinking = thinking signature
redacted_thinking = -data
tool_use server_tool_use = id name input namespace -caller -toolset_name -cache_control
mcp_tool_use = id name input server_name -cache_control
tool_result mcp_tool_result = tool_use_id content is_error -toolset_name -cache_control
tool_search_tool_result = tool_use_id content -cache_control
tool_search_tool_search_result = tool_references
tool_search_tool_result_error = error_code -error_message
tool_reference = tool_name name -cache_control
tool_addition tool_removal = tool -cache_control
mcp_tool_reference mcp_toolset_reference = server_name name
tool_definition = definition
mcp_tool_listing = mcp_server_name tools
mcp_tool_listing.tools = name description input_schema
fallback = -from -to -trigger
compaction = content tool_changes -encrypted_content -signature -cache_control
web_search_tool_result web_fetch_tool_result code_execution_tool_result bash_code_execution_tool_result \
text_editor_code_execution_tool_result advisor_tool_result !type is of a tool that a server runs; send it as a tool_result
container_upload !type files are not kept here; send the data
browser_state !type browsers do not run here; send what the model is to see as text
";
