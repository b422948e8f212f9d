//! Lists and dicts as the template engine accesses them: items, iteration, order and text. Accesses
//! are recorded in their trace.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{DynObject, Enumerator, Object, ObjectRepr, Value};

use super::pyobject::{Dict, Form, List};
use super::pyrepr;

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let index = match (self.form, key.as_str()) {
            (Form::Group, Some("grouper")) => 0,
            (Form::Group, Some("list")) => 1,
            _ => key.as_usize()?,
        };
        self.trace.index();
        self.trace.read_child(index);
        self.look(|items| items.get(index).cloned())
    }

    /// Loops run over a copy, because their body may change the list.
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.trace.index();
        self.read_items();
        self.items().map_or(Enumerator::Empty, Enumerator::Values)
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.look(<[_]>::len))
    }

    /// A list never equals a tuple.
    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        let class = |form: Form| (form.is_tuple(), matches!(form, Form::Range(..)));
        let order = class(self.form).cmp(&class(other.downcast_ref::<List>()?.form));
        order.is_ne().then_some(order)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&pyrepr::repr(&Value::from_dyn_object(self.clone())))
    }
}

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        if let Some(name) = key.as_str() {
            self.trace.read_child(name);
        }
        self.get(key)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.trace.read_child(key);
        self.map().get_by_str(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.map().enumerate()
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.map().len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&pyrepr::repr(&Value::from_dyn_object(self.clone())))
    }
}
