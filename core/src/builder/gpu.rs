//! `gpu` ids and the `xla_gpu` dialect (see "The kernel IR" in ARCHITECTURE.md).

use super::{Attribute, FunctionBuilder, Scalar, Type, Value};
use crate::indexing::IndexingMap;

impl FunctionBuilder {
    /// `gpu.thread_id x`: the thread in its block; 0 on the cpu.
    pub fn thread_id(&mut self) -> Value {
        self.op1("gpu.thread_id", &[], vec![("dimension", Attribute::raw("#gpu<dim x>"))], Type::INDEX)
    }

    /// `gpu.block_id x`: the block; a task of the thread pool on the cpu.
    pub fn block_id(&mut self) -> Value {
        self.op1("gpu.block_id", &[], vec![("dimension", Attribute::raw("#gpu<dim x>"))], Type::INDEX)
    }

    /// `xla_gpu.pure_call`: call of a function without effects; equal calls are merged.
    pub fn pure_call(&mut self, callee: &str, arguments: &[Value], results: &[Type]) -> Vec<Value> {
        let callee = vec![("callee", Attribute::symbol(callee))];
        self.op("xla_gpu.pure_call", arguments, callee, results, Vec::new())
    }

    /// `xla_gpu.apply_indexing`: the map's results at `point` (dims, then range variables, then runtime
    /// variables). Constraints are not looked at.
    pub fn apply_indexing(&mut self, map: &IndexingMap, point: &[Value]) -> Vec<Value> {
        const NAME: &str = "xla_gpu.apply_indexing";
        let wanted = map.dims.len() + map.ranges.len() + map.runtime.len();
        self.check_indices(NAME, point, wanted);
        let results = vec![Type::INDEX; map.results.len()];
        self.op(NAME, point, vec![("map", Attribute::Str(map.to_string()))], &results, Vec::new())
    }

    /// `xla_gpu.loop`: nested loops over the map's range variables, in order.
    ///
    /// `body(range variables, map results, state)` gives the next state; points outside the map's
    /// constraints are skipped. The range variables listed in `unroll` are unrolled.
    pub fn indexed_loop(
        &mut self,
        map: &IndexingMap,
        dims: &[Value],
        state: &[Value],
        unroll: &[usize],
        body: impl FnOnce(&mut Self, &[Value], &[Value], &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        const NAME: &str = "xla_gpu.loop";
        self.check_indices(NAME, dims, map.dims.len());
        if !map.runtime.is_empty() {
            self.refuse(NAME, "the map has runtime variables");
        }
        if let Some(variable) = unroll.iter().find(|&&v| v >= map.ranges.len()) {
            self.refuse(NAME, format!("unroll names range variable {variable} of {}", map.ranges.len()));
        }
        let (ranges, results) = (map.ranges.len(), map.results.len());
        let types = self.types_of(state);
        let arguments = [vec![Type::INDEX; ranges + results], types.clone()].concat();
        let region = self.region(&arguments, |b, arguments| {
            let (ranges, rest) = arguments.split_at(ranges);
            let (results, state) = rest.split_at(results);
            let next = body(b, ranges, results, state);
            b.terminate(NAME, "xla_gpu.yield", &next, &types);
        });
        let unroll = unroll.iter().map(|&v| v as i64).collect();
        let attributes = vec![("map", Attribute::Str(map.to_string())), ("unroll", Attribute::I64Array(unroll))];
        self.op(NAME, &[dims, state].concat(), attributes, &types, vec![region])
    }

    /// `xla_gpu.predicated_extract`: the element if `condition`, else `fallback`; then nothing is read.
    pub fn predicated_extract(&mut self, condition: Value, fallback: Value, tensor: Value, indices: &[Value]) -> Value {
        const NAME: &str = "xla_gpu.predicated_extract";
        self.check_condition(NAME, condition);
        let ty = self.type_of(fallback).clone();
        match self.check_element(NAME, fallback, tensor, indices) {
            Ok(()) => self.op1(NAME, &[&[condition, fallback, tensor], indices].concat(), Vec::new(), ty),
            Err(poison) => poison,
        }
    }

    /// `xla_gpu.predicated_insert`: writes only if `condition`.
    pub fn predicated_insert(&mut self, condition: Value, element: Value, tensor: Value, indices: &[Value]) -> Value {
        const NAME: &str = "xla_gpu.predicated_insert";
        self.check_condition(NAME, condition);
        let ty = self.type_of(tensor).clone();
        match self.check_element(NAME, element, tensor, indices) {
            Ok(()) => self.op1(NAME, &[&[condition, element, tensor], indices].concat(), Vec::new(), ty),
            Err(poison) => poison,
        }
    }

    /// `xla_gpu.allocate_shared`: a tile that all threads of the block share, without defined elements.
    pub fn allocate_shared(&mut self, dims: &[i64], element: Scalar) -> Value {
        self.op1("xla_gpu.allocate_shared", &[], Vec::new(), Type::tensor(dims, element))
    }

    /// `xla_gpu.sync_threads`: a barrier; the results are the tensors after it. All threads of the block
    /// must reach it.
    pub fn sync_threads(&mut self, tensors: &[Value]) -> Vec<Value> {
        let types = self.types_of(tensors);
        self.op("xla_gpu.sync_threads", tensors, Vec::new(), &types, Vec::new())
    }

    /// `xla_gpu.shuffle_reduce`: reduces the values over the lanes of a warp by the combiner of that
    /// name, over distances `max_distance`, half of it, … 1. Lane 0 has the result.
    pub fn shuffle_reduce(&mut self, combiner: &str, values: &[Value], max_distance: i64) -> Vec<Value> {
        const NAME: &str = "xla_gpu.shuffle_reduce";
        if max_distance < 1 || max_distance & (max_distance - 1) != 0 {
            self.refuse(NAME, format!("max_distance is {max_distance}, it must be a power of two"));
        }
        let types = self.types_of(values);
        let attributes = vec![("callee", Attribute::symbol(combiner)), ("max_distance", Attribute::i64(max_distance))];
        self.op(NAME, values, attributes, &types, Vec::new())
    }

    /// `xla_gpu.atomic_rmw`: replaces the element at these indices by `body(old element)`, atomically.
    pub fn atomic_rmw(
        &mut self,
        tensor: Value,
        indices: &[Value],
        body: impl FnOnce(&mut Self, Value) -> Value,
    ) -> Value {
        const NAME: &str = "xla_gpu.atomic_rmw";
        let element = match self.check_access(NAME, tensor, indices) {
            Ok(element) => Type::from(element),
            Err(poison) => return poison,
        };
        let region = self.region(std::slice::from_ref(&element), |b, old| {
            let new = body(b, old[0]);
            b.terminate(NAME, "xla_gpu.yield", &[new], std::slice::from_ref(&element));
        });
        let (operands, ty) = ([&[tensor], indices].concat(), self.type_of(tensor).clone());
        self.op(NAME, &operands, Vec::new(), &[ty], vec![region]).first().copied().unwrap_or(tensor)
    }

    fn check_indices(&mut self, name: &str, values: &[Value], wanted: usize) {
        if values.len() != wanted {
            self.refuse(name, format!("the map takes {wanted} variables, {} are given", values.len()));
        } else if !Self::any_poison(values) && values.iter().any(|&v| *self.type_of(v) != Type::INDEX) {
            self.refuse(name, "the map's variables must be index");
        }
    }

    fn check_condition(&mut self, name: &str, condition: Value) {
        if *self.type_of(condition) != Type::I1 && !Self::any_poison(&[condition]) {
            let found = self.type_of(condition).to_string();
            self.refuse(name, format!("the condition is {found}, it must be i1"));
        }
    }
}
