//! `gpu` ids and the `xla_gpu` dialect (see "The kernel IR" in ARCHITECTURE.md).

use std::panic::Location;
use std::sync::Arc;

use super::{Attribute, FunctionBuilder, OpKind, Scalar, Type, Value};
use crate::MatrixProduct;
use fusebox_indexing::IndexingMap;

impl FunctionBuilder {
    /// `gpu.thread_id x`: the number of the thread in its block; always 0 on the cpu.
    #[track_caller]
    pub fn thread_id(&mut self) -> Value {
        self.op1(OpKind::ThreadId, &[], vec![("dimension", Attribute::raw("#gpu<dim x>"))], Type::INDEX)
    }

    /// `gpu.block_id x`: the number of the block. On the cpu, a block is a task of the thread pool.
    #[track_caller]
    pub fn block_id(&mut self) -> Value {
        self.op1(OpKind::BlockId, &[], vec![("dimension", Attribute::raw("#gpu<dim x>"))], Type::INDEX)
    }

    /// `xla_gpu.pure_call`: calls a function without side effects. Passes merge equal calls.
    #[track_caller]
    pub fn pure_call(&mut self, callee: &str, arguments: &[Value], results: &[Type]) -> Vec<Value> {
        let callee = vec![("callee", Attribute::symbol(callee))];
        self.op(OpKind::PureCall, arguments, callee, results, Vec::new())
    }

    /// `xla_gpu.apply_indexing`: the map's results at `point` (dims, then range variables, then
    /// runtime variables). Ignores the map's constraints.
    #[track_caller]
    pub fn apply_indexing(&mut self, map: &IndexingMap, point: &[Value]) -> Vec<Value> {
        let results = vec![Type::INDEX; map.results.len()];
        self.op(
            OpKind::ApplyIndexing,
            point,
            vec![("map", Attribute::Map(Arc::new(map.clone())))],
            &results,
            Vec::new(),
        )
    }

    /// `xla_gpu.loop`: nested loops over the map's range variables, the first of which is the
    /// outermost.
    ///
    /// `body(range variables, map results, state)` returns the next state. The loop skips points
    /// that violate the map's constraints. Loops over the range variables in `unroll` are unrolled.
    #[track_caller]
    pub fn indexed_loop(
        &mut self,
        map: &IndexingMap,
        dims: &[Value],
        state: &[Value],
        unroll: &[usize],
        body: impl FnOnce(&mut Self, &[Value], &[Value], &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let line = Location::caller();
        let (ranges, results) = (map.ranges.len(), map.results.len());
        let types = self.types_of(state);
        let arguments = [vec![Type::INDEX; ranges + results], types.clone()].concat();
        let region = self.ended(&arguments, OpKind::LoopYield, line, |b, arguments| {
            let (ranges, rest) = arguments.split_at(ranges);
            let (results, state) = rest.split_at(results);
            body(b, ranges, results, state)
        });
        let unroll = unroll.iter().map(|&v| v as i64).collect();
        let attributes = vec![("map", Attribute::Map(Arc::new(map.clone()))), ("unroll", Attribute::I64Array(unroll))];
        self.op(OpKind::Loop, &[dims, state].concat(), attributes, &types, vec![region])
    }

    /// `xla_gpu.predicated_extract`: returns the element if `condition` holds. If `condition` does
    /// not hold, returns `fallback` and does not read the tensor.
    #[track_caller]
    pub fn predicated_extract(&mut self, condition: Value, fallback: Value, tensor: Value, indices: &[Value]) -> Value {
        let (operands, ty) = ([&[condition, fallback, tensor], indices].concat(), self.type_of(fallback).clone());
        self.op1(OpKind::PredicatedExtract, &operands, Vec::new(), ty)
    }

    /// `xla_gpu.predicated_insert`: writes the element only if `condition` holds.
    #[track_caller]
    pub fn predicated_insert(&mut self, condition: Value, element: Value, tensor: Value, indices: &[Value]) -> Value {
        let (operands, ty) = ([&[condition, element, tensor], indices].concat(), self.type_of(tensor).clone());
        self.op1(OpKind::PredicatedInsert, &operands, Vec::new(), ty)
    }

    /// `xla_gpu.allocate_shared`: allocates a tensor with undefined elements in the block's shared
    /// memory.
    #[track_caller]
    pub fn allocate_shared(&mut self, dims: &[i64], element: Scalar) -> Value {
        self.op1(OpKind::AllocateShared, &[], Vec::new(), Type::tensor(dims, element))
    }

    /// `xla_gpu.sync_threads`: a barrier that all threads of the block must reach. The results are
    /// the tensors after the barrier.
    #[track_caller]
    pub fn sync_threads(&mut self, tensors: &[Value]) -> Vec<Value> {
        let types = self.types_of(tensors);
        self.op(OpKind::SyncThreads, tensors, Vec::new(), &types, Vec::new())
    }

    /// `xla_gpu.shuffle_reduce`: reduces the values of a warp's lanes by the function `combiner`.
    /// Each lane combines its values with the values of the lane that is `max_distance` lanes
    /// further. The lanes then halve the distance and combine values again, down to the distance 1.
    /// Lane 0 receives the result.
    #[track_caller]
    pub fn shuffle_reduce(&mut self, combiner: &str, values: &[Value], max_distance: i64) -> Vec<Value> {
        let types = self.types_of(values);
        let attributes = vec![("callee", Attribute::symbol(combiner)), ("max_distance", Attribute::i64(max_distance))];
        self.op(OpKind::ShuffleReduce, values, attributes, &types, Vec::new())
    }

    /// `xla_gpu.mma`: adds a matrix product to the sums. All lanes of a warp compute the product
    /// together. [`MatrixProduct`] defines the elements that each lane holds.
    #[track_caller]
    pub fn matrix_product(
        &mut self,
        product: MatrixProduct,
        left: &[Value],
        right: &[Value],
        sums: &[Value],
    ) -> Vec<Value> {
        let types = self.types_of(sums);
        let attributes = vec![("product", Attribute::Str(product.name().into()))];
        self.op(OpKind::Mma, &[left, right, sums].concat(), attributes, &types, Vec::new())
    }

    /// `xla_gpu.wgmma`: adds the product of two tiles in shared memory to the sums. Four warps
    /// compute the product together. The product covers all steps along the contracted dimension,
    /// all columns of the right tile, and 64 rows of the left tile. The indices of the left tile
    /// address the first of the 64 rows. Tiles consist of 8x8 squares and have the dimensions
    /// `[tiles, steps / 8, lines / 8, 8, 8]`. A line is a row of the left tile or a column of the
    /// right tile. In each square, the elements of a line are contiguous if `along_steps` is set
    /// for the tile; otherwise the elements of a step are contiguous. Indices address whole
    /// squares, so the last two indices are zero. [`group_place`](crate::group_place) defines the
    /// sums that each thread holds.
    #[track_caller]
    pub fn tile_product(
        &mut self,
        tiles: [Value; 2],
        indices: [&[Value]; 2],
        along_steps: [bool; 2],
        sums: &[Value],
    ) -> Vec<Value> {
        let types = self.types_of(sums);
        let attributes = vec![("along_steps", Attribute::I64Array(along_steps.map(i64::from).to_vec()))];
        let operands = [&[tiles[0]], indices[0], &[tiles[1]], indices[1], sums].concat();
        self.op(OpKind::Wgmma, &operands, attributes, &types, Vec::new())
    }

    /// `xla_gpu.atomic_rmw`: atomically replaces the element at these indices by `body(old
    /// element)`.
    #[track_caller]
    pub fn atomic_rmw(
        &mut self,
        tensor: Value,
        indices: &[Value],
        body: impl FnOnce(&mut Self, Value) -> Value,
    ) -> Value {
        let line = Location::caller();
        let element = Type::from(self.type_of(tensor).element());
        let region = self.ended(&[element], OpKind::LoopYield, line, |b, old| vec![body(b, old[0])]);
        let (operands, ty) = ([&[tensor], indices].concat(), self.type_of(tensor).clone());
        self.op(OpKind::AtomicRmw, &operands, Vec::new(), &[ty], vec![region]).first().copied().unwrap_or(tensor)
    }
}
