//! The places of values in JSON, as it comes.

use chatparse_base::pointer;

/// The place at which the beginning of a JSON text ends. The text may come in pieces.
#[derive(Clone, Default)]
pub struct Json {
    /// The place of the current value, as a pointer.
    pub pointer: String,
    /// The open containers: the length of the pointer to each, and the number of an array's item.
    pub open: Vec<(usize, Option<usize>)>,
    /// The string or word that is open.
    token: String,
    pub in_string: bool,
    escaped: bool,
    /// The name of a member comes next, or is open.
    pub at_name: bool,
    pub in_value: bool,
}

impl Json {
    /// Reads a piece. Shows each value that ends, and each bracket that opens a container, as
    /// written.
    pub fn read(&mut self, text: &str, see: &mut dyn FnMut(&Json, &str)) {
        for c in text.chars() {
            let in_word = !self.in_string && !self.token.is_empty();
            if in_word && (c.is_ascii_whitespace() || ",]}".contains(c)) {
                self.end(see);
            } else if in_word || self.in_string {
                self.token.push(c);
                match c {
                    _ if std::mem::take(&mut self.escaped) || in_word => {}
                    '\\' => self.escaped = true,
                    '"' => self.end(see),
                    _ => {}
                }
                continue;
            }
            match c {
                '{' | '[' => {
                    see(self, c.encode_utf8(&mut [0; 4]));
                    self.open
                        .push((self.pointer.len(), (c == '[').then_some(0)));
                    self.begin_item(); // An array's first item may be there or not.
                    self.in_value = false;
                }
                '}' | ']' => {
                    self.pointer
                        .truncate(self.open.pop().map_or(0, |(length, _)| length));
                    (self.at_name, self.in_value) = (false, false);
                }
                ',' => {
                    if let Some((length, item)) = self.open.last_mut() {
                        self.pointer.truncate(*length);
                        *item = item.map(|item| item + 1);
                        self.begin_item();
                    }
                }
                ':' => (self.at_name, self.in_value) = (false, true),
                c if c.is_ascii_whitespace() => {}
                c => {
                    self.token.push(c);
                    self.in_string = c == '"';
                    self.in_value = !(self.in_string && self.at_name);
                }
            }
        }
    }

    /// The same for a text that is all.
    pub fn read_all(&mut self, text: &str, see: &mut dyn FnMut(&Json, &str)) {
        self.read(text, see);
        if self.in_value && !self.token.is_empty() {
            self.end(see);
        }
    }

    /// In an array at the item, in an object before a name.
    fn begin_item(&mut self) {
        let item = self.open.last().and_then(|(_, item)| *item);
        if let Some(item) = item {
            self.pointer.push_str(&format!("/{item}"));
        }
        (self.at_name, self.in_value) = (item.is_none(), item.is_some());
    }

    /// Ends the string or word.
    fn end(&mut self, see: &mut dyn FnMut(&Json, &str)) {
        let token = std::mem::take(&mut self.token);
        if self.in_value {
            see(self, &token);
        } else {
            let name = serde_json::from_str(&token)
                .unwrap_or_else(|_| token[1..token.len() - 1].to_owned());
            self.pointer.truncate(self.container());
            self.pointer.extend(["/", &pointer::escaped(&name)]);
        }
        (self.in_string, self.in_value) = (false, false);
    }

    /// The place of the open value; between values, of the container.
    pub fn place(&self) -> &str {
        if self.in_value {
            &self.pointer
        } else {
            &self.pointer[..self.container()]
        }
    }

    fn container(&self) -> usize {
        self.open.last().map_or(0, |(length, _)| *length)
    }
}
