//! What is known of each field of Responses and Messages, in the form of the table of chat
//! completions.

use std::sync::LazyLock;

use chatparse_message::{COMMON_TEXT, Table};

/// Responses.
pub static RESPONSES: LazyLock<Table> =
    LazyLock::new(|| Table::new(&[RESPONSES_TEXT, COMMON_TEXT]));

/// Messages.
pub static MESSAGES: LazyLock<Table> = LazyLock::new(|| Table::new(&[MESSAGES_TEXT, COMMON_TEXT]));

const RESPONSES_TEXT: &str = "
request = input instructions parallel_tool_calls reasoning text tool_choice tools .max_output_tokens .max_tool_calls .include .truncation
request = -access_programs -background_options -image
request ?context_management the messages are as sent; the host may compact them
request !background answers are not kept here; it must be false
request !previous_response_id answers are not kept here; send the whole conversation as input
request !conversation conversations are not kept here; send the whole conversation as input
request !prompt prompts are not kept here; send instructions and input
request.reasoning configuration_update.reasoning = effort .summary .generate_summary -context -mode
request.text configuration_update.text = format .verbosity
format.json_schema format.json_object = schema -name -description -strict
request.tool_choice tool_choice.function tool_choice.custom = name namespace mode tools -server_label
function = parameters strict input_examples
custom = format
function custom = name description namespace defer_loading async allowed_callers -eager_input_streaming -output_schema !
file_search computer computer_use_preview web_search web_search_preview mcp code_interpreter image_generation programmatic_tool_calling = .*
format.grammar = syntax definition
message request.input = role content phase
input_text output_text text summary_text reasoning_text = text -annotations -logprobs
input_image = image_url detail
input_file = file_data filename -detail
input_image input_file !file_id files are not kept here; send the data
input_file !file_url files are not kept here; send the data
input_audio = input_audio
input_audio.input_audio = data format
reasoning = summary content encrypted_content
function_call custom_tool_call = call_id name arguments input namespace -async
apply_patch_call shell_call local_shell_call tool_search_call = call_id id operation action arguments -environment -execution
function_call_output custom_tool_call_output apply_patch_call_output shell_call_output local_shell_call_output tool_search_output = \
call_id id output status tools -name -namespace -max_output_length -execution
apply_patch_call.operation shell_call.action local_shell_call.action shell_call_output.output mcp_call.error = *
additional_tools = role tools
configuration_update = reasoning text
compaction_trigger =
mcp_list_tools = server_label tools -error
mcp_list_tools.tools = name description input_schema -annotations
mcp_approval_request mcp_call = id name arguments server_label output error approval_request_id
mcp_approval_response = approval_request_id approve reason
item_reference !type items are not kept here; send the item itself
compaction !type only who has made it can read it; send a message with what it says
program program_output !type no programs run here; send the calls that the program made, and their outputs
file_search_call computer_call computer_call_output web_search_call image_generation_call code_interpreter_call !type \
is of a tool that a server runs; send it as a call of a function, and its output
";

const MESSAGES_TEXT: &str = "
request = messages system tools tool_choice thinking output_config output_format .compaction .max_tokens .stop_sequences -cache_control
request = -speed -inference_geo -diagnostics -billing_policy -fallback_credit_token -fallbacks -user_profile_id -workspace_id -betas
request ?context_management the messages are as sent; the host may edit them
request !container containers are not supported
request !mcp_servers the tools of other servers are not supported; send them as tools
request !thread conversations are not kept here; send all messages
request.output_config request.messages.output_config = effort format -task_budget
format.json_schema output_format.json_schema = schema
request.thinking = -budget_tokens -display -block_binding
request.tool_choice = name disable_parallel_tool_use
request.tools tool_definition.definition custom = name description input_schema namespace defer_loading strict input_examples allowed_callers \
-eager_input_streaming -output_schema !
web_search web_fetch code_execution computer advisor mcp_toolset browser_toolset computer_toolset tool_search_tool_bm25 \
tool_search_tool_regex = .*
request.messages = role content clear_at output_config
text = text -citations
image = source -transformations
document search_result = source title context content
document search_result ?citations answers have no citations here
source.base64 source.text source.url source.content = data media_type url content
source.file !type files are not kept here; send the data
thinking = thinking -signature
redacted_thinking ?data only who has sealed it can read it
tool_use server_tool_use mcp_tool_use = id name input namespace server_name -toolset_name
tool_result mcp_tool_result tool_search_tool_result = tool_use_id content is_error -toolset_name
tool_search_tool_search_result tool_search_tool_result_error = tool_references error_code -error_message
tool_reference mcp_tool_reference = tool_name name server_name
mcp_toolset_reference !type the tools of other servers are the host's; name each tool
tool_addition tool_removal = tool
tool_definition = definition
mcp_tool_listing = mcp_server_name tools
mcp_tool_listing.tools = name description input_schema
fallback = -from -to -trigger
compaction = content -encrypted_content -signature
compaction ?tool_changes the tools are those of the request
web_search_tool_result web_fetch_tool_result code_execution_tool_result bash_code_execution_tool_result \
text_editor_code_execution_tool_result advisor_tool_result !type is of a tool that a server runs; send it as a tool_result
container_upload !type files are not kept here; send the data
browser_state !type browsers do not run here; send what the model is to see as text
";
