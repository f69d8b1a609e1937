//! Expands batch normalisation. In these formulas, n is the number of elements per feature, sums
//! run over all dimensions except the feature dimension, and `s = rsqrt(variance + epsilon)`.
//!
//! ```text
//! inference   y = (x - mean) s scale + offset
//! training    mean = sum(x) / n,  variance = sum((x - mean)^2) / n,  y as above
//! gradient    dp = sum(g),  dq = sum(g (x - mean)),  d_offset = dp,  d_scale = dq s
//!             d_x = scale s (g - dp / n - (x - mean) s^2 dq / n)
//! ```
//!
//! (Ioffe and Szegedy 2015, section 3.) The expansion computes values of types narrower than f32 in
//! f32, and rounds each result once at the end.

use fusebox_core::hlo::{BinaryOp, ElementType, InstrId, Instruction, Module, Op, UnaryOp};
use fusebox_edit::{Builder, Rewrite, rewrite};

use crate::CompileError;

/// Expands every batch normalisation.
pub fn run(module: &mut Module) -> Result<(), CompileError> {
    let is_one = |i: &Instruction| {
        matches!(i.op, Op::BatchNormTraining { .. } | Op::BatchNormInference { .. } | Op::BatchNormGrad { .. })
    };
    for id in module.ids() {
        if module.computation(id).instructions.iter().any(is_one) {
            rewrite(module, id, |edit, _, instruction| {
                Ok::<_, CompileError>(is_one(instruction).then(|| expand(edit, instruction)).flatten())
            })?;
        }
    }
    Ok(())
}

fn expand(edit: &mut Rewrite, origin: &Instruction) -> Option<InstrId> {
    let operands = edit.operands(origin);
    let shape = edit.array(operands[0])?.clone();
    let (epsilon, feature) = match origin.op {
        Op::BatchNormTraining { epsilon, feature_index }
        | Op::BatchNormInference { epsilon, feature_index }
        | Op::BatchNormGrad { epsilon, feature_index } => (epsilon, feature_index),
        _ => return None,
    };
    let ty = if shape.element_type == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
    let features = *shape.dims.get(feature as usize)?;
    let count = shape.element_count() / features.max(1);
    let wide: Vec<InstrId> = operands.iter().map(|&operand| edit.convert(operand, ty)).collect();
    let mut e = Expansion { edit, dims: shape.dims, feature, ty, result: shape.element_type };
    let per = Statistics { epsilon, count: count as f64, features };
    Some(match origin.op {
        Op::BatchNormTraining { .. } => e.training(&wide, per),
        Op::BatchNormGrad { .. } => e.gradient(&wide, per),
        _ => {
            let y = e.normalise(wide[0], wide[1], wide[2], wide[3], wide[4], per);
            e.edit.convert(y, e.result)
        }
    })
}

#[derive(Clone, Copy)]
struct Statistics {
    epsilon: f32,
    /// Elements per feature.
    count: f64,
    features: i64,
}

/// Builder of an expansion, whose operations compute in the element type `ty`.
struct Expansion<'e, 'm> {
    edit: &'e mut Builder<'m>,
    dims: Vec<i64>,
    feature: i64,
    ty: ElementType,
    result: ElementType,
}

impl Expansion<'_, '_> {
    fn training(&mut self, operands: &[InstrId], per: Statistics) -> InstrId {
        let &[x, scale, offset, ..] = operands else { return operands[0] };
        let n = self.constant(per.count, &[per.features]);
        let total = self.sum(x);
        let mean = self.binary(BinaryOp::Divide, total, n);
        let centred = self.centred(x, mean);
        let squares = self.binary(BinaryOp::Multiply, centred, centred);
        let total = self.sum(squares);
        let variance = self.binary(BinaryOp::Divide, total, n);
        let y = self.normalise(x, scale, offset, mean, variance, per);
        self.results(&[y, mean, variance])
    }

    fn gradient(&mut self, operands: &[InstrId], per: Statistics) -> InstrId {
        let &[x, scale, mean, variance, g, ..] = operands else { return operands[0] };
        let n = self.constant(per.count, &[per.features]);
        let centred = self.centred(x, mean);
        let product = self.binary(BinaryOp::Multiply, g, centred);
        let (dp, dq) = (self.sum(g), self.sum(product));
        let s = self.inverse_deviation(variance, per);
        let d_scale = self.binary(BinaryOp::Multiply, dq, s);
        let mean_p = self.binary(BinaryOp::Divide, dp, n);
        let mean_q = self.binary(BinaryOp::Divide, d_scale, n);
        let slope = self.binary(BinaryOp::Multiply, mean_q, s);
        let (slope, mean_p) = (self.per_feature(slope), self.per_feature(mean_p));
        let along = self.binary(BinaryOp::Multiply, centred, slope);
        let rest = self.binary(BinaryOp::Subtract, g, mean_p);
        let rest = self.binary(BinaryOp::Subtract, rest, along);
        let factor = self.binary(BinaryOp::Multiply, scale, s);
        let factor = self.per_feature(factor);
        let d_x = self.binary(BinaryOp::Multiply, rest, factor);
        self.results(&[d_x, d_scale, dp])
    }

    fn normalise(
        &mut self,
        x: InstrId,
        scale: InstrId,
        offset: InstrId,
        mean: InstrId,
        variance: InstrId,
        per: Statistics,
    ) -> InstrId {
        let centred = self.centred(x, mean);
        let s = self.inverse_deviation(variance, per);
        let factor = self.binary(BinaryOp::Multiply, scale, s);
        let (factor, offset) = (self.per_feature(factor), self.per_feature(offset));
        let scaled = self.binary(BinaryOp::Multiply, centred, factor);
        self.binary(BinaryOp::Add, scaled, offset)
    }

    fn centred(&mut self, x: InstrId, mean: InstrId) -> InstrId {
        let mean = self.per_feature(mean);
        self.binary(BinaryOp::Subtract, x, mean)
    }

    fn inverse_deviation(&mut self, variance: InstrId, per: Statistics) -> InstrId {
        let epsilon = self.constant(f64::from(per.epsilon), &[per.features]);
        let sum = self.binary(BinaryOp::Add, variance, epsilon);
        self.edit.unary(UnaryOp::Rsqrt, sum)
    }

    /// Converts the values to the element type of the expanded operation's results, and returns
    /// them as a tuple.
    fn results(&mut self, values: &[InstrId]) -> InstrId {
        let narrow: Vec<InstrId> = values.iter().map(|&value| self.edit.convert(value, self.result)).collect();
        self.edit.tuple(narrow)
    }

    fn sum(&mut self, x: InstrId) -> InstrId {
        let dimensions: Vec<i64> = (0..self.dims.len() as i64).filter(|&d| d != self.feature).collect();
        if dimensions.is_empty() {
            return x;
        }
        let zero = self.edit.scalar(self.ty, 0.0);
        let sum = self.edit.combiner(BinaryOp::Add, self.ty);
        self.edit.reduce(&[x], &[zero], &dimensions, sum)
    }

    fn per_feature(&mut self, value: InstrId) -> InstrId {
        self.edit.broadcast(value, &self.dims, &[self.feature])
    }

    fn constant(&mut self, value: f64, dims: &[i64]) -> InstrId {
        self.edit.filled(self.ty, dims, value)
    }

    fn binary(&mut self, op: BinaryOp, a: InstrId, b: InstrId) -> InstrId {
        self.edit.binary(op, a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusebox_core::hlo::{ArrayLiteral, Literal, parse_module, print_module, verify};
    use fusebox_edit::restore_order;

    const OPERATIONS: [(&str, &str, usize); 3] = [
        ("batch-norm-inference", "T[2,3,4]", 5),
        ("batch-norm-training", "(T[2,3,4], T[3], T[3])", 3),
        ("batch-norm-grad", "(T[2,3,4], T[3], T[3])", 5),
    ];

    fn text(operation: &str, result: &str, operands: usize, ty: &str) -> String {
        let is_large = |number| number == 0 || operation == "batch-norm-grad" && number == 4;
        let dims = |number| if is_large(number) { "2,3,4" } else { "3" };
        let parameters: String =
            (0..operands).map(|number| format!("  p{number} = T[{}] parameter({number})\n", dims(number))).collect();
        let list = (0..operands).map(|number| format!("p{number}")).collect::<Vec<_>>().join(", ");
        format!(
            "HloModule m\nENTRY main {{\n{parameters}  ROOT r = {result} {operation}({list}), epsilon=0.001, feature_index=1 }}"
        )
        .replace("T[", &format!("{ty}["))
    }

    fn input(number: usize, dims: &[i64]) -> Literal {
        let count: i64 = dims.iter().product();
        let values = (0..count).map(|i| ((i * 37 + number as i64 * 11) % 19) as f64 * 0.37 + 0.1);
        let data: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
        Literal::Array(ArrayLiteral { element_type: ElementType::F64, dims: dims.to_vec(), data: data.into() })
    }

    #[test]
    fn expanded_it_gives_what_the_operation_gives() {
        for (operation, result, operands) in OPERATIONS {
            let before = parse_module(&text(operation, result, operands, "f64"), "test.hlo").unwrap();
            let mut after = before.clone();
            run(&mut after).unwrap();
            restore_order(&mut after);
            verify(&after).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&after)));
            let entry = before.entry_computation().unwrap();
            let parameters = entry.parameters().into_iter().enumerate();
            let inputs: Vec<Literal> = parameters
                .map(|(number, id)| input(number, &entry.instruction(id).shape.as_array().unwrap().dims))
                .collect();
            let values = |module: &Module| -> Vec<f64> {
                let result = fusebox_interpreter::evaluate(module, &inputs).unwrap();
                let arrays = result.leaves().into_iter().filter_map(Literal::as_array);
                arrays
                    .flat_map(|a| {
                        a.data.chunks(8).map(|c| f64::from_le_bytes(c.try_into().unwrap())).collect::<Vec<_>>()
                    })
                    .collect()
            };
            let (expected, found) = (values(&before), values(&after));
            assert_eq!(expected.len(), found.len());
            for (e, f) in expected.iter().zip(&found) {
                assert!((e - f).abs() <= 1e-12 * (1.0 + e.abs()), "{operation}: {e} {f}");
            }
        }
    }

    #[test]
    fn narrow_types_are_rounded_once() {
        for (operation, result, operands) in OPERATIONS {
            let mut module = parse_module(&text(operation, result, operands, "bf16"), "test.hlo").unwrap();
            run(&mut module).unwrap();
            restore_order(&mut module);
            verify(&module).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&module)));
            let printed = print_module(&module);
            let narrow = |line: &&str| line.contains("= bf16[") && !line.contains("parameter(");
            assert!(printed.lines().filter(narrow).all(|line| line.contains("convert(")), "{printed}");
        }
    }
}
