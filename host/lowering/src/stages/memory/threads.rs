//! Rewrites operations in which the threads of a block cooperate: tiles, barriers, and reductions
//! over the lanes of a warp.
//!
//! On the cpu a block has one thread. On the cpu, a tile is memory on the thread's stack, and this
//! stage drops barriers. On the cpu, a warp has a single lane, whose value is already the result of
//! a reduction.

use fusebox_core::ir::{
    Attribute, GROUP_THREADS, MatrixProduct, OpKind, Operation, PRODUCT_LANES, TILE_SQUARE, Type, Value,
};

use super::{Known, Memory, Reach, Slot, Tensor, sized, static_tensor, tensor_bytes};
use crate::error::{Done, Required, Unsupported};
use crate::stages::rewrite::Stage;

impl<'s> Memory<'s, '_> {
    /// Whether the target runs only blocks of one thread. Fails if the target runs only blocks of
    /// one thread but the kernel's block has several threads.
    fn is_single_thread(&self) -> Done<bool> {
        let threads = self.kernel.facts.threads;
        let is_cpu = self.kernel.target.is_cpu();
        if is_cpu && threads != 1 {
            return Unsupported::because(format!(
                "a block has {threads} threads, but on the cpu a block has one thread"
            ));
        }
        Ok(is_cpu)
    }

    /// Allocates a tile at the beginning of the function. If the allocation is in a loop, all
    /// iterations therefore use one tile.
    pub(super) fn allocate_shared(&mut self, op: &'s Operation) -> Done {
        let ty = self.rewriter.source.type_of(op.result());
        let bytes = tensor_bytes(ty)?;
        let tensor = if self.is_single_thread()? { self.stack_tensor(bytes)? } else { self.new_tile(ty, bytes)? };
        self.rewriter.bind(op.result(), Slot::Tensor(tensor));
        Ok(())
    }

    fn new_tile(&mut self, ty: &Type, bytes: u64) -> Done<Tensor> {
        let taken = self.kernel.shared_taken.saturating_add(bytes);
        // The simulator also runs plans for the cpu. There, tiles are memory of the only thread and
        // do not count as shared memory.
        let counts = self.kernel.facts.threads > 1 || !self.kernel.target.reports_accesses;
        if counts && taken > self.kernel.facts.shared_bytes {
            return Unsupported::because(format!(
                "the tiles up to this one take {taken} bytes of shared memory, the plan asks for {}",
                self.kernel.facts.shared_bytes
            ));
        }
        let before = std::mem::replace(&mut self.kernel.shared_taken, taken);
        let (_, element) = static_tensor(ty)?;
        let target = self.kernel.target;
        let mut attributes = sized(bytes, target.tile_alignment);
        attributes.push(("offset".into(), Attribute::i64(before as i64)));
        attributes.push(("element_bytes".into(), Attribute::i64(element.byte_size() as i64)));
        let pointer = self.out().at_beginning(OpKind::SharedMemory, attributes, Type::Pointer(target.shared_space));
        let (alignment, reported, reach) = (target.tile_alignment, target.reports_accesses, Reach::Block);
        Ok(Tensor { pointer, known: Known { alignment, invariant: false, reported, reach } })
    }

    pub(super) fn sync_threads(&mut self, op: &'s Operation) -> Done {
        if !self.is_single_thread()? {
            let mut attributes = vec![("site".into(), self.site(op))];
            if self.kernel.multiplies_tiles {
                attributes.push(("readies_tiles".into(), Attribute::Unit));
            }
            self.out().act(OpKind::Barrier, &[], attributes);
        }
        for (&result, &tensor) in op.results.iter().zip(&op.operands) {
            let tensor = self.tensor(tensor)?;
            self.rewriter.bind(result, Slot::Tensor(tensor));
        }
        Ok(())
    }

    pub(super) fn shuffle_reduce(&mut self, op: &'s Operation) -> Done {
        let mut values = self.rewriter.slots(&op.operands)?;
        if !self.is_single_thread()? {
            let callee = op.callee().required("the combiner is not a function's name")?;
            let mut distance = op.integer("max_distance").required("it has no distance")?;
            let lanes = self.lanes_taking_part(distance)?;
            while distance > 0 {
                values = self.combined_with_lane(op, callee, values, distance, lanes)?;
                distance /= 2;
            }
        }
        self.rewriter.bind_all(&op.results, values);
        Ok(())
    }

    /// Writes a product of matrices. All lanes of a warp compute the product together.
    pub(super) fn matrix_product(&mut self, op: &'s Operation) -> Done {
        let product = MatrixProduct::of_operation(op).required("it is none of the known products")?;
        let (device, threads) = (&self.kernel.target.device, i64::from(self.kernel.facts.threads));
        if !device.matrix_products.contains(&product) {
            return Unsupported::because(format!("{} has no instruction for {}", device.name, product.name()));
        }
        if threads % PRODUCT_LANES != 0 {
            return Unsupported::because(format!(
                "a block of {threads} threads is not made of warps of {PRODUCT_LANES}"
            ));
        }
        let operands = op.operands.iter().map(|&operand| self.value(operand)).collect::<Done<Vec<Value>>>()?;
        let site = ("site".into(), self.site(op));
        let attributes = op.attributes.iter().cloned().chain([site]).collect();
        let types = self.rewriter.source_types(&op.results);
        let results = self.out().push(op.kind, operands, attributes, &types, Vec::new());
        self.rewriter.bind_all(&op.results, results.into_iter().map(Slot::Value).collect());
        Ok(())
    }

    /// Writes a product of tiles. The threads of a block compute the product together, in groups of
    /// four warps.
    pub(super) fn tile_product(&mut self, op: &'s Operation) -> Done {
        let (target, threads) = (self.kernel.target, i64::from(self.kernel.facts.threads));
        let has_instruction = target.gpu.is_some_and(|gpu| gpu.tiles.is_some());
        if !has_instruction && !target.reports_accesses {
            return Unsupported::because(format!("{} has no instruction for tiles", target.device.name));
        }
        if threads % GROUP_THREADS != 0 {
            return Unsupported::because(format!(
                "a block of {threads} threads is not made of groups of {GROUP_THREADS}"
            ));
        }
        let left = self.place(op, 0, 1)?;
        let (dims, _) = static_tensor(self.rewriter.source.type_of(op.operands[0]))?;
        let right_at = 1 + dims.len();
        let right = self.place(op, right_at, 1)?;
        let (right_dims, _) = static_tensor(self.rewriter.source.type_of(op.operands[right_at]))?;
        let sums = op.operands[2 * right_at..].iter().map(|&sum| self.value(sum)).collect::<Done<Vec<Value>>>()?;
        if [&left, &right].iter().any(|place| place.tensor.known.reach != Reach::Block) {
            return Unsupported::because("it multiplies tensors that are not tiles of the block");
        }
        // Number of elements from one square of a tile to the next square along the contracted
        // dimension.
        let strides = [dims, right_dims].map(|dims| dims[2..].iter().product::<i64>());
        let mut operands = sums.clone();
        for place in [&left, &right] {
            operands.extend([place.tensor.pointer, place.position]);
        }
        if target.reports_accesses {
            let bytes = sums.len() as u64 * 4;
            operands.push(self.stack_tensor(bytes)?.pointer);
        }
        let mut attributes = op.attributes.clone();
        attributes.extend([
            ("columns".into(), Attribute::i64(right_dims[2] * TILE_SQUARE)),
            ("steps".into(), Attribute::i64(dims[1] * TILE_SQUARE)),
            ("strides".into(), Attribute::I64Array(strides.to_vec())),
            ("element".into(), Attribute::Type(Type::from(left.element))),
            ("site".into(), self.site(op)),
        ]);
        let types = self.rewriter.source_types(&op.results);
        let results = self.out().push(op.kind, operands, attributes, &types, Vec::new());
        self.rewriter.bind_all(&op.results, results.into_iter().map(Slot::Value).collect());
        Ok(())
    }

    /// Returns the number of lanes that exchange values: the lanes of a warp, or the threads of a
    /// block that is smaller than a warp.
    fn lanes_taking_part(&self, distance: i64) -> Done<u32> {
        let (warp, threads) = (self.kernel.target.warp, self.kernel.facts.threads);
        if threads > warp && threads % warp != 0 {
            return Unsupported::because(format!("a block of {threads} threads is not made of warps of {warp}"));
        }
        let lanes = warp.min(threads);
        if 2 * distance > i64::from(lanes) {
            return Unsupported::because(format!(
                "a distance of {distance} reaches over more than the {lanes} lanes of a warp"
            ));
        }
        Ok(lanes)
    }

    /// Combines the values of each lane with the values of another lane, whose number is larger by
    /// `distance`. Writes the combiner's body inline.
    fn combined_with_lane(
        &mut self,
        op: &'s Operation,
        callee: &str,
        own: Vec<Slot>,
        distance: i64,
        lanes: u32,
    ) -> Done<Vec<Slot>> {
        let &function = self
            .kernel
            .functions
            .get(callee)
            .ok_or_else(|| Unsupported(format!("there is no function @{callee} with a body")))?;
        let mut arguments = own.clone();
        for slot in &own {
            let Slot::Value(value) = *slot else { return Unsupported::because("lanes do not exchange tensors") };
            let ty = self.out().type_of(value).clone();
            let attributes = vec![
                ("distance".into(), Attribute::i64(distance)),
                ("lanes".into(), Attribute::i64(i64::from(lanes))),
                ("site".into(), self.site(op)),
            ];
            arguments.push(Slot::Value(self.out().op(OpKind::ShuffleDown, &[value], attributes, ty)));
        }
        let given = function.body.arguments.len();
        if given != arguments.len() {
            return Unsupported::because(format!(
                "the function @{callee} takes {given} values, not {}",
                arguments.len()
            ));
        }
        let results = self.applied(function, &arguments)?;
        if results.len() * 2 != arguments.len() {
            return Unsupported::because(format!("@{callee} gives other than as many values as are reduced"));
        }
        Ok(results)
    }

    /// Writes the body of a function in place of a call, and returns the function's results. The
    /// arguments are scalars.
    fn applied(&mut self, function: &'s fusebox_core::ir::Function, arguments: &[Slot]) -> Done<Vec<Slot>> {
        let values = self.values_all(arguments)?;
        let kernel = &mut *self.kernel;
        let mut inner = Memory { rewriter: crate::stages::rewrite::Rewriter::new(function), kernel };
        std::mem::swap(&mut inner.rewriter.out, &mut self.rewriter.out);
        let slots = values.into_iter().map(Slot::Value).collect();
        let results = inner.region(&function.body, slots);
        std::mem::swap(&mut inner.rewriter.out, &mut self.rewriter.out);
        results
    }
}
