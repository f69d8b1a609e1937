//! A module under construction: types, constants, functions, globals.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_uint, c_void};

use fusebox_core::ir::Float;
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::core::*;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMDiagnosticSeverity, LLVMLinkage};

use super::lines::Lines;
use super::{Bb, Ty, Val};

type Intrinsics = HashMap<(String, Vec<usize>), (Val, Ty)>;

/// A module, its context, and the builder that appends instructions to it.
pub(crate) struct Module {
    pub(super) context: LLVMContextRef,
    pub(super) module: LLVMModuleRef,
    pub(super) builder: LLVMBuilderRef,
    /// Intrinsics and their signatures. The key is the intrinsic's name and types.
    intrinsics: RefCell<Intrinsics>,
    /// Source locations, if the module records them.
    pub(super) lines: Option<Lines>,
    /// Errors that LLVM reported. The box keeps the address of the errors fixed, because the
    /// context's diagnostic handler has a pointer to the errors.
    faults: Box<Faults>,
}

/// Converts text to a C string, which ends before the first zero byte of the text.
pub(super) fn c_string(text: &str) -> CString {
    let end = text.bytes().position(|byte| byte == 0).unwrap_or(text.len());
    CString::new(&text.as_bytes()[..end]).unwrap_or_default()
}

/// Converts a message of LLVM to a string and frees the original.
pub(super) fn message(raw: *mut c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // SAFETY: LLVM hands over a zero-terminated string that is freed once.
    unsafe {
        let text = CStr::from_ptr(raw).to_string_lossy().into_owned();
        LLVMDisposeMessage(raw);
        text
    }
}

/// LLVM's errors about a module.
type Faults = RefCell<Vec<String>>;

/// Records LLVM's errors. LLVM's own diagnostic handler would exit the process at an error. This
/// handler drops all diagnostics that are not errors, because LLVM emits a remark for every loop
/// that is marked for vectorisation but that LLVM cannot vectorise.
extern "C" fn keep_errors(diagnostic: LLVMDiagnosticInfoRef, faults: *mut c_void) {
    // SAFETY: the diagnostic lives as long as the call. `faults` points to the faults of the module
    // that owns the context, and these faults outlive the context. `message` frees the description.
    unsafe {
        let text = message(LLVMGetDiagInfoDescription(diagnostic));
        if LLVMGetDiagInfoSeverity(diagnostic) == LLVMDiagnosticSeverity::LLVMDSError {
            (*faults.cast::<Faults>()).borrow_mut().push(text);
        }
    }
}

impl Module {
    pub(crate) fn new(name: &str) -> Self {
        // SAFETY: context, module and builder are created and disposed of together.
        unsafe {
            let context = LLVMContextCreate();
            let faults: Box<Faults> = Box::default();
            LLVMContextSetDiagnosticHandler(context, Some(keep_errors), (&raw const *faults).cast_mut().cast());
            let module = LLVMModuleCreateWithNameInContext(c_string(name).as_ptr(), context);
            let builder = LLVMCreateBuilderInContext(context);
            Module { context, module, builder, intrinsics: RefCell::default(), lines: None, faults }
        }
    }

    /// Checks that LLVM has reported no error so far.
    ///
    /// # Errors
    /// The first reported error.
    pub(super) fn sound(&self) -> Result<(), String> {
        self.faults.borrow().first().map_or(Ok(()), |fault| Err(fault.clone()))
    }

    pub(crate) fn int(&self, bits: u32) -> Ty {
        // SAFETY: the context is alive.
        unsafe { Ty(LLVMIntTypeInContext(self.context, bits)) }
    }

    /// Returns LLVM's type for a float format, if LLVM has one.
    pub(crate) fn float(&self, float: Float) -> Option<Ty> {
        // SAFETY: the context is alive.
        let ty = unsafe {
            match float {
                Float::F16 => LLVMHalfTypeInContext(self.context),
                Float::BF16 => LLVMBFloatTypeInContext(self.context),
                Float::F32 => LLVMFloatTypeInContext(self.context),
                Float::F64 => LLVMDoubleTypeInContext(self.context),
                _ => return None,
            }
        };
        Some(Ty(ty))
    }

    /// Returns the type of a tile register.
    pub(crate) fn tile(&self) -> Ty {
        // SAFETY: the context is alive.
        unsafe { Ty(LLVMX86AMXTypeInContext(self.context)) }
    }

    pub(crate) fn void(&self) -> Ty {
        // SAFETY: the context is alive.
        unsafe { Ty(LLVMVoidTypeInContext(self.context)) }
    }

    pub(crate) fn pointer(&self, address_space: u32) -> Ty {
        // SAFETY: the context is alive.
        unsafe { Ty(LLVMPointerTypeInContext(self.context, address_space)) }
    }

    pub(crate) fn vector(&self, element: Ty, lanes: u32) -> Ty {
        // SAFETY: the element is a scalar type of this context.
        unsafe { Ty(LLVMVectorType(element.0, lanes)) }
    }

    pub(crate) fn array(&self, element: Ty, length: u64) -> Ty {
        // SAFETY: the element is a sized type of this context.
        unsafe { Ty(LLVMArrayType2(element.0, length)) }
    }

    pub(crate) fn structure(&self, fields: &[Ty]) -> Ty {
        let mut raw: Vec<LLVMTypeRef> = fields.iter().map(|ty| ty.0).collect();
        // SAFETY: `raw` holds types of this context and is passed with its length.
        unsafe { Ty(LLVMStructTypeInContext(self.context, raw.as_mut_ptr(), raw.len() as c_uint, 0)) }
    }

    pub(crate) fn signature(&self, result: Ty, parameters: &[Ty]) -> Ty {
        let mut raw: Vec<LLVMTypeRef> = parameters.iter().map(|ty| ty.0).collect();
        // SAFETY: as in `structure`.
        unsafe { Ty(LLVMFunctionType(result.0, raw.as_mut_ptr(), raw.len() as c_uint, 0)) }
    }

    /// Returns an integer constant. If `ty` is a vector type, every lane of the constant is
    /// `value`.
    pub(crate) fn const_int(&self, ty: Ty, value: i64) -> Val {
        self.splat_of(ty, |scalar| {
            // SAFETY: `scalar` is an integer type; bits beyond its width are cleared first, because
            // LLVM asserts that there are none.
            unsafe {
                let bits = LLVMGetIntTypeWidth(scalar.0);
                let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
                Val(LLVMConstInt(scalar.0, value as u64 & mask, 0))
            }
        })
    }

    /// Returns a floating-point constant. If `ty` is a vector type, every lane of the constant is
    /// `value`.
    pub(crate) fn const_float(&self, ty: Ty, value: f64) -> Val {
        // SAFETY: `scalar` is a floating-point type.
        self.splat_of(ty, |scalar| unsafe { Val(LLVMConstReal(scalar.0, value)) })
    }

    fn splat_of(&self, ty: Ty, scalar: impl FnOnce(Ty) -> Val) -> Val {
        let Some(lanes) = self.lanes(ty) else { return scalar(ty) };
        let element = scalar(self.scalar_type(ty));
        let mut elements = vec![element.0; lanes as usize];
        // SAFETY: all elements are constants of one type.
        unsafe { Val(LLVMConstVector(elements.as_mut_ptr(), lanes)) }
    }

    pub(crate) fn undefined(&self, ty: Ty) -> Val {
        // SAFETY: `ty` is a first-class type of this context.
        unsafe { Val(LLVMGetPoison(ty.0)) }
    }

    /// Returns the number of lanes of a vector type, `None` for scalars.
    pub(crate) fn lanes(&self, ty: Ty) -> Option<u32> {
        // SAFETY: the size is read only if the type is a vector.
        unsafe {
            let vector = LLVMGetTypeKind(ty.0) == llvm_sys::LLVMTypeKind::LLVMVectorTypeKind;
            vector.then(|| LLVMGetVectorSize(ty.0))
        }
    }

    /// Returns the type of a vector's lanes. Returns a type that is not a vector unchanged.
    pub(crate) fn scalar_type(&self, ty: Ty) -> Ty {
        // SAFETY: the element type is read only if the type is a vector.
        if self.lanes(ty).is_some() { unsafe { Ty(LLVMGetElementType(ty.0)) } } else { ty }
    }

    pub(crate) fn type_of(&self, value: Val) -> Ty {
        // SAFETY: the value belongs to this module.
        unsafe { Ty(LLVMTypeOf(value.0)) }
    }

    pub(crate) fn int_bits(&self, ty: Ty) -> u32 {
        // SAFETY: callers pass integers or vectors of integers.
        unsafe { LLVMGetIntTypeWidth(self.scalar_type(ty).0) }
    }

    pub(crate) fn add_function(&self, name: &str, signature: Ty, visible: bool) -> Val {
        // SAFETY: the signature is a function type of this context.
        unsafe {
            let function = LLVMAddFunction(self.module, c_string(name).as_ptr(), signature.0);
            if !visible {
                LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
            }
            Val(function)
        }
    }

    /// Returns the module's LLVM context, in which callers can create another module.
    pub(crate) fn context(&self) -> LLVMContextRef {
        self.context
    }

    /// Moves all functions and constants of another module to this module.
    ///
    /// # Safety
    /// The caller must own `other`, and `other` must belong to this module's
    /// [`context`](Self::context).
    pub(crate) unsafe fn link(&self, other: LLVMModuleRef) -> Result<(), String> {
        // SAFETY: both modules are alive and have one context; the call disposes of `other`.
        let failed = unsafe { LLVMLinkModules2(self.module, other) };
        if failed == 0 { self.sound() } else { Err("two modules cannot be linked".into()) }
    }

    /// Returns the module's target triple and data layout in LLVM's notation.
    pub(crate) fn machine(&self) -> [String; 2] {
        // SAFETY: the module is alive and owns both zero-terminated strings, which are copied.
        unsafe {
            [LLVMGetTarget(self.module), LLVMGetDataLayoutStr(self.module)]
                .map(|text| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    }

    /// Returns the function with this name.
    pub(crate) fn function(&self, name: &str) -> Option<Val> {
        // SAFETY: the module is alive and the name is zero-terminated.
        let function = unsafe { LLVMGetNamedFunction(self.module, c_string(name).as_ptr()) };
        (!function.is_null()).then_some(Val(function))
    }

    /// Returns the function with this name, if the function exists and has a use.
    pub(crate) fn used_function(&self, name: &str) -> Option<Val> {
        // SAFETY: the module is alive, the name is zero-terminated, and uses are read only if the
        // function exists.
        unsafe {
            let function = LLVMGetNamedFunction(self.module, c_string(name).as_ptr());
            (!function.is_null() && !LLVMGetFirstUse(function).is_null()).then_some(Val(function))
        }
    }

    /// Deletes a function if it has no use.
    pub(crate) fn remove_unused(&self, function: Val) {
        // SAFETY: the function belongs to this module. Nothing refers to a function without uses.
        unsafe {
            if LLVMGetFirstUse(function.0).is_null() {
                LLVMDeleteFunction(function.0);
            }
        }
    }

    /// Makes a function visible to other modules.
    pub(crate) fn show(&self, function: Val) {
        // SAFETY: the function belongs to this module.
        unsafe { LLVMSetLinkage(function.0, LLVMLinkage::LLVMExternalLinkage) };
    }

    /// Makes a function internal to this module.
    pub(crate) fn hide(&self, function: Val) {
        // SAFETY: the function belongs to this module.
        unsafe { LLVMSetLinkage(function.0, LLVMLinkage::LLVMInternalLinkage) };
    }

    /// Returns all functions that have a body.
    pub(crate) fn functions(&self) -> impl Iterator<Item = Val> {
        // SAFETY: the module is alive; null ends the list.
        let mut next = unsafe { LLVMGetFirstFunction(self.module) };
        std::iter::from_fn(move || {
            let current = next;
            if current.is_null() {
                return None;
            }
            // SAFETY: the function belongs to this module, which is alive.
            next = unsafe { LLVMGetNextFunction(current) };
            Some(current)
        })
        // SAFETY: as above.
        .filter(|&function| unsafe { LLVMIsDeclaration(function) == 0 })
        .map(Val)
    }

    pub(crate) fn parameter(&self, function: Val, index: usize) -> Val {
        // SAFETY: callers take the index from the signature that they created.
        unsafe { Val(LLVMGetParam(function.0, index as c_uint)) }
    }

    pub(crate) fn add_block(&self, function: Val) -> Bb {
        // SAFETY: the function belongs to this module.
        unsafe { Bb(LLVMAppendBasicBlockInContext(self.context, function.0, c"".as_ptr())) }
    }

    /// Adds an attribute. `place` is 0 for the function's result, 1 and more for the function's
    /// parameters, and `u32::MAX` for the function itself.
    pub(crate) fn add_attribute(&self, function: Val, place: u32, name: &str, value: u64) {
        // SAFETY: the name is looked up first; LLVM defines these attributes as integers or flags.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            debug_assert_ne!(kind, 0, "unknown attribute {name}");
            LLVMAddAttributeAtIndex(function.0, place, LLVMCreateEnumAttribute(self.context, kind, value));
        }
    }

    /// Adds an attribute without a value to a call.
    pub(crate) fn add_call_attribute(&self, call: Val, name: &str) {
        // SAFETY: the name is looked up first; LLVM defines this attribute as a flag.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            debug_assert_ne!(kind, 0, "unknown attribute {name}");
            let attribute = LLVMCreateEnumAttribute(self.context, kind, 0);
            LLVMAddCallSiteAttribute(call.0, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        }
    }

    /// States that a call's integer result is in `0..end`.
    pub(crate) fn set_result_range(&self, call: Val, end: u64) {
        let kind = "range";
        let bits = self.int_bits(self.type_of(call));
        let ([low], [high]) = ([0u64], [end]);
        // SAFETY: each bound is one word, which suffices for a width of at most 64 bits.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(kind.as_ptr().cast(), kind.len());
            let range = LLVMCreateConstantRangeAttribute(self.context, kind, bits, &low, &high);
            LLVMAddCallSiteAttribute(call.0, llvm_sys::LLVMAttributeReturnIndex, range);
        }
    }

    pub(crate) fn add_string_attribute(&self, function: Val, name: &str, value: &str) {
        // SAFETY: each pointer is passed with the length of its string.
        unsafe {
            let attribute = LLVMCreateStringAttribute(
                self.context,
                name.as_ptr().cast(),
                name.len() as c_uint,
                value.as_ptr().cast(),
                value.len() as c_uint,
            );
            LLVMAddAttributeAtIndex(function.0, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        }
    }

    pub(crate) fn set_calling_convention(&self, function: Val, convention: u32) {
        // SAFETY: the function belongs to this module.
        unsafe { LLVMSetFunctionCallConv(function.0, convention) }
    }

    /// Adds a private constant with these bytes.
    pub(crate) fn add_constant_bytes(&self, bytes: &[u8], alignment: u32, address_space: u32) -> Val {
        // SAFETY: the initialiser has the global's type.
        unsafe {
            let data = LLVMConstStringInContext2(self.context, bytes.as_ptr().cast(), bytes.len(), 1);
            let ty = LLVMTypeOf(data);
            let global = LLVMAddGlobalInAddressSpace(self.module, ty, c"constant".as_ptr(), address_space);
            LLVMSetInitializer(global, data);
            LLVMSetGlobalConstant(global, 1);
            LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
            LLVMSetUnnamedAddress(global, llvm_sys::LLVMUnnamedAddr::LLVMGlobalUnnamedAddr);
            LLVMSetAlignment(global, alignment);
            Val(global)
        }
    }

    /// Adds memory that all threads of a block share. The initial content of the shared memory is
    /// undefined.
    pub(crate) fn add_shared_bytes(&self, bytes: u64, alignment: u32, address_space: u32) -> Val {
        let ty = self.array(self.int(8), bytes);
        // SAFETY: the initialiser has the global's type; targets require an undefined initialiser.
        unsafe {
            let global = LLVMAddGlobalInAddressSpace(self.module, ty.0, c"tile".as_ptr(), address_space);
            LLVMSetInitializer(global, LLVMGetPoison(ty.0));
            LLVMSetLinkage(global, LLVMLinkage::LLVMInternalLinkage);
            LLVMSetAlignment(global, alignment);
            Val(global)
        }
    }

    /// Returns the intrinsic for these types, and its signature.
    pub(crate) fn intrinsic(&self, name: &str, types: &[Ty]) -> (Val, Ty) {
        let key = (name.to_owned(), types.iter().map(|ty| ty.0 as usize).collect::<Vec<_>>());
        *self.intrinsics.borrow_mut().entry(key).or_insert_with(|| {
            let mut raw: Vec<LLVMTypeRef> = types.iter().map(|ty| ty.0).collect();
            // SAFETY: the names are literals of this crate and are tested; callers pass types that
            // fit the intrinsic.
            unsafe {
                let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
                debug_assert_ne!(id, 0, "unknown intrinsic {name}");
                let function = LLVMGetIntrinsicDeclaration(self.module, id, raw.as_mut_ptr(), raw.len());
                (Val(function), Ty(LLVMIntrinsicGetType(self.context, id, raw.as_mut_ptr(), raw.len())))
            }
        })
    }

    /// Attaches metadata to an instruction. The metadata is a list of integers, which is empty for
    /// a flag.
    pub(crate) fn set_metadata(&self, instruction: Val, kind: &str, values: &[Val]) {
        // SAFETY: the values are constants of this context.
        unsafe {
            let kind = LLVMGetMDKindIDInContext(self.context, kind.as_ptr().cast(), kind.len() as c_uint);
            let mut raw: Vec<LLVMMetadataRef> = values.iter().map(|value| LLVMValueAsMetadata(value.0)).collect();
            let node = LLVMMDNodeInContext2(self.context, raw.as_mut_ptr(), raw.len());
            LLVMSetMetadata(instruction.0, kind, LLVMMetadataAsValue(self.context, node));
        }
    }

    pub(crate) fn verify(&self) -> Result<(), String> {
        let mut text = std::ptr::null_mut();
        // SAFETY: the module is alive; LLVM allocates the message also on success.
        let broken =
            unsafe { LLVMVerifyModule(self.module, LLVMVerifierFailureAction::LLVMReturnStatusAction, &mut text) };
        let text = message(text);
        if broken == 0 { Ok(()) } else { Err(text) }
    }

    pub(crate) fn text(&self) -> String {
        // SAFETY: the module is alive; `message` frees the text.
        message(unsafe { LLVMPrintModuleToString(self.module) })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        self.lines = None;
        // SAFETY: builder, module and context were created together; each is disposed of once, the
        // context last.
        unsafe {
            LLVMDisposeBuilder(self.builder);
            LLVMDisposeModule(self.module);
            LLVMContextDispose(self.context);
        }
    }
}
