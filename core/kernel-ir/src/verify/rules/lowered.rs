//! The rules of operations that only lowering creates. Lowering creates its own operations for
//! accesses to tensors, and for operations that several threads execute together.

use super::super::{Verdict, ensure};
use super::Rule;
use crate::{Attribute, OpKind, Scalar, Type};

/// Upper bound of the stride between rows, in elements. The bound is larger than any row in memory,
/// and ensures that the computation of a stride in bytes does not overflow.
const MOST_STRIDE: i64 = 1 << 48;

impl Rule<'_> {
    pub(super) fn lowered(&self) -> Verdict {
        let (operands, results) = (&self.operands[..], &self.results[..]);
        match self.operation.kind {
            OpKind::Load => {
                self.place(0)?;
                self.ensure(
                    results.len() == 1 && (is_stored(results[0]) || results[0].as_tile().is_some()),
                    "takes a pointer and a position, and gives an element",
                )?;
                self.stride(results[0])
            }
            OpKind::Store | OpKind::AtomicStore | OpKind::AtomicCombine => {
                self.place(1)?;
                let is_tile = self.operation.kind == OpKind::Store && operands[0].as_tile().is_some();
                self.ensure(
                    (is_stored(operands[0]) || is_tile) && results.is_empty(),
                    "takes an element, a pointer and a position, and gives nothing",
                )?;
                self.stride(operands[0])?;
                if self.operation.kind != OpKind::Store {
                    self.text("threads")?;
                }
                if self.operation.kind != OpKind::AtomicCombine {
                    return Ok(());
                }
                let by = self.text("by")?;
                ensure(OpKind::of_name(by).is_some(), || format!("combines by `{by}`, which is no operation"))?;
                ensure(matches!(self.operation.attribute("element"), Some(Attribute::Type(_))), || {
                    "needs the attribute `element`, the element type in memory".into()
                })
            }
            OpKind::ConstantMemory => {
                ensure(matches!(self.operation.attribute("value"), Some(Attribute::Dense(..))), || {
                    "needs the attribute `value`, as `dense<…>`".into()
                })?;
                self.pointer()
            }
            OpKind::ShuffleDown => {
                self.number("distance", |distance| distance > 0)?;
                self.number("lanes", |lanes| lanes > 0)?;
                let one = matches!((operands, results), ([a], [r]) if a == r && !matches!(a, Type::Tensor(..)));
                self.ensure(one, "takes a value and gives one of its type")
            }
            OpKind::ReportAccess | OpKind::ReportIndex => {
                let names: &[&str] = match self.operation.kind {
                    OpKind::ReportAccess => &["bytes", "element_bytes", "kind"],
                    _ => &["dimension", "size"],
                };
                names.iter().try_for_each(|name| self.number(name, |number| number >= 0))?;
                self.place(0)?;
                self.ensure(results.is_empty(), "gives nothing")
            }
            _ => Err("is an operation without a rule".into()),
        }
    }

    pub(super) fn memory(&self) -> Verdict {
        self.number("bytes", |bytes| bytes >= 0)?;
        self.number("alignment", is_alignment)?;
        self.pointer()
    }

    pub(super) fn signal(&self) -> Verdict {
        self.ensure(self.operands.is_empty() && self.results.is_empty(), "takes and gives nothing")?;
        self.text("site").map(drop)
    }

    /// Checks that the operands from `first` on are a pointer and a position. The position is an
    /// offset from the pointer in elements, of type `index` or `i64`.
    pub(super) fn place(&self, first: usize) -> Verdict {
        let place = self.operands.get(first..).unwrap_or_default();
        let holds = matches!(place, [Type::Pointer(_), Type::Scalar(Scalar::Index | Scalar::I64)]);
        self.ensure(holds, &format!("takes as operands {first} and {} a pointer and a position", first + 1))?;
        if self.operation.attribute("alignment").is_some() {
            self.number("alignment", is_alignment)?;
        }
        match self.operation.attribute("complex_part") {
            None => Ok(()),
            Some(_) => self.number("complex_part", |part| (0..2).contains(&part)),
        }
    }

    /// Checks the stride between a tile's rows in memory, in elements.
    fn stride(&self, moved: &Type) -> Verdict {
        match moved.as_tile() {
            None => Ok(()),
            Some(([_, columns], _)) => self.number("stride", |stride| (columns..MOST_STRIDE).contains(&stride)),
        }
    }

    fn pointer(&self) -> Verdict {
        let holds = self.operands.is_empty() && matches!(self.results[..], [Type::Pointer(_)]);
        self.ensure(holds, "takes nothing and gives a pointer")
    }

    pub(super) fn number(&self, name: &str, fits: impl Fn(i64) -> bool) -> Verdict {
        ensure(self.operation.integer(name).is_some_and(fits), || {
            format!("needs the attribute `{name}`, a number that fits")
        })
    }

    fn text(&self, name: &str) -> Result<&str, String> {
        match self.operation.attribute(name) {
            Some(Attribute::Str(text)) => Ok(text),
            _ => Err(format!("needs the attribute `{name}`, a text in quotes")),
        }
    }
}

fn is_alignment(bytes: i64) -> bool {
    (1..1 << 31).contains(&bytes) && bytes & (bytes - 1) == 0
}

/// Whether memory can hold values of this type.
fn is_stored(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(Scalar::Int(_) | Scalar::Float(_)) | Type::Vector(..))
}
