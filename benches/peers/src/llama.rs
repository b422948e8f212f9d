//! llama.cpp's chat layer, by the functions of `shim.cpp`.

use std::ffi::{CString, c_char, c_int};
use std::ptr::NonNull;

use crate::cases::Parsed;

// Its libraries are linked with this package.
use llama_cpp_sys_4 as _;

enum RawTemplate {}
enum RawRequest {}
enum RawParams {}
enum RawMessage {}

unsafe extern "C" {
    fn peer_quiet();
    fn peer_template_new(
        source: *const c_char,
        len: usize,
        bos: *const c_char,
        eos: *const c_char,
    ) -> *mut RawTemplate;
    fn peer_template_free(template: *mut RawTemplate);
    fn peer_request_new(body: *const c_char, len: usize) -> *mut RawRequest;
    fn peer_request_free(request: *mut RawRequest);
    fn peer_apply(template: *const RawTemplate, request: *const RawRequest) -> *mut RawParams;
    fn peer_params_free(params: *mut RawParams);
    fn peer_prompt(params: *mut RawParams, len: *mut usize) -> *const c_char;
    fn peer_grammar_len(params: *const RawParams) -> usize;
    fn peer_ready(params: *mut RawParams) -> bool;
    fn peer_parse(params: *const RawParams, text: *const c_char, len: usize) -> *mut RawMessage;
    fn peer_stream(
        params: *const RawParams,
        text: *const c_char,
        len: usize,
        step: usize,
        most: usize,
    ) -> *mut RawMessage;
    fn peer_message_free(message: *mut RawMessage);
    fn peer_field(message: *const RawMessage, field: c_int, len: *mut usize) -> *const c_char;
    fn peer_deltas(message: *const RawMessage) -> usize;
    fn peer_schema(schema: *const c_char, len: usize) -> usize;
}

/// Keeps its log to itself.
pub fn quiet() {
    // SAFETY: no arguments.
    unsafe { peer_quiet() }
}

macro_rules! owned {
    ($(#[$about:meta])* $name:ident, $raw:ident, $free:ident) => {
        $(#[$about])*
        pub struct $name(NonNull<$raw>);

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: it is ours, and nobody has it any more.
                unsafe { $free(self.0.as_ptr()) }
            }
        }
    };
}

owned!(
    /// A compiled template.
    Template, RawTemplate, peer_template_free
);
owned!(
    /// A request, read.
    Request, RawRequest, peer_request_free
);
owned!(
    /// What a request needs.
    Params, RawParams, peer_params_free
);
owned!(Message, RawMessage, peer_message_free);

impl Template {
    pub fn new(source: &str, bos: &str, eos: &str) -> Option<Self> {
        let (bos, eos) = (CString::new(bos).ok()?, CString::new(eos).ok()?);
        // SAFETY: texts with their lengths or ends.
        let raw = unsafe {
            peer_template_new(
                source.as_ptr().cast(),
                source.len(),
                bos.as_ptr(),
                eos.as_ptr(),
            )
        };
        NonNull::new(raw).map(Template)
    }

    pub fn apply(&self, request: &Request) -> Option<Params> {
        // SAFETY: both live.
        NonNull::new(unsafe { peer_apply(self.0.as_ptr(), request.0.as_ptr()) }).map(Params)
    }
}

impl Request {
    pub fn new(body: &str) -> Option<Self> {
        // SAFETY: a text with its length.
        NonNull::new(unsafe { peer_request_new(body.as_ptr().cast(), body.len()) }).map(Request)
    }
}

impl Params {
    pub fn prompt(&self) -> String {
        let mut len = 0;
        // SAFETY: the text lives as long as the params.
        unsafe { text(peer_prompt(self.0.as_ptr(), &mut len), len) }
    }

    pub fn grammar_len(&self) -> usize {
        // SAFETY: it lives.
        unsafe { peer_grammar_len(self.0.as_ptr()) }
    }

    /// Reads its parser.
    pub fn ready(&mut self) -> bool {
        // SAFETY: it is ours.
        unsafe { peer_ready(self.0.as_ptr()) }
    }

    /// All at once.
    pub fn parse(&self, output: &str) -> Option<Parsed> {
        // SAFETY: a text with its length.
        let raw = unsafe { peer_parse(self.0.as_ptr(), output.as_ptr().cast(), output.len()) };
        NonNull::new(raw).map(|raw| Message(raw).parsed())
    }

    /// As a server does, in pieces; at most the first `most` bytes, if not 0.
    pub fn stream(&self, output: &str, step: usize, most: usize) -> Option<Parsed> {
        // SAFETY: a text with its length.
        let raw = unsafe {
            peer_stream(
                self.0.as_ptr(),
                output.as_ptr().cast(),
                output.len(),
                step,
                most,
            )
        };
        NonNull::new(raw).map(|raw| Message(raw).parsed())
    }
}

impl Message {
    fn parsed(&self) -> Parsed {
        let field = |which| {
            let mut len = 0;
            // SAFETY: the text lives as long as the message.
            unsafe { text(peer_field(self.0.as_ptr(), which, &mut len), len) }
        };
        // SAFETY: it lives.
        let deltas = unsafe { peer_deltas(self.0.as_ptr()) };
        Parsed {
            content: field(0),
            reasoning: field(1),
            name: field(2),
            arguments: field(3),
            deltas,
        }
    }
}

/// The length of the grammar of a schema.
pub fn schema_grammar(schema: &str) -> usize {
    // SAFETY: a text with its length.
    unsafe { peer_schema(schema.as_ptr().cast(), schema.len()) }
}

/// # Safety
/// `len` bytes at `data`.
unsafe fn text(data: *const c_char, len: usize) -> String {
    // SAFETY: as the caller says.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(data.cast::<u8>(), len) })
        .into_owned()
}
