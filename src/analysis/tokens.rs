//! Lists the markers that the tokeniser must keep as single tokens, trimmed and without duplicates.

use super::context::AnalysisContext;
use super::layout::Layout;
use super::markup::trim;

pub(super) fn run(context: &mut AnalysisContext) {
    context.derive(|layout| layout.preserved_tokens = markers_of(layout));
}

/// All markers that the model writes, in their usual order.
fn markers_of(layout: &Layout) -> Vec<String> {
    let Layout { reasoning, content, tools, function, arguments, call_id, .. } = layout;
    let markers = [
        &reasoning.start,
        &reasoning.end,
        &content.start,
        &content.end,
        &tools.section_start,
        &tools.section_end,
        &tools.per_call_start,
        &tools.per_call_end,
        &function.name_prefix,
        &function.name_suffix,
        &function.args_separator,
        &function.close,
        &arguments.name_prefix,
        &arguments.name_suffix,
        &arguments.separator,
        &arguments.value_prefix,
        &arguments.value_suffix,
        &call_id.prefix,
        &call_id.suffix,
    ];
    let mut tokens: Vec<String> = Vec::new();
    for marker in markers.map(|marker| trim(marker)) {
        if !marker.is_empty() && !tokens.iter().any(|token| token == marker) {
            tokens.push(marker.into());
        }
    }
    tokens
}
