//! Modules, computations and instructions.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ComputationId, DebugTables, InstrId, Op, Opcode, Shape, Span};

/// An HLO program.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Module {
    /// Name from the `HloModule` line; empty for text without this line.
    pub name: String,
    /// The computations, callees before callers. Indexed by [`ComputationId`].
    pub computations: Vec<Computation>,
    /// The computation to run. In text without `ENTRY`, this is the computation named `fusion` or,
    /// if there is none, the last computation.
    pub entry: Option<ComputationId>,
    /// Whether the text had no `ENTRY`. The entry is then compiled as a single fusion.
    pub bare: bool,
    /// The attribute `is_scheduled`. The attribute is true if the order of the instructions is the
    /// schedule.
    pub is_scheduled: bool,
    /// The attribute `input_output_alias={…}`.
    pub input_output_alias: Vec<InputOutputAlias>,
    /// The attribute `buffer_donor={ (parameter, {index}), … }`.
    pub buffer_donor: Vec<(i64, Vec<i64>)>,
    /// The attribute `entry_computation_layout={…}`. If the attribute is missing, the shapes of the
    /// entry's parameters and root determine the layouts.
    pub entry_layout: Option<EntryLayout>,
    /// The attribute `replica_count`; 1 if it is absent.
    pub replica_count: i64,
    /// The attribute `num_partitions`; 1 if it is absent.
    pub num_partitions: i64,
    /// Other header attributes, as pairs of name and raw text. Fusebox keeps and prints these
    /// attributes, but does not interpret them.
    pub other_attributes: Vec<(String, String)>,
    /// The parameters and results that hold sizes of dynamic dimensions. A pass adds these
    /// parameters and results to the module. HLO text does not contain this field.
    pub interface_sizes: InterfaceSizes,
    /// The tables `FileNames` to `StackFrames`.
    pub debug_tables: DebugTables,
    /// Name of the file that the module was read from; empty if none. For diagnostics.
    pub source_file: String,
    /// The text that the module was read from; empty if none. For diagnostics.
    pub source_text: Arc<str>,
}

/// Shapes, with layouts, of the entry's parameters and result.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryLayout {
    /// One shape per parameter.
    pub parameters: Vec<Shape>,
    /// The result.
    pub result: Shape,
}

/// The entry's parameters and results that hold sizes. Each of these parameters and results holds
/// the size of one dynamic dimension of a declared parameter or result. Parameters and results that
/// hold sizes have the shape `s32[]` and follow the declared parameters or results.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct InterfaceSizes {
    /// For each parameter that holds the size of a dimension: the number of the declared parameter
    /// that has this dimension, and the dimension.
    pub of_parameters: Vec<(usize, SizedDimension)>,
    /// For each result that holds the size of a dimension of the declared result: this dimension.
    pub of_result: Vec<SizedDimension>,
    /// Whether the result was declared as an array. If so, the result is now a tuple whose first
    /// element is this array.
    pub result_is_array: bool,
}

/// A dynamic dimension of an array. The program has a value that holds the size of this dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizedDimension {
    /// Index of the array among all arrays of the parameter or of the result, counted depth first.
    pub leaf: usize,
    /// The dimension.
    pub dimension: usize,
}

/// One entry of `input_output_alias`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputOutputAlias {
    /// Path into the result tuple.
    pub output: Vec<i64>,
    /// Parameter number.
    pub parameter: i64,
    /// Path into the parameter.
    pub parameter_index: Vec<i64>,
    /// Whether aliasing is required or only allowed.
    pub kind: AliasKind,
}

/// Strength of an alias request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AliasKind {
    /// The compiler may copy the parameter instead of sharing its buffer.
    May,
    /// The buffers must be the same.
    Must,
}

/// A function. One instruction of the computation computes the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Computation {
    /// Name without `%`.
    pub name: String,
    /// The instructions, operands before users. Indexed by [`InstrId`].
    pub instructions: Vec<Instruction>,
    /// The result.
    pub root: InstrId,
    /// The attribute `execution_thread="…"`; `None` for the main thread.
    pub execution_thread: Option<String>,
    /// Location of the name in the text.
    pub span: Span,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Name without `%`, unique in the computation.
    pub name: String,
    /// Shape of the result.
    pub shape: Shape,
    /// The operation, with the attributes that affect the result.
    pub op: Op,
    /// Instructions of the same computation.
    pub operands: Vec<InstrId>,
    /// Attributes that do not affect the result; most instructions have none.
    pub extra: Option<Box<Extra>>,
    /// Location of the name in the text.
    pub span: Span,
}

/// Attributes that every instruction may have.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Extra {
    /// The attribute `metadata={…}`.
    pub metadata: Option<Metadata>,
    /// The raw text of the attribute `sharding={…}`, with braces.
    pub sharding: Option<String>,
    /// The attribute `frontend_attributes={k="v"}`.
    pub frontend_attributes: BTreeMap<String, String>,
    /// The raw text of `backend_config=…`: JSON, an MLIR dictionary, or the content of a string.
    pub backend_config: Option<String>,
    /// The attribute `control-predecessors={…}`.
    pub control_predecessors: Vec<InstrId>,
    /// Further attributes (`statistics`, `origin`, `result_accuracy`, `parameter_replication` …),
    /// as pairs of name and raw text of the value.
    pub other: Vec<(String, String)>,
}

/// The origin of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Metadata {
    /// Type of the operation in the framework.
    pub op_type: String,
    /// Name of the operation in the framework.
    pub op_name: String,
    /// Name of the source file. Only the older form of metadata, which has no stack frames,
    /// contains this name.
    pub source_file: String,
    /// Line in the source file; 0 if there is none. Only the older form of metadata, which has no
    /// stack frames, contains this number.
    pub source_line: i64,
    /// Row of the StackFrames table, 0 if none.
    pub stack_frame_id: i64,
    /// Further fields, as pairs of name and raw text of the value.
    pub other: Vec<(String, String)>,
}

impl Instruction {
    /// Returns the line of the user's program from which the instruction comes, as `file:line`.
    /// Returns `None` if the instruction comes from the text of a module, or if its metadata
    /// contain no line.
    pub fn user_line(&self) -> Option<String> {
        let metadata = self.extra.as_ref()?.metadata.as_ref()?;
        let is_known = self.span.line == 0 && !metadata.source_file.is_empty();
        is_known.then(|| format!("{}:{}", metadata.source_file, metadata.source_line))
    }
}

impl Module {
    /// Returns the location that a diagnostic about an instruction should contain: the line of the
    /// user's program if this line is known, else the file of the module's text.
    pub fn place_of(&self, instruction: &Instruction) -> String {
        instruction.user_line().unwrap_or_else(|| self.source_file.clone())
    }

    /// Returns the file and the line from which an instruction comes. If the metadata contain a
    /// line of the user's program, returns this line. Otherwise, returns the line of the module's
    /// text.
    pub fn line_of<'m>(&'m self, instruction: &'m Instruction) -> Option<(&'m str, u32)> {
        let metadata = instruction.extra.as_ref().and_then(|extra| extra.metadata.as_ref());
        let of_user = metadata.map_or(("", 0), |it| (it.source_file.as_str(), it.source_line));
        let of_text = (self.source_file.as_str(), instruction.span.line.into());
        let known = |(file, line): (&'m str, i64)| {
            let line = u32::try_from(line).ok().filter(|&line| line > 0 && !file.is_empty())?;
            Some((file, line))
        };
        known(of_user).or_else(|| known(of_text))
    }

    /// The computation to run.
    pub fn entry_computation(&self) -> Option<&Computation> {
        self.entry.and_then(|id| self.computations.get(id.index()))
    }

    /// Returns a computation of this module. `id` must come from this module, so that the index is
    /// in range.
    pub fn computation(&self, id: ComputationId) -> &Computation {
        &self.computations[id.index()]
    }

    /// Returns the ids of all computations, callees before callers.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = ComputationId> + ExactSizeIterator + use<> {
        (0..self.computations.len() as u32).map(ComputationId)
    }

    /// Clears the source file, the source text and all spans, so that modules read from different
    /// texts can be compared.
    pub fn clear_source(&mut self) {
        self.source_file.clear();
        self.source_text = Arc::default();
        for computation in &mut self.computations {
            computation.span = Span::default();
            computation.instructions.iter_mut().for_each(|instruction| instruction.span = Span::default());
        }
    }

    /// Returns the computation with this name.
    pub fn find_computation(&self, name: &str) -> Option<ComputationId> {
        self.computations.iter().position(|c| c.name == name).map(|i| ComputationId(i as u32))
    }
}

impl Computation {
    /// Returns an instruction of this computation. `id` must come from this computation, so that
    /// the index is in range.
    pub fn instruction(&self, id: InstrId) -> &Instruction {
        &self.instructions[id.index()]
    }

    /// The result instruction.
    pub fn root_instruction(&self) -> &Instruction {
        self.instruction(self.root)
    }

    /// Returns the ids of all instructions, operands before users.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = InstrId> + ExactSizeIterator + use<> {
        (0..self.instructions.len() as u32).map(InstrId)
    }

    /// Returns the parameter instructions in the order of their parameter numbers.
    pub fn parameters(&self) -> Vec<InstrId> {
        let mut numbered: Vec<(i64, InstrId)> = self
            .ids()
            .filter_map(|id| match self.instruction(id).op {
                Op::Parameter { number } => Some((number, id)),
                _ => None,
            })
            .collect();
        numbered.sort();
        numbered.into_iter().map(|(_, id)| id).collect()
    }

    /// Returns the instruction with this name.
    pub fn find(&self, name: &str) -> Option<InstrId> {
        self.instructions.iter().position(|i| i.name == name).map(|i| InstrId(i as u32))
    }

    /// Finds the operand of `tuple` that contains leaf number `leaf` of the tuple. Returns this
    /// operand, and the number that the leaf has in the operand.
    pub fn holder_of_leaf(&self, tuple: &Instruction, mut leaf: usize) -> Option<(InstrId, usize)> {
        for &operand in &tuple.operands {
            let own = self.instruction(operand).shape.leaves().len();
            match leaf.checked_sub(own) {
                Some(rest) => leaf = rest,
                None => return Some((operand, leaf)),
            }
        }
        None
    }

    /// Returns the users of each instruction, in instruction order. Each user is listed once.
    pub fn users(&self) -> Vec<Vec<InstrId>> {
        let mut users = vec![Vec::new(); self.instructions.len()];
        for id in self.ids() {
            for operand in &self.instruction(id).operands {
                let list: &mut Vec<InstrId> = &mut users[operand.index()];
                if list.last() != Some(&id) {
                    list.push(id);
                }
            }
        }
        users
    }
}

impl Instruction {
    /// Creates an instruction that was not read from text.
    pub fn new(name: impl Into<String>, shape: Shape, op: Op, operands: Vec<InstrId>) -> Self {
        Instruction { name: name.into(), shape, op, operands, extra: None, span: Span::default() }
    }

    /// The opcode.
    pub fn opcode(&self) -> Opcode {
        self.op.opcode()
    }
}
