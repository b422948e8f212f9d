//! Adds schemas to a builder: of a response, of a tool's parameters, of one argument.

use serde_json::Value;
use smol_str::SmolStr;

use crate::faithful::{self, Undeclared, Writing};
use crate::rules::{Builder, Rule};
use chatparse_base::Result;

impl Builder {
    /// Adds the rules of a JSON schema and returns the name of its rule. `name` `""` or `"root"`
    /// makes it the top. Schemas may have the same name and equal `$ref`s; each gets separate
    /// rules.
    pub fn add_schema(&mut self, name: &str, schema: &Value) -> Result<SmolStr> {
        self.add_schema_within(name, schema, schema, Undeclared::Allowed)
    }

    /// [`Builder::add_schema`] for a part of a larger schema: its `$ref`s lead into `root`.
    ///
    /// # Errors
    /// As there.
    pub fn add_schema_within(
        &mut self,
        name: &str,
        schema: &Value,
        root: &Value,
        undeclared: Undeclared,
    ) -> Result<SmolStr> {
        self.add_values(name, schema, root, undeclared, &Writing::JSON)
    }

    /// [`Builder::add_schema_within`] for values that are not written as JSON, in the faithful
    /// style.
    pub(crate) fn add_values(
        &mut self,
        name: &str,
        schema: &Value,
        root: &Value,
        undeclared: Undeclared,
        writing: &Writing,
    ) -> Result<SmolStr> {
        let mark = self.mark();
        // The rule `root` is the top.
        let name = if name == "root" { "" } else { name };
        let added = match self.letter {
            None => faithful::add(self, name, schema, root, undeclared, writing),
            Some(letter) => (letter.add)(self, name, schema, root),
        };
        let (added, notes) = added.inspect_err(|_| self.undo(mark))?;
        notes.into_iter().for_each(|note| self.note(note));
        Ok(added)
    }

    /// Adds the shared rule of this name, with all rules that it needs.
    pub fn share(&mut self, name: &'static str) -> SmolStr {
        if !self.has_rule(name)
            && let Some(shared) = self.primitive(name)
        {
            self.add(name, shared.body());
            self.share_all(shared.needs);
        }
        SmolStr::new_static(name)
    }

    /// A reference to a shared rule.
    pub fn shared(&mut self, name: &'static str) -> Rule {
        Rule::Reference(self.share(name))
    }

    /// Adds a rule, and refers to it.
    pub fn refer(&mut self, name: &str, rule: Rule) -> Rule {
        Rule::Reference(self.add(name, rule))
    }

    /// The body of a shared rule, for use under another name.
    pub fn unshared(&mut self, name: &'static str) -> Rule {
        match self.primitive(name) {
            Some(shared) => {
                self.share_all(shared.needs);
                shared.body()
            }
            None => Rule::reference(name),
        }
    }

    fn share_all(&mut self, names: &[&'static str]) {
        for name in names {
            self.share(name);
        }
    }
}
